/**
 * Full messages of the queue with records of 1 kB each, packed here so that packing is not
 * measured.
 */

import { recordLine } from "../../../src/formats/record/encode.ts";
import { toRecord } from "../../../src/formats/record/record.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import { packRecords } from "../../../src/ship/intake/packing.ts";
import { RecordMix, seeded, WORDS } from "../records.ts";

/** Content of the records: logs compress well, random text hardly. */
export type Texture = "logs" | "noise";

/** The simulated time, far in the real future, so that no alarm fires by itself. */
const NOON = Date.parse("2100-11-20T12:00:00Z");

/**
 * Of a record's line and its newline, in bytes: a million of them are a little less than the
 * largest object.
 */
const RECORD_BYTES = 999;

/** Records that are packed at a time: some four full messages. */
const RECORDS_AT_ONCE = 2_000;

/** One body after the other, each behind its length, as the Worker reads them. */
export interface Packed {
  frames: Buffer<ArrayBuffer>;
  /** Of each message, and what they take before compression. */
  records: number;
  rawBytes: number;
}

const made = new Map<Texture, string[]>();

/** @param messages how many: of the same records again and again, under new ids. */
export function packMessages(texture: Texture, messages: number, passedMs: number): Packed {
  const lines = made.get(texture) ?? Array.from({ length: RECORDS_AT_ONCE }, lineMaker(texture));
  made.set(texture, lines);
  const bodies: Uint8Array[] = [];
  let records = 0;
  while (bodies.length < messages) {
    const result = packRecords(lines, { takenInMs: NOON + passedMs, idOf: randomIds(1), keyed: false, shards: 1 });
    if (!result.ok) throw new Error("a record is too large");
    // The last one is not full.
    for (const message of result.messages.slice(0, -1)) {
      bodies.push(message.body);
      records = message.records;
    }
  }
  const frames = bodies.slice(0, messages).flatMap((body) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(body.length);
    return [length, body];
  });
  return { frames: Buffer.concat(frames), records, rawBytes: records * RECORD_BYTES };
}

/** Makes record lines, each of the same length. */
function lineMaker(texture: Texture): () => string {
  const mix = new RecordMix(11);
  const random = seeded(12);
  const context = { takenInMs: NOON, defaultScriptName: "unnamed", lenient: true };
  const lineWith = (item: object, text: string): string => {
    const whole = { ...item, logs: [{ message: [text], level: "log", timestamp: NOON }] };
    const record = toRecord(whole, context, "", { faults: [], unknownKeys: new Set() });
    if (record === null) throw new Error("a trace item is none");
    return recordLine(record);
  };
  const word = texture === "noise" ? () => noise(random) : () => `${WORDS[Math.floor(random() * WORDS.length)]} `;
  return () => {
    // No exceptions: a stack alone may be larger. Little besides the noise: the rest compresses.
    const quiet = texture === "noise" ? { event: { cron: "0 * * * *", scheduledTime: NOON } } : {};
    const item = { ...mix.next(NOON), exceptions: [], ...quiet };
    const room = RECORD_BYTES - 1 - lineWith(item, "").length;
    let text = "";
    while (text.length < room) text += word();
    return lineWith(item, text.slice(0, room));
  };
}

/** Random bytes in base64: they compress to three quarters at best. */
function noise(random: () => number): string {
  return Buffer.from(Uint32Array.from({ length: 30 }, () => random() * 2 ** 32).buffer).toString("base64");
}
