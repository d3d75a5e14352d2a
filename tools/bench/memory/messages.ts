/**
 * Full messages of the queue with records of 1 kB each, packed here so that packing is not
 * measured.
 */

import { recordLine } from "../../../src/formats/record/encode.ts";
import { toRecord } from "../../../src/formats/record/record.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import { packRecords } from "../../../src/ship/intake/packing.ts";
import { RecordMix, seeded } from "../records.ts";

/** Content of the records: logs compress well, random text hardly. */
export type Texture = "logs" | "noise";

/** The simulated time, far in the real future, so that no alarm fires by itself. */
export const NOON = Date.parse("2100-11-20T12:00:00Z");

/**
 * Of a record's line and its newline, in bytes: a million of them are a little less than the
 * largest object.
 */
const RECORD_BYTES = 999;

/** Records that are packed at a time: some four full messages. */
const RECORDS_AT_ONCE = 2_000;

const WORDS =
  "order customer cart cached stale fetched payment region replica retry shard updated missing price item".split(" ");

export interface Packed {
  bodies: Uint8Array<ArrayBuffer>[];
  records: number;
  /** Before compression. */
  rawBytes: number;
}

/** @param messages how many. */
export function packMessages(texture: Texture, messages: number): Packed {
  const line = lines(texture);
  const bodies: Uint8Array<ArrayBuffer>[] = [];
  let records = 0;
  while (bodies.length < messages) {
    const some = Array.from({ length: RECORDS_AT_ONCE }, line);
    const result = packRecords(some, { takenInMs: NOON, idOf: randomIds(1), keyed: false, shards: 1 });
    if (!result.ok) throw new Error("a record is too large");
    // The last one is not full.
    for (const message of result.messages.slice(0, -1)) {
      if (bodies.length === messages) break;
      bodies.push(message.body);
      records += message.records;
    }
  }
  return { bodies, records, rawBytes: records * RECORD_BYTES };
}

/** Makes record lines, each of the same length. */
function lines(texture: Texture): () => string {
  const mix = new RecordMix(11);
  const random = seeded(12);
  const context = { takenInMs: NOON, defaultScriptName: "unnamed", lenient: true };
  const lineWith = (item: object, text: string): string => {
    const whole = { ...item, logs: [{ message: [text], level: "log", timestamp: NOON }] };
    const record = toRecord(whole, context, "", { faults: [], unknownKeys: new Set() });
    if (record === null) throw new Error("a trace item is none");
    return recordLine(record);
  };
  const text = texture === "noise" ? () => noise(random) : wordsOf(random);
  return () => {
    // No exceptions: a stack alone may be larger. Little besides the noise: the rest compresses.
    const quiet = texture === "noise" ? { event: { cron: "0 * * * *", scheduledTime: NOON } } : {};
    const item = { ...mix.next(NOON), exceptions: [], ...quiet };
    const room = RECORD_BYTES - 1 - lineWith(item, "").length;
    return lineWith(item, text().slice(0, room));
  };
}

/** Random bytes in base64, as long as a record: they compress to three quarters at best. */
function noise(random: () => number): string {
  const words = Uint32Array.from({ length: RECORD_BYTES / 5 }, () => random() * 2 ** 32);
  return Buffer.from(words.buffer).toString("base64");
}

/** Words, as long as a record, from anywhere in a long text of them. */
function wordsOf(random: () => number): () => string {
  const some = Array.from({ length: 20_000 }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ");
  return () => {
    const from = Math.floor(random() * (some.length - RECORD_BYTES));
    return some.slice(from, from + RECORD_BYTES);
  };
}

/** One body after the other, each behind its length, as the Worker reads them. */
export function framed(bodies: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const frames = new Uint8Array(bodies.reduce((sum, { length }) => sum + 4 + length, 0));
  const view = new DataView(frames.buffer);
  let at = 0;
  for (const body of bodies) {
    view.setUint32(at, body.length);
    frames.set(body, at + 4);
    at += 4 + body.length;
  }
  return frames;
}
