/** What is compared at most, and what becomes of more: nothing is found twice, or lost unsaid. */
import { describe, expect, it } from "vitest";
import { planCount } from "../../../src/operate/search/count/plan.ts";
import { count } from "../../../src/operate/search/count.ts";
import type { Cursor, Done } from "../../../src/operate/search/cursor.ts";
import type { Sources } from "../../../src/operate/search/page.ts";
import { countedIn, searched } from "./asked-of-jobs.ts";
import { type Minted, pagesOf, QUERY, type Setting, type Stored } from "./several-jobs.ts";

const stored = { fault: "none", isTold: true, isLooked: false } as const;
const minted = (id: number): Minted => ({ id, time: 1, match: "always" });
const broad = (id: number, more: Partial<Stored> = {}): Stored => ({
  ...stored,
  ...{ job: 2, batch: id, records: [minted(id)] },
  ...more,
});
const narrow = (ids: number[], more: Partial<Stored> = {}): Stored => ({
  ...stored,
  ...{ job: 1, batch: 10_000 + (ids[0] ?? 0), records: ids.map(minted) },
  ...more,
});
const upTo = (count: number): number[] => Array.from({ length: count }, (_, id) => id);

/** A record in each object of the broader job; another object has all of them, and maybe more. */
const beside = (count: number, more: number, weight?: number): Setting => ({
  objects: [
    ...upTo(count).map((id) => broad(id, weight === undefined ? {} : { weight: 0 })),
    narrow(upTo(count + more), weight === undefined ? {} : { weight }),
  ],
  fields: [2, 2, 1],
});

const told = (ids: readonly unknown[]): number[] => ids.map(Number).sort((a, b) => a - b);

describe("a search with copies", () => {
  const find = async (of: Setting) => {
    const { hits, notSearched, progress } = await searched(of, "newest", { limit: 10_000 }, 10_000);
    expect(told(hits.map(({ json }) => JSON.parse(json).id))).toEqual(upTo(hits.length));
    const both = hits.filter(({ place, alsoIn }) => [place[1], ...alsoIn].length === 2).length;
    return { hits: hits.length, both, copies: progress.copies, named: notSearched.length };
  };

  it("reads an object with more than 32 others beside it, though it is a copy", async () => {
    expect(await find(beside(32, 0))).toEqual({ hits: 32, both: 32, copies: 1, named: 0 });
    expect(await find(beside(33, 0))).toEqual({ hits: 33, both: 33, copies: 0, named: 0 });
  });

  it("reads it, too, where telling would read half as much as it has, or more than a megabyte", async () => {
    expect(await find(beside(2, 0, 500_000))).toMatchObject({ hits: 2, both: 2, copies: 1, named: 0 });
    expect(await find(beside(2, 0, 500_001))).toMatchObject({ hits: 2, both: 2, copies: 0, named: 0 });
  });

  it("asks for identities 2,000 times a page, then reads copies", async () => {
    const groups = upTo(66).map((group) => upTo(31).map((i) => 31 * group + i));
    const of: Setting = {
      objects: groups.flatMap((ids) => [narrow(ids), ...ids.map((id) => broad(id))]),
      fields: [2, 2, 1],
    };
    // Each group is of a time of its own.
    for (const { records } of of.objects) for (const record of records) record.time = Math.floor(record.id / 31);
    const { hits, copies, named } = await find(of);
    expect({ hits, named }).toEqual({ hits: 31 * 66, named: 0 });
    expect(copies).toBeGreaterThan(60);
    expect(copies).toBeLessThan(66);
    // What is read asks for its own, too.
    expect(of.loads).toBeLessThan(2_000 + of.objects.length + 100);
  });
});

describe("a count with copies", () => {
  const counted = async (of: Setting) => {
    const { counted, notSearched, copies } = await countedIn(of, "newest", {}, 10_000);
    const ids = told(counted.map((name) => name.split(" ")[1]));
    expect(ids).toEqual(upTo(ids.length));
    return { counted: ids.length, copies, named: notSearched.map(({ object }) => object) };
  };

  it("names an object with more than 500 others beside it, and counts those", async () => {
    expect(await counted(beside(500, 1))).toEqual({ counted: 501, copies: 0, named: [] });
    expect(await counted(beside(500, 0))).toEqual({ counted: 500, copies: 1, named: [] });
    expect(await counted(beside(501, 1))).toEqual({ counted: 501, copies: 0, named: [10_000] });
  });

  it("names it, too, where more than a megabyte would have to be compared", async () => {
    expect(await counted(beside(2, 1, 1_000_000))).toEqual({ counted: 3, copies: 0, named: [] });
    expect(await counted(beside(2, 1, 1_000_001))).toEqual({ counted: 2, copies: 0, named: [10_000] });
  });

  it("does not keep all others waiting for an object that it cannot decide", async () => {
    const of = beside(501, 0);
    // Its last record is later than all others: before it is decided, none can be told to be done.
    of.objects.at(-1)?.records.push({ ...minted(501), time: 50 });
    const planned = planCount({}, 100);
    if (!planned.ok) throw new Error();
    const done: number[] = [];
    await pagesOf(of, "newest", 10_000, async (sources, cursor) => {
      const asked = { query: QUERY, plan: planned.plan, top: 10, order: "newest", cursor } as const;
      const bounds = { rawBytes: 2_000, ms: 1e9, atOnce: 1 };
      const at = { signal: new AbortController().signal, platform: { now: () => 0 }, bounds };
      const end = await count(sources, { ...asked, ...at }, { groups: () => {}, progress: () => {} });
      done.push(end.cursor?.after?.[0] ?? -1);
      return end;
    });
    expect(done[0]).toBe(1);
  });

  it("ends a page that has asked for identities 2,000 times, and goes on with the next one", async () => {
    const groups = upTo(41).map((group) => upTo(50).map((i) => 50 * group + i));
    const objects = groups.flatMap((ids) => [...ids.map((id) => broad(id)), narrow([...ids])]);
    const of: Setting = { objects, fields: [2, 2, 1] };
    for (const { records } of objects) for (const record of records) record.time = Math.floor(record.id / 50);
    // A page before has counted those of the broader job.
    const done = objects
      .filter(({ job }) => job === 2)
      .map(({ job, batch, records }): Done => [[job, 0, batch], null, records[0]?.time ?? 0]);
    const planned = planCount({}, 100);
    if (!planned.ok) throw new Error();
    const pages: { loads: number; copies: number }[] = [];
    const rows: unknown[] = [];
    const ask = async (sources: Sources, cursor: Cursor | null) => {
      const before = of.loads ?? 0;
      const asked = { query: QUERY, plan: planned.plan, top: 10, order: "newest", cursor } as const;
      const bounds = { rawBytes: 1e9, ms: 1e9, atOnce: 2 };
      const at = { signal: new AbortController().signal, platform: { now: () => 0 }, bounds };
      const groups = (all: readonly unknown[]) => void rows.push(...all);
      const end = await count(sources, { ...asked, ...at }, { groups, progress: () => {} });
      expect(end.notSearched).toEqual([]);
      pages.push({ loads: (of.loads ?? 0) - before, copies: end.progress.copies });
      return end;
    };
    await pagesOf(of, "newest", 10_000, ask, undefined, { after: [50, -1, -1, -1, -1, ""], done });
    expect(pages.map(({ copies }) => copies)).toEqual([expect.any(Number), expect.any(Number)]);
    expect(pages.reduce((sum, { copies }) => sum + copies, 0)).toBe(41);
    expect(pages[0]?.loads).toBeLessThan(2_000 + 3 * 51);
    expect(rows).toEqual([]);
  });
});
