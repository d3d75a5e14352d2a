import { MANIFEST_EMPTY_DAYS_MAX } from "../../base/limits.ts";
import type { RowOf } from "../../base/storage/row-of.ts";
import { Tables } from "../../base/storage/sql.ts";
import type { Listing, Wanted } from "./deliveries.ts";
import type { READER_STEPS } from "./reader-migrations.ts";
import type { ManifestDays, ManifestStatus } from "./statuses.ts";

export type ChainRow = RowOf<typeof READER_STEPS, "manifest_chain">;

/** A manifest that is signed, and not known to be written. */
export type ManifestRow = RowOf<typeof READER_STEPS, "manifest">;

/** More than any delivery. */
const ALL = 1e15;

/** A day before all others: no event is older than 1970. */
const BEFORE_ALL = -1;

const NOTHING: Listing = { upTo: 0, openDay: 0 };

/**
 * How far the deliveries of a job are listed, in its first node. Every method that
 * changes anything belongs into a transaction of its caller.
 */
export class ManifestRows extends Tables {
  chain(): ChainRow | null {
    return this.sql.first`SELECT * FROM manifest_chain`;
  }

  /** null: none waits. */
  waiting(): ManifestRow | null {
    return this.sql.first`SELECT * FROM manifest`;
  }

  isWaiting(): boolean {
    return this.sql.all`SELECT 1 FROM manifest`.length > 0;
  }

  begin(sinceVersion: number, place: string, day: number): void {
    this.sql.insert("manifest_chain", { id: 1, sinceVersion, place, begunDay: day });
  }

  /** The job has another destination from this version on: a manifest that waits is not for it. */
  moved(version: number): void {
    this.sql.run`UPDATE manifest_chain SET since_version = ${version}, next_ms = 0`;
    this.sql.run`DELETE FROM manifest`;
  }

  /**
   * What is to be listed of a node.
   * @param openDay of what is listed now; null: nothing is.
   */
  wanted(node: number, chain: ChainRow, openDay: number | null = chain.open_day): Wanted {
    const row = this.#node(node);
    const isBegun = chain.open_day !== null;
    const upTo = isBegun ? (row?.delivered ?? 0) : ALL;
    const { at_day: day, at_node, at_delivery } = chain;
    const delivery = node < at_node ? ALL : node === at_node ? at_delivery : 0;
    return {
      now: { upTo, openDay: openDay ?? 0 },
      before: row === null ? NOTHING : { upTo: row.listed, openDay: chain.listed_open_day ?? 0 },
      after: isBegun ? { day, delivery } : { day: BEFORE_ALL, delivery: 0 },
    };
  }

  /** Begins to list what these nodes have delivered so far. */
  beginListing(openDay: number, nodes: readonly { node: number; delivered: number }[], nowMs: number): void {
    for (const { node, delivered } of nodes) {
      this.sql.run`
        INSERT INTO manifest_node (node, listed, delivered, count)
        VALUES (${node}, 0, ${delivered}, 0) ON CONFLICT (node) DO UPDATE SET delivered = excluded.delivered`;
    }
    this.sql.run`
      UPDATE manifest_chain SET open_day = ${openDay}, begun_ms = ${nowMs}, at_day = ${BEFORE_ALL}, at_node = 0,
        at_delivery = 0`;
  }

  /** All of it is listed. */
  endListing(): void {
    this.sql.run`UPDATE manifest_node SET listed = delivered`;
    this.sql.run`UPDATE manifest_chain SET listed_open_day = open_day, open_day = NULL`;
  }

  /** How many of a node's deliveries are in manifests. */
  countOf(node: number): { delivered: number; count: number } {
    const { delivered = 0, count = 0 } = this.#node(node) ?? {};
    return { delivered, count };
  }

  /** The number of a day's next manifest. */
  nextNumber(day: number): number {
    return this.#numberOf(day) + 1;
  }

  days(from: number, to: number): ManifestDays | null {
    const chain = this.chain();
    if (chain === null) return null;
    const found = this.sql.all<ManifestDays["found"][number]>`
      SELECT day, number FROM manifest_day WHERE day BETWEEN ${from} AND ${to} ORDER BY day`;
    return { begunDay: chain.begun_day, found };
  }

  /** A day that is over since the last time, and has no manifest; null: there is none. */
  emptyDay({ listed_open_day: from, open_day: until }: ChainRow, lastDay: number): number | null {
    if (from === null || until === null) return null;
    for (let day = Math.max(from, until - MANIFEST_EMPTY_DAYS_MAX); day < until && day <= lastDay; day++)
      if (this.#numberOf(day) === 0) return day;
    return null;
  }

  /** Keeps a manifest, whose bytes no later step makes again. */
  keep(manifest: Omit<ManifestRow, "id" | "body">, body: Uint8Array<ArrayBuffer>): void {
    this.sql.insert("manifest", { id: 1, ...manifest, body: body.buffer });
  }

  /** The manifest that waited is written: the chain ends with it. @returns false: none waited. */
  written({ sha256 }: ManifestRow, position: number, name: string, nowMs: number): boolean {
    const row = this.waiting();
    if (row?.sha256 !== sha256) return false;
    this.#setNumber(row);
    this.sql.run`
      UPDATE manifest_chain SET place = ${row.place}, position = ${position}, last_name = ${name},
        last_sha256 = ${sha256}, last_ms = ${nowMs}, at_day = ${row.day}, at_node = ${row.at_node},
        at_delivery = ${row.at_delivery}, tries = 0, next_ms = 0, failing_ms = NULL, why = NULL`;
    for (const [node, count] of Object.entries(JSON.parse(row.counts) as Record<string, number>))
      this.sql.run`UPDATE manifest_node SET count = count + ${count} WHERE node = ${Number(node)}`;
    this.sql.run`DELETE FROM manifest`;
    return true;
  }

  /** Another object stands under its key: it is made anew, with the next number. */
  taken(row: ManifestRow, why: string, nextMs: number, nowMs: number): void {
    this.#setNumber(row);
    this.sql.run`DELETE FROM manifest`;
    this.failed(why, nextMs, nowMs);
  }

  /** Nothing is wrong, and nothing is to be done before this time, in ms. */
  rest(nextMs: number): void {
    this.sql.run`UPDATE manifest_chain SET tries = 0, next_ms = ${nextMs}, failing_ms = NULL, why = NULL`;
  }

  failed(why: string, nextMs: number, nowMs: number): void {
    this.sql.run`
      UPDATE manifest_chain SET tries = tries + 1, next_ms = ${nextMs},
        failing_ms = coalesce(failing_ms, ${nowMs}), why = ${why}`;
  }

  status(): ManifestStatus | null {
    const chain = this.chain();
    if (chain === null) return null;
    return {
      lastName: chain.last_name,
      lastSha256: chain.last_sha256,
      lastMs: chain.last_ms,
      position: chain.position,
      isWaiting: this.isWaiting(),
      failingSinceMs: chain.failing_ms,
      why: chain.why,
    };
  }

  #node(node: number): RowOf<typeof READER_STEPS, "manifest_node"> | null {
    return this.sql.first`SELECT * FROM manifest_node WHERE node = ${node}`;
  }

  #numberOf(day: number): number {
    return this.sql.first<{ number: number }>`SELECT number FROM manifest_day WHERE day = ${day}`?.number ?? 0;
  }

  #setNumber({ day, number }: ManifestRow): void {
    this.sql.run`INSERT OR REPLACE INTO manifest_day (day, number) VALUES (${day}, ${number})`;
  }
}
