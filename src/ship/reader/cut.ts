import { createHash } from "node:crypto";
import { type Sql, verbatim } from "../../base/storage/sql.ts";
import { dayOf } from "../../base/time.ts";
import type { Encoder } from "../../formats/object/encoder.ts";
import { encoderOf } from "../../formats/object/encoders.ts";
import type { Chunks } from "./chunks.ts";
import type { BatchRow, CutReason } from "./reader-rows.ts";
import type { ReaderState } from "./reader-state.ts";

/** What a cut reads and changes. */
export interface CutInto {
  sql: Sql;
  state: ReaderState;
  chunks: Chunks;
}

/**
 * Turns a batch into an object. The chunks of the batch are the body of the object; nothing is
 * copied or compressed twice. Belongs into a transaction of its caller.
 * @throws before it changes anything, if a newer version wrote the job.
 */
export function cut(batch: BatchRow, reason: CutReason, nowMs: number, into: CutInto): void {
  into.state.readableJob();
  fixObject(batch, encoderOf(into.state.output()), reason, nowMs, into);
  into.sql.run`DELETE FROM batch WHERE day = ${batch.day} AND part = ${batch.part}`;
}

/**
 * Gives the chunks of a batch a number, name, key and final bytes as an object, which no later step
 * computes again. It waits.
 * @returns its number.
 */
export function fixObject(
  batch: BatchRow,
  encoder: Encoder,
  reason: CutReason,
  nowMs: number,
  { sql, state, chunks }: CutInto,
): number {
  chunks.compact(batch, encoder);
  const { number, name } = state.nextName(batch.first_event_ms, batch.last_event_ms, encoder.kind.suffix);
  const sha256 = createHash("sha256");
  const md5 = createHash("md5");
  let bytes = 0;
  const take = (part: Uint8Array): void => {
    sha256.update(part);
    md5.update(part);
    bytes += part.length;
  };
  const assembly = encoder.assemble();
  const { head } = assembly;
  take(head.bytes);
  for (const chunk of chunks.of(batch.id)) {
    const body = new Uint8Array(chunk.body);
    take(body);
    assembly.add(body, { rawBytes: chunk.raw_bytes, crc: chunk.crc });
    // Rows are collected late; the buffer of one is of no more use once it is hashed.
    chunk.body.transfer(0);
  }
  const tail = assembly.end();
  take(tail.bytes);
  const end = chunks.addTail(batch, tail.bytes);
  const { id, day, part, records, first_event_ms, last_event_ms, oldest_taken_ms } = batch;
  sql.insert("object", {
    ...{ number, batch: id, day, part, name, key: state.keyOf(batch, name), content_type: encoder.contentType },
    ...{ head: head.bytes.buffer, tail: end.buffer, bytes, raw_bytes: tail.content.rawBytes, records },
    ...{ sha256: sha256.digest("hex"), md5: md5.digest("hex"), first_event_ms, last_event_ms, oldest_taken_ms },
    ...{ reason, cut_ms: nowMs, far: isFar(batch) ? 1 : 0, state: "waiting" },
  });
  return number;
}

/**
 * Whether a batch is of neither the day of its intake, nor of one beside it: a backfill, which does
 * not go before what happens now. A backlog is of the day of its intake, however late it comes.
 */
function isFar({ day, oldest_taken_ms }: BatchRow): boolean {
  return Math.abs(day - dayOf(oldest_taken_ms)) > 1;
}

/** The same of an object's row. */
export const FAR_SQL = verbatim("(abs(day - oldest_taken_ms / 86400000) > 1)");
