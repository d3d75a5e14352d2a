/** Counts over objects of several jobs: each record once, whatever is not read. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countedIn } from "./asked-of-jobs.ts";
import {
  BROADEST,
  FAULTS,
  fieldsOf,
  holders,
  ids,
  isNamed,
  type Minted,
  matches,
  orders,
  QUERY,
  type Setting,
  type Stored,
  setting,
  silences,
} from "./several-jobs.ts";

/** Of the objects that have a record, can be read and are not out, that of the broadest job. */
const broadest = (of: Setting, id: number): Stored | undefined =>
  holders(of, id)
    .filter(({ isLooked, job, records }) => !isLooked || records.some((record) => matches(record, fieldsOf(of, job))))
    .sort((a, b) => BROADEST.indexOf(a.job) - BROADEST.indexOf(b.job))[0];

/** What a slow count counts. */
function expected(of: Setting): string[] {
  return ids.flatMap((id) => {
    const { job, records } = broadest(of, id) ?? { job: 0, records: [] };
    return records.some((record) => record.id === id && matches(record, fieldsOf(of, job))) ? [`${job} ${id}`] : [];
  });
}

const idsOf = (counted: readonly string[]): string[] => counted.map((name) => name.split(" ")[1] as string).sort();

const bounds = fc.oneof(fc.constant({}), fc.record({ rawBytes: fc.integer({ min: 1, max: 3_000 }) }));

describe("a count over objects of several jobs", () => {
  it("counts each record once, as the broadest job has it whose object can be read", async () => {
    await fc.assert(
      fc.asyncProperty(setting(FAULTS, true), orders, bounds, async (of, order, bounded) => {
        const { counted } = await countedIn(of, order, bounded);
        expect(counted.toSorted()).toEqual(expected(of).sort());
      }),
      { numRuns: 800 },
    );
  });

  it("counts none twice, and names what it leaves out, where not all is listed or known", async () => {
    const beyond = fc.integer({ min: 1, max: 3 });
    await fc.assert(
      fc.asyncProperty(setting(FAULTS, false), orders, bounds, beyond, async (of, order, bounded, listed) => {
        const { counted, notSearched } = await countedIn(of, order, bounded, listed);
        const told = idsOf(counted);
        expect(told).toEqual([...new Set(told)]);
        for (const name of expected(of)) {
          const id = Number(name.split(" ")[1]);
          if (!told.includes(String(id))) expect(isNamed(holders(of, id, false), notSearched)).toBe(true);
        }
        // Of the broadest job, nothing is left out for others.
        for (const name of expected(of)) if (name.startsWith(`${BROADEST[0]} `)) expect(counted).toContain(name);
      }),
      { numRuns: 800 },
    );
  });

  it("counts each record once or names what has it, whichever jobs a page finds nothing of", async () => {
    await fc.assert(
      fc.asyncProperty(setting(FAULTS, true), orders, bounds, silences, async (of, order, bounded, silent) => {
        const { counted, notSearched } = await countedIn(of, order, bounded, 100, silent);
        const told = idsOf(counted);
        expect(told).toEqual([...new Set(told)]);
        const isThere = ({ job }: Stored) => !silent.some((jobs) => jobs.includes(job));
        for (const { id, match } of of.objects.flatMap(({ records }) => records)) {
          if (match !== "always" || !holders(of, id).some(isThere) || told.includes(String(id))) continue;
          expect(isNamed(holders(of, id, false), notSearched)).toBe(true);
        }
      }),
      { numRuns: 800 },
    );
  });

  it("counts what a search finds, or names what matches by fields that another copy lacks", async () => {
    const query = { ...QUERY, fields: null };
    await fc.assert(
      fc.asyncProperty(setting(FAULTS, true), orders, bounds, async (of, order, bounded) => {
        const { counted, notSearched } = await countedIn(of, order, bounded, 100, undefined, query);
        const told = idsOf(counted);
        expect(told).toEqual([...new Set(told)]);
        for (const id of ids) {
          const found = holders(of, id).filter(({ job, records }) =>
            records.some((record) => record.id === id && matches(record, fieldsOf(of, job))),
          );
          if (found.length > 0 && !told.includes(String(id))) expect(isNamed(found, notSearched)).toBe(true);
        }
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
    const { counted, read, copies } = await countedIn({ objects, fields: [2, 3, 1] }, "newest", {});
    expect({ counted: counted.length, read, copies }).toEqual({ counted: 16, read: 2, copies: 1 });
  });
});
