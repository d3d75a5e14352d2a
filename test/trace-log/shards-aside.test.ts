/** Messages set aside where the ledger has shards: each lies where its id is remembered. */
import { runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { TakenId } from "../../src/storage/id-memory.ts";
import { TraceLog } from "../../src/trace-log/trace-log.ts";
import { job } from "../pipeline/scripted.ts";
import { breakable, firstCalls } from "../support/runtime/breakage.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { aside, counting, MINUTE_MS, node, outcome, processed, shard, split, splitsOf, taken } from "./ledger-nodes.ts";

const counts = async () => (await node().ledger.status()).counts;
const NOTHING = { processed: 0, routed: 0, not_enabled: 0, not_routed: 0, set_aside: 0, discarded: 0 };
const ONE_OF_SHARD_1 = 2 ** 40 + 1;

let clock: ReturnType<typeof setClock>;
beforeEach(() => {
  clock = setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
});

/** Messages set aside before a split and after it. @returns since when there are two shards. */
async function threeAside(): Promise<number> {
  await node().setAside(aside(taken(1, 1)));
  const fromMs = await split();
  await node().setAside(aside(taken(1, 2, fromMs)));
  await node().setAside(aside(taken(0, 3, fromMs)));
  return fromMs;
}

describe("messages that are set aside", () => {
  it("lie at their homes, and are one list", async () => {
    await threeAside();
    expect(await processed(0, 1)).toEqual([2, 1]);
    const { ledger } = node();
    const pages = await Promise.all([0, 1, 2, 3].map((offset) => node().ledger.asideList(offset, 1)));
    expect(pages.map(({ entries, total }) => [entries.map(({ id }) => id), total])).toEqual([
      [[1], 3],
      [[2], 3],
      [[ONE_OF_SHARD_1], 3],
      [[], 3],
    ]);
    expect((await ledger.asideList(1, 100)).entries.map(({ id }) => id)).toEqual([2, ONE_OF_SHARD_1]);
    expect(await ledger.status()).toMatchObject({ setAsideMessages: { messages: 3, events: 3 } });
    expect(await ledger.oldestUnfinishedMs()).toBe(NOON);
    expect(await node().ledger.asideMessage(ONE_OF_SHARD_1)).toMatchObject({ id: ONE_OF_SHARD_1, events: 1 });
    expect(await ledger.asideMessage(3)).toBeNull();
  });

  it("are kept once, whatever the node knows", async () => {
    const fromMs = await split();
    for (let times = 0; times < 2; times++) await node().setAside(aside(taken(1, 2, fromMs)));
    await node().count(outcome([taken(1, 2, fromMs)]));
    expect(await counts()).toEqual({ ...NOTHING, processed: 1, set_aside: 1 });
  });

  it("are sent again, or discarded, once", async () => {
    const fromMs = await threeAside();
    const { ledger } = node();
    const again = (message: TakenId, id: number) =>
      ledger.asideSent({ id, unreadable: null }, [counting(message)], "other.1");
    expect(await again(taken(1, 2, fromMs), ONE_OF_SHARD_1)).toBeNull();
    expect(await again(taken(1, 2, fromMs), ONE_OF_SHARD_1)).toBe("gone");
    expect(await again(taken(1, 1), 1)).toBeNull();
    expect([await ledger.asideDiscarded(2), await ledger.asideDiscarded(2)]).toEqual([1, null]);
    expect(await counts()).toEqual({ ...NOTHING, processed: 3, routed: 2, discarded: 1 });
    await node().count(outcome([taken(1, 1), taken(1, 2, fromMs), taken(0, 3, fromMs)]));
    expect((await counts()).processed).toBe(3);
  });

  it("with a number of a shard that there is not make no shard", async () => {
    const { ledger } = node();
    for (const id of [5 * 2 ** 40 + 1, 999_999_999_999_999]) {
      expect(await ledger.asideMessage(id)).toBeNull();
      expect(await ledger.asideDiscarded(id)).toBeNull();
      expect(await ledger.asideSent({ id, unreadable: null }, [counting(taken(1, 1))], "other.1")).toBe("gone");
    }
    expect(ledger).toBeDefined();
  });

  it("are pinned in the logs, each once, and their shards are told", async () => {
    await threeAside();
    const { ledger } = node();
    const { messages } = await ledger.asideToAsk(1_000);
    expect(messages.map(({ id }) => id)).toEqual([1, 2, ONE_OF_SHARD_1]);
    await ledger.asideAsked(messages.map((message) => ({ ...message, kept: [], all: true })));
    expect((await ledger.asideToAsk(1_000)).messages).toEqual([]);
  });

  it("are asked for where they are: what one shard does not need, another has", async () => {
    for (let n = 1; n <= 3; n++) await node().setAside(aside(taken(1, n)));
    const fromMs = await split();
    const { ledger } = node();
    await ledger.status();
    const asked = async (limit: number) => (await ledger.asideToAsk(limit)).messages.map(({ id }) => id);
    expect([await asked(2), await asked(3), await asked(4), await asked(6)]).toEqual([
      [1, 2],
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 3],
    ]);
    await node().setAside(aside(taken(1, 4, fromMs)));
    expect(await asked(4)).toEqual([1, 2, 3, ONE_OF_SHARD_1]);
  });

  it("are refused by a shard that is full, which goes on counting", async () => {
    await runInDurableObject(shard(0), (ledger: TraceLog) => {
      ledger.maxBytes = 0;
    });
    await expect(node().setAside(aside(taken(1, 1)))).rejects.toThrow("full");
    await node().count(outcome([taken(1, 1)]));
    // Nothing is left to keep.
    await node().setAside(aside(taken(1, 1)));
    expect(await counts()).toEqual({ ...NOTHING, processed: 1, routed: 1 });
  });
});

describe("a message that could not be read", () => {
  const unreadable = "of unknown version 3";
  const setAside = (n: number, fields = {}) =>
    node().setAside(aside({ ...taken(1, n), keyed: true }, { unreadable, ...fields }));
  const again = (parts: readonly TakenId[], state = "other.1", { ledger } = node()) =>
    ledger.asideSent({ id: 1, unreadable }, parts.map(counting), state);

  it("is counted at the homes of its parts when it is sent again", async () => {
    const fromMs = await split();
    await setAside(9);
    const parts = [taken(0, 1, fromMs), taken(1, 2, fromMs)];
    expect(await again(parts)).toBeNull();
    expect(await processed(0, 1)).toEqual([1, 1]);
    expect(await counts()).toEqual({ ...NOTHING, processed: 2, routed: 2 });
    await node().count(outcome(parts));
    expect((await counts()).processed).toBe(2);
    expect(await again(parts)).toBe("gone");
  });

  it("of which a copy was counted, and all dies on the way: it is sent again, and counted once", async () => {
    const fromMs = await split();
    await setAside(9);
    const parts = [taken(0, 1, fromMs), taken(1, 2, fromMs)];
    const { decide } = firstCalls("refused");
    breakable(TraceLog.prototype, "asideSent", decide);
    // It knows of the split, so its first call to the first shard is the last step.
    const knowing = node();
    await knowing.ledger.status();
    await expect(again(parts, "other.1", knowing)).rejects.toThrow("refused");
    expect(await counts()).toEqual({ ...NOTHING, processed: 2, routed: 1, set_aside: 1 });
    await node().count(outcome(parts));
    expect(await again(parts)).toBeNull();
    expect(await counts()).toEqual({ ...NOTHING, processed: 2, routed: 2 });
  });

  it("is not counted by jobs that are behind, in whichever shard", async () => {
    const fromMs = await split();
    await setAside(9);
    await node().ledger.keepJobs({ state: "epoch.2.mark", jobs: [job(2)], optOuts: [], optOutVersion: 0 });
    const answer = await again([taken(0, 1, fromMs), taken(1, 2, fromMs)], "epoch.1.mark");
    expect(answer).toMatchObject({ state: "epoch.2.mark" });
    expect(await counts()).toEqual({ ...NOTHING, processed: 1, set_aside: 1 });
  });

  it("takes back what was noted under its header elsewhere", async () => {
    const fromMs = await split();
    const [here, there] = [taken(0, 1, fromMs), taken(1, 2, fromMs)];
    await node().expectAgain([here, there]);
    expect(await node().ledger.oldestUnfinishedMs()).toBe(fromMs);
    await setAside(9, { noted: here, alsoNoted: [there] });
    // It cannot be read, so its time is unknown.
    expect((await node().ledger.status()).oldestUnfinishedMs).toBeNull();
  });

  it("is seen by what asks all shards while it moves there from the shard that has its note", async () => {
    const there = taken(1, 2, await split());
    await node().expectAgain([there]);
    const { ledger } = node();
    await ledger.status();
    const { oldestUnfinishedMs } = TraceLog.prototype;
    vi.spyOn(TraceLog.prototype, "oldestUnfinishedMs").mockImplementation(async function (
      this: TraceLog,
      known?: number,
    ) {
      const { ctx } = this as unknown as { ctx: DurableObjectState };
      if (ctx.id.name === "account shard 1") await setAside(9, { noted: there });
      return oldestUnfinishedMs.call(this, known);
    } as never);
    // It cannot be read, so nothing is claimed at all.
    expect(await ledger.oldestUnfinishedMs()).toBe(0);
  });

  it("is not behind the child's own messages in age", async () => {
    const fromMs = await split();
    await node().expectAgain([taken(1, 1, fromMs), taken(0, 2, fromMs + MINUTE_MS)]);
    expect(await node().ledger.oldestUnfinishedMs()).toBe(fromMs);
    clock.advance(16 * 24 * 60 * MINUTE_MS);
    await node().ledger.sweep();
    expect(await node().ledger.oldestUnfinishedMs()).toBeNull();
    expect((await splitsOf(0)).length).toBe(1);
  });
});
