/** How a shard has its jobs read: when, how far it drops blocks, and what it gives to whom. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { JobReader } from "../../../src/index.ts";
import { type TraceLog, traceLog } from "../../../src/ship/log/trace-log.ts";
import { keepHours } from "../../support/runtime/keeping.ts";
import { NOON, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { job, snapshot } from "../consumer/scripted.ts";
import {
  alarmAt,
  type Control,
  control,
  message,
  open,
  page,
  passing,
  readers,
  reading,
  rowsOf,
  shard,
  stateOf,
  unread,
} from "./shard.ts";

const POSITION = NOON * 1_024;
const YEAR = 365 * 86_400_000 * 1_024;

let clock: ReturnType<typeof setSteadyClock>;
let plane: Control;
let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  clock = setSteadyClock(NOON);
  plane = control([job(1), job(2)]);
  // A block is dropped as soon as it is read.
  keepHours(0);
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

const append = async (...ns: number[]) => {
  for (const n of ns) await shard().append(open([message(n, { takenInMs: clock.nowMs() })]));
};
const outcomes = async (jobId: number) => (await unread(jobId)).map((each) => each.outcomes.join());
const backlog = async (jobId: number) => (await shard().status([jobId])).jobs[jobId]?.unread?.records ?? 0;
const readersOf = async () => JSON.parse((await stateOf<{ readers: string }>("readers")).readers);

describe("a block", () => {
  it("is not read twice after a restart, though it is still there for another job", async () => {
    await append(1);
    const pulls = reading();
    clock.advance(60_000);
    await shard().drive([1]);
    await evictDurableObject(shard());
    // What the shard has forgotten its reader knows.
    await page(1, POSITION);
    await shard().drive([1]);
    expect([pulls.length, await rowsOf("block"), await outcomes(2)]).toEqual([1, 1, ["event 1"]]);
  });

  it("is at a page's end or not, by bytes; one alone may be larger", async () => {
    await append(1, 2, 3);
    const size = (await unread(1)).length && message(1).byteLength;
    const pages = await Promise.all([1, 2 * size, 1e6].map((maxBytes) => page(1, 0, { maxBytes })));
    expect(pages.map(({ items, end, isAll }) => [items.length, end - POSITION, isAll])).toEqual([
      [1, 0, false],
      [2, 1, false],
      [3, 2, true],
    ]);
  });

  it("that a reader has to make is one of at most 250 kB of messages in a page", async () => {
    const large = (n: number): ReturnType<typeof open> => {
      const append_ = open([message(n)]);
      const [first] = append_.records;
      const bytes = new Uint8Array(150_000);
      bytes.set(first?.body ?? []);
      return { ...append_, records: [{ body: bytes, parts: first?.parts ?? [] }] };
    };
    for (const n of [1, 2]) await shard().append(large(n));
    const { items, isAll } = await page(1);
    expect([items.length, isAll]).toEqual([1, false]);
  });
});

describe("a page", () => {
  it("brings the job unless the reader has it", async () => {
    await append(1);
    const [none, older, same] = await Promise.all(["", "0.mark", "1.mark"].map((stamp) => page(1, 0, { stamp })));
    expect([none?.job, older?.job, same?.job]).toEqual([job(1), job(1), undefined]);
  });

  it("notes what the reader has before, so that the job stays due until its pull is answered", async () => {
    await append(1);
    await page(1, POSITION, { stamp: "0.mark" });
    expect(await alarmAfterDrive()).toEqual(["job 1 log 1"]);
  });

  it("has nothing for a job that the copy lacks, and moves no cursor: it may start in the past", async () => {
    keepHours(24);
    await append(1);
    await append(2);
    const lacking = page(3, POSITION, { stamp: "1.mark" });
    expect(await lacking).toEqual({ items: [], end: POSITION, isAll: true });
    expect(Object.keys(await readersOf())).toEqual(["1", "2"]);
    const since = NOON - 1;
    await shard().configure(
      snapshot("epoch.2.mark", [job(1), job(2), job(3, { since, windows: [{ fromMs: since, untilMs: null }] })]),
    );
    expect((await readersOf())[3]).toMatchObject({ cursor: 0, stamps: {}, received: 2 });
    expect((await page(3)).items.map(({ n }) => n)).toEqual([POSITION, POSITION + 1]);
    expect(errors).not.toHaveBeenCalled();
  });

  async function alarmAfterDrive(): Promise<string[]> {
    const pulls = readers(async () => ({ cursor: POSITION }));
    await runDurableObjectAlarm(shard());
    return pulls.map(({ name }) => name);
  }
});

describe("a shard has a job read", () => {
  it("when it is due, by its alarm, and sets the next", async () => {
    const pulls = reading();
    await append(1);
    expect(await alarmAt()).toBe(NOON + 30_000);
    clock.advance(29_999);
    await runDurableObjectAlarm(shard());
    expect([pulls.length, await alarmAt()]).toEqual([0, NOON + 30_000]);
    clock.advance(1);
    await runDurableObjectAlarm(shard());
    // At once, and in either order.
    const how = { segment: 0, from: 0, cut: true };
    expect(Object.fromEntries(pulls.map((pull) => [pull.name, pull.how]))).toEqual({
      "job 1 log 1": how,
      "job 2 log 1": how,
    });
    expect(pulls.length).toBe(2);
    expect([await rowsOf("block"), await alarmAt()]).toEqual([0, null]);
  });

  it("at once, beside an append, with as many records as an object takes", async () => {
    plane.now = snapshot("epoch.1.mark", [job(1, { limits: { bytes: 1e8, records: 2, intervalMs: 30_000 } })]);
    const pulls = reading();
    await append(1);
    expect(pulls).toEqual([]);
    await append(2);
    await until(async () => pulls.length === 1 && (await rowsOf("block")) === 0);
    expect(pulls[0]?.how).toEqual({ segment: 0, from: 0, cut: false });
  });

  it("that was never offered anything, in the first shard only: its reader gets the job", async () => {
    plane.now = snapshot("epoch.1.mark", [job(1, { windows: [] })]);
    const pulls = readers(async () => ({}));
    for (const n of [0, 1]) {
      await traceLog(env.TRACE_LOG, n).append(open([message(9)]));
      await runDurableObjectAlarm(shard(n));
    }
    await until(() => pulls.length > 0);
    expect(pulls.map(({ name }) => name)).toEqual(["job 1 log 0"]);
  });

  it("from the next segment on, when one is full; the full one is driven for the job alone", async () => {
    await append(1);
    const pulls = readers(async (name, { segment }) => ({
      cursor: name.startsWith("job 1") && segment === 0 ? POSITION - 5 : POSITION,
      ...{ sealed: name === "job 1 log 1", holds: true, stamp: plane.now.jobs[0]?.version === 2 ? "2.mark" : "1.mark" },
    }));
    clock.advance(60_000);
    await runDurableObjectAlarm(shard());
    // In either order.
    const how = { segment: 0, from: 0, cut: true };
    expect(Object.fromEntries(pulls.map((pull) => [pull.name, pull.how]))).toEqual({
      "job 1 log 1": how,
      "job 1 log 1 segment 1": { segment: 1, from: POSITION - 5, cut: true },
      "job 2 log 1": how,
    });
    expect(pulls.length).toBe(3);
    expect(await rowsOf("block")).toBe(0);
    pulls.length = 0;
    plane.now = snapshot("epoch.2.mark", [job(1, { version: 2 }), job(2)]);
    await shard().configure(plane.now);
    await runDurableObjectAlarm(shard());
    expect(Object.fromEntries(pulls.map((pull) => [pull.name, pull.how.cut]))).toEqual({
      "job 1 log 1": false,
      "job 1 log 1 segment 1": false,
    });
    expect(pulls.length).toBe(2);
  });

  it("again after 5 s if it fails, and one that hangs delays no other", async () => {
    const deadline = passing(10_000);
    await append(1);
    const pulls = readers((name) => (name.startsWith("job 1") ? new Promise(() => {}) : { cursor: POSITION }));
    clock.advance(60_000);
    await runDurableObjectAlarm(shard());
    await until(async () => pulls.length === 2 && (await backlog(2)) === 0);
    expect(await backlog(1)).toBe(1);
    await until(async () => (await alarmAt()) === clock.nowMs() + 5_000);
    await runDurableObjectAlarm(shard());
    expect(pulls.length).toBe(2);
    deadline.end();
    clock.advance(5_000);
    reading();
    await runDurableObjectAlarm(shard());
    expect([await backlog(1), await rowsOf("block"), await alarmAt()]).toEqual([0, 0, null]);
  });

  it("again after 5 s if its answer, or its question, is of another shape; nothing is dropped", async () => {
    plane.now = snapshot("epoch.1.mark", [job(1)]);
    await append(1);
    for (const answer of [null, { cursor: "9" }, { cursor: Number.NaN }, { stamp: 7 }, { more: undefined }]) {
      vi.spyOn(JobReader.prototype, "pull").mockResolvedValue(
        (answer && { cursor: POSITION, more: false, sealed: false, holds: false, stamp: "1.mark", ...answer }) as never,
      );
      clock.advance(400_000);
      await runDurableObjectAlarm(shard());
      expect([await rowsOf("block"), await backlog(1)]).toEqual([1, 1]);
    }
    for (const after of [undefined, null, "9", Number.NaN])
      await expect((async () => shard().read(1, 0, after as never, "1.mark", 1e6))()).rejects.toThrow(
        "position is not an integer",
      );
    expect([await rowsOf("block"), (await unread(1)).length]).toEqual([1, 1]);
  });

  it("not again and again if it answers and gets no further", async () => {
    await append(1);
    const pulls = readers(async () => ({ cursor: 0 }));
    clock.advance(60_000);
    await runDurableObjectAlarm(shard());
    // Their first answers said what configuration they have.
    expect([pulls.length, await alarmAt()]).toEqual([4, clock.nowMs() + 5_000]);
  });

  it("though its alarm fails once", async () => {
    await append(1);
    reading();
    clock.advance(60_000);
    const broken = await runInDurableObject(shard(), (_log: TraceLog, { storage }) =>
      vi.spyOn(storage, "transactionSync").mockImplementation(() => {
        throw new Error("disk full");
      }),
    );
    await runDurableObjectAlarm(shard());
    expect(await alarmAt()).toBe(clock.nowMs() + 5_000);
    broken.mockRestore();
    clock.advance(5_000);
    await runDurableObjectAlarm(shard());
    expect([await backlog(1), await backlog(2), await alarmAt()]).toEqual([0, 0, null]);
  });
});

describe("a shard that was restored to an earlier time", () => {
  it("gives no position again: it goes on beyond what any reader can have read", async () => {
    await append(1);
    await page(1, POSITION + 77);
    expect(await stateOf("last_block")).toEqual({ last_block: POSITION + 77 + YEAR });
    await append(2);
    expect((await page(1, POSITION + 77)).items.map(({ n }) => n)).toEqual([POSITION + 78 + YEAR]);
    // It is known from then on.
    await page(2, POSITION + 90);
    expect(await stateOf("last_block")).toEqual({ last_block: POSITION + 78 + YEAR });
    expect(errors.mock.calls.length).toBe(1);
    expect((await readersOf())[1]).toMatchObject({ received: 2 });
    expect((await shard().accountStatus()).restored).toEqual({ who: "shard", job: 1, atMs: NOON });
    expect(await shard().searchCounts()).toMatchObject([{ id: 0, sinceMs: NOON }]);
  });

  it("is told apart from its reader, which then says less than before; what it discards, it need not have read", async () => {
    await append(1);
    const before = await page(1, POSITION);
    expect(before.isAll).toBe(true);
    await append(2);
    await shard().configure(snapshot("epoch.2.mark", [job(1), job(2, { discard: true })]));
    await page(2, 0);
    expect((await shard().accountStatus()).restored).toBeNull();
    clock.advance(1_000);
    await page(1, POSITION - 5);
    expect((await shard().accountStatus()).restored).toEqual({ who: "reader", job: 1, atMs: NOON + 1_000 });
  });
});
