import type { JobConfig } from "../job/config.ts";
import type { TakenId } from "../storage/id-memory.ts";
import type { Split } from "../storage/splits.ts";
import type { Fragment } from "./encoder.ts";

/** One message's share in an append. */
export interface AppendedMessage extends TakenId {
  /** Records offered to the job. */
  received: number;
  filtered: number;
  sampledOut: number;
}

/**
 * Taken all or not at all: messages that the log does not hold yet, and what is left of them for
 * this job.
 */
export interface Append {
  /** Version of the job's configuration that the fragments were made with. */
  version: number;
  messages: AppendedMessage[];
  fragments: Fragment[];
  /** Nothing that was taken in before this time, in ms, waits in the queue; 0: unknown. */
  queueDoneMs: number;
  /**
   * Its messages were set aside once, and are sent again: their ids are kept for good. `isKept`:
   * the log was asked for them after the last time that another copy could come, so it knows all of
   * those that it holds.
   */
  again?: { isKept: boolean };
}

export type AppendResult =
  | { kind: "taken" }
  /**
   * Some are in already, or belong to another shard, as the splits say: nothing was taken; build
   * the append again without these. `sealed`: this segment is full as well.
   */
  | { kind: "known"; ids: string[]; splits?: readonly Split[]; sealed?: boolean; takenUntilMs?: number }
  /** The job has changed since: nothing was taken; build the append again from this. */
  | { kind: "stale"; job: JobConfig }
  /** This log knows an older configuration, or none: nothing was taken; configure it first. */
  | { kind: "behind" }
  /**
   * It is unknown whether it held a message that was sent again: nothing was taken, and never will
   * be.
   */
  | { kind: "forgotten" }
  /** This segment is full; it holds these ids. The rest goes to the next segment. */
  | { kind: "full"; ids: string[]; splits?: readonly Split[]; takenUntilMs?: number };

/** A message that is offered to a log. */
export interface Candidate extends TakenId {
  /** It may well be in already, as it was delivered before: the log is asked before it is built. */
  isSuspect: boolean;
}

/** A log has forgotten whether it took a message before: it does not take it again. */
export class ForgottenError extends Error {
  constructor(jobId: number) {
    super(`the log of job ${jobId} has forgotten whether it holds the message`);
    this.name = "ForgottenError";
  }
}

/**
 * Commits what `build` makes of these messages, of those that a job's log does not hold yet.
 * `stale`: the job has changed; what comes back is unchecked.
 */
export type CommitAppend = (
  job: JobConfig,
  build: (without: ReadonlySet<string>) => Append,
  messages: readonly Candidate[],
) => Promise<{ kind: "taken" } | { kind: "stale"; job: unknown }>;
