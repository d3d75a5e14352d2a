import type { JobConfig } from "../control/job-config.ts";
import type { Fragment } from "../pipeline/fragment.ts";
import type { TakenId } from "../storage/id-memory.ts";

/** Why a batch became an object. */
export type CutReason = "bytes" | "records" | "interval" | "scheduled" | "manual" | "config" | "deleted" | "replay";

/** `waiting`: cut and not delivered; the others are ends. */
export type ObjectState = "waiting" | "delivered" | "set_aside" | "discarded";

/** One message's share in an append. */
export interface AppendedMessage extends TakenId {
  /** Records offered to the job. */
  received: number;
  filtered: number;
  sampledOut: number;
}

/** All or nothing: messages that were not taken yet, and what is left of them for this job. */
export interface Append {
  /** Version of the job's configuration that the fragments were made with. */
  version: number;
  messages: AppendedMessage[];
  fragments: Fragment[];
  /** Nothing that was taken in before this time, in ms, waits in the queue any more; 0: unknown. */
  queueDoneMs: number;
  /**
   * Its messages were set aside once, and are sent again: their ids are remembered for good. `isKept`: the log has been asked for them when no other
   * copy could come any more, so that it knows all those it holds.
   */
  again?: { isKept: boolean };
}

export type AppendResult =
  | { kind: "taken" }
  /** Some are in already: nothing was taken; build the append again without these. */
  | { kind: "known"; ids: string[] }
  /** The job has changed since: nothing was taken; build the append again from this. */
  | { kind: "stale"; job: JobConfig }
  /** This log knows an older configuration, or none: nothing was taken; configure it first. */
  | { kind: "behind" }
  /** Nobody can tell whether it held a message that was sent again: nothing was taken, nor ever will be. */
  | { kind: "forgotten" }
  /** This segment takes no more; it holds these ids. The rest goes to the next segment. */
  | { kind: "full"; ids: string[] };

/** The counts of one job; `pending` is counted from what is there, so that the equation can fail. */
export interface LogCounts {
  received: number;
  filtered: number;
  sampled_out: number;
  delivered: number;
  pending: number;
  set_aside: number;
  discarded: number;
}

export interface LogStatus {
  counts: LogCounts;
  /** Objects cut and not yet delivered. */
  pendingObjects: number;
  oldestPendingTakenMs: number | null;
  deliveredRawBytes: number;
  deliveredBytes: number;
  /** As far as it was ever claimed; it never goes back. */
  lastCompleteMs: number | null;
  lastErrorMs: number | null;
  errorMessage: string | null;
  /** When records last came, in ms. */
  lastReceivedMs: number | null;
  /** Since when uploads fail, in ms; null: they do not. */
  failingSinceMs: number | null;
  /** They fail on something that somebody must change. */
  parked: boolean;
  /** What it holds on disk, in bytes, over all segments; and how many these are. */
  storedBytes: number;
  segments: number;
  /** Objects that the store refuses for themselves, with the records in them; the time, in ms, of the first that is still there. */
  setAside: { objects: number; records: number; oldestMs: number | null };
  /** null: the job has no canary. */
  canary: CanaryStatus | null;
  /** What was shipped again, apart from all other counts. */
  replayed: ReplayedCounts;
  /** Another segment follows this one. */
  sealed: boolean;
}

/** How the newest canary of a job fared. */
export interface CanaryStatus {
  /** `waiting`: none has been read back yet, and none is overdue. `failed`: it could not be written. */
  state: "ok" | "waiting" | "failed" | "missing" | "damaged" | "unreadable";
  /** Since when it is so, in ms. */
  sinceMs: number;
  /** When the last one was read back as it was written, in ms. */
  lastOkMs: number | null;
  /** What is wrong, in words: status and code of the store. */
  why: string | null;
}

export interface ReplayedCounts {
  objects: number;
  records: number;
  /** Compressed. */
  bytes: number;
}

/** One line of a job's list of objects. */
export interface ObjectEntry {
  number: number;
  key: string;
  state: ObjectState;
  records: number;
  bytes: number;
  raw_bytes: number;
  first_event: string;
  last_event: string;
  reason: CutReason;
  attempts: number;
  cut_at: string;
  uploaded_at: string | null;
  /** false: the store says that it has the object, but would not show it. */
  verified: boolean | null;
  error: string | null;
  /** Of an object that a replay wrote; null: the job's own. */
  replay: ReplayMark | null;
}

export interface ReplayMark {
  id: string;
  /** The number of the object that it is a copy of. */
  of: number;
  /** Bucket and endpoint, where it was not written to the job's own destination: the key alone would mislead. */
  destination: string | null;
}

/** An object that its store refuses for itself. */
export interface AsideObject extends ObjectEntry {
  job: number;
  asideMs: number;
  /** Its job was deleted with all that it had. */
  isDiscarded: boolean;
}
