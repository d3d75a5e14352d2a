import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { IdentityWriter } from "../../../src/formats/sketch/identities.ts";
import { type Cursor, readCursor, whollyDone, writeCursor } from "../../../src/operate/search/cursor.ts";
import type { Hit } from "../../../src/operate/search/hits.ts";
import type { Identified } from "../../../src/operate/search/identify.ts";
import type { NotSearched, Progress } from "../../../src/operate/search/page.ts";
import { compileQuery } from "../../../src/operate/search/query.ts";
import { type Bounds, search } from "../../../src/operate/search/search.ts";
import { keyOf, type Source } from "../../../src/operate/search/source.ts";
import { ReadFault } from "../../../src/ship/destinations/read-object.ts";

/** A record of some part. `extra`: it matches by a field that not every job ships. */
interface Minted {
  id: number;
  time: number;
  match: "never" | "always" | "extra";
}

/** How an object is not read, if it is not. */
type Fault = "none" | "at once" | "in the midst" | "of other records" | "without identities";

const ONLY_TOLD: readonly Fault[] = ["of other records", "without identities"];

interface Stored {
  job: number;
  batch: number;
  records: Minted[];
  fault: Fault;
  isTold: boolean;
  isLooked: boolean;
}

interface Setting {
  objects: Stored[];
  /** By job: what it writes of a record, a bit each; the first is the extra field. */
  fields: number[];
}

const JOBS = 3;
const minted = fc.array(
  fc.record({ time: fc.nat(25), match: fc.constantFrom<Minted["match"]>("never", "always", "always", "extra") }),
  { minLength: 1, maxLength: 16 },
);

/** Jobs with filters or samples of their own: which of them has a record, and in which object. */
const setting = (faults: readonly Fault[], areTold: boolean): fc.Arbitrary<Setting> =>
  minted.chain((records) =>
    fc
      .record({
        places: fc.array(fc.array(fc.constantFrom(-1, 0, 0, 0, 1), { minLength: JOBS, maxLength: JOBS }), {
          minLength: records.length,
          maxLength: records.length,
        }),
        kinds: fc.array(
          fc.record({
            fault: fc.constantFrom<Fault>("none", ...faults),
            isTold: areTold ? fc.constant(true) : fc.boolean(),
            isLooked: fc.boolean(),
          }),
          { minLength: 3 * JOBS, maxLength: 3 * JOBS },
        ),
        fields: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: JOBS, maxLength: JOBS }),
      })
      .map(({ places, kinds, fields }) => ({
        fields,
        objects: kinds.flatMap((kind, i): Stored[] => {
          const job = Math.floor(i / 3);
          const own = records.flatMap((record, id) => {
            const late = places[id]?.[job] ?? -1;
            const slot = Math.min(2, Math.floor(record.time / 9) + late);
            return late >= 0 && slot === i % 3 ? [{ ...record, id }] : [];
          });
          const fault = kind.isTold || !ONLY_TOLD.includes(kind.fault) ? kind.fault : "none";
          return own.length === 0 ? [] : [{ ...kind, fault, job: job + 1, batch: i, records: own }];
        }),
      })),
  );

const matches = ({ match }: Minted, fields: number): boolean =>
  match === "always" || (match === "extra" && (fields & 1) === 1);

const partOf = (id: number): string => `${id % 3}`.padStart(32, "0");

const fieldsOf = ({ fields }: Setting, job: number): number => fields[job - 1] as number;

function sourceOf(object: Stored, fields: number): Source {
  const { job, batch, records, fault } = object;
  const line = (record: Minted) =>
    `${JSON.stringify({ EventTimestampMs: record.time, Outcome: matches(record, fields) ? "exception" : "ok", id: record.id })}\n`;
  const lines = fault === "of other records" ? [...records, ...records] : records;
  const bytes = encodeUtf8(lines.map(line).join(""));
  const times = records.map(({ time }) => time);
  return {
    ...{ job, node: 0, batch, number: batch, records: records.length, bytes: 1e6, rawBytes: bytes.length },
    ...{ firstMs: Math.min(...times), lastMs: Math.max(...times), isHeld: false },
    async open() {
      if (fault === "at once") throw new ReadFault("gone", "it is not there");
      return (async function* () {
        yield bytes;
        if (fault === "in the midst") throw new ReadFault("damaged", "it is no whole gzip file");
      })();
    },
  };
}

function identifiedOf({ records, fault }: Stored, fields: number): Identified {
  const writer = new IdentityWriter(fields);
  for (const { id } of records) writer.add(partOf(id), Math.floor(id / 3));
  const bytes = writer.finish();
  return { bytes: bytes.length, fields, load: async () => (fault === "without identities" ? null : bytes) };
}

const QUERY = compileQuery({
  all: [{ kind: "condition", path: ["Outcome"], test: { kind: "eq", text: "exception" }, negated: false }],
  ...{ sinceMs: 0, untilMs: 100 },
});

interface Found {
  hits: Hit[];
  notSearched: NotSearched[];
  progress: Progress;
  pages: number;
}

type Order = "newest" | "oldest";

/** All pages, one after the other. @param beyond so many more are listed than one moment has. */
async function searched(of: Setting, order: Order, bounds: Partial<Bounds>, beyond = 100): Promise<Found> {
  const sources = of.objects.map((object) => sourceOf(object, fieldsOf(of, object.job)));
  const ofMoment = ({ firstMs }: Source) => sources.filter((each) => each.firstMs <= firstMs && firstMs <= each.lastMs);
  const listMax = beyond + Math.max(0, ...sources.map((source) => ofMoment(source).length));
  const told = new Map(sources.map((source, i) => [source, of.objects[i] as Stored]));
  const [edge, sign] = order === "newest" ? (["lastMs", -1] as const) : (["firstMs", 1] as const);
  const sorted = sources.toSorted((a, b) => sign * (a[edge] - b[edge]));
  const found: Found = { hits: [], notSearched: [], progress: {} as Progress, pages: 0 };
  for (let cursor: Cursor | null = null; ; ) {
    const from: number | undefined = cursor?.after?.[0];
    const done = cursor === null ? [] : whollyDone(cursor, true).map(String);
    const overlapping = sorted.filter(
      (source) =>
        !done.includes(keyOf(source)) &&
        (from === undefined || (order === "newest" ? source.firstMs <= from : source.lastMs >= from)),
    );
    const list = overlapping.slice(0, listMax);
    const end = await search(
      {
        list,
        listedToMs: list.length < overlapping.length ? (list.at(-1) as Source)[edge] : null,
        order: [2, 1, 3],
        lookUp: async (some) => {
          const out = some.filter((source) => {
            const { isLooked, records, job } = told.get(source) as Stored;
            return isLooked && !records.some((record) => matches(record, fieldsOf(of, job)));
          });
          return { out: new Set(out), bytes: 1 };
        },
        identify: async (some) =>
          new Map(
            some.flatMap((source) => {
              const object = told.get(source) as Stored;
              return object.isTold ? [[source, identifiedOf(object, fieldsOf(of, object.job))] as const] : [];
            }),
          ),
      },
      {
        ...{ query: QUERY, order, cursor, signal: new AbortController().signal, platform: { now: () => 0 } },
        bounds: { limit: 1_000, hitUnits: 1e9, rawBytes: 1e9, ms: 1e9, atOnce: 2, lookAhead: 2, ...bounds },
      },
      { hits: (hits) => void found.hits.push(...hits), progress: () => {} },
    );
    found.notSearched.push(...end.notSearched);
    found.progress = end.progress;
    found.pages += 1;
    if (end.cursor === null) return found;
    if (JSON.stringify(end.cursor) === JSON.stringify(cursor)) throw new Error("a page got no further");
    if (found.pages > 100) throw new Error("there is no end");
    const sent = writeCursor({ cursor: end.cursor, span: { sinceMs: 0, untilMs: 100 }, lacks: false }, "") ?? "";
    cursor = readCursor(sent, "")?.cursor ?? null;
    expect(cursor).toEqual(end.cursor);
  }
}

const idOf = ({ json }: Hit): number => (JSON.parse(json) as { id: number }).id;
const bitsOf = (fields: number): number => [1, 2, 4].filter((bit) => (fields & bit) > 0).length;

/** Where a record is: objects that can be read, or all. */
const holders = ({ objects }: Setting, id: number, readable = true): Stored[] =>
  objects.filter(({ records, fault }) => records.some((own) => own.id === id) && (!readable || fault === "none"));

/** Objects of a record that a slow search finds it in. */
const findable = (of: Setting, id: number): Stored[] =>
  holders(of, id).filter(({ job, records }) =>
    records.some((record) => record.id === id && matches(record, fieldsOf(of, job))),
  );

const ids = Array.from({ length: 16 }, (_, id) => id);
const orders = fc.constantFrom<Order>("newest", "oldest");
const bounds = fc.oneof(
  fc.constant({}),
  fc.record({ limit: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ limit: fc.integer({ min: 1, max: 5 }), rawBytes: fc.integer({ min: 1_600, max: 3_000 }) }),
);
const beyond = fc.oneof(fc.constant(100), fc.integer({ min: 1, max: 3 }));

const FAULTS: readonly Fault[] = ["none", "none", "at once", "in the midst", "of other records", "without identities"];

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
});
