import { OBJECT_HISTORY_MS, UNLISTED_HISTORY_MS } from "../../base/limits.ts";
import { clause } from "../../base/storage/sql.ts";
import { ReaderPart } from "./reader-part.ts";
import { countsOf } from "./reader-status.ts";
import type { DeliveryCounts } from "./statuses.ts";

/**
 * Deliveries of one node: those up to `upTo`, of all days but two, which are not over. Events of
 * tomorrow are taken as well as those of today, as clocks differ; days far ahead never end, and
 * their objects are listed as they come.
 */
export interface Listing {
  upTo: number;
  /** Since the epoch: the first of the two. */
  openDay: number;
}

/** After a delivery, in the order of days and, of one day, of deliveries. */
export interface After {
  day: number;
  delivery: number;
}

/** What is to be listed: what is of `now`, and was not of `before`. */
export interface Wanted {
  now: Listing;
  before: Listing;
  after: After;
}

/** What a node says of its deliveries. */
export interface NodeDeliveries {
  delivered: number;
  counts: DeliveryCounts;
  /** The first day that has anything to be listed; null: none has. */
  firstDay: number | null;
}

/** A delivered object, as manifests list it. */
export type Delivered = {
  number: number;
  batch: number;
  delivery: number;
  /** Version of the job's destination that has it. */
  place: number;
  key: string;
  bytes: number;
  rawBytes: number;
  contentType: string;
  sha256: string;
  records: number;
  firstMs: number;
  lastMs: number;
  deliveredMs: number;
  copyOf: number | null;
  elsewhere: number;
};

/** Objects of one answer: half a megabyte. */
const PAGE = 1_000;

function isWanted({ now, before, after }: Wanted) {
  const isIn = ({ upTo, openDay }: Listing) =>
    clause`delivery <= ${upTo} AND (day < ${openDay} OR day > ${openDay + 1})`;
  return clause`${isIn(now)} AND NOT (${isIn(before)})
    AND (day > ${after.day} OR (day = ${after.day} AND delivery > ${after.delivery}))`;
}

/**
 * The part of a reader that manifests read: each node numbers what it delivers, in the rows that a
 * delivery writes anyway.
 */
export class Deliveries extends ReaderPart {
  /**
   * Notes what is listed, which may be forgotten. Belongs into a transaction of its caller.
   * @param wanted without an end: what is delivered now counts.
   */
  look({ now, before, after }: Wanted): NodeDeliveries {
    const row = this.state.requireRow();
    if (before.upTo > row.listed || before.openDay > row.listed_open_day)
      this.state.set({ listed: before.upTo, listed_open_day: before.openDay });
    const { deliveries: delivered } = row;
    const wanted = { now: { ...now, upTo: Math.min(now.upTo, delivered) }, before, after };
    return { delivered, counts: countsOf(this.sql, row), firstDay: this.firstDay(wanted) };
  }

  firstDay(wanted: Wanted): number | null {
    return this.sql.only`SELECT min(day) FROM object WHERE ${isWanted(wanted)}`;
  }

  /** A part of what is wanted of one day, in the order of deliveries. */
  page(wanted: Wanted, day: number): Delivered[] {
    return this.sql.all<Delivered>`
      SELECT number, batch, delivery, place, key, bytes, raw_bytes AS rawBytes, content_type AS contentType, sha256, records, first_event_ms AS firstMs,
        last_event_ms AS lastMs, uploaded_ms AS deliveredMs, replay_of AS copyOf,
        elsewhere IS NOT NULL AS elsewhere FROM object
      WHERE ${isWanted(wanted)} AND day = ${day} ORDER BY delivery LIMIT ${PAGE}`;
  }

  /**
   * Forgets the history of objects that ended long ago.
   * @param isListed whether manifests are written: what none lists yet stays longer.
   */
  sweep(nowMs: number, isListed: boolean): void {
    this.sql.run`
      DELETE FROM object WHERE state IN ('delivered', 'discarded') AND cut_ms < ${nowMs - OBJECT_HISTORY_MS}
        AND NOT ( ${isListed ? 1 : 0} AND ${this.#isToList(nowMs)})`;
  }

  /** Whether any delivery is kept that manifests are still to list. */
  hasToList(nowMs: number): boolean {
    return this.sql.all`SELECT 1 FROM object WHERE ${this.#isToList(nowMs)} LIMIT 1`.length > 0;
  }

  #isToList(nowMs: number) {
    const { listed, listed_open_day: openDay } = this.state.requireRow();
    return clause`(state = 'delivered' AND uploaded_ms >= ${nowMs - UNLISTED_HISTORY_MS}
      AND (delivery > ${listed} OR day BETWEEN ${openDay} AND ${openDay + 1}))`;
  }
}
