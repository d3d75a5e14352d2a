/**
 * A random history of a ledger that splits: nodes that know more or less, answers that are lost,
 * copies that come late, objects that die. Each message counts once.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { beforeEach, expect, it, vi } from "vitest";
import { headOf } from "../../src/queue/message.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import { KnownSplits } from "../../src/trace-log/known-splits.ts";
import { Partly } from "../../src/trace-log/outcome.ts";
import { Random } from "../soak/random.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { aside, beginSplit, counting, MINUTE_MS, type Node, node, outcome, split, taken } from "./ledger-nodes.ts";

const STEPS = 250;

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

it.each([1, 2, 3])("each message counts once, whatever happens: seed %i", async (seed) => {
  const random = new Random(seed);
  const clock = setClock(NOON);
  const everything: TakenId[] = [];
  const broken = new Set<number>();
  const nodes: Node[] = [node(), node(), node()];
  const any = (): Node => random.pick(nodes);
  let splits = 0;
  let sent = 0;

  const fresh = (): TakenId => {
    const aheadMs = random.weighted([
      { weight: 6, ms: 0 },
      { weight: 2, ms: -random.int(0, 5 * MINUTE_MS) },
      { weight: 1, ms: random.int(0, 115 * MINUTE_MS) },
    ]).ms;
    const message = taken(random.int(0, 255), everything.length + 1, clock.nowMs() + aheadMs);
    everything.push(message);
    return message;
  };
  /** Some that came before; some of them as repeats, which say when the first copy was taken in. */
  const some = (): TakenId[] =>
    Array.from({ length: random.int(1, 6) }, () => {
      const first = random.pick(everything);
      const takenInMs = clock.nowMs() + random.int(0, 3 * 24 * 60) * MINUTE_MS;
      return random.chance(0.3) && takenInMs > first.takenInMs
        ? { ...first, takenInMs, firstMs: first.takenInMs }
        : first;
    });
  const steps: { weight: number; run: () => Promise<unknown> }[] = [
    { weight: 40, run: () => any().count(outcome([...Array.from({ length: random.int(1, 8) }, fresh)])) },
    { weight: 20, run: () => any().count(outcome([...new Set(some())])) },
    { weight: 8, run: () => any().expectAgain(some()) },
    { weight: 8, run: async () => clock.advance(random.int(0, 10) * MINUTE_MS) },
    {
      weight: 6,
      async run() {
        const message = random.chance(0.5) ? fresh() : random.pick(everything);
        await any().setAside(aside(message));
      },
    },
    {
      weight: 4,
      async run() {
        const { ledger } = any();
        const { entries } = await ledger.asideList(0, 100);
        const [entry] = random.shuffled(entries);
        const aside = entry && (await ledger.asideMessage(entry.id));
        const message = everything.find(({ id }) => aside && id === headOf(aside.message)?.id);
        if (entry && message && (await ledger.asideSent(entry, [counting(message)], "other.1")) === null) sent += 1;
      },
    },
    // A new isolate; and one that has heard of all.
    { weight: 4, run: async () => nodes.splice(random.int(0, 2), 1, node(new KnownSplits(), broken)) },
    { weight: 2, run: () => any().ledger.status() },
    {
      weight: 4,
      async run() {
        const shards = any().splits.shards();
        const parent = random.pick(shards);
        if (random.chance(0.3)) {
          await beginSplit(parent);
          await abortAllDurableObjects();
        } else if (splits < 12) {
          // A split that was not made is tried again in a minute; one that was has to begin first.
          clock.advance(random.int(1, 150) * MINUTE_MS);
          await split(parent);
          splits += 1;
        }
      },
    },
    { weight: 2, run: () => abortAllDurableObjects() },
    { weight: 2, run: async () => void broken.add(random.int(0, 3)) },
    { weight: 4, run: async () => broken.clear() },
  ];
  await any().count(outcome([fresh()]));
  for (let step = 0; step < STEPS; step++) {
    try {
      await random.weighted(steps).run();
    } catch {
      // It is repeated, or was done and not answered.
    }
  }
  broken.clear();
  clock.advance(180 * MINUTE_MS);
  // All comes again, in whatever groups, to whichever node.
  for (const knows of [any(), node()]) {
    const left = random.shuffled(everything);
    for (let from = 0; from < left.length; from += 50) {
      const answer = await knows.count(outcome(left.slice(from, from + 50)));
      if (answer instanceof Partly) throw new Error("a shard did not answer");
    }
  }
  const { ledger } = node();
  const { counts } = await ledger.status();
  expect(splits).toBeGreaterThan(2);
  expect(sent).toBeGreaterThan(0);
  expect(counts.processed).toBe(everything.length);
  expect(counts.routed + counts.set_aside).toBe(everything.length);
  expect((await node().counted(everything)).length).toBe(everything.length);
  expect((await ledger.status()).oldestUnfinishedMs).toBeNull();
});
