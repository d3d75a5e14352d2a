import type { JobsSnapshot } from "../job/config.ts";
import type { Source } from "../record/source.ts";
import type { TakenId } from "../storage/id-memory.ts";
import type { CountedFunction, FunctionCount } from "./function-counts.ts";
import type { RecentRecords } from "./recent.ts";

/** How the events of a message, or of a part of it, ended up, from the account's point of view. */
export interface MessageCount extends TakenId {
  /** As the message's envelope says. */
  events: number;
  /** Offered to at least one enabled job. */
  routed: number;
  /** Dropped because logging of their function is off. */
  notEnabled: number;
  /** No job was enabled. */
  notRouted: number;
  /** The three by function. */
  functions: readonly CountedFunction[];
  /**
   * Size of what the queue delivered, in bytes; absent: unknown; 0: it is a further part of a
   * message that is counted already.
   */
  bytes?: number;
  /** Where its events came from; absent: unknown. */
  source?: Source;
  /** Some of its records, for previews: held in memory only. */
  recent?: RecentRecords;
}

/** Events by function, with where they came from. No source was seen later than now. */
export function countsOf(messages: readonly MessageCount[], nowMs: number): FunctionCount[] {
  return messages.flatMap(({ source, takenInMs, functions }) => {
    if (source === undefined) return functions;
    const sources = [{ source, lastMs: Math.min(takenInMs, nowMs) }];
    return functions.map((count) => ({ ...count, sources }));
  });
}

/** The ledger's answer to a count while live viewers watch. */
export interface Watched {
  /** Ids of messages counted now, and not before: each is shown once. */
  watched: readonly string[];
}

/** The ids of {@link Watched}; null: the answer is something else. */
export function readWatched(answer: unknown): readonly string[] | null {
  if (typeof answer !== "object" || answer === null) return null;
  const { watched } = answer as { watched?: unknown };
  return Array.isArray(watched) && watched.every((id) => typeof id === "string") ? watched : null;
}

/** The effort of committing some messages. */
export interface Work {
  /** Batches of the queue that begin with them: none or one. */
  batches: number;
  /** Calls in which a job's log took records. */
  appends: number;
  /** Records offered to jobs in these: an event counts once for each job. */
  offered: number;
}

/** What became of some messages. */
export interface Outcome {
  /** Committed by all their jobs. */
  done: readonly MessageCount[];
  /** They come again. */
  failed: readonly TakenId[];
  /** Jobs are owed some of `done`: the debts hold it for them. Absent: none are. */
  owes?: true;
  /** Messages waiting in the queue, as reported by it; null: unknown. */
  backlog: number | null;
  /** Their size, in bytes, as reported by the queue; null, or absent from earlier code: unknown. */
  backlogBytes?: number | null;
  /** For the month's use; absent: not counted. */
  work?: Work;
  /** State of the control plane by which they were routed. */
  state: string;
}

/** What became of an {@link Outcome} where shards of the ledger answered differently. */
export class Partly {
  /** Ids of messages that are counted, and done. */
  readonly counted: ReadonlySet<string>;
  /** As in {@link Watched}. */
  readonly watched: readonly string[];
  /** The work is counted, too. */
  readonly hasWork: boolean;
  /**
   * The answer of a shard that has newer jobs, unchecked; undefined: another shard did not answer;
   * null: all is counted, and noted.
   */
  readonly newer: unknown;

  constructor({ counted, watched, hasWork, newer }: Pick<Partly, "counted" | "watched" | "hasWork" | "newer">) {
    this.counted = counted;
    this.watched = watched;
    this.hasWork = hasWork;
    this.newer = newer;
  }
}

/** @param done what was to be counted. */
export function partlyOf(answer: unknown, done: readonly MessageCount[]): Partly {
  if (answer instanceof Partly) return answer;
  const watched = readWatched(answer);
  const isCounted = answer === null || watched !== null;
  const counted = new Set(isCounted ? done.map(({ id }) => id) : []);
  return new Partly({ counted, watched: watched ?? [], hasWork: isCounted, newer: isCounted ? null : answer });
}

/**
 * Counts committed messages.
 * @returns unchecked: null; or, while live viewers watch, {@link Watched}; or a newer
 * {@link JobsSnapshot}: then nothing was counted, and the messages must be offered to its jobs,
 * too; or {@link Partly}.
 */
export type CommitCount = (outcome: Outcome) => Promise<unknown>;
