import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { type FunctionCount, parseCounts } from "../../src/trace-log/function-counts.ts";
import { FunctionHours } from "../../src/trace-log/function-hours.ts";
import { type MessageCount, type TraceLog, traceLog } from "../../src/trace-log/trace-log.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const ledger = () => traceLog(env.TRACE_LOG, 0);

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

let ids = 0;

/** A committed message with these counts by function. */
function message(shares: readonly Share[], fields: Partial<MessageCount> = {}): MessageCount {
  const functions = shares.map(shareOf);
  const sum = (of: (count: FunctionCount) => number): number => functions.reduce((total, each) => total + of(each), 0);
  const [routed, notEnabled, notRouted] = [sum((c) => c.routed), sum((c) => c.notEnabled), sum((c) => c.notRouted)];
  ids += 1;
  return {
    id: ids.toString(16).padStart(32, "0"),
    takenInMs: NOON,
    keyed: false,
    events: routed + notEnabled + notRouted,
    routed,
    notEnabled,
    notRouted,
    functions,
    ...fields,
  };
}

const count = async (...done: MessageCount[]): Promise<void> => {
  expect(await ledger().count({ done, failed: [], backlog: 0, state: "" })).toBeNull();
};

const totals = async (): Promise<FunctionCount[]> =>
  (await ledger().functions()).sort((a, b) => ((a.scriptName ?? "\uffff") < (b.scriptName ?? "\uffff") ? -1 : 1));

const rows = (): Promise<{ hour: number; counts: FunctionCount[] }[]> =>
  runInDurableObject(ledger(), (_ledger, { storage: { sql } }) =>
    sql
      .exec<{ hour: number; counts: string }>("SELECT hour, counts FROM function_hour ORDER BY hour")
      .toArray()
      .map(({ hour, counts }) => ({ hour, counts: parseCounts(counts) })),
  );

const sweep = (): Promise<void> => ledger().sweep();

describe("events by function", () => {
  it("are one row an hour, however many functions, messages and calls", async () => {
    const clock = setClock(NOON);
    await count(
      message([
        { name: "shop", routed: 2 },
        { name: "billing", notRouted: 1 },
      ]),
    );
    clock.advance(HOUR_MS - 1);
    await count(message([{ name: "shop", notEnabled: 3 }]), message([{ name: "shop", routed: 1 }]));
    clock.advance(1);
    await count(message([{ name: "shop", routed: 5 }]));
    const hour = NOON / HOUR_MS;
    expect(await rows()).toEqual([
      {
        hour,
        counts: [shareOf({ name: "shop", routed: 3, notEnabled: 3 }), shareOf({ name: "billing", notRouted: 1 })],
      },
      { hour: hour + 1, counts: [shareOf({ name: "shop", routed: 5 })] },
    ]);
  });

  it("cost one written row a call", async () => {
    setClock(NOON);
    await count(message([{ name: "shop", routed: 1 }]));
    const written = await runInDurableObject(ledger(), (it: TraceLog, { storage }) => {
      const cursors: { query: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> }[] = [];
      const prototype = Object.getPrototypeOf(storage.sql) as SqlStorage;
      const exec = prototype.exec;
      const spy = vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, ...args) {
        const cursor = exec.apply(this, args);
        cursors.push({ query: args[0], cursor });
        return cursor;
      });
      const names = Array.from({ length: 500 }, (_, i) => ({ name: `function-${i}`, routed: 1 }));
      it.count({ done: [message(names), message(names)], failed: [], backlog: 0, state: "" });
      spy.mockRestore();
      return cursors.filter(({ query }) => query.includes("function_hour")).map(({ cursor }) => cursor.rowsWritten);
    });
    expect(written.reduce((sum, each) => sum + each, 0)).toBe(1);
  });

  it("have their sources, over all hours of thirty days; a row that an earlier release replaces has none", async () => {
    const clock = setClock(NOON);
    const sourcesOf = async () => (await ledger().functionCount("shop"))?.sources;
    await count(message([{ name: "shop", routed: 1 }], { source: "tail" }));
    clock.advance(DAY_MS);
    // No time of intake counts beyond now.
    await count(message([{ name: "shop", routed: 1 }], { source: "http:ci", takenInMs: NOON + 9 * DAY_MS }));
    await count(message([{ name: "shop", routed: 1 }]));
    const both = [
      { source: "http:ci", lastMs: NOON + DAY_MS },
      { source: "tail", lastMs: NOON },
    ];
    expect(await sourcesOf()).toEqual(both);
    clock.advance(DAY_MS);
    await sweep();
    expect(await sourcesOf()).toEqual(both);
    await runInDurableObject(ledger(), (_ledger, { storage: { sql } }) => {
      const { hour, counts } = sql.exec("SELECT hour, counts FROM function_hour ORDER BY hour DESC LIMIT 1").one();
      sql.exec("INSERT OR REPLACE INTO function_hour (hour, counts) VALUES (?, ?)", hour, counts);
    });
    expect(await sourcesOf()).toEqual(both.slice(1));
    await ledger().forgetFunction("shop");
    expect((await ledger().functions()).every(({ sources }) => sources === undefined)).toBe(true);
  });

  it("are counted once, however often a message comes, also beside one that is new", async () => {
    setClock(NOON);
    const first = message([{ name: "shop", routed: 2 }]);
    await count(first);
    await count(first);
    await count(first, message([{ name: "shop", notRouted: 1 }]));
    expect(await totals()).toEqual([shareOf({ name: "shop", routed: 2, notRouted: 1 })]);
    expect(await ledger().counted([first, message([])])).toEqual([first.id]);
  });

  it("add up to the account's own counts, whatever comes, and however often", async () => {
    setClock(NOON);
    const amount = fc.nat({ max: 50 });
    const share = fc.record({
      name: fc.oneof(fc.constantFrom("shop", "__proto__", "n".repeat(300)), fc.string({ maxLength: 8 })),
      routed: amount,
      notEnabled: amount,
      notRouted: amount,
    });
    const messages = fc.array(fc.array(share, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(messages, async (batch) => {
        const done = batch.map((shares) => message(shares));
        await count(...done);
        await count(...done.slice(1));
        const { counts } = await ledger().status();
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

  it("are rolled back with everything else when counting fails, and counted when the message comes again", async () => {
    setClock(NOON);
    await count(message([{ name: "shop", routed: 1 }]));
    const add = FunctionHours.prototype.add;
    vi.spyOn(FunctionHours.prototype, "add").mockImplementationOnce(function (this: FunctionHours, ...args) {
      add.apply(this, args);
      throw new Error("one bad moment");
    });
    const second = message([{ name: "shop", routed: 7 }]);
    await expect(count(second)).rejects.toThrow("one bad moment");
    expect(await totals()).toEqual([shareOf({ name: "shop", routed: 1 })]);
    await count(second);
    await abortAllDurableObjects();
    expect(await totals()).toEqual([shareOf({ name: "shop", routed: 8 })]);
  });

  it("are never later than now, whatever they say of themselves", async () => {
    setClock(NOON);
    await count(
      message([
        { name: "shop", routed: 1, at: 253_402_300_799_999 },
        { name: "late", routed: 1, at: 5 },
      ]),
    );
    expect(await totals()).toEqual([
      shareOf({ name: "late", routed: 1, at: 5 }),
      shareOf({ name: "shop", routed: 1, at: NOON }),
    ]);
  });

  it("have their names summed up beyond 2,000 in an hour, and have them again in the next", async () => {
    const clock = setClock(NOON);
    await count(message(Array.from({ length: 2_000 }, (_, i) => ({ name: `flood-${i}`, routed: 1 }))));
    await count(message([{ name: "shop", routed: 1 }]));
    clock.advance(HOUR_MS);
    await count(message([{ name: "shop", routed: 1 }]));
    const all = await totals();
    expect(all).toHaveLength(2_002);
    expect(all.filter(({ scriptName }) => scriptName === null || scriptName === "shop")).toEqual([
      shareOf({ name: "shop", routed: 1 }),
      { ...shareOf({ name: "", routed: 1 }), scriptName: null },
    ]);
  });
});

describe("the sweep of events by function", () => {
  it("joins the hours of a day that is over in its first one, and changes no total", async () => {
    const clock = setClock(NOON);
    for (let hour = 0; hour < 30; hour++) {
      await count(
        message([
          { name: "shop", routed: 1, at: clock.nowMs() },
          { name: `at-${hour}`, notRouted: 1 },
        ]),
      );
      clock.advance(HOUR_MS);
    }
    const before = await totals();
    expect(await rows()).toHaveLength(30);
    await sweep();
    const today = Math.floor(clock.nowMs() / DAY_MS) * 24;
    const hours = (await rows()).map(({ hour }) => hour);
    expect(hours).toEqual([today - 24, ...Array.from({ length: 18 }, (_, i) => today + i)]);
    expect(await totals()).toEqual(before);
    expect(before.find(({ scriptName }) => scriptName === "shop")).toMatchObject({ routed: 30 });
  });

  it("keeps the names with the most events where a day has too many", async () => {
    const clock = setClock(NOON);
    await count(message(Array.from({ length: 2_000 }, (_, i) => ({ name: `flood-${i}`, routed: 1 }))));
    clock.advance(HOUR_MS);
    await count(message([{ name: "shop", routed: 9 }]));
    clock.advance(DAY_MS);
    await sweep();
    const [day] = await rows();
    expect(day?.counts).toHaveLength(2_001);
    expect(day?.counts[0]).toMatchObject({ scriptName: "shop", routed: 9 });
    expect(day?.counts.at(-1)).toMatchObject({ scriptName: null, routed: 1 });
  });

  it("forgets after thirty days, not before", async () => {
    const clock = setClock(NOON);
    await count(message([{ name: "old", routed: 1 }]));
    clock.advance(30 * DAY_MS);
    await count(message([{ name: "new", routed: 1 }]));
    await sweep();
    expect((await totals()).map(({ scriptName }) => scriptName)).toEqual(["new", "old"]);
    clock.advance(DAY_MS);
    // Not read either, though it is not swept yet.
    expect((await totals()).map(({ scriptName }) => scriptName)).toEqual(["new"]);
    await sweep();
    expect((await rows()).length).toBe(1);
  });
});

describe("a function that is forgotten", () => {
  it("leaves its events in the sum, under no name, whatever its name is", async () => {
    const clock = setClock(NOON);
    const odd = '["shop",1]\\';
    await count(
      message([
        { name: odd, routed: 1 },
        { name: "shop", routed: 10 },
      ]),
    );
    clock.advance(HOUR_MS);
    await count(message([{ name: odd, notEnabled: 2 }]));
    await ledger().forgetFunction(odd);
    expect(await totals()).toEqual([
      shareOf({ name: "shop", routed: 10 }),
      { ...shareOf({ name: "", routed: 1, notEnabled: 2 }), scriptName: null },
    ]);
    await count(message([{ name: odd, routed: 5 }]));
    expect(await totals()).toContainEqual(shareOf({ name: odd, routed: 5 }));
  });

  it("touches no row that does not hold it", async () => {
    setClock(NOON);
    await count(message([{ name: "shop", routed: 1 }]));
    const before = await rows();
    await ledger().forgetFunction("sho");
    expect(await rows()).toEqual(before);
  });
});

describe("the counts of one function", () => {
  it("are what the list has of it, and nothing of a function whose name begins or ends the same", async () => {
    setClock(NOON);
    const names = ["shop", "shop-2", "my-shop", 'a"b', "a\\", "é", "null", '["shop",'];
    for (const day of [31, 3, 1, 0]) {
      setClock(NOON - day * DAY_MS);
      const shares = names.map((name, i) => ({ name, routed: i + 1, notEnabled: 2, notRouted: day, at: NOON - day }));
      await count(message(shares));
    }
    const listed = await totals();
    expect(listed).toHaveLength(names.length);
    for (const each of listed) expect(await ledger().functionCount(each.scriptName ?? "")).toEqual(each);
    for (const name of ["sho", "op", "", 'shop"', "other"]) expect(await ledger().functionCount(name)).toBeNull();
  });

  it("are none where only the nameless rest has any", async () => {
    setClock(NOON);
    await count(message([{ name: "shop", routed: 3 }]));
    await ledger().forgetFunction("shop");
    expect(await ledger().functionCount("shop")).toBeNull();
    expect(await ledger().functionCount("null")).toBeNull();
  });
});

describe("what the watch asks of the counts", () => {
  it("is today and yesterday, whether the sweep has been or not", async () => {
    const clock = setClock(NOON);
    await count(message([{ name: "old", routed: 1 }], { takenInMs: clock.nowMs() }));
    clock.advance(DAY_MS);
    await count(message([{ name: "shop", routed: 2, notEnabled: 1, at: clock.nowMs() }], { takenInMs: clock.nowMs() }));
    clock.advance(DAY_MS);
    await count(message([{ name: "shop", routed: 4, at: clock.nowMs() }], { takenInMs: clock.nowMs() }));
    const lately = [{ scriptName: "shop", routed: 6, notEnabled: 1, notRouted: 0, lastEventMs: clock.nowMs() }];
    expect(await ledger().functionsLately()).toEqual(lately);
    await ledger().sweep();
    expect(await ledger().functionsLately()).toEqual(lately);
  });

  it("is the last event of thirty days, of those that are asked for and had any", async () => {
    const clock = setClock(NOON);
    await count(message([{ name: "old", routed: 1 }], { takenInMs: clock.nowMs() }));
    clock.advance(DAY_MS);
    await count(message([{ name: "shop", routed: 1, at: NOON + 5 }], { takenInMs: clock.nowMs() }));
    await count(message([{ name: "other", routed: 1, at: NOON + 6 }], { takenInMs: clock.nowMs() }));
    const asked = async () => (await ledger().lastEvents(["old", "shop", "never"])).map((each) => ({ ...each }));
    expect(await asked()).toEqual([
      { scriptName: "old", lastEventMs: NOON },
      { scriptName: "shop", lastEventMs: NOON + 5 },
    ]);
    clock.advance(30 * DAY_MS);
    expect(await asked()).toEqual([{ scriptName: "shop", lastEventMs: NOON + 5 }]);
  });
});
