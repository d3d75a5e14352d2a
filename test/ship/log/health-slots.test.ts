/** The health of functions in the log: each part once, over deliveries, shards and hours. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { slowFindings, slowOf } from "../../../src/operate/status/slow.ts";
import type { PartHead } from "../../../src/ship/log/append-types.ts";
import {
  addedHealth,
  BUCKETS,
  bucketOf,
  type ErrorCount,
  type Health,
  invocations,
  NO_HEALTH,
  problemsOf,
} from "../../../src/ship/log/function-health.ts";
import type { RanIn } from "../../../src/ship/log/health-keys.ts";
import { DETAILED_MAX, HealthSlots, SLOT_MS, slotOf } from "../../../src/ship/log/health-slots.ts";
import type { FunctionSlots } from "../../../src/ship/log/last-hour.ts";
import { LogShards } from "../../../src/ship/log/log-shards.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { id } from "../consumer/scripted.ts";
import { control, open, shard } from "./shard.ts";

const HOUR_MS = 3_600_000;
const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

const wentWell = (count: number, ms = 10): Health => ({
  ...{ outcomes: [{ outcome: "ok", count }], failed: 0, serverErrors: 0 },
  ...{ wall: [ms, count], cpu: [1, count], errors: [] },
});

/** Of the problem with this message. */
const errorOf = (count: number, atMs: number, message: string): ErrorCount => ({
  ...{ id: `id of ${message}`, name: "Error", message, frame: "", count },
  ...{ firstMs: atMs, lastMs: atMs, firstRay: "8f", lastRay: "8f" },
});

const failing = (count: number, atMs: number, message = "out of tea"): Health => ({
  ...{ outcomes: [{ outcome: "exception", count }], failed: count, serverErrors: 0, wall: [2, count], cpu: [1, count] },
  errors: [errorOf(count, atMs, message)],
});

type Shares = Readonly<Record<string, Health>>;

/** A part with these invocations. */
const part = (n: number, shares: Shares, takenInMs: number, source = "tail"): PartHead => ({
  ...{ id: id(n), takenInMs, keyed: false, bytes: 100, source },
  functions: Object.entries(shares).map(([scriptName, health]) => ({
    ...{ scriptName, records: invocations(health), lastEventMs: takenInMs, health },
  })),
});

let ids = 0;
const count = async (shares: Shares, takenInMs: number, n = 0, source = "tail"): Promise<void> => {
  ids += 1;
  await shard(n).append(open([], { parts: [part(ids, shares, takenInMs, source)] }));
};

const both = () => new LogShards(env, [0, 1]);
const of = (name: string, since = 0, until = Number.MAX_SAFE_INTEGER): Promise<RanIn[]> =>
  both().functionHours(name, since, until);

beforeEach(() => void control([]));

const sumOf = (hours: readonly RanIn[]): Health =>
  hours.reduce((sum, { health }) => addedHealth(sum, health), NO_HEALTH);

const rows = (): Promise<{ hour: number; function: string }[]> =>
  runInDurableObject(shard(0), (_ledger, { storage: { sql } }) =>
    sql.exec<{ hour: number; function: string }>("SELECT hour, function FROM function_health").toArray(),
  );

const slotRows = (): Promise<number[]> =>
  runInDurableObject(shard(0), (_ledger, { storage: { sql } }) =>
    sql
      .exec<{ slot: number }>("SELECT slot FROM function_slot ORDER BY slot")
      .toArray()
      .map(({ slot }) => slot),
  );

const totalOfHours = (): Promise<number> =>
  runInDurableObject(shard(0), (_ledger, { storage: { sql } }) =>
    sql
      .exec<{ health: string }>("SELECT health FROM function_health")
      .toArray()
      .reduce((sum, { health }) => sum + invocations(JSON.parse(health) as Health), 0),
  );

/** Of one slot. */
const slots = (name: string, ms: number): Promise<RanIn[]> => both().functionSlots(name, slotOf(ms), slotOf(ms) + 1);

/** With as many times as there are. */
const wide = (n: number): Health => {
  const times = Array.from({ length: BUCKETS }, (_, bucket) => [bucket, n]).flat();
  return { ...wentWell(n * BUCKETS), wall: times, cpu: times };
};

describe("a part is in the health of its functions once", () => {
  it("however often it comes, as the counts have it", async () => {
    const name = fc.constantFrom("shop", "billing", "__proto__", '"', "null", "\ud800");
    const share = fc.record({ name, ok: fc.nat({ max: 4 }), failed: fc.nat({ max: 3 }) });
    // The same number is the same part.
    const delivery = fc.uniqueArray(fc.nat({ max: 24 }), { minLength: 1, maxLength: 5 });
    const parts = fc.array(fc.array(share, { minLength: 1, maxLength: 3 }), { minLength: 25, maxLength: 25 });
    setClock(NOON);
    let run = 0;
    await fc.assert(
      fc.asyncProperty(parts, fc.array(delivery, { minLength: 1, maxLength: 20 }), async (all, deliveries) => {
        run += 1;
        const made = all.map((shares, n) => {
          const own: Record<string, Health> = Object.create(null);
          for (const { name, ok, failed } of shares) {
            const key = `${run} ${name}`;
            own[key] = addedHealth(own[key] ?? NO_HEALTH, addedHealth(wentWell(ok), failing(failed, NOON)));
          }
          return part(1e6 + run * 100 + n, own, NOON);
        });
        for (const some of deliveries)
          for (const n of [0, 1]) {
            const own = some.filter((each) => each % 2 === n).map((each) => made[each] as PartHead);
            if (own.length > 0) await shard(n).append(open([], { parts: own }));
          }
        const owed = new Map<string, Health>();
        for (const n of new Set(deliveries.flat()))
          for (const { scriptName, health } of made[n]?.functions ?? [])
            owed.set(scriptName, addedHealth(owed.get(scriptName) ?? NO_HEALTH, health));
        const counts = new Map((await both().functions()).map((each) => [each.scriptName, each.notRouted]));
        for (const [scriptName, health] of owed) {
          const found = sumOf(await of(scriptName));
          expect(invocations(found)).toBe(invocations(health));
          expect(invocations(found)).toBe(counts.get(scriptName) ?? 0);
          expect(found.failed).toBe(health.failed);
          expect([found.wall, found.cpu]).toEqual([health.wall, health.cpu]);
          expect(problemsOf(found)).toEqual(problemsOf(health));
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe("what is written", () => {
  it("is no row more for a count; one for each function an hour, five minutes after its end", async () => {
    const clock = setClock(NOON);
    for (let n = 0; n < 20; n++) {
      await count({ shop: wentWell(1), [`f${n}`]: wentWell(1) }, clock.nowMs());
      clock.advance(180_000);
    }
    expect(await rows()).toEqual([]);
    await count({ shop: wentWell(1) }, clock.nowMs());
    expect(await rows()).toEqual([]);
    clock.advance(300_000);
    await count({ shop: wentWell(1) }, clock.nowMs());
    expect(await rows()).toHaveLength(21);
    expect(new Set((await rows()).map(({ hour }) => hour))).toEqual(new Set([hourOf(NOON)]));
    // The hour that is not over is told by its slots.
    expect((await of("shop")).map(({ at, health }) => [at - hourOf(NOON), invocations(health)]).sort()).toEqual([
      [0, 20],
      [1, 1],
      [1, 1],
    ]);
    expect(await slotRows()).toEqual(Array.from({ length: 12 }, (_, n) => slotOf(NOON) + n));
  });

  it("belongs to the hour of intake, however late it is counted", async () => {
    const clock = setClock(NOON);
    await count({ shop: wentWell(1) }, NOON);
    clock.advance(3 * HOUR_MS);
    await count({ shop: wentWell(2) }, NOON + 1);
    await count({ shop: wentWell(4) }, clock.nowMs());
    clock.advance(HOUR_MS + 300_000);
    await count({ shop: wentWell(8) }, clock.nowMs());
    const found = (await of("shop")).map(({ at, health }) => [at - hourOf(NOON), invocations(health)]);
    expect(found.sort()).toEqual([
      [0, 3],
      [3, 4],
      [4, 8],
    ]);
    expect(await of("shop", hourOf(NOON) + 1, hourOf(NOON) + 4)).toHaveLength(1);
  });

  it("is bounded: the busiest functions of an hour, and one row for all others", async () => {
    const clock = setClock(NOON);
    // In two counts, as the second makes room for the busiest.
    for (const half of [0, 1]) {
      const names = Array.from({ length: 300 }, (_, n) => n + 300 * half);
      const shares = Object.fromEntries(names.map((n) => [`f${n}`, wentWell(n + 1)]));
      await count(shares, clock.nowMs());
    }
    clock.advance(HOUR_MS + 300_000);
    await count({ f0: wentWell(1) }, clock.nowMs());
    const written = await rows();
    expect(written).toHaveLength(DETAILED_MAX + 1);
    expect(written.filter((row) => row.function === "null")).toHaveLength(1);
    expect(sumOf(await of("f599")).outcomes).toEqual([{ outcome: "ok", count: 600 }]);
    expect((await of("f599")).map(({ isPartial }) => isPartial)).toEqual([true]);
    expect((await of("f0")).map(({ isPartial }) => isPartial)).toEqual([false]);
    expect(await totalOfHours()).toBe((600 * 601) / 2);
  });

  it("becomes a row early where it would be too large for the shard's own, and a row is bounded, too", async () => {
    const clock = setClock(NOON);
    const times = (n: number): number => 1e9 + n;
    const shares = Object.fromEntries(Array.from({ length: 190 }, (_, n) => [`f${n}`, wide(times(n))]));
    await count(shares, NOON);
    expect(await slotRows()).toEqual([slotOf(NOON)]);
    await count(shares, NOON);
    const [row] = await runInDurableObject(shard(0), (_ledger, { storage: { sql } }) =>
      sql.exec<{ health: string }>("SELECT health FROM function_slot").toArray(),
    );
    expect(row?.health.length).toBeLessThan(210_000);
    expect((row?.health ?? "").split("\n").length).toBeGreaterThan(20);
    expect(invocations(sumOf(await of("f189")))).toBe(2 * times(189) * BUCKETS);
    expect((await of("f189")).every(({ isPartial }) => isPartial)).toBe(true);
    clock.advance(HOUR_MS + 300_000);
    await count({ other: wentWell(1) }, clock.nowMs());
    expect(await totalOfHours()).toBe(2 * BUCKETS * (190 * 1e9 + (189 * 190) / 2));
  });

  it("of a straggler goes to its slot and to its hour, which is a row already", async () => {
    const clock = setClock(NOON);
    await count({ shop: wentWell(1) }, NOON);
    clock.advance(2 * HOUR_MS);
    await count({ shop: wentWell(2) }, clock.nowMs());
    await count({ shop: wentWell(4) }, NOON + 1);
    const told = async () => [sumOf(await of("shop", 0, hourOf(NOON) + 1)), sumOf(await slots("shop", NOON))];
    expect((await told()).map(invocations)).toEqual([5, 5]);
    clock.advance(300_000);
    await count({ shop: wentWell(8) }, clock.nowMs());
    expect((await told()).map(invocations)).toEqual([5, 5]);
    expect(await totalOfHours()).toBe(5);
  });

  it("adds up whatever the clock does, as slots and as hours", async () => {
    const step = fc.tuple(fc.nat({ max: 3 }), fc.integer({ min: -90, max: 150 }), fc.nat({ max: 100 }));
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        run += 1;
        const clock = setClock(NOON);
        let owed = 0;
        for (const [n, minutes, late] of steps) {
          clock.advance(minutes * 60_000);
          await count({ [`shop ${run}`]: wentWell(n) }, clock.nowMs() - late * 60_000);
          owed += n;
        }
        clock.advance(24 * HOUR_MS);
        expect(invocations(sumOf(await of(`shop ${run}`)))).toBe(owed);
        expect(invocations(sumOf(await both().functionSlots(`shop ${run}`, 0, Number.MAX_SAFE_INTEGER)))).toBe(owed);
      }),
      { numRuns: 25 },
    );
  });

  it("takes over what an earlier release has gathered of an hour", async () => {
    setClock(NOON);
    const { statuses: _, ...health } = wentWell(3);
    const gathered = { from: 0, each: [{ hour: hourOf(NOON), key: '"shop"', health }], slots: [] };
    await runInDurableObject(shard(0), (_ledger, { storage: { sql } }) => {
      sql.exec("UPDATE state SET health = ?", JSON.stringify(gathered));
    });
    await evictDurableObject(shard(0));
    expect(invocations(sumOf(await of("shop")))).toBe(3);
    await count({ shop: wentWell(1) }, NOON);
    await evictDurableObject(shard(0));
    expect(invocations(sumOf(await of("shop")))).toBe(4);
  });

  it("is kept for thirty days, and forgotten with the function", async () => {
    const clock = setClock(NOON);
    const ledger = shard(0);
    await count({ shop: wentWell(1), till: wentWell(1) }, NOON);
    clock.advance(HOUR_MS + 300_000);
    await count({ shop: wentWell(1), till: wentWell(1) }, clock.nowMs());
    await ledger.forgetFunction("till");
    expect(await of("till")).toEqual([]);
    expect(await rows()).toEqual([{ hour: hourOf(NOON), function: '"shop"' }]);
    clock.advance(718 * HOUR_MS);
    await count({}, clock.nowMs());
    await ledger.sweep();
    expect(await of("shop")).toHaveLength(2);
    clock.advance(HOUR_MS);
    await count({}, clock.nowMs());
    await ledger.sweep();
    expect((await of("shop")).map(({ at }) => at - hourOf(NOON))).toEqual([1]);
    clock.advance(25 * HOUR_MS);
    await count({}, clock.nowMs());
    await ledger.sweep();
    expect(await rows()).toEqual([]);
  });

  it("has the hour before a break that is longer than slots are kept", async () => {
    const clock = setClock(NOON);
    await count({ shop: wentWell(1) }, NOON);
    clock.advance(600_000);
    await count({ shop: wentWell(2) }, clock.nowMs());
    expect(await slotRows()).toEqual([slotOf(NOON)]);
    clock.advance(72 * HOUR_MS);
    await shard(0).sweep();
    expect(invocations(sumOf(await of("shop")))).toBe(3);
    await count({}, clock.nowMs());
    clock.advance(25 * HOUR_MS);
    await shard(0).sweep();
    expect(await slotRows()).toEqual([]);
    expect(invocations(sumOf(await of("shop")))).toBe(3);
  });

  it("is still known to be a part when another function is forgotten", async () => {
    const clock = setClock(NOON);
    const others = Array.from({ length: DETAILED_MAX }, (_, n) => [`f${n}`, wentWell(1)]);
    await count({ shop: wentWell(9), till: wentWell(8), ...Object.fromEntries(others) }, NOON);
    clock.advance(600_000);
    await count({}, clock.nowMs());
    await shard(0).forgetFunction("till");
    expect(await of("till")).toEqual([]);
    expect(await of("shop")).toMatchObject([{ isPartial: true }]);
    clock.advance(HOUR_MS);
    await count({}, clock.nowMs());
    expect(await of("shop")).toMatchObject([{ isPartial: true }]);
  });
});

describe("the last hour of functions that fail", () => {
  const asked = async (): Promise<readonly FunctionSlots[]> => (await both().status()).failing ?? [];

  it("is by five minutes of intake, with the first failure of each; those that do not fail are left out", async () => {
    const clock = setClock(NOON);
    await count({ shop: wentWell(3), till: wentWell(1) }, NOON);
    clock.advance(2_000);
    await count({ shop: failing(2, NOON + 1_000) }, NOON + 2_000);
    await count({ shop: failing(1, NOON + 500) }, NOON + 2_000);
    clock.advance(SLOT_MS - 2_000);
    // The sender says that it happened in another century.
    await count({ shop: failing(1, 5) }, clock.nowMs());
    const slot = Math.floor(NOON / SLOT_MS);
    expect(await asked()).toEqual([
      {
        ...{ scriptName: "shop", source: "tail" },
        slots: [
          { slot, events: 6, failed: 3, firstFailedMs: NOON + 500 },
          { slot: slot + 1, events: 1, failed: 1, firstFailedMs: NOON + SLOT_MS },
        ],
        versions: [],
      },
    ]);
    clock.advance(11 * SLOT_MS);
    expect((await asked())[0]?.slots.map((each) => each.slot)).toEqual([slot + 1]);
    clock.advance(SLOT_MS);
    expect(await asked()).toEqual([]);
  });

  it.each<[string, runs: number]>([
    ["in one count", 1],
    ["after the others have become rows", 2],
  ])("has one that fails always, among very many that fail now and then: %s", async (_what, runs) => {
    const clock = setClock(NOON);
    const seldom = { ...wentWell(10_000), outcomes: [{ outcome: "ok", count: 10_000 }], failed: 1 };
    const others = runs > 1 ? { ...wide(1e9), failed: 1 } : seldom;
    await count(Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`busy ${n}`, others])), NOON);
    await count({ shop: failing(40, NOON) }, NOON);
    await count(Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`busy ${n}`, seldom])), NOON);
    expect((await asked()).find(({ scriptName }) => scriptName === "shop")?.slots[0]?.failed).toBe(40);
    clock.advance(HOUR_MS + 300_000);
    await count({ till: wentWell(1) }, clock.nowMs());
    expect(sumOf(await of("shop")).problems).toEqual([["id of out of tea", 40]]);
  });

  it("is summed over shards", async () => {
    setClock(NOON);
    for (const n of [0, 1]) await count({ shop: failing(1, NOON) }, NOON, n);
    expect((await asked()).map(({ slots }) => slots[0]?.failed)).toEqual([2]);
  });
});

describe("what is slower than in the day before", () => {
  const slower = async () => (await both().status()).slower ?? [];

  it("is told with its times, over shards; what is as it was, or new, is not", async () => {
    const clock = setClock(NOON);
    for (const n of [0, 1])
      await count({ shop: wentWell(100, bucketOf(40)), till: wentWell(100, bucketOf(900)) }, NOON, n);
    clock.advance(2 * HOUR_MS);
    const now = clock.nowMs();
    const slow = wentWell(30, bucketOf(3_000));
    for (const n of [0, 1]) await count({ shop: slow, till: wentWell(9, bucketOf(900)), fresh: slow }, now, n);
    expect(await slower()).toEqual([
      {
        ...{ scriptName: "shop", source: "tail", usual: [bucketOf(40), 200] },
        slots: [{ slot: slotOf(now), events: 60, wall: [bucketOf(3_000), 60] }],
      },
    ]);
    const findings = slowFindings(slowOf(await slower(), now));
    expect(findings.map(({ summary }) => summary)).toEqual([
      expect.stringMatching(/^"shop" is slow: p95 .* s in the last .* min, .* ms the day before; 60 of 60/),
    ]);
  });

  it("is that of its sender alone", async () => {
    const clock = setClock(NOON);
    await count({ shop: wentWell(100, bucketOf(3_000)) }, NOON);
    await count({ shop: wentWell(100, bucketOf(40)) }, NOON, 0, "http:ci");
    clock.advance(2 * HOUR_MS);
    for (const source of ["tail", "http:ci"])
      await count({ shop: wentWell(30, bucketOf(3_000)) }, clock.nowMs(), 0, source);
    expect((await slower()).map(({ source }) => source)).toEqual(["http:ci"]);
  });
});

describe("names that a sender makes up", () => {
  const NAMES = 401;
  const madeUp = (health: Health, run = 0): Shares =>
    Object.fromEntries(Array.from({ length: NAMES }, (_, n) => [`${run} made up ${n}`, health]));
  const isFailing = async (): Promise<boolean> =>
    (await both().status()).failing.some(({ scriptName, source }) => scriptName === "shop" && source === "tail");
  const crowded = async () => (await both().status()).crowded;

  it.each<[string, Health]>([
    ["that are busy", wentWell(45)],
    ["that fail more often", failing(900, NOON)],
  ])("hide no function that the platform traces: names %s", async (_what, health) => {
    const clock = setClock(NOON);
    await count({ shop: failing(40, NOON), till: wentWell(3) }, NOON);
    for (const run of [0, 1, 2]) await count(madeUp(health, run), NOON, 0, "http:ci");
    expect(await isFailing()).toBe(true);
    clock.advance(HOUR_MS + 300_000);
    await count({ other: wentWell(1) }, clock.nowMs());
    expect(await rows()).toHaveLength(DETAILED_MAX + 1);
    expect(sumOf(await of("shop"))).toMatchObject({ failed: 40, problems: [["id of out of tea", 40]] });
    expect(invocations(sumOf(await of("till")))).toBe(3);
    expect(await crowded()).toEqual([{ source: "http:ci", what: "summed" }]);
  });

  it("hide none of another sender, nor one that failed before", async () => {
    setClock(NOON);
    await count({ shop: failing(40, NOON) }, NOON, 0, "rpc");
    for (const run of [0, 1]) await count(madeUp(failing(900, NOON), run), NOON, 0, "http:ci");
    expect((await both().status()).failing).toContainEqual(expect.objectContaining({ scriptName: "shop" }));
  });

  it("hide none whose slot has become a row early", async () => {
    setClock(NOON);
    for (const run of [0, 1]) await count(madeUp({ ...wide(1e9), failed: 1 }, run), NOON, 0, "http:ci");
    expect(await slotRows()).toHaveLength(1);
    await count({ shop: failing(40, NOON) }, NOON);
    await count({ ...madeUp({ ...wide(1e9), failed: 1 }, 2) }, NOON, 0, "http:ci");
    expect(sumOf(await of("shop"))).toMatchObject({ failed: 40, problems: [["id of out of tea", 40]] });
  });

  it("dilute nothing by being that of another, and take no error of it", async () => {
    setClock(NOON);
    await count({ shop: failing(40, NOON) }, NOON);
    const other = Array.from({ length: 16 }, (_, n) => failing(100, NOON + 1, `made up ${"abcdefghijklmnop"[n]}`));
    await count({ shop: [wentWell(1e6), ...other].reduce(addedHealth) }, NOON, 0, 'http:"x" \\');
    const [own] = (await both().status()).failing.filter(({ source }) => source === "tail");
    expect(own?.slots).toMatchObject([{ events: 40, failed: 40 }]);
    const found = await of("shop");
    expect(new Set(found.map(({ source }) => source))).toEqual(new Set(["tail", 'http:"x" \\']));
    expect(found.find(({ source }) => source === "tail")?.health.problems).toEqual([["id of out of tea", 40]]);
    await shard(0).forgetFunction("shop");
    expect([await of("shop"), (await both().status()).failing]).toEqual([[], []]);
  });
});

it("a function's thirty days are read without the rows of others", async () => {
  setClock(NOON);
  await runInDurableObject(shard(0), (_ledger, { storage: { sql } }) => {
    for (let hour = 0; hour < 720; hour++)
      sql.exec(
        `INSERT INTO function_health SELECT ?, '"f' || value || '"', ? FROM json_each(?)`,
        hourOf(NOON) - hour,
        JSON.stringify(wentWell(1)),
        JSON.stringify(Array.from({ length: 50 }, (_, n) => n)),
      );
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    const exec = (query: string, ...values: SqlStorageValue[]) => {
      const cursor = sql.exec(query, ...values);
      cursors.push(cursor);
      return cursor;
    };
    const hours = new HealthSlots({ exec } as unknown as SqlStorage);
    expect(hours.hours("f7", 0, Number.MAX_SAFE_INTEGER, NOON)).toHaveLength(720);
    const read = cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
    expect(read).toBeLessThan(9 * 720);
  });
});

describe("versions", () => {
  const of = (version: string, health: Health, tag = ""): PartHead["functions"] => [
    { scriptName: "shop", version, ...(tag && { tag }), records: invocations(health), lastEventMs: NOON, health },
  ];
  const take = async (functions: PartHead["functions"], takenInMs: number, source = "tail", n = 0): Promise<void> => {
    ids += 1;
    const head = { id: id(ids), takenInMs, keyed: false, bytes: 100, source };
    await shard(n).append(open([], { parts: [{ ...head, functions }] }));
  };
  const seen = () => both().functionVersions("shop");

  it("are told apart in slots, hours and what fails, with the first sight of each, over shards", async () => {
    const clock = setClock(NOON);
    await take(of("v1", wentWell(5), "first"), NOON);
    clock.advance(60_000);
    await take(of("v2", failing(2, clock.nowMs())), clock.nowMs());
    await take(of("v2", wentWell(3)), clock.nowMs(), "tail", 1);
    const told = (all: readonly RanIn[]) =>
      [...Map.groupBy(all, ({ version }) => version)]
        .map(([version, own]) => [version, invocations(sumOf(own))])
        .sort();
    const owed = [
      ["v1", 5],
      ["v2", 5],
    ];
    expect(told(await slots("shop", NOON))).toEqual(owed);
    expect((await both().status()).failing).toMatchObject([
      {
        ...{ scriptName: "shop", source: "tail" },
        slots: [{ events: 7, failed: 2 }],
        versions: [
          { version: "v1", tag: "first", firstMs: NOON, events: 5, failed: 0 },
          { version: "v2", tag: "", firstMs: NOON + 60_000, events: 2, failed: 2 },
        ],
      },
    ]);
    clock.advance(HOUR_MS + 300_000);
    for (const n of [0, 1]) await take([], clock.nowMs(), "tail", n);
    expect(told(await both().functionHours("shop", 0, Number.MAX_SAFE_INTEGER))).toEqual(owed);
    const first = [
      { version: "v2", tag: "", source: "tail", firstMs: NOON + 60_000, lastMs: NOON + 60_000 },
      { version: "v1", tag: "first", source: "tail", firstMs: NOON, lastMs: NOON },
    ];
    expect(await seen()).toEqual(first);
    clock.advance(3 * HOUR_MS);
    await take(of("v1", wentWell(1)), clock.nowMs());
    expect((await seen()).map(({ version }) => version)).toEqual(["v2", "v1"]);
    await shard(0).forgetFunction("shop");
    expect((await seen()).map(({ version }) => version)).toEqual(["v2"]);
  });

  it("that a sender makes up are bounded, and push out none of the platform's", async () => {
    const clock = setClock(NOON);
    await take(of("real", wentWell(1)), NOON);
    for (let round = 0; round < 12; round++) {
      const made = Array.from({ length: 30 }, (_, n) => `made ${round} ${n}`);
      await take(
        made.flatMap((name) => of("x", wentWell(1)).map((each) => ({ ...each, scriptName: name }))),
        clock.nowMs(),
        "http:ci",
      );
      await take(
        made.flatMap((version) => of(version, wentWell(1))),
        clock.nowMs(),
        "http:ci",
      );
      clock.advance(600_000);
    }
    await take([], clock.nowMs());
    const rows = await runInDurableObject(shard(0), (_ledger, { storage: { sql } }) =>
      sql
        .exec<{ source: string; n: number }>("SELECT source, count(*) AS n FROM function_version GROUP BY source")
        .toArray(),
    );
    expect(rows).toEqual([
      { source: "http:ci", n: 200 },
      { source: "tail", n: 1 },
    ]);
    expect(await seen()).toContainEqual({ version: "real", tag: "", source: "tail", firstMs: NOON, lastMs: NOON });
  });

  it("are forgotten 90 days after they were last seen", async () => {
    const clock = setClock(NOON);
    await take(of("v1", wentWell(1)), NOON);
    clock.advance(600_000);
    await take([], clock.nowMs());
    clock.advance(89 * 24 * HOUR_MS);
    await count({}, clock.nowMs());
    await shard(0).sweep();
    expect(await seen()).toHaveLength(1);
    clock.advance(2 * 24 * HOUR_MS);
    await count({}, clock.nowMs());
    await shard(0).sweep();
    expect(await seen()).toEqual([]);
  });
});
