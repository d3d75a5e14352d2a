import type { JobConfig } from "../job/config.ts";
import type { TakenId } from "../storage/id-memory.ts";
import type { Fragment } from "./fragment.ts";

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

/** A log cannot tell any more whether it has taken a message before: it does not take it again. */
export class ForgottenError extends Error {
  constructor(jobId: number) {
    super(`the log of job ${jobId} has forgotten whether it holds the message`);
    this.name = "ForgottenError";
  }
}

/**
 * Commits what `build` makes of the messages that a job's log does not hold yet. `suspects` may be in already: the log is asked for them before anything
 * is built. `stale`: the job has changed; what comes back is not looked at yet.
 */
export type CommitAppend = (
  job: JobConfig,
  build: (without: ReadonlySet<string>) => Append,
  suspects: readonly TakenId[],
) => Promise<{ kind: "taken" } | { kind: "stale"; job: unknown }>;
