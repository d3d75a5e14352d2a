import type { FieldName } from "../record/fields.ts";

/** A span of time in which a job was enabled, in ms since the epoch, widened by {@link CLOCK_SKEW_MS} at both ends. */
export interface Window {
  fromMs: number;
  /** null: still enabled. */
  untilMs: number | null;
}

/** What a job's consumer and its log need to know of it; the log keeps a copy, so that uploading needs nobody else. */
export interface JobConfig {
  id: number;
  /** Grows with every change of any job of the account. */
  version: number;
  /** Version at which the output format last changed: records of two formats never share an object. */
  outputVersion: number;
  /** Version at which the destination last changed. */
  destinationVersion: number;
  windows: Window[];
  /** null: all fields. */
  fieldNames: FieldName[] | null;
  limits: UploadLimits;
  /** `destination_conf`, sealed. */
  destination: string;
  /** Path below the bucket, `{DATE}` included: keys are named without opening the seal. */
  path: string;
  deletedMs: number | null;
  /** The user asked to drop what is waiting. */
  discard: boolean;
}

/** Every job's configuration at one state of the control plane. */
export interface JobsSnapshot {
  /** `<epoch>.<version>`: versions of one epoch are in order, those of two epochs say nothing of each other. */
  state: string;
  /** Deleted jobs are among them while their logs may get late events. */
  jobs: JobConfig[];
}

/** Whether state `a` is known to be older than `b`. "" is older than any. */
export function isOlderState(a: string, b: string): boolean {
  if (a === "" || b === "") return b !== "";
  const [epochA, versionA] = a.split(".");
  const [epochB, versionB] = b.split(".");
  return epochA === epochB && Number(versionA) < Number(versionB);
}

export interface UploadLimits {
  /** Before compression. */
  bytes: number;
  records: number;
  /** From the intake of the oldest waiting record to the cut. */
  intervalMs: number;
}

/**
 * How far the clocks of two machines may be apart, in ms. An event is stamped by the machine that takes it in, a change by another. A window
 * begins this much before its job was enabled and ends this much after it was disabled, so that no event taken in while the job was enabled falls
 * outside; and a change that ends one is answered only after twice this time, so that none taken in after the answer falls inside.
 */
export const CLOCK_SKEW_MS = 250;

/** Whether the job was enabled when an event was taken in. */
export function wasEnabled(job: Pick<JobConfig, "windows">, takenInMs: number): boolean {
  return job.windows.some(({ fromMs, untilMs }) => takenInMs >= fromMs && (untilMs === null || takenInMs <= untilMs));
}
