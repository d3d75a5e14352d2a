import { ID_MEMORY_MS } from "../limits.ts";
import type { OutputFormat } from "../output/format.ts";

/**
 * A span of time in which a job was enabled, in ms since the epoch, widened by
 * {@link CLOCK_SKEW_MS} at both ends.
 */
export interface Window {
  fromMs: number;
  /** null: still enabled. */
  untilMs: number | null;
}

/**
 * What a job's consumer and its log need to know. The log keeps a copy, so that it uploads without
 * asking.
 */
export interface JobConfig {
  id: number;
  /** Grows with every change of any job of the account, and of any function's logging. */
  version: number;
  /** Version of the last change by its owner. */
  modifiedVersion: number;
  /**
   * Version of the last change of the output format: records of two formats never share an object.
   */
  outputVersion: number;
  /** Version of the last change of the destination. */
  destinationVersion: number;
  /**
   * Version at which logging of any function was last switched: batches built with older
   * {@link OptOut}s are refused.
   */
  optOutVersion: number;
  windows: Window[];
  /** The filter's JSON, as its owner wrote it, validated; null: none. */
  filter: string | null;
  /** Share of the filtered records to keep: above 0, at most 1. */
  sampleRate: number;
  output: OutputFormat;
  limits: UploadLimits;
  /** `destination_conf`, sealed. */
  destination: string;
  /** An hourly synthetic event is written and read back. */
  canary: boolean;
  /**
   * false: objects have no sketches, by the owner's wish or as nothing can be read back. Absent:
   * they have, where the format is one that searches read.
   */
  sketches?: boolean;
  /** Path below the bucket, with its placeholders: naming keys needs no decryption. */
  path: string;
  deletedMs: number | null;
  /** Drop what is waiting. */
  discard: boolean;
  /**
   * The {@link JOB_FORMAT} that code must know to follow this job; absent: 1. A setting that older
   * code would ignore, to the harm of what it ships, states the format that it came with.
   */
  floor?: number;
}

/**
 * What this code knows of a {@link JobConfig}: raised with each setting that needs a floor.
 */
export const JOB_FORMAT = 1;

/**
 * A job that this code cannot read, as newer code stored it: what is known of it all the same. It
 * holds up what was taken in for it, and no other job.
 */
export type UnreadableJob = Pick<JobConfig, "id" | "windows" | "deletedMs" | "discard">;

/** All jobs at one state of the control plane. */
export interface JobsSnapshot {
  /**
   * `<epoch>.<version>.<mark>`. Versions of one epoch are ordered; versions of different epochs
   * cannot be compared. The mark is random: a control plane restored to an earlier time repeats
   * versions, for other changes.
   */
  state: string;
  /** Includes deleted jobs while their logs may get late events. */
  jobs: JobConfig[];
  /** Those that the reader cannot read; absent: none. Never sent: each reader finds its own. */
  unreadable?: UnreadableJob[];
  /** Functions whose logging is off, or was recently. */
  optOuts: OptOut[];
  /** As in {@link JobConfig}: the version at which `optOuts` last changed. */
  optOutVersion: number;
}

/** Readable or not. */
export function everyJob({ jobs, unreadable = [] }: Pick<JobsSnapshot, "jobs" | "unreadable">): UnreadableJob[] {
  return [...jobs, ...unreadable];
}

/**
 * When logging of a function was off: events taken in within these windows are dropped, and
 * counted.
 */
export interface OptOut {
  scriptName: string;
  /** In order. Windows too old for any event in the queue are deleted. */
  windows: Window[];
}

/**
 * Whether state `b` has something that `a` has not: a newer version, or another change of the same
 * version. "" is behind any.
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
 * How far the clocks of two machines may differ, in ms. One machine stamps an event, another a
 * change. A window begins this much before its job was enabled and ends this much after it was
 * disabled, so that no event taken in while the job was enabled falls outside. A change that ends a
 * window is answered only after twice this time, so that no event taken in after the answer falls
 * inside.
 */
export const CLOCK_SKEW_MS = 250;

/** Whether the job was enabled, or logging was off, when an event was taken in. */
export function wasIn({ windows }: { readonly windows: readonly Window[] }, takenInMs: number): boolean {
  return windows.some(({ fromMs, untilMs }) => takenInMs >= fromMs && (untilMs === null || takenInMs <= untilMs));
}

/**
 * Compiles opt-outs, so that a record costs one look-up.
 * @returns tells whether logging of a function was off when its event was taken in.
 */
export function optedOut(optOuts: readonly OptOut[]): (scriptName: string, takenInMs: number) => boolean {
  const byName = new Map(optOuts.map((optOut) => [optOut.scriptName, optOut]));
  return (scriptName, takenInMs) => {
    const optOut = byName.get(scriptName);
    return optOut !== undefined && wasIn(optOut, takenInMs);
  };
}

/**
 * How long after its deletion, in ms, a job still gets what is sent again. Its log is deleted when
 * its memory of ids ends, and cannot deduplicate after that. An hour less, for sending and clock
 * skew.
 */
const DELETED_GETS_MS = ID_MEMORY_MS - 3_600_000;

/** Whether a job may get what was set aside and is sent again. */
export function getsAgain({ deletedMs }: Pick<JobConfig, "deletedMs">, nowMs: number): boolean {
  return deletedMs === null || nowMs - deletedMs < DELETED_GETS_MS;
}

/** Functions whose logging is off according to these opt-outs. */
export function offNow(optOuts: readonly OptOut[]): ReadonlySet<string> {
  const off = optOuts.filter(({ windows }) => windows.some(({ untilMs }) => untilMs === null));
  return new Set(off.map(({ scriptName }) => scriptName));
}
