import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Hit } from "../../../src/operate/search/hits.ts";
import type { NotSearched } from "../../../src/operate/search/not-searched.ts";
import type { Progress } from "../../../src/operate/search/page.ts";
import { type Bounds, search } from "../../../src/operate/search/search.ts";
import {
  FAULTS,
  type Fault,
  fieldsOf,
  holders,
  ids,
  type Minted,
  matches,
  type Order,
  orders,
  pagesOf,
  QUERY,
  type Setting,
  type Stored,
  setting,
} from "./several-jobs.ts";

interface Found {
  hits: Hit[];
  notSearched: NotSearched[];
  progress: Progress;
}

/** All pages, one after the other. @param beyond so many more are listed than one moment has. */
async function searched(of: Setting, order: Order, bounds: Partial<Bounds>, beyond = 100): Promise<Found> {
  const found: Found = { hits: [], notSearched: [], progress: {} as Progress };
  await pagesOf(of, order, beyond, async (sources, cursor) => {
    const end = await search(
      sources,
      {
        ...{ query: QUERY, order, cursor, signal: new AbortController().signal, platform: { now: () => 0 } },
        bounds: { limit: 1_000, hitUnits: 1e9, rawBytes: 1e9, ms: 1e9, atOnce: 2, lookAhead: 2, ...bounds },
      },
      { hits: (hits) => void found.hits.push(...hits), progress: () => {} },
    );
    found.notSearched.push(...end.notSearched);
    found.progress = end.progress;
    return end;
  });
  return found;
}

const idOf = ({ json }: Hit): number => (JSON.parse(json) as { id: number }).id;
const bitsOf = (fields: number): number => [1, 2, 4].filter((bit) => (fields & bit) > 0).length;

/** Objects of a record that a slow search finds it in. */
const findable = (of: Setting, id: number): Stored[] =>
  holders(of, id).filter(({ job, records }) =>
    records.some((record) => record.id === id && matches(record, fieldsOf(of, job))),
  );

const bounds = fc.oneof(
  fc.constant({}),
  fc.record({ limit: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ limit: fc.integer({ min: 1, max: 5 }), rawBytes: fc.integer({ min: 1_600, max: 3_000 }) }),
);
const beyond = fc.oneof(fc.constant(100), fc.integer({ min: 1, max: 3 }));

describe("a search over objects of several jobs", () => {
  it("tells each record once, with most fields and its jobs, whatever cannot be read", async () => {
    await fc.assert(
      fc.asyncProperty(setting(FAULTS, true), orders, bounds, beyond, async (of, order, bounded, listed) => {
        const { hits } = await searched(of, order, bounded, listed);
        expect(hits.map(idOf).toSorted((a, b) => a - b)).toEqual(ids.filter((id) => findable(of, id).length > 0));
        const times = hits.map(({ place }) => place[0]);
        expect(times).toEqual(times.toSorted((a, b) => (order === "newest" ? b - a : a - b)));
        for (const hit of hits) {
          const [, job] = hit.place;
          const found = findable(of, idOf(hit));
          expect(found.map((object) => object.job)).toContain(job);
          expect(bitsOf(fieldsOf(of, job))).toBe(Math.max(...found.map((each) => bitsOf(fieldsOf(of, each.job)))));
          const others = (objects: Stored[]) => objects.map((object) => object.job).filter((other) => other !== job);
          expect(hit.alsoIn).toEqual(expect.arrayContaining(others(holders(of, idOf(hit)))));
          expect(others(holders(of, idOf(hit), false))).toEqual(expect.arrayContaining([...hit.alsoIn]));
        }
      }),
      { numRuns: 800 },
    );
  });

  it("tells none twice where it is not known which records an object has, and names what it leaves out", async () => {
    await fc.assert(
      fc.asyncProperty(setting(FAULTS, false), orders, bounds, beyond, async (of, order, bounded, more) => {
        const { hits, notSearched } = await searched(of, order, bounded, more);
        const told = hits.map(idOf).toSorted((a, b) => a - b);
        expect(told).toEqual([...new Set(told)]);
        const named = new Set(notSearched.map(({ object }) => object));
        for (const id of ids)
          if (!told.includes(id)) for (const { batch } of findable(of, id)) expect(named).toContain(batch);
        // Of the broadest job, nothing is left out for others.
        for (const id of ids) if (findable(of, id).some(({ job }) => job === 2)) expect(told).toContain(id);
      }),
      { numRuns: 800 },
    );
  });

  it("does not read what is in objects of a broader job", async () => {
    const records = ids.map((id): Minted => ({ id, time: id, match: "always" }));
    const object = (job: number, batch: number, some: Minted[]): Stored => {
      return { job, batch, records: some, fault: "none", isTold: true, isLooked: true };
    };
    const objects = [object(2, 0, records.slice(0, 9)), object(2, 1, records.slice(9)), object(1, 2, records)];
    const { hits, progress } = await searched({ objects, fields: [2, 3, 1] }, "newest", {});
    expect(progress).toMatchObject({ objects: 3, read: 2, skipped: 1, copies: 1 });
    expect(hits.map(({ place, alsoIn }) => [place[1], alsoIn])).toEqual(ids.map(() => [2, [1]]));
    // It has a field that the other lacks.
    const more = await searched({ objects, fields: [4, 3, 1] }, "newest", {});
    expect(more.progress).toMatchObject({ objects: 3, read: 3, skipped: 0, copies: 0 });
  });

  it("does not find a record that matches because a copy lacks a field, unless no other can be read", async () => {
    const record: Minted = { id: 0, time: 0, match: "lacking" };
    const other: Minted = { id: 1, time: 1, match: "always" };
    const found = async (fault: Fault) => {
      const whole: Stored = { job: 2, batch: 0, records: [record], fault, isTold: true, isLooked: false };
      const objects = [whole, { ...whole, job: 1, batch: 1, records: [record, other], fault: "none" as const }];
      const { hits, progress } = await searched({ objects, fields: [2, 3, 1] }, "newest", {});
      expect(progress.copies).toBe(0);
      return hits.map(idOf);
    };
    expect(await found("none")).toEqual([1]);
    expect(await found("in the midst")).toEqual([1, 0]);
  });
});
