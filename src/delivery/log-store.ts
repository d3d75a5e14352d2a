import { createHash } from "node:crypto";
import { concat } from "../bytes.ts";
import type { JobConfig } from "../control/job-config.ts";
import { COMPACT_AT_RAW_BYTES, OBJECT_HISTORY_MS, ROW_MAX_BYTES } from "../limits.ts";
import { crc32Combine } from "../pipeline/crc32-combine.ts";
import { deflateFragment, type Fragment } from "../pipeline/fragment.ts";
import { GZIP_HEADER, gzipTrailer } from "../pipeline/gzip.ts";
import { dayStamp, keyBelow, objectName, objectTag } from "./keys.ts";
import type { AppendedMessage, CutReason, LogCounts } from "./types.ts";

/** Chunks of one batch have ids from `batch * CHUNKS_PER_BATCH`; more than the records a batch may hold. */
const CHUNKS_PER_BATCH = 2 ** 20;

/** Objects of a later segment have numbers above all those of the earlier ones. */
export const NUMBERS_PER_SEGMENT = 1_000_000_000;

/** After an append whose records are late already (a backlog), their batch stays open this long, so that a backlog makes few objects. */
const LATE_GRACE_MS = 5_000;

const RENUMBER_AGAIN_MS = 60_000;

interface LogRow {
  [column: string]: SqlStorageValue;
  segment: number;
  job: string;
  sealed_ms: number | null;
  next_batch: number;
  next_object: number;
  received: number;
  filtered: number;
  sampled_out: number;
  delivered: number;
  set_aside: number;
  discarded: number;
  delivered_raw: number;
  delivered_bytes: number;
  newest_taken_ms: number;
  last_complete_ms: number | null;
  failures: number;
  resume_ms: number;
  last_error_ms: number | null;
  error_message: string | null;
  unconditional: number;
  swept_ms: number;
}

interface BatchRow {
  [column: string]: SqlStorageValue;
  id: number;
  day: number;
  records: number;
  raw_bytes: number;
  small_bytes: number;
  next_chunk: number;
  first_event_ms: number;
  last_event_ms: number;
  oldest_taken_ms: number;
  opened_ms: number;
}

interface ChunkRow {
  [column: string]: SqlStorageValue;
  id: number;
  deflated: number;
  raw_bytes: number;
  crc: number;
  body: ArrayBuffer;
}

export interface ObjectRow {
  [column: string]: SqlStorageValue;
  number: number;
  batch: number;
  day: number;
  name: string;
  key: string;
  head: ArrayBuffer;
  tail: ArrayBuffer;
  bytes: number;
  raw_bytes: number;
  records: number;
  sha256: string;
  md5: string;
  first_event_ms: number;
  last_event_ms: number;
  oldest_taken_ms: number;
  reason: CutReason;
  cut_ms: number;
  state: "waiting" | "delivered" | "set_aside" | "discarded";
  attempts: number;
  next_attempt_ms: number;
  doubtful: number;
  verified: number | null;
  error: string | null;
  uploaded_ms: number | null;
}

/**
 * The tables of one delivery log. Every method is synchronous and belongs into a transaction of its caller, so that what it changes stands or
 * falls together: records and counts, a cut and the end of its batch, a delivery and the end of its chunks.
 */
export class LogStore {
  readonly #sql: SqlStorage;
  /** What makes this log's object names its own. */
  readonly #identity: string;

  constructor(sql: SqlStorage, identity: string) {
    this.#sql = sql;
    this.#identity = identity;
  }

  row(): LogRow | null {
    return this.#sql.exec<LogRow>("SELECT * FROM log WHERE id = 1").toArray()[0] ?? null;
  }

  job(): JobConfig | null {
    const row = this.row();
    return row === null ? null : (JSON.parse(row.job) as JobConfig);
  }

  setJob(job: JobConfig, segment: number): void {
    this.#sql.exec(
      "INSERT INTO log (id, segment, job) VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET job = excluded.job",
      segment,
      JSON.stringify(job),
    );
  }

  seal(nowMs: number): void {
    this.#sql.exec("UPDATE log SET sealed_ms = ? WHERE id = 1 AND sealed_ms IS NULL", nowMs);
  }

  count(messages: readonly AppendedMessage[]): void {
    const sum = { received: 0, filtered: 0, sampledOut: 0, newest: 0 };
    for (const message of messages) {
      sum.received += message.received;
      sum.filtered += message.filtered;
      sum.sampledOut += message.sampledOut;
      sum.newest = Math.max(sum.newest, message.takenInMs);
    }
    this.#sql.exec(
      `UPDATE log SET received = received + ?, filtered = filtered + ?, sampled_out = sampled_out + ?,
         newest_taken_ms = max(newest_taken_ms, ?) WHERE id = 1`,
      sum.received,
      sum.filtered,
      sum.sampledOut,
      sum.newest,
    );
  }

  /** Adds fragments to the batches of their days, cutting a batch before it would pass its job's limits, and as soon as it reaches them. */
  put(fragments: readonly Fragment[], nowMs: number): void {
    const { limits } = this.#job();
    for (const [day, group] of Map.groupBy(fragments, (fragment) => fragment.day)) {
      let batch = this.#openBatch(day);
      let run: Fragment[] = [];
      const write = (): void => {
        if (batch !== null && run.length > 0) this.#addRun(batch, run);
        run = [];
      };
      for (const fragment of group) {
        const full =
          batch !== null &&
          (batch.records + fragment.records > limits.records || batch.raw_bytes + fragment.rawBytes > limits.bytes);
        if (full && batch !== null) {
          write();
          this.#cut(batch, batch.records + fragment.records > limits.records ? "records" : "bytes", nowMs);
          batch = null;
        }
        batch ??= this.#newBatch(fragment, nowMs);
        batch.records += fragment.records;
        batch.raw_bytes += fragment.rawBytes;
        if (!fragment.deflated) batch.small_bytes += fragment.rawBytes;
        batch.first_event_ms = Math.min(batch.first_event_ms, fragment.firstEventMs);
        batch.last_event_ms = Math.max(batch.last_event_ms, fragment.lastEventMs);
        batch.oldest_taken_ms = Math.min(batch.oldest_taken_ms, fragment.oldestTakenMs);
        run.push(fragment);
      }
      write();
      if (batch === null) continue;
      if (batch.records >= limits.records) this.#cut(batch, "records", nowMs);
      else if (batch.raw_bytes >= limits.bytes) this.#cut(batch, "bytes", nowMs);
      else {
        if (batch.small_bytes >= COMPACT_AT_RAW_BYTES) this.#compact(batch);
        this.#saveBatch(batch);
      }
    }
  }

  /** Cuts the batches whose oldest record has waited for the job's interval. */
  cutDue(nowMs: number): void {
    const { limits } = this.#job();
    for (const batch of this.#batches())
      if (dueMs(batch, limits.intervalMs) <= nowMs) this.#cut(batch, "interval", nowMs);
  }

  cutAll(reason: CutReason, nowMs: number): void {
    for (const batch of this.#batches()) this.#cut(batch, reason, nowMs);
  }

  /** When the next batch is to be cut, in ms since the epoch. */
  nextCutMs(): number {
    const { limits } = this.#job();
    return Math.min(...this.#batches().map((batch) => dueMs(batch, limits.intervalMs)));
  }

  /** The first objects whose next attempt is due, those with the fewest attempts first: one that always fails does not stand before the rest. */
  dueObjects(nowMs: number, limit: number): ObjectRow[] {
    return this.#sql
      .exec<ObjectRow>(
        "SELECT * FROM object WHERE state = 'waiting' AND next_attempt_ms <= ? ORDER BY attempts, number LIMIT ?",
        nowMs,
        limit,
      )
      .toArray();
  }

  /** When the next object is to be tried, in ms since the epoch; Infinity: none waits. */
  nextAttemptMs(except: ReadonlySet<number>): number {
    const rows = this.#sql
      .exec<{ number: number; next_attempt_ms: number }>(
        "SELECT number, next_attempt_ms FROM object WHERE state = 'waiting' ORDER BY next_attempt_ms LIMIT ?",
        except.size + 1,
      )
      .toArray();
    return rows.find(({ number }) => !except.has(number))?.next_attempt_ms ?? Number.POSITIVE_INFINITY;
  }

  object(number: number): ObjectRow | null {
    return this.#sql.exec<ObjectRow>("SELECT * FROM object WHERE number = ?", number).toArray()[0] ?? null;
  }

  /** The bytes of an object, piece by piece, each read when it is asked for. Valid across waits: what is cut does not change. */
  *pieces(object: ObjectRow): Generator<Uint8Array> {
    yield new Uint8Array(object.head);
    const end = (object.batch + 1) * CHUNKS_PER_BATCH;
    for (let after = object.batch * CHUNKS_PER_BATCH - 1; ; ) {
      const chunk = this.#sql
        .exec<{ id: number; body: ArrayBuffer }>(
          "SELECT id, body FROM chunk WHERE id > ? AND id < ? ORDER BY id LIMIT 1",
          after,
          end,
        )
        .toArray()[0];
      if (chunk === undefined) break;
      after = chunk.id;
      yield new Uint8Array(chunk.body);
    }
    yield new Uint8Array(object.tail);
  }

  /** The one change of state that counts an object as delivered. @returns false if it had left the waiting state before. */
  markDelivered(object: ObjectRow, key: string, verified: boolean, nowMs: number): boolean {
    const changed = this.#sql.exec(
      "UPDATE object SET state = 'delivered', key = ?, verified = ?, error = NULL, uploaded_ms = ?, attempts = attempts + 1 WHERE number = ? AND state = 'waiting'",
      key,
      verified ? 1 : 0,
      nowMs,
      object.number,
    );
    if (changed.rowsWritten === 0) return false;
    this.#dropChunks(object.batch);
    this.#sql.exec(
      "UPDATE log SET delivered = delivered + ?, delivered_raw = delivered_raw + ?, delivered_bytes = delivered_bytes + ? WHERE id = 1",
      object.records,
      object.raw_bytes,
      object.bytes,
    );
    const row = this.#row();
    const oldest = this.oldestPendingTakenMs();
    const complete = Math.max(row.last_complete_ms ?? 0, oldest ?? row.newest_taken_ms);
    this.#sql.exec(
      "UPDATE log SET last_complete_ms = ?, last_error_ms = NULL, error_message = NULL, failures = 0, resume_ms = 0 WHERE id = 1",
      complete,
    );
    // An outage is over: whoever waits for its sake need not wait longer. A single object that fails alone makes no outage.
    if (row.failures > 1)
      this.#sql.exec(
        "UPDATE object SET next_attempt_ms = ? WHERE state = 'waiting' AND next_attempt_ms > ?",
        nowMs,
        nowMs,
      );
    return true;
  }

  markFailed(
    object: ObjectRow,
    error: string,
    next: { objectMs: number; logMs: number },
    doubtful: boolean,
    nowMs: number,
  ): void {
    this.#sql.exec(
      "UPDATE object SET attempts = attempts + 1, next_attempt_ms = ?, doubtful = max(doubtful, ?), error = ? WHERE number = ? AND state = 'waiting'",
      next.objectMs,
      doubtful ? 1 : 0,
      error,
      object.number,
    );
    this.#sql.exec(
      "UPDATE log SET failures = failures + 1, resume_ms = ?, last_error_ms = ?, error_message = ? WHERE id = 1",
      next.logMs,
      nowMs,
      error,
    );
  }

  /** The store refuses this object for itself; its bytes stay here, and it stands in nobody's way. */
  markSetAside(object: ObjectRow, error: string, nowMs: number): void {
    const changed = this.#sql.exec(
      "UPDATE object SET state = 'set_aside', attempts = attempts + 1, error = ? WHERE number = ? AND state = 'waiting'",
      error,
      object.number,
    );
    if (changed.rowsWritten === 0) return;
    this.#sql.exec(
      "UPDATE log SET set_aside = set_aside + ?, last_error_ms = ?, error_message = ? WHERE id = 1",
      object.records,
      nowMs,
      error,
    );
  }

  /**
   * Somebody else's object stands under the key: the same bytes get a new number and with it a new key. At once the first time; a store that
   * claims it of every key is not asked without end.
   */
  renumber(object: ObjectRow, nowMs: number): void {
    const { number, name } = this.#nextName(object.first_event_ms, object.last_event_ms);
    const key = keyBelow(this.#job().path, dayStamp(object.day), name);
    this.#sql.exec(
      "UPDATE object SET number = ?, name = ?, key = ?, doubtful = 0, attempts = attempts + 1, next_attempt_ms = ? WHERE number = ? AND state = 'waiting'",
      number,
      name,
      key,
      object.attempts === 0 ? nowMs : nowMs + RENUMBER_AGAIN_MS,
      object.number,
    );
  }

  /** The destination has changed: what is cut and not delivered goes to the new one, and nothing that the old one did counts any longer. */
  readdress(path: string): void {
    const waiting = this.#sql.exec<{ number: number; day: number; name: string }>(
      "SELECT number, day, name FROM object WHERE state = 'waiting'",
    );
    for (const { number, day, name } of waiting.toArray()) {
      this.#sql.exec(
        "UPDATE object SET key = ?, doubtful = 0 WHERE number = ?",
        keyBelow(path, dayStamp(day), name),
        number,
      );
    }
    this.#sql.exec("UPDATE log SET unconditional = 0 WHERE id = 1");
  }

  /** Nothing waits for a delay any longer: the user asked for a try now, or changed what may have been the reason. */
  retryNow(): void {
    this.#sql.exec("UPDATE object SET next_attempt_ms = 0 WHERE state = 'waiting' AND next_attempt_ms > 0");
    this.#sql.exec("UPDATE log SET resume_ms = 0 WHERE id = 1 AND resume_ms > 0");
  }

  setUnconditional(): void {
    this.#sql.exec("UPDATE log SET unconditional = 1 WHERE id = 1");
  }

  /** Drops what waits, counted. */
  discard(): void {
    const pending = this.counts().pending;
    const waiting = this.#sql.exec<{ id: number }>(
      "SELECT id FROM batch UNION ALL SELECT batch FROM object WHERE state = 'waiting'",
    );
    for (const { id } of waiting.toArray()) this.#dropChunks(id);
    this.#sql.exec("DELETE FROM batch");
    this.#sql.exec("UPDATE object SET state = 'discarded' WHERE state = 'waiting'");
    this.#sql.exec(
      "UPDATE log SET discarded = discarded + ?, last_error_ms = NULL, error_message = NULL WHERE id = 1",
      pending,
    );
  }

  /** Forgets the history of objects that ended long ago. */
  sweep(nowMs: number): void {
    this.#sql.exec(
      "DELETE FROM object WHERE state IN ('delivered', 'discarded') AND cut_ms < ?",
      nowMs - OBJECT_HISTORY_MS,
    );
    this.#sql.exec("UPDATE log SET swept_ms = ? WHERE id = 1", nowMs);
  }

  counts(): LogCounts {
    const { received, filtered, sampled_out, delivered, set_aside, discarded } = this.#row();
    const pending = Number(
      this.#sql
        .exec(
          `SELECT (SELECT coalesce(sum(records), 0) FROM batch)
                + (SELECT coalesce(sum(records), 0) FROM object WHERE state = 'waiting') AS pending`,
        )
        .one().pending,
    );
    return { received, filtered, sampled_out, delivered, pending, set_aside, discarded };
  }

  pendingObjects(): number {
    return Number(this.#sql.exec("SELECT count(*) AS n FROM object WHERE state = 'waiting'").one().n);
  }

  oldestPendingTakenMs(): number | null {
    const { oldest } = this.#sql
      .exec<{ oldest: number | null }>(
        `SELECT min(oldest_taken_ms) AS oldest FROM (
           SELECT oldest_taken_ms FROM batch UNION ALL SELECT oldest_taken_ms FROM object WHERE state = 'waiting')`,
      )
      .one();
    return oldest;
  }

  /** Objects with a number above `after`, in the order of their numbers. */
  list(after: number, limit: number): ObjectRow[] {
    return this.#sql
      .exec<ObjectRow>("SELECT * FROM object WHERE number > ? ORDER BY number LIMIT ?", after, limit)
      .toArray();
  }

  #row(): LogRow {
    const row = this.row();
    if (row === null) throw new Error("the log has no job yet");
    return row;
  }

  #job(): JobConfig {
    return JSON.parse(this.#row().job) as JobConfig;
  }

  #batches(): BatchRow[] {
    return this.#sql.exec<BatchRow>("SELECT * FROM batch ORDER BY id").toArray();
  }

  #openBatch(day: number): BatchRow | null {
    return this.#batches().find((batch) => batch.day === day) ?? null;
  }

  #newBatch(first: Fragment, nowMs: number): BatchRow {
    const id = this.#row().next_batch;
    this.#sql.exec("UPDATE log SET next_batch = ? WHERE id = 1", id + 1);
    return {
      id,
      day: first.day,
      records: 0,
      raw_bytes: 0,
      small_bytes: 0,
      next_chunk: 0,
      first_event_ms: first.firstEventMs,
      last_event_ms: first.lastEventMs,
      oldest_taken_ms: first.oldestTakenMs,
      opened_ms: nowMs,
    };
  }

  #saveBatch(batch: BatchRow): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO batch (id, day, records, raw_bytes, small_bytes, next_chunk, first_event_ms, last_event_ms, oldest_taken_ms, opened_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      batch.id,
      batch.day,
      batch.records,
      batch.raw_bytes,
      batch.small_bytes,
      batch.next_chunk,
      batch.first_event_ms,
      batch.last_event_ms,
      batch.oldest_taken_ms,
      batch.opened_ms,
    );
  }

  /** Writes fragments as rows: neighbours of one form share a row as long as it holds them. */
  #addRun(batch: BatchRow, run: readonly Fragment[]): void {
    let row: Fragment[] = [];
    let bytes = 0;
    const write = (): void => {
      if (row.length === 0) return;
      const crc = row.reduce((sum, { crc, rawBytes }) => crc32Combine(sum, crc, rawBytes), 0);
      const rawBytes = row.reduce((sum, fragment) => sum + fragment.rawBytes, 0);
      this.#addChunk(batch, row[0]?.deflated ?? false, rawBytes, crc, concat(row.map(({ body }) => body)));
    };
    for (const fragment of run) {
      const fits = bytes + fragment.body.length <= (fragment.deflated ? ROW_MAX_BYTES : COMPACT_AT_RAW_BYTES);
      if (row.length > 0 && (!fits || row[0]?.deflated !== fragment.deflated)) {
        write();
        row = [];
        bytes = 0;
      }
      row.push(fragment);
      bytes += fragment.body.length;
    }
    write();
  }

  #addChunk(batch: BatchRow, deflated: boolean, rawBytes: number, crc: number, body: Uint8Array<ArrayBuffer>): void {
    if (batch.next_chunk >= CHUNKS_PER_BATCH) throw new Error("a batch has too many chunks");
    const id = batch.id * CHUNKS_PER_BATCH + batch.next_chunk;
    batch.next_chunk += 1;
    this.#sql.exec(
      "INSERT INTO chunk (id, deflated, raw_bytes, crc, body) VALUES (?, ?, ?, ?, ?)",
      id,
      deflated ? 1 : 0,
      rawBytes,
      crc,
      body.byteLength === body.buffer.byteLength ? body.buffer : body.slice().buffer,
    );
  }

  /** Deflates together what waited uncompressed. */
  #compact(batch: BatchRow): void {
    if (batch.small_bytes === 0) return;
    const small = this.#sql
      .exec<ChunkRow>(
        "SELECT * FROM chunk WHERE id >= ? AND id < ? AND deflated = 0 ORDER BY id",
        batch.id * CHUNKS_PER_BATCH,
        (batch.id + 1) * CHUNKS_PER_BATCH,
      )
      .toArray();
    const crc = small.reduce((sum, chunk) => crc32Combine(sum, chunk.crc, chunk.raw_bytes), 0);
    const raw = concat(small.map(({ body }) => new Uint8Array(body)));
    for (const { id } of small) this.#sql.exec("DELETE FROM chunk WHERE id = ?", id);
    this.#addChunk(batch, true, raw.length, crc, deflateFragment(raw).slice() as Uint8Array<ArrayBuffer>);
    batch.small_bytes = 0;
  }

  /** Turns a batch into an object: number, name, and final bytes, which no later step computes again. */
  #cut(batch: BatchRow, reason: CutReason, nowMs: number): void {
    this.#compact(batch);
    const { number, name } = this.#nextName(batch.first_event_ms, batch.last_event_ms);
    const sha256 = createHash("sha256").update(GZIP_HEADER);
    const md5 = createHash("md5").update(GZIP_HEADER);
    let bytes = GZIP_HEADER.length;
    let crc = 0;
    let rawBytes = 0;
    const chunks = this.#sql.exec<ChunkRow>(
      "SELECT * FROM chunk WHERE id >= ? AND id < ? ORDER BY id",
      batch.id * CHUNKS_PER_BATCH,
      (batch.id + 1) * CHUNKS_PER_BATCH,
    );
    for (const chunk of chunks) {
      const body = new Uint8Array(chunk.body);
      sha256.update(body);
      md5.update(body);
      bytes += body.length;
      crc = crc32Combine(crc, chunk.crc, chunk.raw_bytes);
      rawBytes += chunk.raw_bytes;
      // Rows are collected late; the buffer of one is of no more use once it is hashed.
      chunk.body.transfer(0);
    }
    const tail = gzipTrailer(crc, rawBytes);
    sha256.update(tail);
    md5.update(tail);
    bytes += tail.length;
    this.#sql.exec(
      `INSERT INTO object (number, batch, day, name, key, head, tail, bytes, raw_bytes, records, sha256, md5,
         first_event_ms, last_event_ms, oldest_taken_ms, reason, cut_ms, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting')`,
      number,
      batch.id,
      batch.day,
      name,
      keyBelow(this.#job().path, dayStamp(batch.day), name),
      GZIP_HEADER.slice().buffer,
      tail.slice().buffer,
      bytes,
      rawBytes,
      batch.records,
      sha256.digest("hex"),
      md5.digest("hex"),
      batch.first_event_ms,
      batch.last_event_ms,
      batch.oldest_taken_ms,
      reason,
      nowMs,
    );
    this.#sql.exec("DELETE FROM batch WHERE id = ?", batch.id);
  }

  #nextName(firstEventMs: number, lastEventMs: number): { number: number; name: string } {
    const { segment, next_object } = this.#row();
    this.#sql.exec("UPDATE log SET next_object = ? WHERE id = 1", next_object + 1);
    const name = objectName(firstEventMs, lastEventMs, objectTag(this.#identity, next_object));
    return { number: segment * NUMBERS_PER_SEGMENT + next_object, name };
  }

  #dropChunks(batch: number): void {
    this.#sql.exec(
      "DELETE FROM chunk WHERE id >= ? AND id < ?",
      batch * CHUNKS_PER_BATCH,
      (batch + 1) * CHUNKS_PER_BATCH,
    );
  }
}

/** When a batch is to be cut: counted from the intake of its oldest record. */
function dueMs(batch: BatchRow, intervalMs: number): number {
  return Math.max(batch.oldest_taken_ms + intervalMs, batch.opened_ms + LATE_GRACE_MS);
}
