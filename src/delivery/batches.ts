import { createHash } from "node:crypto";
import { concat } from "../bytes.ts";
import { COMPACT_AT_RAW_BYTES, ROW_MAX_BYTES } from "../limits.ts";
import { crc32Combine } from "../pipeline/crc32-combine.ts";
import { deflateFragment, type Fragment } from "../pipeline/fragment.ts";
import { GZIP_HEADER, gzipTrailer } from "../pipeline/gzip.ts";
import { dayStamp, keyBelow } from "./keys.ts";
import type { LogState } from "./log-state.ts";
import { type BatchRow, type ChunkRow, chunkId, chunkRange } from "./rows.ts";
import type { CutReason } from "./types.ts";

/** After an append whose records are late already (a backlog), their batch stays open this long, so that a backlog makes few objects. */
const LATE_GRACE_MS = 5_000;

/** When a batch is to be cut, as SQL over its row: counted from the intake of its oldest record. Takes the job's interval and the grace. */
const DUE_MS = "max(oldest_taken_ms + ?, opened_ms + ?)";

/**
 * The records that wait, one batch for each UTC day, and how a batch becomes an object. Every method is synchronous and belongs into a transaction of
 * its caller, so that records, counts and cuts stand or fall together.
 */
export class Batches {
  readonly #sql: SqlStorage;
  readonly #state: LogState;

  constructor(sql: SqlStorage, state: LogState) {
    this.#sql = sql;
    this.#state = state;
  }

  /** Adds fragments to the batches of their days, cutting a batch before it would pass its job's limits, and as soon as it reaches them. */
  put(fragments: readonly Fragment[], nowMs: number): void {
    const { limits } = this.#state.requireJob();
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
    const { limits } = this.#state.requireJob();
    const due = this.#sql.exec<BatchRow>(
      `SELECT * FROM batch WHERE ${DUE_MS} <= ? ORDER BY id`,
      limits.intervalMs,
      LATE_GRACE_MS,
      nowMs,
    );
    for (const batch of due.toArray()) this.#cut(batch, "interval", nowMs);
  }

  cutAll(reason: CutReason, nowMs: number): void {
    for (const batch of this.#batches()) this.#cut(batch, reason, nowMs);
  }

  /** When the next batch is to be cut, in ms since the epoch; Infinity: none is open. */
  nextCutMs(): number {
    const { limits } = this.#state.requireJob();
    const { due } = this.#sql
      .exec<{ due: number | null }>(`SELECT min(${DUE_MS}) AS due FROM batch`, limits.intervalMs, LATE_GRACE_MS)
      .one();
    return due ?? Number.POSITIVE_INFINITY;
  }

  /** Drops all of them. @returns the number of records dropped. */
  drop(): number {
    const batches = this.#batches();
    for (const { id } of batches) this.#sql.exec("DELETE FROM chunk WHERE id >= ? AND id < ?", ...chunkRange(id));
    this.#sql.exec("DELETE FROM batch");
    return batches.reduce((sum, { records }) => sum + records, 0);
  }

  #batches(): BatchRow[] {
    return this.#sql.exec<BatchRow>("SELECT * FROM batch ORDER BY id").toArray();
  }

  #openBatch(day: number): BatchRow | null {
    return this.#sql.exec<BatchRow>("SELECT * FROM batch WHERE day = ? LIMIT 1", day).toArray()[0] ?? null;
  }

  #newBatch(first: Fragment, nowMs: number): BatchRow {
    return {
      id: this.#state.nextBatch(),
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

  /** One billed row where the batch is there already: what an index holds (the day) stays untouched. */
  #saveBatch(batch: BatchRow): void {
    this.#sql.exec(
      `INSERT INTO batch (id, day, records, raw_bytes, small_bytes, next_chunk, first_event_ms, last_event_ms, oldest_taken_ms, opened_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET records = excluded.records, raw_bytes = excluded.raw_bytes, small_bytes = excluded.small_bytes,
         next_chunk = excluded.next_chunk, first_event_ms = excluded.first_event_ms, last_event_ms = excluded.last_event_ms,
         oldest_taken_ms = excluded.oldest_taken_ms`,
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
    const id = chunkId(batch.id, batch.next_chunk);
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
        ...chunkRange(batch.id),
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
    const { number, name } = this.#state.nextName(batch.first_event_ms, batch.last_event_ms);
    const sha256 = createHash("sha256").update(GZIP_HEADER);
    const md5 = createHash("md5").update(GZIP_HEADER);
    let bytes = GZIP_HEADER.length;
    let crc = 0;
    let rawBytes = 0;
    const chunks = this.#sql.exec<ChunkRow>(
      "SELECT * FROM chunk WHERE id >= ? AND id < ? ORDER BY id",
      ...chunkRange(batch.id),
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
      keyBelow(this.#state.requireJob().path, dayStamp(batch.day), name),
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
}
