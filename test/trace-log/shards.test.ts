/**
 * The ledger in shards: the races of a split, as docs/delivery.md numbers them. A message is
 * counted once, whatever a node knows.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { oldestOutside } from "../../src/api/job-view.ts";
import { Outbox } from "../../src/intake/outbox.ts";
import { KnownSplits } from "../../src/trace-log/known-splits.ts";
import { TraceLog } from "../../src/trace-log/trace-log.ts";
import { job } from "../pipeline/scripted.ts";
import { breakable, firstCalls } from "../support/runtime/breakage.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import {
  aside,
  beginSplit,
  MINUTE_MS,
  node,
  outcome,
  processed,
  shard,
  split,
  splitAt,
  splitsOf,
  taken,
} from "./ledger-nodes.ts";

const HOUR_MS = 60 * MINUTE_MS;
const snapshot = (version: number) => ({
  ...{ state: `epoch.${version}.mark`, jobs: [job(version)], optOuts: [], optOutVersion: 0 },
});

/** A node that has heard of the first shard's splits. */
function knowing(splits: Awaited<ReturnType<typeof splitsOf>>): ReturnType<typeof node> {
  const known = new KnownSplits();
  known.learn(0, splits);
  return node(known);
}

/** Refuses this call, and no other. */
function onlyCall(number: number): () => "refused" | null {
  let calls = 0;
  return () => {
    calls += 1;
    return calls === number ? "refused" : null;
  };
}

/** Something happens once a child has what it must know, and before the parent stores the split. */
function afterBegin(run: () => Promise<unknown>): void {
  type Begin = (this: TraceLog, given: unknown) => string | Promise<string>;
  const prototype = TraceLog.prototype as unknown as { begin: Begin };
  const { begin } = prototype;
  vi.spyOn(prototype, "begin").mockImplementation(async function (this: TraceLog, given) {
    const state = await begin.call(this, given);
    await run();
    return state;
  });
}

let errors: ReturnType<typeof vi.spyOn>;
let clock: ReturnType<typeof setClock>;
beforeEach(() => {
  clock = setClock(NOON);
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

/** A split has failed for this reason. */
const failure = (why: string): Promise<boolean> =>
  vi.waitUntil(() => errors.mock.calls.some((line: unknown) => JSON.stringify(line).includes(why)));

describe("after a split", () => {
  it("a node that has not heard of it asks the parent first, is told, and asks once", async () => {
    await node().count(outcome([taken(0, 1)]));
    const fromMs = await split();
    const stale = node();
    const messages = [taken(0, 2, fromMs), taken(1, 3, fromMs), taken(1, 4, fromMs - 1)];
    expect(await stale.count(outcome(messages))).toBeNull();
    expect(stale.calls.sort()).toEqual(["count 0", "count 0", "count 1"]);
    expect(await processed(0, 1)).toEqual([3, 1]);
    stale.calls.length = 0;
    expect(await stale.count(outcome(messages))).toBeNull();
    expect(stale.calls.sort()).toEqual(["count 0", "count 1"]);
    expect(await processed(0, 1)).toEqual([3, 1]);
    expect((await stale.counted(messages)).toSorted()).toEqual(messages.map(({ id }) => id).sort());
    // The sum is the account's, also for a node that begins with it.
    expect((await node().ledger.status()).counts).toMatchObject({ processed: 4, routed: 4 });
  });

  it("each call to a shard is counted, for what may make only so many", async () => {
    const fromMs = await split();
    const { ledger } = node();
    for (let times = 0; times < 2; times++) await ledger.expectAgain([taken(0, 1, fromMs), taken(1, 2, fromMs)]);
    expect(ledger.calls).toBe(3 + 2);
  });

  it("a repeat of a message from before meets the shard that remembers it", async () => {
    const message = taken(1, 1);
    await node().count(outcome([message]));
    const fromMs = await split();
    clock.advance(10 * 24 * HOUR_MS);
    await node().count(outcome([taken(1, 2, fromMs)]));
    expect(await knowing(await splitsOf(0)).count(outcome([message]))).toBeNull();
    expect(await processed(0, 1)).toEqual([1, 1]);
  });

  it("so does one whose answer was lost, though its clock is ahead", async () => {
    const ahead = taken(1, 1, NOON + HOUR_MS + 30_000);
    const { decide } = firstCalls("lost");
    breakable(TraceLog.prototype, "count", decide);
    await expect(node().count(outcome([ahead]))).rejects.toThrow("lost");
    const fromMs = await split();
    expect(fromMs).toBeGreaterThan(ahead.takenInMs);
    expect(await node().count(outcome([ahead]))).toBeNull();
    expect(await processed(0)).toEqual([1]);
  });

  it("so does one that was only noted, and its note goes", async () => {
    const ahead = taken(1, 1, NOON + HOUR_MS + 30_000);
    await node().expectAgain([ahead]);
    expect(await split()).toBeGreaterThan(ahead.takenInMs);
    const late = node();
    expect(await late.ledger.oldestUnfinishedMs()).toBe(ahead.takenInMs);
    await late.count(outcome([ahead]));
    expect(await late.ledger.oldestUnfinishedMs()).toBeNull();
  });

  it("one from beyond what clocks explain holds up no split, and is known to the child", async () => {
    const far = taken(1, 1, NOON + 5 * HOUR_MS);
    await node().count(outcome([far]));
    await node().expectAgain([taken(1, 2, NOON + 5 * HOUR_MS)]);
    expect(await split()).toBeLessThan(NOON + 5 * MINUTE_MS);
    const late = node();
    expect(await late.count(outcome([far, taken(1, 2, NOON + 5 * HOUR_MS)]))).toBeNull();
    expect(await processed(0, 1)).toEqual([1, 1]);
    expect(await late.ledger.oldestUnfinishedMs()).toBeNull();
  });

  it("a keyed id stays with the first shard, as a repeat has another time of intake", async () => {
    const fromMs = await split();
    const keyed = { ...taken(1, 1, fromMs), keyed: true };
    await node().count(outcome([keyed]));
    await node().count(outcome([{ ...keyed, takenInMs: fromMs + HOUR_MS }]));
    expect(await processed(0, 1)).toEqual([1, 0]);
  });

  // Numbered in docs/delivery.md: "A request is repeated while shards grow".
  it("a repeated request meets the shard that remembers its first copy, however late it comes", async () => {
    const first = taken(1, 1);
    await node().count(outcome([first]));
    const fromMs = await split();
    // The last one is known by a row of its own, when the minute of the first copy is forgotten.
    for (const takenInMs of [fromMs, fromMs + HOUR_MS, NOON + 14 * 24 * HOUR_MS]) {
      clock.advance(takenInMs - clock.nowMs());
      const repeat = { ...first, takenInMs, firstMs: NOON };
      for (const knows of [node(), knowing(await splitsOf(0))]) {
        expect(await knows.count(outcome([repeat]))).toBeNull();
        expect(await knows.counted([repeat])).toEqual([first.id]);
      }
      await node().ledger.sweep();
    }
    clock.advance(10 * 24 * HOUR_MS);
    await node().ledger.sweep();
    await node().count(outcome([{ ...first, takenInMs: NOON + 14 * 24 * HOUR_MS, firstMs: NOON }]));
    expect(await processed(0, 1)).toEqual([1, 0]);
  });

  it("a repeat whose first copy was never sent goes where that would have gone, as do its notes", async () => {
    const fromMs = await split();
    const repeat = { ...taken(1, 1, fromMs + HOUR_MS), firstMs: fromMs };
    const other = { ...taken(1, 2, fromMs + HOUR_MS), firstMs: fromMs - 1 };
    await node().expectAgain([repeat, other]);
    // What is claimed complete goes by the repeat's own time.
    expect(await node().ledger.oldestUnfinishedMs()).toBe(fromMs + HOUR_MS);
    await node().count(outcome([repeat, other]));
    expect(await node().ledger.oldestUnfinishedMs()).toBeNull();
    expect(await processed(0, 1)).toEqual([1, 1]);
    await node().count(outcome([repeat, other].map(({ firstMs, ...copy }) => ({ ...copy, takenInMs: firstMs }))));
    expect(await processed(0, 1)).toEqual([1, 1]);
  });

  it("a node that knows nothing finds the youngest of several generations", async () => {
    const first = await split(0);
    clock.advance(HOUR_MS);
    const second = await split(1);
    clock.advance(HOUR_MS);
    const third = await split(0);
    expect([await splitsOf(0), await splitsOf(1)]).toEqual([
      [
        { bit: 0, fromMs: first },
        { bit: 1, fromMs: third },
      ],
      [{ bit: 1, fromMs: second }],
    ]);
    const now = third + HOUR_MS;
    const stale = node();
    await stale.count(
      outcome([taken(0, 1, now), taken(1, 2, now), taken(2, 3, now), taken(3, 4, now), taken(7, 5, now)]),
    );
    expect(await processed(0, 1, 2, 3)).toEqual([1, 1, 1, 2]);
    expect(stale.splits.shards().sort()).toEqual([0, 1, 2, 3]);
    expect((await node().ledger.status()).counts.processed).toBe(5);
  });

  it("code that has never heard of splits is refused what is not all there, and what is another's", async () => {
    const fromMs = await split();
    const root = shard(0);
    const newer = taken(1, 1, fromMs);
    for (const refused of [
      () => root.count(outcome([newer])),
      () => root.counted([newer]),
      () => root.expectAgain([newer]),
      () => root.oldestUnfinishedMs(),
      () => root.keepJobs(snapshot(1)),
      () => root.status(),
    ])
      await expect((async () => refused())()).rejects.toThrow("several shards");
    await root.count(outcome([taken(1, 2, fromMs - 1)]));
    expect(await processed(0)).toEqual([1]);
  });
});

describe("nothing is claimed complete", () => {
  it("beyond what any shard has to count", async () => {
    const fromMs = await split();
    expect((await oldestOutside(env))?.(1)).toBe(Number.POSITIVE_INFINITY);
    await node().expectAgain([taken(0, 1, fromMs + MINUTE_MS), taken(1, 2, fromMs)]);
    expect((await oldestOutside(env))?.(1)).toBe(fromMs);
    await node().count(outcome([taken(1, 2, fromMs)]));
    expect((await oldestOutside(env))?.(1)).toBe(fromMs + MINUTE_MS);
  });

  it("beyond what lies aside in any shard", async () => {
    const fromMs = await split();
    await node().setAside(aside(taken(1, 2, fromMs)));
    expect((await oldestOutside(env))?.(1)).toBe(fromMs);
  });

  it("beyond what moves from the outbox to the queue meanwhile: it is noted before it is gone there", async () => {
    const moving = taken(0, 1);
    vi.spyOn(Outbox.prototype, "status").mockImplementation((async () => {
      await node().expectAgain([moving]);
      return { messages: 0, events: 0, oldestTakenMs: null, storedBytes: 0 };
    }) as never);
    expect((await oldestOutside(env))?.(1)).toBe(NOON);
  });

  it("while a shard does not answer", async () => {
    const fromMs = await split();
    await node().count(outcome([taken(1, 1, fromMs)]));
    breakable(TraceLog.prototype, "oldestUnfinishedMs", onlyCall(3));
    // Of both shards and the first one's refusal, the last call fails.
    expect(await oldestOutside(env)).toBeUndefined();
    expect((await oldestOutside(env))?.(1)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("between the two steps of a split", () => {
  it("new jobs come to the parent: no child begins with those of before", async () => {
    await node().ledger.keepJobs(snapshot(1));
    let isHeld = true;
    afterBegin(async () => {
      if (isHeld) await node().ledger.keepJobs(snapshot(2));
    });
    await beginSplit();
    await failure("has changed");
    expect(await splitsOf(0)).toEqual([]);
    isHeld = false;
    clock.advance(MINUTE_MS);
    const fromMs = await split();
    const answer = await node().count(outcome([taken(1, 1, fromMs)], { state: snapshot(1).state }));
    expect(answer).toMatchObject(snapshot(2));
    expect(await processed(0, 1)).toEqual([0, 0]);
  });

  it("all dies: there is no child, and a later split begins anew", async () => {
    await node().ledger.keepJobs(snapshot(1));
    const { decide } = firstCalls("late");
    const stuck = breakable(TraceLog.prototype, "begin", decide);
    await beginSplit();
    await vi.waitUntil(() => stuck.stuck() === 1);
    await abortAllDurableObjects();
    expect(await splitsOf(0)).toEqual([]);
    await node().ledger.keepJobs(snapshot(2));
    const fromMs = await split();
    const late = node();
    expect(await late.count(outcome([taken(1, 1, fromMs)], { state: snapshot(1).state }))).toMatchObject(snapshot(2));
    expect(await late.count(outcome([taken(1, 1, fromMs)], { state: snapshot(2).state }))).toBeNull();
    expect(await processed(0, 1)).toEqual([0, 1]);
  });

  it("the child hangs: the parent goes on alone, and what the child has done late changes nothing", async () => {
    splitAt({ childMs: 20 });
    const begin = TraceLog.prototype.begin;
    const given: Parameters<typeof begin>[0][] = [];
    const hanging = vi.spyOn(TraceLog.prototype, "begin").mockImplementation(((each: never) => {
      given.push(each);
      return new Promise(() => {});
    }) as never);
    await node().ledger.keepJobs(snapshot(1));
    await beginSplit();
    await vi.waitUntil(() => given.length === 1);
    await failure("shard 1 of the ledger: no answer");
    expect(await splitsOf(0)).toEqual([]);
    const next = NOON + 10 * MINUTE_MS;
    expect(await node().count(outcome([taken(1, 1, next)], { state: snapshot(1).state }))).toBeNull();
    hanging.mockRestore();
    clock.advance(HOUR_MS);
    await node().ledger.keepJobs(snapshot(2));
    const fromMs = await split();
    await node().ledger.keepJobs(snapshot(3));
    // What was under way all the time.
    for (const each of given) await shard(1).begin(each);
    const late = node();
    const message = taken(1, 2, fromMs);
    expect(await late.count(outcome([message], { state: snapshot(2).state }))).toMatchObject(snapshot(3));
    expect(await late.count(outcome([message, taken(1, 1, next)], { state: snapshot(3).state }))).toBeNull();
    expect(await processed(0, 1)).toEqual([1, 1]);
  });

  it("a message comes that says it is of the child's time: the split is not made", async () => {
    const early = taken(1, 1, NOON + HOUR_MS);
    afterBegin(() => node().count(outcome([early])));
    await beginSplit();
    await failure("has changed");
    expect(await splitsOf(0)).toEqual([]);
    clock.advance(MINUTE_MS);
    expect(await split()).toBeGreaterThan(early.takenInMs);
    await node().count(outcome([early]));
    expect(await processed(0)).toEqual([1]);
  });
});

describe("a change of jobs", () => {
  it("by a node that has not heard of a split comes to every shard", async () => {
    await node().ledger.keepJobs(snapshot(1));
    const fromMs = await split();
    clock.advance(HOUR_MS);
    await split(1);
    expect(await node().ledger.keepJobs(snapshot(2))).toEqual(Array(3).fill(snapshot(2).state));
    const messages = [taken(0, 1, fromMs), taken(1, 2, fromMs), taken(3, 3, clock.nowMs() + HOUR_MS)];
    for (const message of messages)
      expect(await node().count(outcome([message], { state: snapshot(1).state }))).toMatchObject(snapshot(2));
    expect(await processed(0, 1, 3)).toEqual([0, 0, 0]);
  });

  it("that one shard does not confirm is not confirmed", async () => {
    await split();
    const { decide } = firstCalls("refused");
    const keepJobs = TraceLog.prototype.keepJobs;
    breakable(TraceLog.prototype, "keepJobs", decide);
    await expect(node().ledger.keepJobs(snapshot(1))).rejects.toThrow("refused");
    expect(keepJobs).not.toBe(TraceLog.prototype.keepJobs);
  });
});
