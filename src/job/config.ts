import { ID_MEMORY_MS } from "../limits.ts";
import { NDJSON, type OutputFormat } from "../output/format.ts";

/** A span of time in which a job was enabled, in ms since the epoch, widened by {@link CLOCK_SKEW_MS} at both ends. */
export interface Window {
  fromMs: number;
  /** null: still enabled. */
  untilMs: number | null;
}

/** What a job's consumer and its log need to know of it; the log keeps a copy, so that uploading needs nobody else. */
export interface JobConfig {
  id: number;
  /** Grows with every change of any job of the account, and of any function's logging. */
  version: number;
  /** Version at which its owner last changed it. */
  modifiedVersion: number;
  /** Version at which the output format last changed: records of two formats never share an object. */
  outputVersion: number;
  /** Version at which the destination last changed. */
  destinationVersion: number;
  /** Version at which logging of any function was last switched: what was built with older {@link OptOut}s is refused, too. */
  optOutVersion: number;
  windows: Window[];
  /** The filter's JSON, as its owner wrote it and as it was found to be valid; null: none. */
  filter: string | null;
  /** Share of the filtered records that is kept: above 0, at most 1. */
  sampleRate: number;
  output: OutputFormat;
  limits: UploadLimits;
  /** `destination_conf`, sealed. */
  destination: string;
  /** A synthetic event goes to the destination every hour and is read back. Absent in what was stored before there were any: off. */
  canary?: boolean;
  /** Path below the bucket, `{DATE}` included: keys are named without opening the seal. */
  path: string;
  deletedMs: number | null;
  /** The user asked to drop what is waiting. */
  discard: boolean;
}

/** Every job's configuration at one state of the control plane. */
export interface JobsSnapshot {
  /**
   * `<epoch>.<version>.<mark>`: versions of one epoch are in order, those of two epochs say nothing of each other. The mark is chance: a control
   * plane that was restored to an earlier time gives the same versions again, for other changes.
   */
  state: string;
  /** Deleted jobs are among them while their logs may get late events. */
  jobs: JobConfig[];
  /** Functions whose logging is or lately was off. */
  optOuts: OptOut[];
  /** As in {@link JobConfig}: the version at which `optOuts` last changed. */
  optOutVersion: number;
}

/** When logging of a function was switched off: what was taken in within these windows is dropped, and counted. */
export interface OptOut {
  scriptName: string;
  /** In order; those that no event in the queue can fall into any more are forgotten. */
  windows: Window[];
}

/**
 * Whether state `b` is known to have something that `a` has not: it is newer, or it has the same version for another change. "" is behind any.
 */
export function isBehind(a: string, b: string): boolean {
  if (a === b || b === "") return false;
  if (a === "") return true;
  const [epochA, versionA] = a.split(".");
  const [epochB, versionB] = b.split(".");
  return epochA === epochB && Number(versionA) <= Number(versionB);
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

/** Whether the job was enabled, or logging was off, when an event was taken in. */
export function wasIn({ windows }: { readonly windows: readonly Window[] }, takenInMs: number): boolean {
  return windows.some(({ fromMs, untilMs }) => takenInMs >= fromMs && (untilMs === null || takenInMs <= untilMs));
}

/**
 * Compiles opt-outs, so that a record costs one look-up.
 * @returns whether logging of a function was off when an event of its was taken in.
 */
export function optedOut(optOuts: readonly OptOut[]): (scriptName: string, takenInMs: number) => boolean {
  const byName = new Map(optOuts.map((optOut) => [optOut.scriptName, optOut]));
  return (scriptName, takenInMs) => {
    const optOut = byName.get(scriptName);
    return optOut !== undefined && wasIn(optOut, takenInMs);
  };
}

/**
 * How long after its deletion, in ms, a job still gets what is sent again: its log goes when its memory ends, and one that has gone does not know what it
 * held. An hour before that, as sending takes its time, and clocks differ.
 */
const DELETED_GETS_MS = ID_MEMORY_MS - 3_600_000;

/** Whether a job may get what was set aside and is sent again. */
export function getsAgain({ deletedMs }: Pick<JobConfig, "deletedMs">, nowMs: number): boolean {
  return deletedMs === null || nowMs - deletedMs < DELETED_GETS_MS;
}

/** Functions whose logging is off, for all that the one who knows these opt-outs knows. */
export function offNow(optOuts: readonly OptOut[]): ReadonlySet<string> {
  const off = optOuts.filter(({ windows }) => windows.some(({ untilMs }) => untilMs === null));
  return new Set(off.map(({ scriptName }) => scriptName));
}

/** SQL that brings a stored JobConfig up to what it is since filters, sampling and output formats. @param column what holds its JSON. */
export function withOutputSql(column: string): string {
  const ndjson = JSON.stringify(NDJSON).replaceAll("'", "''");
  return `json_remove(json_set(${column}, '$.filter', NULL, '$.sampleRate', 1, '$.optOutVersion', 0,
    '$.modifiedVersion', json_extract(${column}, '$.version'),
    '$.output', json_set('${ndjson}', '$.fieldNames', json(coalesce(json_extract(${column}, '$.fieldNames'), 'null')))), '$.fieldNames')`;
}
