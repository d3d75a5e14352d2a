/** Problems in the log: each record once, over deliveries, restarts, shards and bounds. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Watch } from "../../../src/operate/alerts/watch.ts";
import type { PartHead } from "../../../src/ship/log/append-types.ts";
import { type ErrorCount, type Health, NO_HEALTH, problemsOf } from "../../../src/ship/log/function-health.ts";
import { LogShards } from "../../../src/ship/log/log-shards.ts";
import { PROBLEMS_MAX, type ProblemList } from "../../../src/ship/log/problems.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { id, job } from "../consumer/scripted.ts";
import { control, open, shard } from "./shard.ts";

const SLOT_MS = 300_000;

/** Sixteen digits that spread as those of a hash do. */
const idOf = (n: number): string => ((n * 2_654_435_761) >>> 0).toString(16).padStart(8, "0").padEnd(16, "0");

const error = (n: number, count: number, atMs: number, fields: Partial<ErrorCount> = {}): ErrorCount => ({
  ...{ id: idOf(n), name: "Error", message: `cause ${n}`, frame: "load", count },
  ...{ firstMs: atMs, lastMs: atMs, firstRay: `first ${atMs}`, lastRay: `last ${atMs}` },
  ...fields,
});

interface Share {
  scriptName?: string;
  version?: string;
  errors: ErrorCount[];
}

/** A part with these errors, and a record for each. */
const part = (n: number, shares: readonly Share[], takenInMs: number, source = "tail"): PartHead => ({
  ...{ id: id(n), takenInMs, keyed: false, bytes: 100, source },
  functions: shares.map(({ scriptName = "shop", version, errors }) => {
    const records = errors.reduce((sum, { count }) => sum + count, 0);
    const health: Health = {
      ...NO_HEALTH,
      outcomes: [{ outcome: "exception", count: records }],
      failed: records,
      errors,
    };
    return { scriptName, ...(version !== undefined && { version }), records, lastEventMs: takenInMs, health };
  }),
});

let ids = 0;
interface How extends Omit<Share, "errors"> {
  n?: number;
  source?: string;
}
const count = async (errors: ErrorCount[], atMs: number, how: How = {}): Promise<void> => {
  const { n = 0, source = "tail", ...share } = how;
  ids += 1;
  await shard(n).append(open([], { parts: [part(ids, [{ ...share, errors }], atMs, source)] }));
};

const both = () => new LogShards(env, [0, 1]);
const list = (scriptName?: string): Promise<ProblemList> => both().problems(scriptName);
const byId = async (id: string) => (await list()).problems.find(({ ids }) => ids.includes(id));
const sumOf = ({ problems, others }: ProblemList): number => problems.reduce((sum, one) => sum + one.count, others);

const rows = (n = 0): Promise<{ id: number; dropped: number; others: number }[]> =>
  runInDurableObject(shard(n), (_log, { storage: { sql } }) =>
    sql.exec<{ id: number; dropped: number; others: number }>("SELECT id, dropped, others FROM problem").toArray(),
  );

beforeEach(() => void control([]));

describe("a record with an error", () => {
  it("is counted once, in a problem or beside them, however often its part comes", async () => {
    const clock = setClock(NOON);
    const share = fc.record({
      scriptName: fc.constantFrom("shop", "billing", "__proto__", "\ud800", "x".repeat(300)),
      errors: fc.uniqueArray(fc.tuple(fc.nat({ max: 30 }), fc.integer({ min: 1, max: 9 })), {
        selector: ([n]) => n,
        maxLength: 5,
      }),
    });
    const all = fc.array(fc.array(share, { minLength: 1, maxLength: 3 }), { minLength: 12, maxLength: 12 });
    const step = fc.record({
      parts: fc.uniqueArray(fc.nat({ max: 11 }), { minLength: 1, maxLength: 4 }),
      waitMs: fc.constantFrom(0, 1_000, SLOT_MS, 40 * SLOT_MS),
      restarts: fc.boolean(),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(all, fc.array(step, { minLength: 1, maxLength: 12 }), async (shares, steps) => {
        run += 1;
        const before = sumOf(await list());
        const made = shares.map((each, n) =>
          part(
            1e6 + run * 100 + n,
            each.map(({ scriptName, errors }) => ({
              scriptName,
              errors: errors.map(([cause, records]) => error(cause, records, NOON, cause === 0 ? { id: "" } : {})),
            })),
            NOON,
          ),
        );
        for (const { parts, waitMs, restarts } of steps) {
          clock.advance(waitMs);
          for (const n of [0, 1]) {
            const own = parts.filter((each) => each % 2 === n).map((each) => made[each] as PartHead);
            if (own.length === 0) continue;
            await shard(n).append(open([], { parts: own }));
            if (restarts) await evictDurableObject(shard(n));
          }
        }
        const once = [...new Set(steps.flatMap(({ parts }) => parts))].flatMap((n) => made[n]?.functions ?? []);
        const owed = once.reduce((sum, { records }) => sum + records, 0);
        expect(sumOf(await list()) - before).toBe(owed);
      }),
      { numRuns: 25 },
    );
  });

  it("of a function that is not logged is in none", async () => {
    setClock(NOON);
    control([job(1)], [{ scriptName: "shop", windows: [{ fromMs: 0, untilMs: null }] }]);
    await count([error(1, 3, NOON)], NOON, { scriptName: "till" });
    await count([error(1, 5, NOON)], NOON);
    expect(sumOf(await list())).toBe(3);
  });

  it("of a handler of an earlier release, which tells no id, is beside them", async () => {
    setClock(NOON);
    const { id: _id, firstRay, lastRay, frame, ...old } = error(1, 4, NOON);
    await count([{ ...old, rayId: lastRay } as never], NOON);
    expect(await list()).toMatchObject({ problems: [], others: 4 });
  });
});

describe("a problem", () => {
  it("has its first and its latest record, when they were taken in, and its versions", async () => {
    const clock = setClock(NOON);
    await count([error(1, 2, NOON - 5)], NOON, { version: "v1" });
    clock.advance(SLOT_MS);
    await count([error(1, 1, NOON - 9)], clock.nowMs(), { n: 1, version: "v2" });
    await count([error(1, 3, NOON + 9)], clock.nowMs(), { version: "v1" });
    // Of another century, and not known here.
    await count([error(2, 1, 5)], clock.nowMs() + 1e9);
    const { problems } = await list();
    expect(problems.find(({ message }) => message === "cause 1")).toEqual({
      ...{
        id: idOf(1),
        scriptName: "shop",
        source: "tail",
        name: "Error",
        message: "cause 1",
        frame: "load",
        count: 6,
      },
      ...{ firstMs: NOON - 9, firstRay: `first ${NOON - 9}`, lastMs: NOON + 9, lastRay: `last ${NOON + 9}` },
      ...{ bornMs: NOON, seenMs: NOON + SLOT_MS, versions: ["v1", "v2"], ids: [idOf(1)] },
      knownSinceMs: 0,
    });
    expect(problems.find(({ message }) => message === "cause 2")).toMatchObject({
      seenMs: NOON + SLOT_MS,
      versions: [],
    });
  });

  it("is told of its function, or of all, the last seen first", async () => {
    const clock = setClock(NOON);
    await count([error(1, 1, NOON)], NOON);
    clock.advance(SLOT_MS);
    await count([error(2, 1, NOON)], clock.nowMs(), { scriptName: "till" });
    const causes = async (of?: string) => (await list(of)).problems.map(({ message }) => message);
    expect(await causes("till")).toEqual(["cause 2"]);
    expect(await causes()).toEqual(["cause 2", "cause 1"]);
  });

  it("counts with its kin that has a frame, over shards, and is found by either id", async () => {
    const clock = setClock(NOON);
    const bare = { ...error(9, 3, NOON), frame: "" };
    await count([error(1, 2, NOON)], NOON, { n: 0 });
    await count([bare], NOON, { n: 1 });
    const owed = { id: idOf(1), ids: [idOf(1), idOf(9)], frame: "load", count: 5 };
    expect((await list()).problems).toMatchObject([owed]);
    for (const n of [1, 9]) expect(await byId(idOf(n))).toMatchObject(owed);
    clock.advance(SLOT_MS);
    await count([bare], clock.nowMs(), { n: 1 });
    expect((await list()).problems).toMatchObject([{ ...owed, count: 8, seenMs: NOON + SLOT_MS }]);
  });

  it("is in the health of its hour as a count, and forgotten with its function", async () => {
    setClock(NOON);
    await count([error(1, 2, NOON)], NOON);
    await count([error(2, 5, NOON)], NOON, { scriptName: "till" });
    const [hour] = await both().functionHours("shop", 0, Number.MAX_SAFE_INTEGER);
    expect(hour && [hour.health.errors, problemsOf(hour.health)]).toEqual([[], [[idOf(1), 2]]]);
    await shard(0).forgetFunction("till");
    expect(await list()).toMatchObject({ problems: [{ scriptName: "shop" }], dropped: 0, others: 5 });
    await evictDurableObject(shard(0));
    expect(sumOf(await list())).toBe(7);
  });
});

describe("what is written", () => {
  it("is at most four rows, every five minutes; and none without an error", async () => {
    const clock = setClock(NOON);
    const many = Array.from({ length: 60 }, (_, n) => error(n + 1, 1, NOON));
    for (let run = 0; run < 5; run++) await count(many, clock.nowMs());
    expect(await rows()).toEqual([]);
    clock.advance(SLOT_MS);
    await count([], clock.nowMs());
    expect((await rows()).map((row) => row.id)).toEqual([0, 1, 2, 3]);
    expect(sumOf(await list())).toBe(300);
    const { rowsWritten } = await runInDurableObject(shard(0), (_log, { storage: { sql } }) => {
      const cursor = sql.exec("UPDATE problem SET dropped = dropped");
      return { rowsWritten: cursor.rowsWritten };
    });
    expect(rowsWritten).toBe(4);
    // One that is known: its texts are not written again.
    await count([error(1, 1, NOON)], clock.nowMs());
    const text = await runInDurableObject(shard(0), (_log, { storage: { sql } }) =>
      sql.exec<{ problems: string }>("SELECT problems FROM state").one(),
    );
    expect(text.problems).toContain(idOf(1));
    expect(text.problems).not.toContain("cause 1");
    await evictDurableObject(shard(0));
    expect(await byId(idOf(1))).toMatchObject({ message: "cause 1", count: 6 });
  });

  it("stays as it was if a later part of the transaction fails", async () => {
    setClock(NOON);
    await count([error(1, 1, NOON)], NOON);
    await runInDurableObject(shard(0), (_log, { storage: { sql } }) => {
      sql.exec("CREATE TRIGGER broken BEFORE UPDATE ON state BEGIN SELECT RAISE(ABORT, 'broken'); END");
    });
    await expect(count([error(2, 1, NOON)], NOON)).rejects.toThrow();
    await runInDurableObject(shard(0), (_log, { storage: { sql } }) => void sql.exec("DROP TRIGGER broken"));
    expect(await list()).toMatchObject({ problems: [{ message: "cause 1", count: 1 }], others: 0 });
  });
});

describe("of too many problems", () => {
  const fill = async (
    clock: { nowMs(): number; advance(ms: number): void },
    from: number,
    to: number,
    source: string,
  ) => {
    for (let n = from; n < to; n += 200) {
      const errors = Array.from({ length: Math.min(200, to - n) }, (_, i) => error(n + i, 1, NOON));
      await count(errors, clock.nowMs(), { source });
      clock.advance(SLOT_MS);
    }
    await count([], clock.nowMs());
  };

  it("those seen least recently go, and are counted", async () => {
    const clock = setClock(NOON);
    await fill(clock, 1, 1_301, "tail");
    const { problems, dropped, others } = await list();
    expect([problems.length, dropped, others]).toEqual([PROBLEMS_MAX, 300, 300]);
    const kept = problems.map(({ message }) => Number(message.slice("cause ".length))).sort((a, b) => a - b);
    expect([kept.filter((n) => n <= 200).length, kept.filter((n) => n > 400).length]).toEqual([0, 900]);
  });

  it("none that came by tail goes because of what a sender makes up", async () => {
    const clock = setClock(NOON);
    await fill(clock, 1, 201, "tail");
    await fill(clock, 1_001, 3_001, "http:ci");
    const { problems } = await list();
    expect(problems.filter(({ source }) => source === "tail")).toHaveLength(200);
    expect(problems).toHaveLength(PROBLEMS_MAX);
    expect(sumOf(await list())).toBe(2_200);
  });

  it("of five minutes, what came by tail is told apart first", async () => {
    setClock(NOON);
    await count([error(1, 1, NOON)], NOON);
    for (let n = 0; n < 10; n++)
      await count(
        Array.from({ length: 60 }, (_, i) => error(1_000 + 60 * n + i, 1, NOON)),
        NOON,
        { source: "http:ci" },
      );
    const found = await list();
    expect(found.problems).toHaveLength(400);
    expect(found.problems.filter(({ source }) => source === "tail")).toHaveLength(1);
    expect(sumOf(found)).toBe(601);
  });

  it("a row holds them all, whatever they are called", async () => {
    const clock = setClock(NOON);
    const long = { name: "\u0001".repeat(60), message: "\u0001".repeat(160), frame: "\u0001".repeat(80) };
    for (let n = 0; n < 400; n += 50) {
      const errors = Array.from({ length: 50 }, (_, i) =>
        error(n + i, 1, NOON, {
          ...long,
          id: `0${(n + i).toString(16).padStart(15, "0")}`,
          firstRay: "\u0001".repeat(40),
        }),
      );
      await count(errors, NOON, { scriptName: "\u0001".repeat(255) });
    }
    clock.advance(SLOT_MS);
    await count([], clock.nowMs());
    const found = await list();
    expect([found.problems.length, found.dropped, sumOf(found)]).toEqual([300, 100, 400]);
  });
});

it("wakes the watch once when it is new to a shard, and not when it comes again", async () => {
  const woken = vi.spyOn(Watch.prototype, "look").mockReturnValue().mock.calls;
  const clock = setClock(NOON);
  for (const errors of [[error(1, 1, NOON)], [error(1, 1, NOON), error(2, 1, NOON)], [error(2, 3, NOON)]]) {
    await count(errors, clock.nowMs());
    clock.advance(SLOT_MS);
  }
  await evictDurableObject(shard(0));
  await count([error(1, 1, NOON)], clock.nowMs());
  await until(() => woken.length === 2);
  expect(woken).toHaveLength(2);
});
