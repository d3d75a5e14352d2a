import type { Rec } from "./parts.ts";

/** A time within which a job was enabled, or a function's logging off; `until` null: it goes on. */
export interface Window {
  from: number;
  until: number | null;
}

export interface Job {
  id: number;
  /** Of the last change of it, or of any function's logging. */
  version: number;
  windows: Window[];
  /** The filter: a record passes unless this divides its value; 1: everything passes. */
  mod: number;
  /** Even ones need release 2. */
  format: number;
  store: string;
  deleted: boolean;
  discard: boolean;
  /** Where its windows begin, if that is before it was made. */
  since: number | null;
  /** The job of which it is a rerun: it is born deleted. */
  rerun: number | null;
}

/** What the control plane hands to a shard, and a handler keeps. */
export interface Config {
  mark: number;
  version: number;
  jobs: Job[];
  off: [fn: number, windows: Window[]][];
}

/** A change that was asked of the control plane, for the oracle. */
export interface Change {
  kind: "create" | "rerun" | "enable" | "disable" | "delete" | "filter" | "format" | "off" | "on" | "store";
  job?: number;
  fn?: number;
  mod?: number;
  format?: number;
  since?: number;
  /** By the plane's clock, as it stands in the windows. */
  edgeMs: number;
  askedMs: number;
  answeredMs: number;
  mark: number;
  version: number;
}

/** Version and mark: what handler, shard and reader compare. */
export const stampOf = (config: Config, job: Job): string => `${config.mark}.${job.version}`;

export const passes = (mod: number, rec: Rec): boolean => mod === 1 || rec.value % mod !== 0;

export const wasIn = (windows: readonly Window[], t: number): boolean =>
  windows.some(({ from, until }) => t >= from && (until === null || t <= until));

export const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
