import { runInDurableObject } from "cloudflare:test";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { functionCounts } from "../../../src/ship/log/counted.ts";
import { type FunctionCount, parseCounts } from "../../../src/ship/log/function-counts.ts";
import { NO_HEALTH } from "../../../src/ship/log/function-health.ts";
import { FunctionHours } from "../../../src/ship/log/function-hours.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { id, job } from "../consumer/scripted.ts";
import { control, headsOf, message, open, rowsWritten, shard } from "./shard.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const ledger = () => shard();

interface Share {
  name: string;
  routed?: number;
  notEnabled?: number;
  notRouted?: number;
  at?: number;
}

const shareOf = ({ name, routed = 0, notEnabled = 0, notRouted = 0, at = NOON }: Share): FunctionCount => ({
  scriptName: name,
  routed,
  notEnabled,
  notRouted,
  lastEventMs: at,
});

/** Counts parts as an append does, each with these shares of its functions. */
const count = (...parts: Share[][]): Promise<void> => countFrom({}, ...parts);

function countFrom(from: { source?: string; takenInMs?: number }, ...parts: Share[][]): Promise<void> {
  const none = { id: id(1), events: 0, routed: 0, notEnabled: 0, notRouted: 0, bytes: 0 };
  const counted = parts.map((shares) => ({ ...none, takenInMs: NOON, ...from, functions: shares.map(shareOf) }));
  return added(functionCounts(counted as never, platform.now()));
}

/** Adds counts, and writes what is gathered into the shard's row, as an append does. */
function added(counts: readonly FunctionCount[]): Promise<void> {
  return runInDurableObject(ledger(), (_ledger, { storage: { sql } }) => {
    const { hour, counts: texts, sources } = new FunctionHours(sql).add(counts, platform.now());
    sql.exec("UPDATE state SET hour = ?, hour_counts = ?, hour_sources = ?", hour, texts, sources);
  });
}

const totals = async (): Promise<FunctionCount[]> =>
  (await ledger().functions()).sort((a, b) => ((a.scriptName ?? "\uffff") < (b.scriptName ?? "\uffff") ? -1 : 1));

interface Hour {
  hour: number;
  counts: FunctionCount[];
}
const rowsIn = (query: string): Promise<Hour[]> =>
  runInDurableObject(ledger(), (_ledger, { storage: { sql } }) =>
    sql
      .exec<{ hour: number; counts: string }>(query)
      .toArray()
      .map(({ hour, counts }) => ({ hour, counts: parseCounts(counts) })),
  );

const rows = (): Promise<Hour[]> => rowsIn("SELECT hour, counts FROM function_hour ORDER BY hour");

/** What is in the shard's own row. */
const gathered = (): Promise<Hour[]> => rowsIn("SELECT hour, hour_counts AS counts FROM state WHERE hour IS NOT NULL");

const sweep = (): Promise<void> => ledger().sweep();

describe("events by function", () => {
  it("are gathered in the shard's row, and are one row once the hour is over, however many functions, messages and calls", async () => {
    const clock = setClock(NOON);
    await count([
      { name: "shop", routed: 2 },
      { name: "billing", notRouted: 1 },
    ]);
    clock.advance(HOUR_MS - 1);
    await count([{ name: "shop", notEnabled: 3 }], [{ name: "shop", routed: 1 }]);
    clock.advance(1);
    await count([{ name: "shop", routed: 5 }]);
    const hour = NOON / HOUR_MS;
    const shop = shareOf({ name: "shop", routed: 3, notEnabled: 3 });
    const over = [{ hour, counts: [shop, shareOf({ name: "billing", notRouted: 1 })] }];
    const current = [{ hour: hour + 1, counts: [shareOf({ name: "shop", routed: 5 })] }];
    expect([await rows(), await gathered()]).toEqual([over, current]);
    await sweep();
    expect([await rows(), await gathered()]).toEqual([[...over, ...current], []]);
    // A clock that goes back adds to the hour that it says.
    for (const [ms, routed] of [
      [-HOUR_MS, 10],
      [HOUR_MS, 20],
    ] as const) {
      clock.advance(ms);
      await count([{ name: "shop", routed }]);
    }
    expect((await rows()).map(({ counts }) => counts[0]?.routed)).toEqual([13, 5]);
    expect(await totals()).toContainEqual(shareOf({ name: "shop", routed: 38, notEnabled: 3 }));
  });

  it("are in a row of their hour before, where they are too large for the shard's", async () => {
    setClock(NOON);
    // In JSON they take six times as many characters.
    const named = (n: number) => ({ name: `${n}`.padEnd(250, "\u0001"), routed: 1 });
    const all = Array.from({ length: 140 }, (_, n) => named(n));
    await count(all.slice(0, 120));
    expect([(await rows()).length, (await gathered())[0]?.counts.length]).toEqual([0, 120]);
    await count([...all, { name: "shop", routed: 1 }]);
    expect([(await rows())[0]?.counts.length, await gathered()]).toEqual([141, []]);
    await count([{ name: "shop", routed: 2 }]);
    expect(await gathered()).toEqual([{ hour: NOON / HOUR_MS, counts: [shareOf({ name: "shop", routed: 2 })] }]);
    expect((await totals()).find(({ scriptName }) => scriptName === "shop")).toMatchObject({ routed: 3 });
    expect(await ledger().functionCount("shop")).toMatchObject({ routed: 3 });
    await ledger().forgetFunction("shop");
    expect(await totals()).toContainEqual({ ...shareOf({ name: "", routed: 3 }), scriptName: null });
  });

  it("have their sources, over all hours of thirty days", async () => {
    const clock = setClock(NOON);
    const sourcesOf = async () => (await ledger().functionCount("shop"))?.sources;
    await countFrom({ source: "tail" }, [{ name: "shop", routed: 1 }]);
    clock.advance(DAY_MS);
    // No time of intake counts beyond now.
    await countFrom({ source: "http:ci", takenInMs: NOON + 9 * DAY_MS }, [{ name: "shop", routed: 1 }]);
    await count([{ name: "shop", routed: 1 }]);
    const both = [
      { source: "http:ci", lastMs: NOON + DAY_MS },
      { source: "tail", lastMs: NOON },
    ];
    expect(await sourcesOf()).toEqual(both);
    clock.advance(DAY_MS);
    await sweep();
    expect(await sourcesOf()).toEqual(both);
    await ledger().forgetFunction("shop");
    expect((await ledger().functions()).every(({ sources }) => sources === undefined)).toBe(true);
  });

  it.each([
    ["no written row in an append", 0, 0],
    ["one in the first append of an hour", HOUR_MS, 1],
  ])("cost %s", async (_what, ms, rows) => {
    const clock = setClock(NOON);
    await count([{ name: "shop", routed: 1 }]);
    clock.advance(ms);
    const counts = Array.from({ length: 500 }, (_, i) => shareOf({ name: `function-${i}`, routed: 1 }));
    const add = (_log: unknown, sql: SqlStorage) => new FunctionHours(sql).add([...counts, ...counts], clock.nowMs());
    expect(await rowsWritten(add)).toEqual([rows]);
  });

  it("have their sources also while their hour is not over", async () => {
    setClock(NOON);
    control([]);
    const parts = headsOf(message(1)).map((part) => ({ ...part, source: "tail" }));
    await ledger().append(open([message(1)], { parts }));
    const [{ scriptName } = { scriptName: null }] = await totals();
    const sources = [{ source: "tail", lastMs: NOON }];
    expect(await ledger().functionCount(scriptName ?? "")).toMatchObject({ sources });
  });

  it("add up to the account's own counts, whatever comes, and however often", async () => {
    setClock(NOON);
    control([job(1)], [{ scriptName: "off", windows: [{ fromMs: 0, untilMs: null }] }]);
    const scriptName = fc.oneof(
      fc.constantFrom("shop", "off", "__proto__", "n".repeat(300)),
      fc.string({ maxLength: 8 }),
    );
    const share = fc.record({
      ...{ scriptName, records: fc.nat({ max: 50 }) },
      ...{ lastEventMs: fc.constant(NOON), health: fc.constant(NO_HEALTH) },
    });
    // Some are of a time before the job was enabled.
    const part = fc.record({
      takenInMs: fc.constantFrom(NOON, NOON - DAY_MS),
      functions: fc.uniqueArray(share, { selector: (each) => each.scriptName, minLength: 1, maxLength: 5 }),
    });
    let ids = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 5 }), async (batch) => {
        ids += batch.length;
        const parts = structuredClone(batch).map((each, i) => ({ ...each, id: id(ids - i), keyed: false, bytes: 0 }));
        for (const some of [parts, parts.slice(1)]) await ledger().append(open([], { parts: some }));
        const { counts } = await ledger().accountStatus();
        const functions = await totals();
        const sum = (of: (each: FunctionCount) => number): number => functions.reduce((n, each) => n + of(each), 0);
        expect([sum((c) => c.routed), sum((c) => c.notEnabled), sum((c) => c.notRouted)]).toEqual([
          counts.routed,
          counts.not_enabled,
          counts.not_routed,
        ]);
        expect(counts.processed).toBe(counts.routed + counts.not_enabled + counts.not_routed);
      }),
      { numRuns: 20 },
    );
  });
});

describe("what the watch asks of the counts", () => {
  it("is today and yesterday, whether the sweep has been or not", async () => {
    const clock = setClock(NOON);
    await countFrom({ takenInMs: clock.nowMs() }, [{ name: "old", routed: 1 }]);
    clock.advance(DAY_MS);
    await countFrom({ takenInMs: clock.nowMs() }, [{ name: "shop", routed: 2, notEnabled: 1, at: clock.nowMs() }]);
    clock.advance(DAY_MS);
    await countFrom({ takenInMs: clock.nowMs() }, [{ name: "shop", routed: 4, at: clock.nowMs() }]);
    const lately = [{ scriptName: "shop", routed: 6, notEnabled: 1, notRouted: 0, lastEventMs: clock.nowMs() }];
    expect(await ledger().functionsLately()).toEqual(lately);
    await ledger().sweep();
    expect(await ledger().functionsLately()).toEqual(lately);
  });

  it("is the last event of thirty days, of those that are asked for and had any", async () => {
    const clock = setClock(NOON);
    await countFrom({ takenInMs: clock.nowMs() }, [{ name: "old", routed: 1 }]);
    clock.advance(DAY_MS);
    await countFrom({ takenInMs: clock.nowMs() }, [{ name: "shop", routed: 1, at: NOON + 5 }]);
    await countFrom({ takenInMs: clock.nowMs() }, [{ name: "other", routed: 1, at: NOON + 6 }]);
    const asked = async () => (await ledger().lastEvents(["old", "shop", "never"])).map((each) => ({ ...each }));
    expect(await asked()).toEqual([
      { scriptName: "old", lastEventMs: NOON },
      { scriptName: "shop", lastEventMs: NOON + 5 },
    ]);
    clock.advance(30 * DAY_MS);
    expect(await asked()).toEqual([{ scriptName: "shop", lastEventMs: NOON + 5 }]);
  });
});
