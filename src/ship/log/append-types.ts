import type { DedupId } from "../../base/storage/dedup-index.ts";
import type { Fragment } from "../../formats/object/encoder.ts";
import type { PathParts } from "../../formats/object/keys.ts";
import type { OutputFormat } from "../../formats/output/format.ts";
import type { Source } from "../../formats/record/source.ts";
import type { Health } from "./function-health.ts";

/** The events of one function in one part. */
export interface PartFunction {
  scriptName: string;
  /** Id of the deployed version that ran; absent: unknown. */
  version?: string;
  records: number;
  /** Time of the latest event, in ms since the epoch. */
  lastEventMs: number;
  /** How its invocations went. */
  health: Health;
}

/** What identifies a part, and what the account counts of it. */
export interface PartHead extends DedupId {
  /** Absent: unknown. */
  source?: Source;
  /**
   * Size of the message as the queue delivered it, in bytes; 0: it is counted with another part, or
   * the part did not come by the queue.
   */
  bytes: number;
  functions: readonly PartFunction[];
  /** Its events whose `EventTimestampMs` can only be in seconds; absent: there is none. */
  inSeconds?: number;
}

/** A message with some parts, as the queue delivered it, or one of any size. */
export interface LoggedMessage {
  body: Uint8Array<ArrayBuffer>;
  /** Ids of those parts of it that are appended. */
  parts: string[];
}

/**
 * What decides whether two fragments can share an object: the format, and what the job's path tells
 * apart within a day.
 */
export interface GroupFormat {
  output: OutputFormat;
  template: PathParts;
}

/** What a job takes of some parts. */
export interface JobShare {
  id: number;
  /** `stampOf` the configuration that it was made with. */
  stamp: string;
  /** Records offered to the job. */
  received: number;
  filtered: number;
  sampledOut: number;
}

/** What jobs of equal rules ship of the same parts. */
export interface Prepared extends GroupFormat {
  jobs: JobShare[];
  /** Ids of the parts that these jobs are offered. */
  parts: string[];
  fragments: Fragment[];
}

/** What the queue said with a batch. */
export interface QueueState {
  /** Messages that wait behind the batch; null: unknown. */
  backlog: number | null;
  /** Their size, in bytes; null: unknown. */
  backlogBytes: number | null;
  /**
   * Nothing that was taken in before this time, in ms since the epoch, waits in the queue; 0:
   * unknown.
   */
  doneMs: number;
}

/** The effort of an append, for the month's use. */
export interface Work {
  /** Batches of the queue that begin with it: none or one. */
  batches: number;
  /** Jobs that are offered any of it. */
  entries: number;
  /** Records sent to jobs: an event counts once for each job. */
  offered: number;
}

/**
 * What this code knows of an {@link Append}: raised with what older code would ignore, to the harm
 * of what is shipped. A shard refuses what it does not know: after a deployment, it may keep the
 * code before for minutes.
 */
export const APPEND_FORMAT = 1;

/** What one append brings to a shard of the log. All of it is taken, or nothing. */
export interface Append {
  v: number;
  parts: PartHead[];
  records: LoggedMessage[];
  /** Made by the queue handler; none: jobs' readers make it from the records. */
  prepared: Prepared[];
  /** null: it does not come from the queue. */
  queue: QueueState | null;
  work: Work;
  /** State of the caller's configuration; "": it has none. */
  state: string;
}

/** An append of which nothing was prepared, and that is not a batch of the queue. */
export function bareAppend(parts: PartHead[], records: LoggedMessage[]): Append {
  const work = { batches: 0, entries: 0, offered: 0 };
  return { v: APPEND_FORMAT, parts, records, prepared: [], queue: null, work, state: "" };
}

/** What became of an append. */
export interface Appended {
  /** Ids that are new now. */
  fresh: string[];
  /** Ids of parts that are too old to tell, and are on hold. */
  tooOld: string[];
}

/** @returns ids that are new. @throws unless it is the answer of a shard. */
export function freshIn(answer: unknown): string[] {
  const { fresh } = (answer ?? {}) as { fresh?: unknown };
  if (Array.isArray(fresh) && fresh.every((id) => typeof id === "string")) return fresh;
  throw new Error("the log's answer is not that of an append");
}

/**
 * Errors of a shard that end by themselves; the caller tries again. By name, as calls carry no
 * classes.
 */
export const SHARD_FULL = "ShardFull";
export const SHARD_BUSY = "ShardBusy";
export const SHARD_NOT_READY = "ShardNotReady";
