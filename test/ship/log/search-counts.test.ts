/** What a shard adds to the counts of searches: of each new part once, wherever it was matched. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { Watch } from "../../../src/index.ts";
import type { OptOut } from "../../../src/ship/job/config.ts";
import { type AlertedSearch, bucketsAt, keyOfSearch, type SearchAlert } from "../../../src/ship/job/searches.ts";
import type { Append } from "../../../src/ship/log/append-types.ts";
import { headOf } from "../../../src/ship/log/heads.ts";
import { addedSums, type SearchSum } from "../../../src/ship/log/search-counts.ts";
import { Searching } from "../../../src/ship/log/searched.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { until } from "../../support/until.ts";
import { snapshot } from "../consumer/scripted.ts";
import { type Control, control, eventOf, failingAt, loaded, message, open, rowsWritten, shard } from "./shard.ts";

let clock: ReturnType<typeof setClock>;
let plane: Control;
let woken: MockInstance;
beforeEach(() => {
  for (const how of ["error", "warn"] as const) vi.spyOn(console, how).mockImplementation(() => {});
  clock = setClock(NOON);
  plane = control();
  woken = vi.spyOn(Watch.prototype, "look").mockReturnValue();
});

const ALERT: SearchAlert = {
  ...{ measure: { op: "count" }, threshold: 100, when: "at_least", overMs: 300_000, forMs: 0, severity: "warning" },
};
const search = (id: number, query: string, fields: Partial<AlertedSearch> = {}): AlertedSearch => ({
  ...{ id, stamp: "1.mark", sinceMs: NOON, name: `search ${id}`, query, alert: ALERT, ...fields },
});

let version = 1;
/** The control plane has these, and the shard knows. */
async function inForce(searches: AlertedSearch[], optOuts: OptOut[] = []): Promise<void> {
  version += 1;
  plane.now = { ...snapshot(`epoch.${version}.mark`, plane.now.jobs, optOuts), searches };
  await shard().append(open([]));
  await shard().configure(plane.now);
}

/** An append as of a handler that knows these. */
function handled(messages: ArrayBuffer[], searches: AlertedSearch[]): Append {
  const searching = new Searching(searches);
  const parts = loaded(...messages).map((part) => searching.counted(headOf(part), part));
  return open(messages, { parts, searched: [...searching.keys] });
}

const sums = async () => (await shard().searchCounts()) as unknown as SearchSum[];
/** The first is of all that was counted. */
const own = async () => (await sums()).filter(({ id }) => id > 0);
const totals = async () => Object.fromEntries((await own()).map(({ id, total }) => [id, total]));
const of = (n: number, ...names: string[]) => message(n, { records: names.map(eventOf) });

describe("the counts of a search", () => {
  it("are of each part that is new, once, as the handler has matched it", async () => {
    const both = [search(1, "worker:shop"), search(2, "")];
    await inForce(both);
    await shard().append(handled([of(1, "shop", "till", "shop"), of(2, "till")], both));
    await shard().append(handled([of(2, "till"), of(1, "shop", "till", "shop"), of(3, "shop"), of(3, "shop")], both));
    expect(await totals()).toEqual({ 1: 3, 2: 5 });
    await evictDurableObject(shard());
    await shard().append(handled([of(4, "shop")], both));
    expect(await totals()).toEqual({ 1: 4, 2: 6 });
  });

  it("are made here where the handler does not know the search, or another one: it may be of a release before", async () => {
    const [old, now, other] = [
      search(1, "worker:till"),
      search(1, "worker:shop", { stamp: "2.mark" }),
      search(2, "shop"),
    ];
    await inForce([now, other]);
    await shard().append(open([of(1, "shop", "till")]));
    await shard().append(handled([of(2, "shop", "till", "till")], [old, other]));
    await shard().append(handled([of(3, "shop")], [now, other]));
    // Nothing is counted twice, nor what is known here already.
    await shard().append(open([of(3, "shop"), of(4, "shop")]));
    expect(await totals()).toEqual({ 1: 4, 2: 4 });
    await shard().append(handled([of(5, "shop")], [now, other, search(9, "")]));
    expect(await totals()).toEqual({ 1: 5, 2: 5 });
  });

  it("begin anew when what is counted changes, and go with the search", async () => {
    const [one, two] = [search(1, ""), search(2, "")];
    await inForce([one, two]);
    await shard().append(handled([of(1, "a", "b")], [one, two]));
    const changed = { ...one, stamp: "3.mark" };
    await inForce([changed]);
    expect(await totals()).toEqual({});
    await shard().append(handled([of(2, "a")], [changed]));
    expect(await totals()).toEqual({ 1: 1 });
    await inForce([changed, two]);
    expect(await totals()).toEqual({ 1: 1 });
    await inForce([]);
    await shard().append(open([of(3, "a")]));
    await inForce([changed]);
    expect(await totals()).toEqual({});
  });

  it("stay where a control plane of an earlier release knows no searches", async () => {
    const all = [search(1, "")];
    await inForce(all);
    await shard().append(handled([of(1, "a")], all));
    version += 1;
    const { searches: _, ...earlier } = plane.now;
    plane.now = { ...earlier, state: `epoch.${version}.mark`, shards: [0, 1] };
    await shard().configure(plane.now);
    await shard().append(open([of(2, "a")]));
    expect(await totals()).toEqual({ 1: 2 });
  });

  it("have nothing of a function whose logging was off", async () => {
    const all = [search(1, "")];
    await inForce(all, [{ scriptName: "off", windows: [{ fromMs: 0, untilMs: null }] }]);
    await shard().append(handled([of(1, "off", "on", "off")], all));
    await shard().append(open([of(2, "off", "on")]));
    expect(await totals()).toEqual({ 1: 2 });
  });

  it("are those of an append that is stored", async () => {
    const all = [search(1, "")];
    await inForce(all);
    await shard().append(handled([of(1, "a")], all));
    await failingAt("UPDATE state SET processed", (log) => log.append(handled([of(2, "a")], all)));
    expect(await totals()).toEqual({ 1: 1 });
    await shard().append(handled([of(2, "a"), of(3, "a")], all));
    expect(await totals()).toEqual({ 1: 3 });
  });

  it("take no row more", async () => {
    const all = Array.from({ length: 10 }, (_, i) => search(i + 1, i % 2 === 0 ? "worker:a" : "b"));
    await inForce(all);
    await shard().append(handled([of(1, "a")], all));
    const [bare, counted] = await rowsWritten(
      (log) => log.append({ ...open([of(2, "c")]), searched: all.map(keyOfSearch) }),
      (log) => log.append(handled([of(3, "a", "b")], all)),
    );
    expect(counted).toBe(bare);
  });

  it("say since when nothing is missing in them: not what other code has counted, or was in too large a text", async () => {
    const one = search(1, "");
    await inForce([one]);
    const sinceMs = async () => addedSums(one, [await sums()], clock.nowMs()).sinceMs - NOON;
    await shard().append(handled([of(1, "a")], [one]));
    clock.advance(1_000);
    await evictDurableObject(shard());
    expect(await sinceMs()).toBe(0);
    // As a release before searches, which leaves their column alone.
    await runInDurableObject(shard(), (_log, { storage: { sql } }) => {
      sql.exec("UPDATE state SET processed = processed + 1, routed = routed + 1");
    });
    await evictDurableObject(shard());
    expect([await sinceMs(), await totals()]).toEqual([1_000, { 1: 1 }]);
    clock.advance(1_000);
    await shard().append(handled([of(2, "a")], [one]));
    await evictDurableObject(shard());
    expect([await sinceMs(), await totals()]).toEqual([1_000, { 1: 2 }]);
    // The bucket of 1970 is in its window.
    await inForce([{ ...one, alert: { ...ALERT, overMs: 86_400_000_000_000 } }]);
    await runInDurableObject(shard(), (_log, { storage: { sql } }) => {
      const [all, own] = JSON.parse(sql.exec<{ searches: string }>("SELECT searches FROM state").one().searches);
      sql.exec(
        "UPDATE state SET searches = ?",
        JSON.stringify([all, { ...own, buckets: [[0, 1, "x".repeat(250_000)], ...own.buckets] }]),
      );
    });
    await evictDurableObject(shard());
    clock.advance(1_000);
    await shard().append(open([]));
    expect([await sinceMs(), (await sums())[1]?.buckets]).toEqual([3_000, []]);
    // A clock that was ahead says nothing for longer.
    clock.advance(-2_500);
    await shard().append(open([of(3, "a")]));
    expect(await sinceMs()).toBe(500);
  });

  it("fall out of the window a twelfth after its time, and stay in the total", async () => {
    const [one] = [search(1, "")];
    await inForce([one]);
    const value = async () => addedSums(one, [await sums()], clock.nowMs()).value;
    const at = async (ms: number, n: number) => {
      clock.advance(NOON + ms - clock.nowMs());
      await shard().append(handled([of(n, "a")], [one]));
    };
    await at(0, 1);
    await at(24_000, 2);
    await at(25_000, 3);
    expect(await value()).toBe(3);
    clock.advance(NOON + 324_999 - clock.nowMs());
    expect(await value()).toBe(3);
    clock.advance(1);
    expect(await value()).toBe(1);
    await at(340_000, 4);
    expect((await own())[0]).toMatchObject({
      total: 4,
      buckets: [
        [expect.any(Number), 1, ""],
        [expect.any(Number), 1, ""],
      ],
    });
    // A clock that was ahead leaves nothing behind.
    await at(9_000_000, 5);
    clock.advance(-8_600_000);
    expect(await value()).toBe(0);
    expect(bucketsAt(one.alert, NOON)).toEqual({ first: NOON / 25_000 - 12, last: NOON / 25_000 });
  });

  it("of a measure are added up, and a state that nothing can read holds up nothing", async () => {
    const alert: SearchAlert = { ...ALERT, measure: { op: "sum", of: "WallTimeMs" } };
    const one = search(1, "", { alert });
    await inForce([one]);
    const walls = (n: number, ...all: number[]) =>
      message(n, { records: all.map((WallTimeMs) => ({ ...eventOf("a"), WallTimeMs })) });
    await shard().append(handled([walls(1, 1, 2), walls(2, 0.5)], [one]));
    await shard().append(open([walls(3, 4)]));
    expect(addedSums(one, [await sums()], NOON)).toMatchObject({ total: 4, value: 7.5 });
    const broken = handled([walls(4, 8)], [one]);
    for (const state of ["AA", "?"]) {
      const functions = broken.parts[0]?.functions.map((each) => ({
        ...each,
        searches: [{ id: 1, stamp: "1.mark", count: 1, state }],
      }));
      const part = { ...(broken.parts[0] as Append["parts"][0]), id: `${state === "?" ? "a" : "b"}`.repeat(32) };
      await shard().append({ ...broken, parts: [{ ...part, functions: functions ?? [] }], records: [] });
    }
    expect(addedSums(one, [await sums()], NOON)).toMatchObject({ total: 6, value: 7.5 });
  });

  it("wake the watch when they may pass the threshold: their share of it, where shards add up", async () => {
    // A reader wakes it, too, once its uploads have failed for long.
    plane.now = { ...plane.now, jobs: [] };
    const alert = { ...ALERT, threshold: 4 };
    const all = [search(1, "", { alert })];
    await inForce(all);
    plane.now = { ...plane.now, state: "epoch.90.mark", shards: [0, 1] };
    version = 90;
    await shard().configure(plane.now);
    /** Calls come in order: none is beyond the last that is expected. */
    const wakes = (count: number) => until(() => woken.mock.calls.length === count);
    await shard().append(handled([of(1, "a")], all));
    expect(woken).not.toHaveBeenCalled();
    await shard().append(handled([of(2, "a")], all));
    await wakes(1);
    await shard().append(handled([of(3, "a", "a", "a")], all));
    // It falls below, and passes it again.
    clock.advance(600_000);
    await shard().append(handled([of(4, "a")], all));
    await shard().append(handled([of(5, "a")], all));
    await wakes(2);
    const more = [...all, search(2, "worker:b", { alert: { ...alert, threshold: 1 } })];
    await inForce(more);
    // At once again: the watch itself limits how often it checks.
    await shard().append(handled([of(6, "b")], more));
    await wakes(3);
  });
});
