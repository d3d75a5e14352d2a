/** What one append does to a shard of the log: which parts are new, and what each job is to get. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ROW_MAX_BYTES, SHARD_UNDER_WAY_BYTES } from "../../../src/base/limits.ts";
import type { JobsSnapshot } from "../../../src/ship/job/config.ts";
import type { Append } from "../../../src/ship/log/append-types.ts";
import { APPEND_FORMAT, SHARD_BUSY, SHARD_FULL, SHARD_NOT_READY } from "../../../src/ship/log/append-types.ts";
import type { TraceLog } from "../../../src/ship/log/trace-log.ts";
import { keepHours } from "../../support/runtime/keeping.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { body, id, job, record } from "../consumer/scripted.ts";
import {
  alarmAt,
  type Control,
  control,
  eventOf,
  failingAt,
  message,
  open,
  page,
  prepared,
  reading,
  rowsOf,
  shard,
  stateOf,
  unread,
} from "./shard.ts";

const DAY_MS = 86_400_000;
const COUNTS = "processed, routed, not_enabled, not_routed, set_aside, discarded";
const counts = () => stateOf<Record<string, number>>(COUNTS);
const NOTHING = { processed: 0, routed: 0, not_enabled: 0, not_routed: 0, set_aside: 0, discarded: 0 };
const from = (fromMs: number, untilMs: number | null = null) => ({ windows: [{ fromMs, untilMs }] });

let clock: ReturnType<typeof setClock>;
let plane: Control;
beforeEach(() => {
  clock = setClock(NOON);
  plane = control();
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

const append = async (given: Append) => {
  const { fresh, tooOld } = await shard().append(given);
  return { fresh, tooOld };
};
const fresh = async (...messages: ArrayBuffer[]) => (await append(open(messages))).fresh;

describe("a part", () => {
  it("is taken once: a copy is known, in whatever message, and so is a second one of one append", async () => {
    expect(await fresh(message(1), message(1), message(2))).toEqual([id(1), id(2)]);
    expect(await fresh(message(2), message(3))).toEqual([id(3)]);
    expect(await unread(1)).toMatchObject([
      { received: 2, outcomes: ["event 1", "event 2"] },
      { received: 1, outcomes: ["event 3"] },
    ]);
    expect(await counts()).toEqual({ ...NOTHING, processed: 3, routed: 3 });
    expect(await shard().known([{ id: id(1), takenInMs: NOON, keyed: false }])).toEqual([id(1)]);
  });

  it("that code of a later release appends is not taken, if this code would leave out a part of it", async () => {
    const append = { ...open([message(1)]), v: APPEND_FORMAT + 1 };
    await expect((async () => shard().append(append))()).rejects.toThrow(SHARD_NOT_READY);
    expect(await counts()).toEqual(NOTHING);
    expect(await fresh(message(1))).toEqual([id(1)]);
  });

  it("is known after a restart, too", async () => {
    await fresh(message(1));
    await evictDurableObject(shard());
    expect(await fresh(message(1), message(2))).toEqual([id(2)]);
    expect(await unread(1)).toMatchObject([{ outcomes: ["event 1"] }, { outcomes: ["event 2"] }]);
  });

  it.each([
    ["is kept", 24, 1],
    ["is not kept", 0, 0],
  ])("without a job is counted and remembered, and %s with LOG_KEEP_HOURS at %i", async (_what, hours, blocks) => {
    keepHours(hours);
    plane.now = { ...plane.now, jobs: [job(1, from(NOON + 1))] };
    expect(await fresh(message(1))).toEqual([id(1)]);
    expect([await rowsOf("block"), await alarmAt()]).toEqual([blocks, null]);
    expect(await counts()).toEqual({ ...NOTHING, processed: 1, not_routed: 1 });
    expect(await fresh(message(1))).toEqual([]);
  });
});

describe("a part with a key", () => {
  const keyed = (n: number, takenInMs = NOON) => message(n, { takenInMs, keyed: true });

  it("that comes twice in one append is counted as it was when the first copy was taken in", async () => {
    plane.now = { ...plane.now, jobs: [job(1, from(NOON, NOON + 1_000))] };
    expect(await fresh(keyed(1, NOON + 5_000), keyed(1))).toEqual([id(1)]);
    expect(await unread(1)).toMatchObject([{ received: 1, outcomes: ["event 1"] }]);
    expect(await counts()).toEqual({ ...NOTHING, processed: 1, routed: 1 });
  });

  it("goes to no job by a copy whose function was off", async () => {
    plane.now = {
      ...plane.now,
      jobs: [job(1), job(2, from(NOON + 1_000))],
      optOuts: [{ scriptName: "shop", ...from(NOON + 500) }],
    };
    await fresh(keyed(1));
    clock.advance(3_000);
    await fresh(keyed(1, NOON + 1_500));
    expect([(await unread(1)).length, await unread(2)]).toEqual([1, []]);
  });
});

describe("what becomes of events", () => {
  it("is told by function, by what was in force at intake", async () => {
    plane.now = {
      ...plane.now,
      jobs: [job(1, from(NOON, NOON + 1_000))],
      optOuts: [{ scriptName: "off", ...from(NOON - 1_000) }],
    };
    const records = ["shop", "off", "shop"].map(eventOf);
    await fresh(message(1, { records }), message(2, { records, takenInMs: NOON + 1_001 }));
    expect(await counts()).toEqual({ ...NOTHING, processed: 6, routed: 2, not_enabled: 2, not_routed: 2 });
    expect(await unread(1)).toEqual([{ made: "open", received: 2, outcomes: ["shop", "shop"] }]);
    expect(await shard().functionCount("off")).toMatchObject({ routed: 0, notEnabled: 2, notRouted: 0 });
    expect(await shard().functionCount("shop")).toMatchObject({ routed: 2, notEnabled: 0, notRouted: 2 });
  });
});

describe("what was prepared", () => {
  const got = async (jobId = 1) => (await unread(jobId)).map(({ made }) => made);

  it("is taken if it was made for just these parts, with the job as it is", async () => {
    plane.now = { ...plane.now, jobs: [job(1), job(2), job(3, from(NOON + 1))] };
    await append(prepared([message(1), message(2, { takenInMs: NOON + 1 })], plane.now));
    expect(await Promise.all([1, 2, 3].map((each) => unread(each)))).toEqual([
      [{ made: "prepared", received: 2, outcomes: ["event 1", "event 2"] }],
      [{ made: "prepared", received: 2, outcomes: ["event 1", "event 2"] }],
      [{ made: "prepared", received: 1, outcomes: ["event 2"] }],
    ]);
  });

  it.each([
    ["another version", { version: 2 }],
    ["another mark", { mark: "other" }],
  ])("is made anew by the reader of a job of %s, and taken for others", async (_what, fields) => {
    const known = { ...plane.now, jobs: [job(1, fields), job(2)] };
    plane.now = { ...plane.now, jobs: [job(1), job(2)] };
    await append(prepared([message(1)], known));
    expect([await got(1), await got(2)]).toEqual([["open"], ["prepared"]]);
  });

  it("is made anew where the job is offered other parts", async () => {
    const known = plane.now;
    plane.now = { ...plane.now, jobs: [job(1, from(NOON + 1))] };
    await append(prepared([message(1), message(2, { takenInMs: NOON + 1 })], known));
    expect(await unread(1)).toEqual([{ made: "open", received: 1, outcomes: ["event 2"] }]);
  });

  it.each([
    ["is known", async () => void (await fresh(message(1)))],
    ["comes twice", async () => {}],
  ])("is made anew where one of the parts %s, with a key", async (_what, before) => {
    await before();
    const twice = [message(1), message(2, { keyed: true }), message(2, { keyed: true })];
    await append(prepared(twice, plane.now));
    const all = await unread(1);
    expect(all.flatMap(({ outcomes }) => outcomes).sort()).toEqual(["event 1", "event 2"]);
    expect(all.at(-1)?.made).toBe("open");
  });

  it("is left out of what is stored where nobody takes it, and so are records that nobody needs or keeps", async () => {
    const bytes = async (given: Append) => {
      await append(given);
      return runInDurableObject(shard(), (_shard, { storage: { sql } }) =>
        sql.exec<{ bytes: number }>("SELECT length(body) - meta AS bytes FROM block ORDER BY n DESC LIMIT 1").one(),
      );
    };
    const made = prepared([message(1)], plane.now);
    const records = made.records.reduce((sum, each) => sum + each.body.length, 0);
    const [fragment] = made.prepared[0]?.fragments ?? [];
    const { body, hashes, identities } = fragment ?? {};
    const fragmentBytes = [body, hashes, identities].reduce((sum, each) => sum + (each?.byteLength ?? 0), 0);
    expect(await bytes(made)).toEqual({ bytes: fragmentBytes + records });
    keepHours(0);
    expect(await bytes(prepared([message(3)], plane.now))).toEqual({ bytes: fragmentBytes });
    const other = prepared([message(2)], { ...plane.now, jobs: [job(1, { version: 9 })] });
    expect(await bytes(other)).toEqual({ bytes: records });
  });
});

describe("a block", () => {
  it("fits rows of the platform, whatever days, hours and scripts its records are of", async () => {
    const given = prepared([message(1)], plane.now);
    const [group] = given.prepared;
    const [fragment] = group?.fragments ?? [];
    if (group === undefined || fragment === undefined) throw new Error("nothing is prepared");
    group.fragments = Array.from({ length: 9_000 }, (_, n) => ({ ...fragment, part: `05/shop-${n}` }));
    await append(given);
    const rows = await runInDurableObject(shard(), (_shard, { storage: { sql } }) =>
      sql
        .exec<{ bytes: number }>(
          `SELECT length(jobs) + length(meta) + length(body) AS bytes FROM block UNION ALL SELECT length(body) FROM piece`,
        )
        .toArray(),
    );
    expect(Math.max(...rows.map(({ bytes }) => bytes))).toBeLessThan(2_000_000);
    const { fragments = [] } = (await page(1, 0, { maxBytes: 1e9 })).items[0]?.group ?? {};
    expect([fragments.length, fragments.at(-1)]).toEqual([9_000, group.fragments.at(-1)]);
  });
});

describe("a part that is too old to tell whether it is new", () => {
  const old = (fields = {}) => message(1, { takenInMs: NOON - DAY_MS, ...fields });
  const taken = (keyed = false) => ({ id: id(1), takenInMs: NOON - DAY_MS, keyed });

  beforeEach(async () => {
    plane.now = { ...plane.now, jobs: [job(1), job(2, from(NOON - DAY_MS + 1))] };
    await fresh(message(9));
    clock.advance(15 * DAY_MS);
    // Only the newest part says that so much time has passed.
    await fresh(message(10, { takenInMs: clock.nowMs() }));
    await shard().sweep();
  });

  it.each([false, true])("is put on hold, once, for the jobs of its time; keyed: %s", async (keyed) => {
    expect(await append(open([old({ keyed }), message(3, { takenInMs: clock.nowMs() })]))).toEqual({
      fresh: [id(3)],
      tooOld: [id(1)],
    });
    expect(await append(open([old({ keyed }), old({ keyed })]))).toEqual({ fresh: [], tooOld: [] });
    expect(await shard().holdList(0, 10)).toMatchObject({
      total: 1,
      entries: [{ events: 1, takenInMs: NOON - DAY_MS }],
    });
    expect(await counts()).toMatchObject({ processed: 4, routed: 3, set_aside: 1 });
    expect((await unread(1)).flatMap(({ outcomes }) => outcomes)).not.toContain("event 1");
  });

  it("is kept once where it comes twice in one append", async () => {
    expect((await append(open([old(), old()]))).tooOld).toEqual([id(1)]);
    expect(await counts()).toMatchObject({ set_aside: 1 });
    expect((await shard().holdList(0, 10)).total).toBe(1);
  });

  it("is known from then on for as long as a copy may come, though its minute is forgotten", async () => {
    await append(open([old()]));
    clock.advance(14 * DAY_MS);
    await fresh(message(4, { takenInMs: clock.nowMs() }));
    await shard().sweep();
    expect(await shard().known([taken()])).toEqual([id(1)]);
    expect(await append(open([old()]))).toEqual({ fresh: [], tooOld: [] });
    await shard().expectAgain([taken()], "returned");
    expect((await shard().accountStatus()).oldestUnfinishedMs).toBeNull();
  });

  it("is added by a keyed copy of a later time only for jobs that it is not on hold for", async () => {
    await append(open([old({ keyed: true })]));
    await fresh(message(1, { keyed: true, takenInMs: NOON - DAY_MS + 1 }));
    const got = async (each: number) => (await unread(each)).flatMap(({ outcomes }) => outcomes);
    expect([(await got(1)).includes("event 1"), (await got(2)).includes("event 1")]).toEqual([false, true]);
  });
});

describe("an append is one transaction", () => {
  it("of which nothing is left if it fails, on disk or in memory", async () => {
    await fresh(message(9));
    const before = await stateOf("*");
    // The last statement of the append, after block and ids.
    await failingAt("UPDATE state SET processed = processed + ", (log) =>
      log.append(prepared([message(1), message(2, { keyed: true })], plane.now)),
    );
    expect(await stateOf("*")).toEqual(before);
    expect((await unread(1)).map(({ outcomes }) => outcomes)).toEqual([["event 9"]]);
    expect(await shard().status([1])).toMatchObject({ jobs: { 1: { received: 1, unread: { records: 1 } } } });
    expect(await fresh(message(1), message(2, { keyed: true }))).toEqual([id(1), id(2)]);
    expect((await unread(1)).map(({ outcomes }) => outcomes)).toEqual([["event 9"], ["event 1", "event 2"]]);
    expect(await counts()).toEqual({ ...NOTHING, processed: 3, routed: 3 });
  });

  it("that sets the alarm for the job that is due first", async () => {
    plane.now = { ...plane.now, jobs: [job(1, { limits: limits(60_000) }), job(2, { limits: limits(40_000) })] };
    await fresh(message(1));
    expect(await alarmAt()).toBe(NOON + 40_000);
  });

  it("whose positions grow, though the clock goes back", async () => {
    await fresh(message(1));
    clock.advance(-DAY_MS);
    await fresh(message(2));
    const { items, end } = await page(1);
    expect(items.map(({ n }) => n)).toEqual([NOON * 1_024, NOON * 1_024 + 1]);
    expect(end).toBe(NOON * 1_024 + 1);
  });

  it("of as many bytes as do not fit a row: they come back whole", async () => {
    const records = Array.from({ length: 300 }, (_, i) => record(`${i} ${randomText(14_000)}`));
    const large = body({ n: 1, takenInMs: NOON, keyed: false, shards: 1, records });
    expect(large.byteLength).toBeGreaterThan(1_900_000);
    await fresh(large, message(2));
    expect(await rowsOf("piece")).toBe(1);
    const [got] = await unread(1);
    expect(got?.outcomes).toEqual([...records.map(({ Outcome }) => Outcome), "event 2"]);
    reading();
    clock.advance(60_000);
    await shard().drive();
    // Of a row alone there is room; after a restart, too, it is known that there is more.
    await evictDurableObject(shard());
    await page(1, NOON * 1_024);
    await runInDurableObject(shard(), (log: TraceLog) => {
      log.keptMaxBytes = ROW_MAX_BYTES;
    });
    await shard().sweep();
    expect([await rowsOf("block"), await rowsOf("piece")]).toEqual([0, 0]);
  });
});

describe("a shard that takes nothing now", () => {
  it("is full, and says so; what is on hold, notes, changes and readers go on", async () => {
    await fresh(message(1));
    await runInDurableObject(shard(), (log: TraceLog) => {
      log.maxBytes = 0;
    });
    await expect(fresh(message(2))).rejects.toThrow(SHARD_FULL);
    const part = { id: id(3), takenInMs: NOON, keyed: false };
    await shard().expectAgain([part], "returned");
    await shard().hold({
      ...{ message: message(3), parts: [{ ...part, records: 1 }], hash: part, queue: "q", why: "failed too often" },
    });
    const later: JobsSnapshot = { ...plane.now, state: "epoch.2.mark" };
    expect(await shard().configure(later)).toBe(later.state);
    expect((await unread(1)).length).toBe(1);
    expect(await counts()).toEqual({ ...NOTHING, processed: 2, routed: 1, set_aside: 1 });
  });

  it("is busy with other appends, and takes one alone however large it is", async () => {
    const answer = Promise.withResolvers<void>();
    plane.answer = () => answer.promise;
    const half = new Uint8Array(SHARD_UNDER_WAY_BYTES / 2);
    const large = (n: number): Append => ({
      ...open([message(n)]),
      records: [...open([message(n)]).records, { body: half.slice(), parts: [] }],
    });
    const first = append(large(1));
    await until(() => plane.joined.length > 0);
    await expect(append(large(2))).rejects.toThrow(SHARD_BUSY);
    const small = append(open([message(3)]));
    answer.resolve();
    expect([await first, await small]).toMatchObject([{ fresh: [id(1)] }, { fresh: [id(3)] }]);
    expect((await append(large(2))).fresh).toEqual([id(2)]);
  });
});

function limits(intervalMs: number) {
  return { bytes: 100_000_000, records: 100_000, intervalMs };
}

function randomText(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length / 2));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
