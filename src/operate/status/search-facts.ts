import { answered, type Platform } from "../../base/platform.ts";
import type { AlertedSearch } from "../../ship/job/searches.ts";
import { readSnapshot } from "../../ship/job/snapshot.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import { controlPlane } from "../../state/control/plane.ts";
import { ANSWER, checked } from "./answer-shapes.ts";
import type { QueueWaits } from "./queue-waits.ts";
import type { Samples } from "./samples.ts";
import { factOf, type SearchFact, thresholdOf } from "./search-rules.ts";
import { AFTER } from "./thresholds.ts";

/** Deadline of each question, in ms. */
const ASK_MS = 3_000;

/** Those that there are. @throws if the control plane does not answer. */
export async function alertedSearches({ CONTROL }: Pick<Env, "CONTROL">): Promise<readonly AlertedSearch[]> {
  const asked = controlPlane(CONTROL).configSince("") as Promise<unknown>;
  const snapshot = readSnapshot(await answered("the control plane", ASK_MS, asked));
  if (snapshot === null) throw new Error("no snapshot of jobs");
  return snapshot.searches ?? [];
}

/** Asks all shards, and remembers what is past its threshold. @throws if one does not answer. */
export async function searchFacts(
  env: Pick<Env, "CONTROL" | "TRACE_LOG">,
  searches: readonly AlertedSearch[],
  samples: Samples,
  platform: Pick<Platform, "now">,
): Promise<SearchFact[]> {
  const asked = async () => checked(ANSWER.Searches, await new LogShards(env).searchCounts());
  const shards = searches.length === 0 ? [] : await answered("the counts of searches", ASK_MS, asked());
  // No await between reading the memory and writing it.
  const nowMs = platform.now();
  const before = samples.state();
  const isBehind = waitsLong(before.queue, nowMs);
  const facts = searches.map((search) => factOf(search, shards, before.searches ?? {}, { nowMs, isBehind }));
  const past = facts.flatMap(({ search, pastSinceMs }) =>
    pastSinceMs === null ? [] : [[search.id, { of: thresholdOf(search), sinceMs: pastSinceMs }] as const],
  );
  if (past.length > 0 || before.searches !== undefined) samples.keep({ ...before, searches: Object.fromEntries(past) });
  return facts;
}

function waitsLong(queue: QueueWaits | undefined, nowMs: number): boolean {
  if (queue === undefined || queue.queueOldestMs === null || nowMs - queue.askedMs > AFTER.queueAsked) return false;
  return queue.askedMs - queue.queueOldestMs > AFTER.searchBehind;
}
