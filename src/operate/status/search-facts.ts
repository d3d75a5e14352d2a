import { errorText, log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import type { AlertedSearch } from "../../ship/job/searches.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import type { SearchSum } from "../../ship/log/search-counts.ts";
import { ANSWER, checked } from "./answer-shapes.ts";
import { type QueueWaits, queueWaits } from "./queue-waits.ts";
import type { Samples } from "./samples.ts";
import { factOf, type SearchFact, thresholdOf } from "./search-rules.ts";
import { AFTER } from "./thresholds.ts";

/** Deadline of each question, in ms. */
const ASK_MS = 3_000;

/** What shards have counted, and what waits to be counted. */
export interface SearchSums {
  shards: readonly (readonly SearchSum[])[];
  /** Those that do not answer. */
  silent: readonly number[];
  /** What the queue says; null: it was not asked, or does not answer. */
  queue: QueueWaits | null;
}

/** Asks all shards, and for searches that may be below their threshold, the queue. */
export async function searchSums(
  env: Pick<Env, "CONTROL" | "TRACE_LOG" | "EVENTS">,
  searches: readonly Pick<AlertedSearch, "alert">[],
  platform: Pick<Platform, "now">,
): Promise<SearchSums> {
  if (searches.length === 0) return { shards: [], silent: [], queue: null };
  // Before the shards: what waits no longer, they have counted.
  const queue = searches.some(({ alert }) => alert.when === "below") ? await queueWaits(env.EVENTS, platform) : null;
  const silent: number[] = [];
  const shards = await new LogShards(env).each(async (shard, n) => {
    try {
      const asked = shard.searchCounts() as Promise<unknown> as Promise<SearchSum[]>;
      return checked(ANSWER.Searches, await answered(`shard ${n}`, ASK_MS, asked));
    } catch (error) {
      log.warn("a shard does not say what it knows", { shard: n, error: errorText(error) });
      silent.push(n);
      return [];
    }
  });
  return { shards, silent: silent.sort((a, b) => a - b), queue };
}

/** How long the oldest message has waited, in ms. */
export function waitsMs(queue: QueueWaits | null | undefined, nowMs: number): number {
  const isKnown = queue != null && queue.queueOldestMs !== null && nowMs - queue.askedMs <= AFTER.queueAsked;
  return isKnown ? queue.askedMs - (queue.queueOldestMs as number) : 0;
}

/** Asks, and remembers what is past its threshold. @throws if a shard does not answer. */
export async function searchFacts(
  env: Pick<Env, "CONTROL" | "TRACE_LOG" | "EVENTS">,
  searches: readonly AlertedSearch[],
  samples: Samples,
  platform: Pick<Platform, "now">,
): Promise<SearchFact[]> {
  const { shards, silent, queue } = await searchSums(env, searches, platform);
  if (silent.length > 0) throw new Error("a shard does not answer");
  // No await between reading the memory and writing it.
  const nowMs = platform.now();
  const before = samples.state();
  const at = { nowMs, waitsMs: waitsMs(queue ?? before.queue, nowMs) };
  const facts = searches.map((search) => factOf(search, shards, before.searches ?? {}, at));
  const past = facts.flatMap(({ search, pastSinceMs }) =>
    pastSinceMs === null ? [] : [[search.id, { of: thresholdOf(search), sinceMs: pastSinceMs }] as const],
  );
  if (past.length > 0 || before.searches !== undefined) samples.keep({ ...before, searches: Object.fromEntries(past) });
  return facts;
}
