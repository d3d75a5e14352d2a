import { createHash } from "node:crypto";
import { HOUR_MS, hourOf, MINUTE_MS } from "../../base/time.ts";
import { encoderKindOf, encoderOf } from "../../formats/object/encoders.ts";
import { keyBelow, objectTag, PROBE_DAY } from "../../formats/object/keys.ts";
import type { OutputFormat } from "../../formats/output/format.ts";
import { recordLine } from "../../formats/record/encode.ts";
import type { TraceRecord } from "../../formats/record/fields.ts";
import { RecordLine } from "../../formats/record/line.ts";

/** Readers that find a canary can leave it out by this name. */
export const CANARY_SCRIPT_NAME = "logship-canary";

const MINUTES = 60;

/** As in keys.ts: 2^32 divided by the golden ratio. It spreads consecutive numbers. */
const SPREAD = 0x9e3779b1;

/** A canary as it is sent. */
export interface CanaryObject {
  body: Uint8Array<ArrayBuffer>;
  /** Hex. */
  sha256: string;
  contentType: string;
}

/**
 * The minute of every hour, from 0, in which a job's canary is sent. Consecutive jobs have
 * different ones.
 */
export function canaryMinute(jobId: number): number {
  return Math.floor(((Math.imul(jobId, SPREAD) >>> 0) / 2 ** 32) * MINUTES);
}

/**
 * When the next one is sent, in ms since the epoch: the first of a job's minutes that begins after
 * a time.
 */
export function canaryAfter(jobId: number, timeMs: number): number {
  const hour = hourOf(timeMs);
  const thisHourMs = hour * HOUR_MS + canaryMinute(jobId) * MINUTE_MS;
  return thisHourMs > timeMs ? thisHourMs : thisHourMs + HOUR_MS;
}

/**
 * The key of a job's canary, which is overwritten every hour. It is no folder of a day, one folder
 * deeper, and without the suffix of objects: neither readers by day nor readers of `*.log.gz` find
 * it.
 * @param path of the destination, as for {@link keyBelow}. @param identity of the job: two
 *   services may share a folder and number their jobs alike.
 */
export function canaryKey(path: string, jobId: number, identity: string, output: OutputFormat): string {
  const suffix = encoderKindOf(output).canarySuffix;
  return keyBelow(path, PROBE_DAY, `canary/job-${jobId}-${objectTag(identity, 0)}${suffix}`);
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
 * The object of one canary, encoded as every record of the job, past its filter and sample. A
 * format may write nothing that changes from hour to hour, and an old object would pass for a new
 * one: the hour of the day (UTC) makes its bytes different.
 * @throws Error if the format cannot be written, or what was written does not read as it should.
 */
export function canaryObject(output: OutputFormat, jobId: number, identity: string, nowMs: number): CanaryObject {
  const record = RecordLine.read(recordLine(canaryRecord(jobId, identity, nowMs)));
  if (record === null) throw new Error("the canary is no record");
  const encoder = encoderOf(output);
  const body = encoder.single(record, hourOf(nowMs) % 24);
  return { body, sha256: createHash("sha256").update(body).digest("hex"), contentType: encoder.contentType };
}
