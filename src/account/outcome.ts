import type { JobsSnapshot } from "../job/config.ts";
import type { TakenId } from "../storage/id-memory.ts";
import type { FunctionCount } from "./function-counts.ts";
import type { RecentRecords } from "./recent.ts";
/** How the events of one message ended up, from the account's point of view. */
export interface MessageCount extends TakenId {
  /** As the message's envelope says. */
  events: number;
  /** Offered to at least one enabled job. */
  routed: number;
  /** Dropped because logging of their function is off. */
  notEnabled: number;
  /** No job was enabled. */
  notRouted: number;
  /** The same by function; adds up to the three. */
  functions: readonly FunctionCount[];
  /** Size of the message as the queue has it; absent: not known. */
  bytes?: number;
  /** Some of its records, for previews: held in memory only, and no part of any count. */
  recent?: RecentRecords;
}

/** What the ledger says of messages that it has counted while somebody watches records arrive. */
export interface Watched {
  /** The ids of those that it counted now, and not before: each is shown once. */
  watched: readonly string[];
}

/** The ids of {@link Watched}; null: the answer is something else. */
export function readWatched(answer: unknown): readonly string[] | null {
  if (typeof answer !== "object" || answer === null) return null;
  const { watched } = answer as { watched?: unknown };
  return Array.isArray(watched) && watched.every((id) => typeof id === "string") ? watched : null;
}

/** What it took to commit some messages. */
export interface Work {
  /** Batches of the queue that begin with them: none or one. */
  batches: number;
  /** Calls in which a job's log took records. */
  appends: number;
  /** Records that jobs were offered in these: an event counts once for each of them. */
  offered: number;
}

/** What became of some messages. */
export interface Outcome {
  /** Committed by all their jobs. */
  done: readonly MessageCount[];
  /** They have to come again. */
  failed: readonly TakenId[];
  /** Messages that wait in the queue, as it says. */
  backlog: number | null;
  /** What it took, for the month's use; absent: it was not counted. */
  work?: Work;
  /** The state of the control plane that they were routed by. */
  state: string;
}

/**
 * Counts what was committed.
 * @returns null; or, while a viewer watches, {@link Watched}; or a {@link JobsSnapshot}, not looked at yet: there is a newer configuration, nothing was
 * counted, and the messages must be offered to its jobs, too.
 */
export type CommitCount = (outcome: Outcome) => Promise<unknown>;
