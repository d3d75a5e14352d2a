import type { JobsSnapshot, OptOut } from "../job/config.ts";
import { log } from "../log.ts";
import type { Loaded } from "../object/load.ts";
import { APPEND_FORMAT, type Append, freshIn, type QueueState } from "../trace-log/append.ts";
import { headOf } from "../trace-log/heads.ts";
import { type Arrived, arrivedOf } from "./live.ts";
import { prepareAll } from "./prepare-all.ts";
import { recentOf } from "./recent.ts";

/**
 * A failure that ends by itself with the next delivery: the batch made too many calls, or took too
 * long.
 */
export class ComesAgainError extends Error {}

export interface Arrivals {
  /** Whether the next append carries recent records, for previews. Asking takes the turn. */
  handsOverRecent(): boolean;
  /** Sends records to live viewers. Returns at once, and never throws. */
  show(records: Arrived): void;
}

/** What committing a group calls. */
export interface CommitContext {
  /** @returns unchecked. @throws if it is unknown whether the shard took it. */
  append(shard: number, append: Append): Promise<unknown>;
  /** Where copies of new records are held and shown; absent: nowhere. */
  arrivals?: Arrivals;
}

/** A delivered message, and its parts. */
export interface Committable {
  body: ArrayBuffer;
  parts: readonly Loaded[];
}

export interface Committed {
  /** New events. */
  events: number;
  /** Jobs that were offered records. */
  jobs: ReadonlySet<number>;
}

/**
 * Appends a group of messages to their shard, with what every job ships of them.
 * @param isFirst the batch begins with this group.
 * @throws if it is unknown whether the shard took them: they come again, and what is in is known.
 */
export async function commitGroup(
  shard: number,
  group: readonly Committable[],
  snapshot: JobsSnapshot,
  queue: QueueState,
  isFirst: boolean,
  { append, arrivals }: CommitContext,
): Promise<Committed> {
  const parts = group.flatMap(({ parts: own }) => own);
  const { prepared, offered, jobs } = prepareAll(parts, snapshot);
  // Without a configuration it is not known which functions are off.
  const to = snapshot.state === "" ? undefined : arrivals;
  const recent =
    to?.handsOverRecent() === true
      ? optional("recent records could not be handed over", () => recentOf(parts, snapshot.optOuts))
      : null;
  const answer = await append(shard, {
    v: APPEND_FORMAT,
    parts: parts.map((loaded) => headOf(loaded, recent?.get(loaded.message.id))),
    records: group.map(({ body, parts: own }) => ({
      body: new Uint8Array(body),
      parts: own.map(({ message }) => message.id),
    })),
    prepared,
    queue,
    work: { batches: isFirst ? 1 : 0, entries: jobs.size, offered },
    state: snapshot.state,
  });
  const isFresh = new Set(freshIn(answer));
  const { watched } = answer as { watched?: unknown };
  if (typeof watched !== "boolean") throw new Error("the log does not say whether pages are open");
  if (watched && to !== undefined)
    optional("records could not be shown as they arrived", () => show(parts, isFresh, snapshot.optOuts, to));
  const events = parts.reduce((sum, { message }) => sum + (isFresh.delete(message.id) ? message.records : 0), 0);
  return { events, jobs };
}

function show(group: readonly Loaded[], ids: ReadonlySet<string>, optOuts: readonly OptOut[], to: Arrivals): void {
  const arrived = arrivedOf(group, ids, optOuts);
  if (arrived.lines.length + arrived.leftOut > 0) to.show(arrived);
}

/**
 * Previews and live viewers must not disturb commits. An error is logged by its kind alone: its
 * message may quote a record.
 */
function optional<T>(failure: string, run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    log.error(failure, { error: error instanceof Error ? error.name : typeof error });
    return null;
  }
}
