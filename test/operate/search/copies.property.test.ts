import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Hit } from "../../../src/operate/search/hits.ts";
import { searched } from "./asked-of-jobs.ts";
import {
  FAULTS,
  type Fault,
  fieldsOf,
  holders,
  ids,
  isNamed,
  type Minted,
  matches,
  orders,
  type Setting,
  type Stored,
  setting,
  silences,
} from "./several-jobs.ts";

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
      { numRuns: 400 },
    );
  });

  it("tells none twice where it is not known which records an object has, and names what it leaves out", async () => {
    await fc.assert(
      fc.asyncProperty(setting(FAULTS, false), orders, bounds, beyond, async (of, order, bounded, more) => {
        const { hits, notSearched } = await searched(of, order, bounded, more);
        const told = hits.map(idOf).toSorted((a, b) => a - b);
        expect(told).toEqual([...new Set(told)]);
        for (const id of ids)
          if (!told.includes(id)) for (const each of findable(of, id)) expect(isNamed([each], notSearched)).toBe(true);
        // Of the broadest job, nothing is left out for others.
        for (const id of ids) if (findable(of, id).some(({ job }) => job === 2)) expect(told).toContain(id);
      }),
      { numRuns: 800 },
    );
  });

  it("tells each record once, whichever jobs a page finds nothing of", async () => {
    await fc.assert(
      fc.asyncProperty(setting(FAULTS, true), orders, bounds, silences, async (of, order, bounded, silent) => {
        const told = (await searched(of, order, bounded, 100, silent)).hits.map(idOf);
        expect(told).toHaveLength(new Set(told).size);
        const isThere = ({ job }: Stored) => !silent.some((jobs) => jobs.includes(job));
        for (const id of ids) if (findable(of, id).some(isThere)) expect(told).toContain(id);
      }),
      { numRuns: 800 },
    );
  });

  it("does not take records to be in an open batch that came after it was listed", async () => {
    const record = (id: number, time: number): Minted => ({ id, time, match: "always" });
    const stored = { fault: "none", isTold: true, isLooked: false } as const;
    const late = record(2, 9);
    // What is at 5 is told before the open batch is read, which would be too late for what is at 9.
    const objects: Stored[] = [
      { ...stored, job: 2, batch: 0, records: [record(0, 0), late], listed: 1 },
      { ...stored, job: 2, batch: 1, records: [record(1, 5)] },
      { ...stored, job: 1, batch: 2, records: [record(0, 0), late] },
    ];
    const { hits } = await searched({ objects, fields: [2, 2, 1] }, "newest", { atOnce: 1 });
    expect(hits.map(idOf)).toEqual([2, 1, 0]);
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
