/**
 * A log under consumers that know more or less of it, while it splits, fills up, restarts and gets
 * changes, in any order: each message is in one place, once.
 */
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { it } from "vitest";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import { KnownLog } from "../../src/delivery/known-logs.ts";
import type { JobConfig } from "../../src/job/config.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { MINUTE_MS, message, ShardedLog } from "./sharded.ts";

/** Ids of jobs that no other test has. */
const JOBS = 100_000;

/** Consumers: the first one knows nothing, the others what they have learnt. */
const CONSUMERS = 3;

/** How a repeat of it comes: as it was; as a keyed one; with the time of its first copy. */
type How = "plain" | "keyed" | "registered";

type Step =
  | { what: "offer"; by: number; fresh: { hash: number; skewMs: number; how: How }[]; again: number[] }
  | { what: "advance"; ms: number }
  | { what: "split" | "fill" | "restart"; pick: number }
  | { what: "change" };

const offer = fc.record({
  what: fc.constant("offer" as const),
  by: fc.nat({ max: CONSUMERS - 1 }),
  fresh: fc.array(
    fc.record({
      hash: fc.nat({ max: 7 }),
      // Old, as from a backlog, or of a clock that is ahead.
      skewMs: fc.constantFrom(0, 0, 0, -5 * MINUTE_MS, 61_000, 20 * MINUTE_MS),
      how: fc.constantFrom<How[]>("plain", "plain", "plain", "plain", "keyed", "registered", "registered"),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  again: fc.array(fc.nat(), { maxLength: 6 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: offer },
  { weight: 3, arbitrary: fc.record({ what: fc.constant("advance" as const), ms: fc.constantFrom(1_000, 61_000) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constantFrom("split" as const, "fill" as const, "restart" as const),
      pick: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ what: "change" as const }) },
);

it("a message is in one node, once, whatever happens to the log and whichever consumer offers it", {
  timeout: 120_000,
}, async ({ expect }) => {
  let runs = 0;
  const seen = { shards: 0, segments: 0, repeats: 0 };
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
    runs += 1;
    const clock = setClock(NOON);
    const log = await ShardedLog.create({ id: JOBS + runs });
    const consumers = Array.from({ length: CONSUMERS }, () => ({ known: new KnownLog(), job: log.job }));
    const all: TakenId[] = [];
    for (const each of steps) {
      if (each.what === "advance") clock.advance(each.ms);
      else if (each.what === "change") await log.change({ modifiedVersion: log.job.version });
      else if (each.what === "offer") {
        const again = all.length === 0 ? [] : each.again.map((n) => all[n % all.length] as TakenId);
        const fresh = each.fresh.map(({ hash, skewMs, how }, i) => {
          const takenInMs = clock.nowMs() + skewMs;
          const first = message(all.length + i, hash, takenInMs, how === "keyed");
          return how === "registered" ? { ...first, firstMs: takenInMs } : first;
        });
        all.push(...fresh);
        // A repeat of a request is a message of another time.
        const repeats = [...new Set(again)].map((old) =>
          old.keyed || old.firstMs !== undefined ? { ...old, takenInMs: clock.nowMs() } : old,
        );
        seen.repeats += repeats.length;
        const consumer = consumers[each.by] as (typeof consumers)[number];
        if (each.by === 0) consumer.known = new KnownLog();
        for (let result = await log.offer([...fresh, ...repeats], consumer); result.kind === "stale"; ) {
          consumer.job = result.job as JobConfig;
          result = await log.offer([...fresh, ...repeats], consumer);
        }
      } else {
        const nodes = await log.nodes();
        const node = nodes[each.pick % nodes.length] ?? 0;
        if (each.what === "split") await log.split(node);
        else if (each.what === "fill") await log.fill(node);
        else await evictDurableObject(nodeAt(env.READERS, log.job.id, node));
      }
    }
    const nodes = await log.nodes();
    seen.shards = Math.max(seen.shards, new Set(nodes.map((node) => Math.floor(node / 1_000))).size);
    seen.segments = Math.max(seen.segments, ...nodes.map((node) => (node % 1_000) + 1));
    const copies = await log.copies(all);
    expect(copies.filter((count) => count !== 1)).toEqual([]);
    expect(Object.values(await log.received()).reduce((sum, each) => sum + each, 0)).toBe(all.length);
  });
  await fc.assert(property, { numRuns: 60 });
  expect(seen.shards).toBeGreaterThan(2);
  expect(seen.segments).toBeGreaterThan(1);
  expect(seen.repeats).toBeGreaterThan(20);
});
