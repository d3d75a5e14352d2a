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

/** What became of some messages. */
export interface Outcome {
  /** Committed by all their jobs. */
  done: readonly MessageCount[];
  /** They have to come again. */
  failed: readonly TakenId[];
  /** Messages that wait in the queue, as it says. */
  backlog: number | null;
  /** The state of the control plane that they were routed by. */
  state: string;
}
