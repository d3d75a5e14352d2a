/** Counts over objects of several jobs: each record once, whatever is not read. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Row } from "../../../src/operate/search/count/groups.ts";
import { planCount } from "../../../src/operate/search/count/plan.ts";
import { count } from "../../../src/operate/search/count.ts";
import type { NotSearched } from "../../../src/operate/search/not-searched.ts";
import type { WalkBounds } from "../../../src/operate/search/page.ts";
import {
  BROADEST,
  FAULTS,
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

const SPAN_MS = 100;

/** `job id` of what was counted, as often as it was. */
interface Counted {
  counted: string[];
  notSearched: NotSearched[];
  read: number;
  copies: number;
}

async function countedIn(of: Setting, order: Order, bounds: Partial<WalkBounds>, beyond = 100): Promise<Counted> {
  // The name tells the job and the record.
  const planned = planCount({ by: ["ScriptName"] }, SPAN_MS);
  if (!planned.ok) throw new Error(JSON.stringify(planned.faults));
  const { plan } = planned;
  const counted: string[] = [];
  let rows: readonly Row[] = [];
  const ends = await pagesOf(of, order, beyond, async (sources, cursor) => {
    const end = await count(
      sources,
      {
        ...{ query: QUERY, plan, top: 1_000, order, cursor, signal: new AbortController().signal },
        platform: { now: () => 0 },
        bounds: { rawBytes: 1e9, ms: 1e9, atOnce: 2, lookAhead: 2, ...bounds },
      },
      {
        groups: (all) => {
          rows = all;
        },
        progress: () => {},
      },
    );
    for (const { by, values } of rows) counted.push(...Array.from({ length: Number(values[0]) }, () => String(by[0])));
    return end;
  });
  const sum = (of: (end: (typeof ends)[number]) => number): number => ends.reduce((sum, end) => sum + of(end), 0);
  return {
    counted,
    notSearched: ends.flatMap((end) => end.notSearched),
    read: sum(({ progress }) => progress.read),
    copies: sum(({ progress }) => progress.copies),
  };
}

/** Whether a search finds out that an object cannot be read: its sketch may rule it out before. */
const fails = (of: Setting, { fault, isLooked, job, records }: Stored): boolean =>
  fault === "without identities" ||
  (fault !== "none" && !(isLooked && !records.some((record) => matches(record, fieldsOf(of, job)))));

/** Of the objects that have a record and do not fail, that of the broadest job. */
const broadest = (of: Setting, id: number): Stored | undefined =>
  holders(of, id, false)
    .filter((object) => !fails(of, object))
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
        const named = new Set(notSearched.map(({ object }) => object));
        for (const name of expected(of)) {
          const id = Number(name.split(" ")[1]);
          if (!told.includes(String(id)))
            expect(holders(of, id, false).some(({ batch }) => named.has(batch))).toBe(true);
        }
        // Of the broadest job, nothing is left out for others.
        for (const name of expected(of)) if (name.startsWith(`${BROADEST[0]} `)) expect(counted).toContain(name);
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
