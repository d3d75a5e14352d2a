/** What every shipper gets, and what has to come out of it: pure. */
import { gunzipSync } from "node:zlib";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { toRecord } from "../../../src/formats/record/record.ts";
import { EVERYTHING, FILTERED, type JobShape } from "../job-shapes.ts";
import { RecordMix } from "../records.ts";

/** Records of a request. */
export const REQUEST_RECORDS = 1_000;

/** 2026-11-20T00:00:00Z. Ten thousand rounds of a thousand records stay within the day. */
const MIDNIGHT = 1_795_132_800_000;

/** The filter of FILTERED, in the terms that each shipper's language needs. */
export const DROPPED_SCRIPTS = ["images", "feeds"] as const;
export const ERROR_STATUS = 400;

/**
 * What a shipper is to do: `everything` ships each record as it came, `filtered` is the filter and
 * the projection of FILTERED in tools/bench/job-shapes.ts.
 */
export const PEER_WORKS = { everything: EVERYTHING, filtered: FILTERED } as const satisfies Record<string, JobShape>;
export type PeerWork = keyof typeof PEER_WORKS;

/** A record of the trace dataset; its `EventTimestampMs` is its id here. */
export type PeerRecord = TraceRecord;

export interface PeerInput {
  /** Bodies of the requests, as NDJSON. */
  bodies: Buffer<ArrayBuffer>[];
  bytes: number;
  /** What must be in the objects, by id, in canonical form. */
  expected: Map<number, string>;
}

/**
 * The records of a round: the mix of tools/bench/records.ts, a millisecond apart, so that each has
 * an id of its own.
 * @param round from 0; no two rounds share an id.
 */
export function inputOf(work: PeerWork, records: number, round: number): PeerInput {
  const lines: string[] = [];
  const expected = new Map<number, string>();
  const mix = new RecordMix(round + 1);
  for (let i = 0; i < records; i++) {
    const record = recordAt(mix, MIDNIGHT + round * records + i);
    lines.push(`${recordLine(record)}\n`);
    const shipped = shippedOf(work, record);
    if (shipped !== null) expected.set(record.EventTimestampMs, canonical(shipped));
  }
  const bodies: Buffer<ArrayBuffer>[] = [];
  for (let at = 0; at < records; at += REQUEST_RECORDS)
    bodies.push(Buffer.from(lines.slice(at, at + REQUEST_RECORDS).join("")));
  return { bodies, bytes: bodies.reduce((sum, { length }) => sum + length, 0), expected };
}

function recordAt(mix: RecordMix, atMs: number): PeerRecord {
  const findings = { faults: [], unknownKeys: new Set<string>() };
  const context = { takenInMs: atMs, defaultScriptName: "unnamed", lenient: false };
  const record = toRecord(mix.next(atMs), context, "", findings);
  if (record === null) throw new Error(`the mix has an invalid record: ${JSON.stringify(findings.faults)}`);
  return record;
}

/** What is shipped of a record; null if the filter drops it. */
export function shippedOf(work: PeerWork, record: PeerRecord): Partial<PeerRecord> | null {
  if (work === "everything") return record;
  if (!isKept(record)) return null;
  const { fieldNames } = PEER_WORKS.filtered;
  return Object.fromEntries(Object.entries(record).filter(([name]) => fieldNames?.includes(name)));
}

/** The filter of FILTERED, written by hand: neither the shipper's nor any other's. */
function isKept({ Outcome, ScriptName, Event }: PeerRecord): boolean {
  const { Response: response } = Event as { Response?: { Status?: number } };
  const isDropped = DROPPED_SCRIPTS.some((name) => name === ScriptName);
  return Outcome !== "ok" || !isDropped || (response?.Status ?? 0) >= ERROR_STATUS;
}

/** JSON with sorted keys: shippers may change the order of keys, and nothing else. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === "object" && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );
}

export interface Checked {
  missing: number;
  /** Copies beyond the first. */
  doubled: number;
  /** Of no record that had to be shipped. */
  unexpected: number;
  /** The id is right, and anything else is not. */
  different: number;
}

/** The last one may have no end. */
export function linesOf(content: Buffer): string[] {
  return content
    .toString()
    .split("\n")
    .filter((line) => line !== "");
}

/**
 * Compares each record of gzipped NDJSON: its id (`EventTimestampMs`), how often it is there, and
 * all its values. Only the order of keys is ignored. @throws if a line is no JSON.
 */
export function check(objects: readonly Uint8Array[], expected: ReadonlyMap<number, string>): Checked {
  const checked: Checked = { missing: 0, doubled: 0, unexpected: 0, different: 0 };
  const seen = new Set<number>();
  for (const line of objects.flatMap((object) => linesOf(Buffer.from(gunzipSync(object))))) {
    const record = JSON.parse(line) as { EventTimestampMs: number };
    const id = record.EventTimestampMs;
    const wanted = expected.get(id);
    if (wanted === undefined) checked.unexpected += 1;
    else if (seen.has(id)) checked.doubled += 1;
    else if (canonical(record) !== wanted) checked.different += 1;
    seen.add(id);
  }
  for (const id of expected.keys()) checked.missing += seen.has(id) ? 0 : 1;
  return checked;
}

/** In words, for the table. */
export function verdict(checked: Checked): string {
  const faults = Object.entries(checked).filter(([, count]) => count > 0);
  return faults.length === 0 ? "each once, alike" : faults.map(([what, count]) => `${count} ${what}`).join(", ");
}
