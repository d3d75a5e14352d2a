import { clause, verbatim } from "../../base/storage/sql.ts";
import type { Encoder, Fragment } from "../../formats/object/encoder.ts";
import { encoderOf } from "../../formats/object/encoders.ts";
import { isPartOf } from "../../formats/object/keys.ts";
import type { JobConfig } from "../job/config.ts";
import type { GroupFormat } from "../log/append-types.ts";
import type { Group } from "../log/blocks.ts";
import { cut } from "./cut.ts";
import { ReaderPart } from "./reader-part.ts";
import type { BatchRow, CutReason } from "./reader-rows.ts";
import type { ReaderState } from "./reader-state.ts";

/**
 * A batch whose first records come late (a backlog) stays open this long after it was opened, so
 * that a backlog makes few objects. In ms.
 */
const LATE_GRACE_MS = 5_000;

/**
 * A batch of several appends stays open this long beyond the interval, in ms: what the queue
 * delivers next, ten seconds after the last, is already on its way, and would open an object of its
 * own. The third batch of the queue comes four seconds after the interval at most, if each isolate
 * sends every two seconds. A single append does not wait.
 */
const COMPANY_MS = 5_000;

/**
 * When a batch is due, as SQL over its row: counted from the intake of its oldest record. Takes the
 * job's interval in ms. A second chunk: several appends.
 */
const dueMs = (intervalMs: number) =>
  clause`max(oldest_taken_ms + ${intervalMs} + iif(next_chunk > 1, ${COMPANY_MS}, 0), opened_ms + ${LATE_GRACE_MS})`;

/**
 * Batches that one transaction cuts, near days first: a sender may have opened one for each of a
 * hundred thousand far-away days. A cut takes 0.25 ms of CPU; the platform ends an invocation after
 * 30 s of it, and nothing of its transaction would stay.
 */
const CUT_AT_ONCE = 1_000;

/** Near days first, as cut.ts has it. */
const NEAR_FIRST = verbatim("abs(day - oldest_taken_ms / 86400000) > 1, id");

/**
 * Parts of days that the cron cuts before their time, as it does each day: each is an object, and a
 * job may have thousands of scripts.
 */
const PARTS_AT_ONCE = 64;

/**
 * The records that wait, one batch for each UTC day and part of it, and when a batch is cut
 * (cut.ts). Every method is synchronous and belongs into a transaction of its caller, so that
 * records, counts and cuts are committed together.
 */
export class Batches extends ReaderPart {
  readonly #storedMaxBytes: () => number;

  /** @param storedMaxBytes most bytes of an object as it is stored. */
  constructor(sql: SqlStorage, state: ReaderState, storedMaxBytes: () => number) {
    super(sql, state);
    this.#storedMaxBytes = storedMaxBytes;
  }

  /**
   * Adds fragments to the batches of their days and parts. A batch is cut before its object would
   * exceed the job's limits, or what one request may send, as soon as it reaches the job's limits,
   * and before fragments of another format.
   * @param firstId of the next batch.
   * @param closes all that waits is cut in this transaction: a batch that is, is never stored.
   * @returns how many batches it opened; the caller counts them, and the next ids follow from that.
   * @throws if they are of other parts than their format has.
   */
  put({ output, template, fragments }: Group, firstId: number, nowMs: number, closes = false): number {
    const { limits } = this.state.requireJob();
    this.#follow({ output, template }, nowMs);
    const encoder = encoderOf(output);
    const around = encoder.aroundBytes;
    const seamBytes = encoder.seam.content.rawBytes;
    let nextId = firstId;
    const groups = Map.groupBy(fragments, ({ day, part }) => (part ? `${day} ${part}` : day));
    for (const group of groups.values()) {
      const [{ day, part = "" }] = group as [Fragment];
      if (!isPartOf(template, part)) throw new Error("the fragments are not of the parts that their format has");
      let batch = this.#openBatch(day, part);
      let run: Fragment[] = [];
      for (const fragment of group) {
        if (batch !== null) {
          const reason = this.#fullBefore(fragment, batch, run, { limits, encoder });
          if (reason !== null) {
            this.chunks.add(batch, run, encoder, true);
            this.#cut(batch, reason, nowMs);
            batch = null;
            run = [];
          }
        }
        if (batch === null) batch = openedWith(fragment, nextId++, nowMs);
        else grow(batch, fragment, seamBytes);
        run.push(fragment);
      }
      if (batch === null) continue;
      let reason: CutReason | null = closes && groups.size <= CUT_AT_ONCE ? "interval" : null;
      if (around + batch.raw_bytes >= limits.bytes) reason = "bytes";
      if (batch.records >= limits.records) reason = "records";
      this.chunks.add(batch, run, encoder, reason !== null);
      if (reason !== null) this.#cut(batch, reason, nowMs);
      else {
        if (batch.small_bytes >= encoder.sizes.compactBytes) this.chunks.compact(batch, encoder);
        this.sql.replace("batch", batch);
      }
    }
    return nextId - firstId;
  }

  /** Batches of another format are cut. */
  #follow(format: GroupFormat, nowMs: number): void {
    const before = this.state.format();
    if (before !== null && JSON.stringify(before) === JSON.stringify(format)) return;
    if (before !== null) this.cutAll("config", nowMs);
    this.state.setFormat(format);
  }

  /**
   * Cuts batches whose oldest record has waited for the job's interval. Of too many, some are left,
   * and stay due.
   */
  cutDue(nowMs: number): void {
    const { limits } = this.state.requireJob();
    const due = this.sql.all<BatchRow>`
      SELECT * FROM batch WHERE ${dueMs(limits.intervalMs)} <= ${nowMs}
      ORDER BY ${NEAR_FIRST} LIMIT ${CUT_AT_ONCE}`;
    for (const batch of due) this.#cut(batch, "interval", nowMs);
  }

  /**
   * Cuts what waits. @param partsBefore parts of days with this batch id or a greater one are left,
   * and stay due. @returns false: of too many batches, some are left.
   */
  cutSome(reason: CutReason, nowMs: number, partsBefore = Number.MAX_SAFE_INTEGER): boolean {
    const some = this.sql.all<BatchRow>`
      SELECT * FROM batch WHERE part = '' OR id < ${partsBefore} ORDER BY ${NEAR_FIRST} LIMIT ${CUT_AT_ONCE}`;
    for (const batch of some) this.#cut(batch, reason, nowMs);
    return some.length < CUT_AT_ONCE;
  }

  /**
   * For {@link cutSome}: beyond {@link PARTS_AT_ONCE} of them, the oldest first, parts of days wait
   * for the job's interval. undefined: there are not so many.
   */
  partsBefore(): number | undefined {
    return this.sql.first<{ id: number }>`
      SELECT id FROM batch WHERE part <> '' ORDER BY id LIMIT 1 OFFSET ${PARTS_AT_ONCE}`?.id;
  }

  /** Cuts all that waits. */
  cutAll(reason: CutReason, nowMs: number): void {
    for (const batch of this.#batches()) this.#cut(batch, reason, nowMs);
  }

  /** When the next batch is to be cut, in ms since the epoch; Infinity: none is open. */
  nextCutMs(): number {
    const { intervalMs } = this.state.requireJob().limits;
    return this.sql.only<number | null>`SELECT min(${dueMs(intervalMs)}) FROM batch` ?? Number.POSITIVE_INFINITY;
  }

  /** Drops all of them. @returns the number of records dropped. */
  drop(): number {
    const batches = this.#batches();
    for (const { id } of batches) this.chunks.drop(id);
    this.sql.run`DELETE FROM batch`;
    return batches.reduce((sum, { records }) => sum + records, 0);
  }

  /**
   * Why a batch is cut before it takes a fragment; null: there is room.
   * @param run fragments that it has taken, and that are no chunks yet.
   */
  #fullBefore(
    fragment: Fragment,
    batch: BatchRow,
    run: readonly Fragment[],
    { limits, encoder }: { limits: JobConfig["limits"]; encoder: Encoder },
  ): CutReason | null {
    if (batch.records + fragment.records > limits.records) return "records";
    const { aroundBytes: around, seam } = encoder;
    const rawBytes = around + batch.raw_bytes + seam.content.rawBytes + fragment.rawBytes;
    if (rawBytes > limits.bytes) return "bytes";
    // Lengths are read only where the bytes before compression do not rule it out.
    const storedMaxBytes = this.#storedMaxBytes();
    if (encoder.storedAtMost(0, rawBytes) <= storedMaxBytes) return null;
    const waiting = { finished: this.chunks.storedBytes(batch.id) - batch.small_bytes, raw: batch.small_bytes };
    for (const { body, deflated } of [...run, fragment]) {
      if (deflated) waiting.finished += body.length + seam.finished.length;
      else waiting.raw += body.length + seam.raw.length;
    }
    return encoder.storedAtMost(waiting.finished, around + waiting.raw) > storedMaxBytes ? "bytes" : null;
  }

  #batches(): BatchRow[] {
    return this.sql.all<BatchRow>`SELECT * FROM batch ORDER BY id`;
  }

  #openBatch(day: number, part: string): BatchRow | null {
    return this.sql.first`SELECT * FROM batch WHERE day = ${day} AND part = ${part}`;
  }

  #cut(batch: BatchRow, reason: CutReason, nowMs: number): void {
    cut(batch, reason, nowMs, { sql: this.sql, state: this.state, chunks: this.chunks });
  }
}

function openedWith(first: Fragment, id: number, nowMs: number): BatchRow {
  return {
    day: first.day,
    part: first.part ?? "",
    id,
    records: first.records,
    raw_bytes: first.rawBytes,
    small_bytes: 0,
    next_chunk: 0,
    first_event_ms: first.firstEventMs,
    last_event_ms: first.lastEventMs,
    oldest_taken_ms: first.oldestTakenMs,
    opened_ms: nowMs,
  };
}

/** @param seamBytes length of the seam before the fragment, before compression. */
function grow(batch: BatchRow, fragment: Fragment, seamBytes: number): void {
  batch.records += fragment.records;
  batch.raw_bytes += seamBytes + fragment.rawBytes;
  batch.first_event_ms = Math.min(batch.first_event_ms, fragment.firstEventMs);
  batch.last_event_ms = Math.max(batch.last_event_ms, fragment.lastEventMs);
  batch.oldest_taken_ms = Math.min(batch.oldest_taken_ms, fragment.oldestTakenMs);
}
