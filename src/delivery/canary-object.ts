import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { concat, toHex } from "../bytes.ts";
import { keyBelow, objectTag, PROBE_DAY } from "../destinations/keys.ts";
import { buildAppend } from "../object/build.ts";
import { deflateFragment } from "../object/fragment.ts";
import { contentOf, joinContents, memberHead, memberTail } from "../object/gzip.ts";
import { batchTexts, contentType, type OutputFormat } from "../output/format.ts";
import { recordLine } from "../record/encode.ts";
import type { TraceRecord } from "../record/fields.ts";
import { RecordLine } from "../record/line.ts";
import { hourOf, hourStartMs } from "./health.ts";

/** By this, readers who meet one after all can leave it out. */
export const CANARY_SCRIPT_NAME = "logship-canary";

const MINUTE_MS = 60_000;
const MINUTES = 60;

/** As in keys.ts: 2^32 divided by the golden ratio. Numbers that follow each other come to lie far apart. */
const SPREAD = 0x9e3779b1;

/** A canary as it is sent. */
export interface CanaryObject {
  body: Uint8Array<ArrayBuffer>;
  /** Hex. */
  sha256: string;
  contentType: string;
}

/** The minute of every hour, from 0, in which a job's canary is sent: jobs that were created together do not send theirs together. */
export function canaryMinute(jobId: number): number {
  return Math.floor(((Math.imul(jobId, SPREAD) >>> 0) / 2 ** 32) * MINUTES);
}

/** When the next one is sent, in ms since the epoch: the first of a job's minutes that begins after a time. */
export function canaryAfter(jobId: number, timeMs: number): number {
  const hour = hourOf(timeMs);
  const thisHourMs = hourStartMs(hour) + canaryMinute(jobId) * MINUTE_MS;
  return thisHourMs > timeMs ? thisHourMs : thisHourMs + hourStartMs(1);
}

/**
 * Where a job's canary stands: one key, written over every hour. Beside the days that readers go through, one folder deeper, and without the ending that all
 * objects have, so that neither who reads by day nor who reads `*.log.gz` meets it.
 * @param path of the destination, as for {@link keyBelow}. @param identity of the job's log: two services may share a folder and number their jobs alike.
 */
export function canaryKey(path: string, jobId: number, identity: string): string {
  return keyBelow(path, PROBE_DAY, `canary/job-${jobId}-${objectTag(identity, 0)}.canary.gz`);
}

/** The synthetic event. */
export function canaryRecord(jobId: number, identity: string, nowMs: number): TraceRecord {
  const id = objectTag(identity, hourOf(nowMs));
  const text = `logship canary ${id} of job ${jobId}, ${new Date(nowMs).toISOString()}: a synthetic event, which no count includes`;
  return {
    CPUTimeMs: 0,
    DispatchNamespace: "",
    Entrypoint: "",
    Event: {},
    EventTimestampMs: nowMs,
    EventType: "unknown",
    Exceptions: [],
    Logs: [{ Level: "info", Message: [text], TimestampMs: nowMs }],
    Outcome: "ok",
    ScriptName: CANARY_SCRIPT_NAME,
    ScriptTags: [CANARY_SCRIPT_NAME],
    ScriptVersion: { ID: "", Message: "", Tag: "" },
    WallTimeMs: 0,
  };
}

/**
 * The object of one canary: rendered, compressed and put together by what does that for every record, past the job's filter and sample. A format may write
 * nothing that changes from hour to hour, and an old object would pass for a new one: as many empty blocks as it is o'clock (UTC), which no reader sees, make
 * its bytes others.
 * @throws Error if the format cannot be written, or what was written does not read as it should.
 */
export function canaryObject(output: OutputFormat, jobId: number, identity: string, nowMs: number): CanaryObject {
  const record = RecordLine.read(recordLine(canaryRecord(jobId, identity, nowMs)));
  if (record === null) throw new Error("the canary is no record");
  const message = { id: "0".repeat(32), takenInMs: nowMs, keyed: false, records: 1, elsewhere: null };
  const offered = { message, records: [{ index: 0, whole: record, shipped: record }], ascii: false };
  const rules = { id: jobId, version: 0, filter: null, sampleRate: 1, output };
  const [fragment] = buildAppend(rules, [offered], new Set(), 0).fragments;
  // One record with all that a format may add to it is far from the size from which fragments come deflated.
  if (fragment === undefined || fragment.deflated) throw new Error("the canary was not rendered");
  const { prefix, suffix } = batchTexts(output);
  const { bytes: tail } = memberTail(suffix, joinContents([contentOf(prefix), fragment]));
  const body = concat([memberHead(prefix), emptyBlocks(hourOf(nowMs) % 24), deflateFragment(fragment.body), tail]);
  if (toHex(gunzipSync(body)) !== toHex(concat([prefix, fragment.body, suffix])))
    throw new Error("the canary does not read as it was written");
  return { body, sha256: createHash("sha256").update(body).digest("hex"), contentType: contentType(output) };
}

/** Stored blocks of no bytes, none of which is the last. RFC 1951, section 3.2.4. */
function emptyBlocks(count: number): Uint8Array {
  return concat(Array.from({ length: count }, () => Uint8Array.of(0, 0, 0, 0xff, 0xff)));
}
