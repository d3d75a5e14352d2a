import { free } from "../../base/bytes.ts";
import type { Loaded } from "../../formats/queue/load-records.ts";
import type { JobsSnapshot } from "../job/config.ts";
import type { AlertedSearch } from "../job/searches.ts";
import { APPEND_FORMAT, type Append, freshIn, type QueueState } from "../log/append-types.ts";
import { headOf } from "../log/heads.ts";
import { Searching } from "../log/searched.ts";
import { prepareAll } from "./prepare-all.ts";

/**
 * A failure that ends by itself with the next delivery: the batch made too many calls, or took too
 * long.
 */
export class ComesAgainError extends Error {}

/** What committing a group calls. */
export interface CommitContext {
  /** @returns unchecked. @throws if it is unknown whether the shard took it. */
  append(shard: number, append: Append): Promise<unknown>;
}

/** A delivered message, and its parts. */
export interface Committable {
  body: ArrayBuffer;
  parts: readonly Loaded[];
}

const NO_SEARCHES: readonly AlertedSearch[] = [];

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
export async function appendGroup(
  shard: number,
  group: readonly Committable[],
  snapshot: JobsSnapshot,
  queue: QueueState,
  isFirst: boolean,
  { append }: CommitContext,
): Promise<Committed> {
  const parts = group.flatMap(({ parts: own }) => own);
  const { prepared, offered, jobs } = prepareAll(parts, snapshot);
  const searching = new Searching(snapshot.searches ?? NO_SEARCHES);
  const made: Append = {
    v: APPEND_FORMAT,
    parts: parts.map((part) => searching.counted(headOf(part), part)),
    records: group.map(({ body, parts: own }) => ({
      body: new Uint8Array(body),
      parts: own.map(({ message }) => message.id),
    })),
    prepared,
    queue,
    work: { batches: isFirst ? 1 : 0, entries: jobs.size, offered },
    state: snapshot.state,
    ...(searching.keys.length > 0 && { searched: searching.keys }),
  };
  // Nothing reads the records any more, and a batch has up to a hundred messages of them.
  for (const { raw } of parts) free(raw);
  const answer = await append(shard, made);
  const isFresh = new Set(freshIn(answer));
  const events = parts.reduce((sum, { message }) => sum + (isFresh.delete(message.id) ? message.records : 0), 0);
  return { events, jobs };
}
