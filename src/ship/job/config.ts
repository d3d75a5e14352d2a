import type { OutputFormat } from "../../formats/output/format.ts";
import type { SwitchSettings, UploadLimits } from "./fields.ts";
import type { AlertedSearch } from "./searches.ts";

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
 * What shards of the log and a job's readers need to know. A reader keeps a copy, so that it
 * uploads without asking.
 */
export interface JobConfig extends SwitchSettings {
  id: number;
  /** Grows with every change of the job, and of any function's logging. */
  version: number;
  /** Of the control plane's instance that gave this version; see {@link JobsSnapshot}. */
  mark: string;
  /** Version of the last change by its owner. */
  modifiedVersion: number;
  /**
   * Version of the last change of the output format: records of two formats never share an object.
   */
  outputVersion: number;
  /** Version of the last change of the destination. */
  destinationVersion: number;
  windows: Window[];
  /** The filter's JSON, as its owner wrote it, validated; null: none. */
  filter: string | null;
  /** Share of the filtered records to keep: above 0, at most 1. */
  sampleRate: number;
  output: OutputFormat;
  limits: UploadLimits;
  /** `destination_conf`, sealed. */
  destination: string;
  /** Path below the bucket, with its placeholders: naming keys needs no decryption. */
  path: string;
  deletedMs: number | null;
  /** Drop what is waiting. */
  discard: boolean;
  /** It starts in the past, then, in ms since the epoch; absent: when it was created. */
  since?: number;
  /**
   * It ships again what this job's rules make of the past. It was deleted when it was created: its
   * readers deliver what they get, and it is in no list of jobs. Absent: it is no rerun.
   */
  rerunOf?: number;
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
   * `<epoch>.<version>.<mark>`. The mark is random, and of the instance of the control plane that
   * made the last change. A control plane that was restored to an earlier time is another instance:
   * it repeats versions for other changes, under another mark.
   */
  state: string;
  /** Includes deleted jobs while their readers may have something. */
  jobs: JobConfig[];
  /** Those that the reader cannot read; absent: none. Never sent: each reader finds its own. */
  unreadable?: UnreadableJob[];
  /** Functions whose logging is off, or was recently. */
  optOuts: OptOut[];
  /** The shards of the log that have come into being, in order. */
  shards: number[];
  /** Saved searches with an alert; absent: they are as before, and an earlier release has none. */
  searches?: readonly AlertedSearch[];
}

/** What a rerun is called, in the keys of its objects and by its users. @param id of its job. */
export function rerunName(id: number): string {
  return `r${id}`;
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

/** Of one change: another job, or another version of it, has another. */
export function stampOf({ version, mark }: Pick<JobConfig, "version" | "mark">): string {
  return `${version}.${mark}`;
}

/** Whether versions of these states can be compared: they are of one history. */
export function isOfSameMark(a: string, b: string): boolean {
  const [epochA, , markA] = a.split(".");
  const [epochB, , markB] = b.split(".");
  return epochA === epochB && markA === markB;
}

/** 0: it is "", or none. */
export function versionIn(state: string): number {
  return Number(state.split(".")[1] ?? 0);
}

/**
 * Whether a control plane at state `own` must have been restored to an earlier time, as another
 * part has been told `told`. "" tells nothing.
 */
export function isLost(told: string, own: string): boolean {
  if (told === "" || told === own || told.split(".")[0] !== own.split(".")[0]) return false;
  return versionIn(told) >= versionIn(own);
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

/** Functions whose logging is off according to these opt-outs. */
export function offNow(optOuts: readonly OptOut[]): ReadonlySet<string> {
  const off = optOuts.filter(({ windows }) => windows.some(({ untilMs }) => untilMs === null));
  return new Set(off.map(({ scriptName }) => scriptName));
}
