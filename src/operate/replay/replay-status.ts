import type { Amount } from "../../ship/reader/replayed.ts";

/** `running`, and `waiting` after an error, until it is tried again; the others are ends. */
export type ReplayState = "running" | "waiting" | "done" | "cancelled" | "failed";

/**
 * Why an object is not shipped again: it is not where it was; it is not what was delivered; its
 * copy was refused, or its fate is unknown.
 */
export type ProblemKind = "missing" | "damaged" | "failed";

export interface Problem {
  /** In the job's list of objects. */
  number: number;
  key: string;
  kind: ProblemKind;
  why: string;
}

/** What is asked for. */
export interface ReplayAsk {
  job: number;
  sinceMs: number;
  untilMs: number;
  askedMs: number;
  /** The job's destination, sealed as the job has it. */
  source: string;
  /**
   * Another destination, sealed for replays, how it may be shown, and what it is called; null: the
   * job's own.
   */
  target: { sealed: string; shown: string; elsewhere: string } | null;
  /** Keys are below it. */
  path: string;
  /** Version of the job's destination. */
  place: number;
  /** What was counted. */
  planned: Amount;
  /** Version of the job's last change. */
  modified: number;
  /**
   * The newest replay of the job that the caller has compared this one with; null: there was none.
   * Absent: it does not matter.
   */
  after?: string | null | undefined;
}

/**
 * The state of a replay as the API shows it. `planned` is the sum of the four after it, and of what
 * is left; of its records, some are filtered or sampled out.
 */
export interface ReplayStatus {
  id: string;
  /** `replay`: copies what was delivered. `rerun`: makes it again from what the log keeps. */
  kind: "replay" | "rerun";
  job: number;
  sinceMs: number;
  untilMs: number;
  /** The other destination, its secrets masked; null: the job's own. */
  destination: string | null;
  state: ReplayState;
  planned: Amount;
  done: Amount;
  missing: Amount;
  damaged: Amount;
  failed: Amount;
  /** Records, of a rerun. */
  filtered: number;
  sampledOut: number;
  error: string | null;
  /** When it is tried again, in ms; null: nothing waits for that. */
  resumeMs: number | null;
  askedMs: number;
  endedMs: number | null;
}

export type ReplayBegun =
  | { kind: "begun"; replay: ReplayStatus }
  /** The same is under way. */
  | { kind: "same"; id: string }
  /** Another replay of the job has begun after the one that was compared with. */
  | { kind: "others" }
  /** No more may be under way at once. */
  | { kind: "full" };

/** A replay that makes no progress. */
export interface ReplayTrouble {
  id: string;
  job: number;
  sinceMs: number;
  /** Contains no text of a record. */
  error: string;
  /** Not shipped again yet. */
  objectsLeft: number;
}
