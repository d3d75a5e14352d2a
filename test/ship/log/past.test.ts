/** Jobs that start in the past: what they get of it, and what is said of that. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import type { ShardJobStatus } from "../../../src/ship/log/shard-answers.ts";
import { JOB_KNOWN_MS, type TraceLog } from "../../../src/ship/log/trace-log.ts";
import { noise } from "../../formats/record/samples.ts";
import { KEPT_MS } from "../../support/runtime/keeping.ts";
import { NOON, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { job, record, snapshot } from "../consumer/scripted.ts";
import { control, gotOf, message, open, page, readers, rowsOf, shard, stateOf } from "./shard.ts";

const DAY_MS = 86_400_000;

let clock: ReturnType<typeof setSteadyClock>;
let errors: ReturnType<typeof vi.spyOn>;
let version: number;
beforeEach(() => {
  clock = setSteadyClock(NOON);
  control();
  // What is read, tests read.
  readers(() => ({}));
  version = 1;
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

/** A message of one event for each, taken in so many ms after noon: in one block. */
const append = async (...parts: [n: number, ms: number][]) =>
  void (await shard().append(open(parts.map(([n, ms]) => message(n, { takenInMs: NOON + ms })))));

/** A job that starts so many ms after noon. */
const from = (jobId: number, ms: number, fields: Partial<JobConfig> = {}): JobConfig =>
  job(jobId, { since: NOON + ms, windows: [{ fromMs: NOON + ms, untilMs: null }], ...fields });

/** A message of one event for each, so large that a page takes one of them: a block for each. */
async function appendLarge(...parts: [n: number, ms: number][]): Promise<void> {
  for (const [n, ms] of parts) {
    const ScriptVersion = { ID: "", Tag: "", Message: noise(200_000, n) };
    const records = [{ ...record(`event ${n}`), ScriptVersion }];
    await shard().append(open([message(n, { takenInMs: NOON + ms, records })]));
  }
}

async function configure(...jobs: JobConfig[]): Promise<void> {
  version += 1;
  await shard().configure(snapshot(`epoch.${version}.mark`, [job(1), ...jobs]));
}

const statusOf = async (jobId: number) =>
  ((await shard().status([jobId])).jobs as Record<number, ShardJobStatus>)[jobId];
/** All pages, as a segment is told that does not read yet: it commits nothing. */
async function got(jobId: number, after = 0): Promise<string[]> {
  const { items, end, isAll } = await page(jobId, after, { segment: 1 });
  const outcomes = items.flatMap((item) => gotOf(item).outcomes);
  return isAll ? outcomes : [...outcomes, ...(await got(jobId, end))];
}
const read = async (jobId: number) => void (await page(jobId, (await stateOf<{ n: number }>("last_block AS n")).n));
const evicted = () => evictDurableObject(shard());
const events = (...ns: number[]): string[] => ns.map((n) => `event ${n}`);
const limit = (name: "keptMaxBytes" | "pastMaxBytes", bytes: number) =>
  runInDurableObject(shard(), (log: TraceLog) => {
    log[name] = bytes;
  });

describe("a job that starts in the past", () => {
  beforeEach(async () => {
    await append([1, 0], [2, 1_000]);
    await append([3, 2_000]);
    await append([4, 500], [5, 3_000]);
    clock.advance(10_000);
  });

  it.each<[from: number, untilMs: number | null, events: number[]]>([
    [500, null, [2, 3, 4, 5]],
    [501, null, [2, 3, 5]],
    [3_001, null, []],
    [500, NOON + 2_000, [2, 3, 4]],
    [500, NOON + 1_999, [2, 4]],
  ])("gets what was taken in from then on, part by part: %i, %s", async (ms, untilMs, own) => {
    await configure(from(2, ms, { windows: [{ fromMs: NOON + ms, untilMs }] }));
    expect(await got(2)).toEqual(events(...own));
    const TAKEN = [0, 0, 1_000, 2_000, 500, 3_000];
    const oldestMs = NOON + Math.min(...own.map((n) => TAKEN[n] as number));
    const left = own.length === 0 ? null : { records: own.length, oldestMs, sinceMs: NOON + 10_000 };
    expect(await statusOf(2)).toMatchObject({ received: own.length, unread: left, hasPast: left !== null, lost: null });
    expect((await statusOf(1))?.received).toBe(5);
  });

  it("reads on from there, in order, through one cursor, and is counted once", async () => {
    await configure(from(2, 1_000));
    await configure(from(2, 1_000, { version: 2 }));
    await append([6, 10_000]);
    await evicted();
    await configure(from(2, 1_000, { version: 3 }));
    const pages: string[][] = [];
    for (let after = 0, isAll = false; !isAll; ) {
      const next = await page(2, after, { maxBytes: 1 });
      pages.push(next.items.flatMap((item) => gotOf(item).outcomes));
      [after, isAll] = [next.end, next.isAll];
    }
    expect(pages).toEqual([2, 3, 5, 6].map((n) => events(n)));
    expect(await statusOf(2)).toMatchObject({ received: 4, unread: { records: 1 }, hasPast: false });
  });

  it("has no past any more once it has read it, whatever else is there", async () => {
    // Nothing of the newest block is its own.
    await append([6, 0]);
    await configure(from(2, 1_000));
    const [first, second, third] = (await page(2)).items;
    await page(2, second?.n);
    expect([first?.received, (await statusOf(2))?.hasPast]).toEqual([1, true]);
    await page(2, third?.n);
    expect(await statusOf(2)).toMatchObject({ received: 3, unread: null, hasPast: false });
  });

  it("holds up nothing more when it is discarded", async () => {
    await configure(from(2, 0));
    await read(1);
    clock.advance(KEPT_MS);
    await shard().sweep();
    expect(await rowsOf("block")).toBe(3);
    await configure(from(2, 0, { discard: true, windows: [] }));
    expect(await rowsOf("block")).toBe(0);
    expect(await statusOf(2)).toMatchObject({ received: 5, unread: null, hasPast: false });
  });
});

describe("what a job does not get of the past", () => {
  const lostOf = async (jobId = 2) => (await statusOf(jobId))?.lost?.map((ms) => ms - NOON) ?? null;

  it.each<[from: number, lost: number[] | null, events: number[]]>([
    [2_000, [2_000, 2_000], [3]],
    [2_001, null, [3]],
  ])("is told where that is older than what is kept: %i", async (ms, lost, own) => {
    for (const [n, at] of [
      [1, 0],
      [2, 2_000],
      [3, 4_000],
    ] as const) {
      clock.advance(NOON + at - clock.nowMs());
      await append([n, at]);
    }
    await read(1);
    clock.advance(KEPT_MS - 1_999);
    await shard().sweep();
    await configure(from(2, ms));
    expect([await lostOf(), await got(2)]).toEqual([lost, events(...own)]);
    await evicted();
    expect(await lostOf()).toEqual(lost);
  });

  it("is nothing for one that starts at the time that was told, until shards know of it", async () => {
    await append([1, 0]);
    await read(1);
    clock.advance(DAY_MS);
    const { keptSinceMs } = await shard().accountStatus();
    clock.advance(JOB_KNOWN_MS);
    await shard().sweep();
    await configure(from(2, 0));
    expect([keptSinceMs, await lostOf(), await got(2)]).toEqual([NOON, null, events(1)]);
  });
});

describe("a past that is given up", () => {
  const lostOf = async (jobId: number) => (await statusOf(jobId))?.lost?.map((ms) => ms - NOON) ?? null;
  const given = () => errors.mock.calls.map(([line]: unknown[]) => (line as { job: number }).job);
  const positions = () =>
    runInDurableObject(shard(), (_log, { storage: { sql } }) =>
      sql
        .exec<{ n: number }>("SELECT n FROM block ORDER BY n")
        .toArray()
        .map(({ n }) => n),
    );
  const tooMuch = async () => {
    await limit("keptMaxBytes", 0);
    await limit("pastMaxBytes", 0);
  };

  it.each([
    ["an append", () => append([9, 9_000]), [9]],
    ["a sweep", () => shard().sweep(), []],
  ])("is that of the job that has had it for longest, in %s: but for a page", async (_what, run, added) => {
    await appendLarge([1, 0], [2, 1_000], [3, 2_000], [4, 3_000]);
    const [first, second] = await positions();
    await read(1);
    clock.advance(5_000);
    await configure(from(2, 0));
    clock.advance(1_000);
    await configure(from(2, 0), from(3, 0));
    // It is not the one that is furthest behind.
    await page(2, first);
    await tooMuch();
    await run();
    expect([await lostOf(2), await got(2, first), await lostOf(3)]).toEqual([
      [2_000, 5_000],
      events(2, ...added),
      null,
    ]);
    expect(await statusOf(2)).toMatchObject({ received: 2 + added.length, hasPast: true });
    // Blocks that the other has not read stay.
    expect([await rowsOf("block"), await got(3)]).toEqual([4 + added.length, events(1, 2, 3, 4, ...added)]);
    await run();
    expect([await lostOf(3), await got(3)]).toEqual([[1_000, 6_000], events(1, ...added)]);
    expect(await statusOf(3)).toMatchObject({ received: 1 + added.length, hasPast: true });
    await run();
    expect([await rowsOf("block"), given()]).toEqual([2 + added.length, [2, 3]]);
    await evicted();
    expect([await lostOf(2), await lostOf(3)]).toEqual([
      [2_000, 5_000],
      [1_000, 6_000],
    ]);
    await Promise.all([page(2, second), page(3, first)]);
    const left = added.length === 0 ? null : { records: added.length };
    expect(await Promise.all([2, 3].map(statusOf))).toMatchObject([
      { received: 2 + added.length, unread: left, hasPast: false },
      { received: 1 + added.length, unread: left, hasPast: false },
    ]);
  });

  it("is none where other jobs have not read the same blocks, but for those of the page", async () => {
    await appendLarge([1, 0], [2, 1_000], [3, 2_000]);
    const [first, second, third] = await positions();
    clock.advance(5_000);
    await configure(from(2, 0));
    await tooMuch();
    for (const position of [0, first]) {
      await page(1, position);
      await shard().sweep();
      expect([await lostOf(2), await got(2), given()]).toEqual([null, events(1, 2, 3), []]);
    }
    // The second is held by it alone.
    await page(1, second);
    await shard().sweep();
    expect([await lostOf(2), await got(2), given()]).toEqual([[1_000, 5_000], events(1), [2]]);
    expect([(await page(1, second)).items.map(({ n }) => n), await rowsOf("block")]).toEqual([[third], 2]);
  });

  it("is none where a page has all of it, with what came later, which is counted once", async () => {
    await append([1, 0], [2, 4_000]);
    clock.advance(5_000);
    await configure(from(2, 0));
    // Of that time, and it came later.
    await append([3, 2_000]);
    await read(1);
    await tooMuch();
    await shard().sweep();
    expect([await got(2), given()]).toEqual([events(1, 2, 3), []]);
    expect(await statusOf(2)).toMatchObject({ received: 3, unread: { records: 3 }, hasPast: true, lost: null });
  });

  it("holds up nothing more, also what would have gone long before; what it lacked already is said with it", async () => {
    await appendLarge([1, 0], [2, 1_000], [3, 2_000]);
    const [first, second] = await positions();
    await runInDurableObject(shard(), (_log, { storage }) => {
      storage.sql.exec("UPDATE state SET kept_since_ms = ?", NOON);
    });
    await configure(from(2, 0));
    await read(1);
    clock.advance(KEPT_MS + 1);
    await shard().sweep();
    expect(await rowsOf("block")).toBe(3);
    await page(2, first);
    await limit("pastMaxBytes", 0);
    await shard().sweep();
    expect([await rowsOf("block"), await got(2, first)]).toEqual([1, events(2)]);
    await page(2, second);
    expect(await rowsOf("block")).toBe(0);
    expect(await statusOf(2)).toMatchObject({ received: 2, unread: null, hasPast: false, lost: [NOON, NOON] });
  });

  it("is none while blocks take little, whatever there was before", async () => {
    await appendLarge([1, 0], [2, 0], [3, 0]);
    await read(1);
    clock.advance(KEPT_MS + 1);
    await appendLarge([4, 5_000], [5, 5_000]);
    await configure(from(2, 5_000));
    await read(1);
    const most = await runInDurableObject(shard(), (_log, { storage: { sql } }) =>
      sql.exec<{ bytes: number }>("SELECT sum(length(body)) AS bytes FROM block").one(),
    );
    await limit("pastMaxBytes", most.bytes);
    await shard().sweep();
    expect(await statusOf(2)).toMatchObject({ received: 2, hasPast: true, lost: null });
    await limit("pastMaxBytes", most.bytes - 1);
    await shard().sweep();
    expect(await statusOf(2)).toMatchObject({ received: 1, hasPast: true, lost: [NOON + 5_000, NOON + KEPT_MS + 1] });
  });
});

describe("a past of which blocks are gone, as a release took them that knows of none", () => {
  const sql = (statement: string, ...values: (string | number)[]) =>
    runInDurableObject(shard(), (_log, { storage }) => void storage.sql.exec(statement, ...values));
  const last = async () => (await stateOf<{ n: number }>("last_block AS n")).n;

  beforeEach(async () => {
    await appendLarge([1, 0], [2, 1_000], [3, 2_000]);
    await read(1);
    clock.advance(5_000);
    await configure(from(2, 0));
  });

  it("is told, and no more is awaited than there is; what is there is read", async () => {
    await page(2, NOON * 1_024);
    await sql("DELETE FROM block WHERE n = ?", NOON * 1_024 + 1);
    await evicted();
    const left = { received: 2, lost: [NOON, NOON + 5_000], unread: { records: 1 }, hasPast: true };
    expect(await statusOf(2)).toMatchObject(left);
    await append([4, 6_000]);
    await evicted();
    expect(await statusOf(2)).toMatchObject({ ...left, received: 3, unread: { records: 2 } });
    expect(await got(2, NOON * 1_024)).toEqual(events(3, 4));
    await read(2);
    expect(await statusOf(2)).toMatchObject({ received: 3, unread: null, hasPast: false });
  });

  it("is told, too, where that release read on behind it", async () => {
    await append([4, 6_000]);
    await sql("UPDATE state SET readers = json_set(readers, '$.2.cursor', ?)", await last());
    await evicted();
    const read = { received: 1, lost: [NOON, NOON + 5_000], unread: null, hasPast: false };
    expect(await statusOf(2)).toMatchObject(read);
    await append([5, 7_000]);
    await evicted();
    expect(await statusOf(2)).toMatchObject({ ...read, received: 2, unread: { records: 1 } });
  });

  it("is none where it was read, though nothing was appended since, or the job is discarded", async () => {
    await configure(from(2, 0), from(3, 0));
    await limit("keptMaxBytes", 0);
    for (const n of [0, 1, 2]) {
      await page(2, NOON * 1_024 + n);
      await page(3, NOON * 1_024 + n);
      await limit("keptMaxBytes", 0);
      await shard().sweep();
      await evicted();
      expect(await statusOf(2)).toMatchObject({ received: 3, lost: null });
    }
    expect(await rowsOf("block")).toBe(0);
    await appendLarge([4, 6_000]);
    await configure(from(4, 6_000));
    await configure(from(4, 6_000, { discard: true, deletedMs: clock.nowMs(), windows: [] }));
    await evicted();
    expect(await statusOf(4)).toMatchObject({ received: 1, lost: null, isDiscarded: true });
  });
});

describe("a further copy of a keyed part", () => {
  const copy = async (ms: number) =>
    void (await shard().append(open([message(1, { keyed: true, takenInMs: NOON + ms })])));

  it("goes to a job that starts after the copy that is kept, and to none that finds that, or is a rerun", async () => {
    await copy(1_000);
    clock.advance(5_000);
    const rerun = from(5, 1_001, { rerunOf: 1, windows: [{ fromMs: NOON + 1_500, untilMs: NOON + 9_000 }] });
    await configure(from(2, 0), from(3, 1_000), from(4, 1_001), rerun, job(6));
    await copy(2_000);
    await copy(2_001);
    const all = await Promise.all([1, 2, 3, 4, 5, 6].map(got));
    const once = events(1);
    expect(all).toEqual([once, once, once, once, [], once]);
    expect(await Promise.all([2, 3, 4, 5].map(async (each) => (await statusOf(each))?.received))).toEqual([1, 1, 1, 0]);
  });

  const windows = (...all: [fromMs: number, untilMs: number | null][]) => ({
    windows: all.map(([ms, untilMs]) => ({ fromMs: NOON + ms, untilMs: untilMs && NOON + untilMs })),
  });

  it.each<[what: string, since: [fromMs: number, untilMs: number | null][]]>([
    [
      "again",
      [
        [0, 6_000],
        [8_000, null],
      ],
    ],
    ["again at once", [[0, null]]],
  ])("goes to a job of the past that was disabled at the first, and was enabled %s", async (_what, since) => {
    await append([2, 5_000]);
    await configure(from(2, 0));
    await configure(from(2, 0, { version: 3, ...windows([0, 6_000]) }));
    await copy(7_000);
    expect(await got(2)).toEqual(events(2));
    await configure(from(2, 0, { version: 4, ...windows(...since) }));
    await copy(9_000);
    await copy(9_001);
    expect([await got(2), (await statusOf(2))?.received]).toEqual([events(2, 1), 2]);
  });

  it("goes to no job that has read the first of its past, though its windows no longer tell of that time", async () => {
    await copy(1_000);
    await configure(from(2, 0));
    await read(2);
    await configure(from(2, 0, { version: 3, ...windows([8_000, null]) }));
    await evicted();
    await copy(9_000);
    expect(await statusOf(2)).toMatchObject({ received: 1, unread: null, hasPast: false });
  });
});
