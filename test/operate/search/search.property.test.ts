import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { compileQuery } from "../../../src/formats/query/compile-query.ts";
import { type Cursor, whollyDone } from "../../../src/operate/search/cursor.ts";
import { comparePlaces, type Hit } from "../../../src/operate/search/hits.ts";
import type { LookUp } from "../../../src/operate/search/look-up.ts";
import type { NotSearched } from "../../../src/operate/search/not-searched.ts";
import type { Sources } from "../../../src/operate/search/page.ts";
import { type Bounds, search } from "../../../src/operate/search/search.ts";
import type { Source } from "../../../src/operate/search/source.ts";
import { ReadFault } from "../../../src/ship/destinations/read-object.ts";

const NEVER = new AbortController().signal;

interface Stored {
  node: number;
  batch: number;
  /** Of each record: its time, and whether it matches. */
  records: { time: number; match: boolean }[];
  fails: boolean;
  isOut: boolean;
}

const stored = fc.record({
  node: fc.nat(1),
  records: fc.array(fc.record({ time: fc.integer({ min: 0, max: 40 }), match: fc.boolean() }), {
    minLength: 1,
    maxLength: 12,
  }),
  fails: fc.constant(false),
});

/** Objects, each with a batch of its own. */
const objects = (fails: fc.Arbitrary<boolean>) =>
  fc.array(fc.tuple(stored, fails), { maxLength: 12 }).map((all) =>
    all.map(
      ([each, fail], batch): Stored => ({
        ...each,
        batch,
        fails: fail,
        isOut: each.records.every(({ match }) => !match),
      }),
    ),
  );

const lineOf = ({ time, match }: Stored["records"][number], text: string): string =>
  JSON.stringify({ EventTimestampMs: time, Outcome: match ? "exception" : "ok", text });

/** @param late of records that it gets after it is listed: their times. */
function sourceOf(object: Stored, pieceBytes: number, late: readonly number[]): Source {
  const { node, batch, records } = object;
  const all = [...records, ...late.map((time) => ({ time, match: true }))];
  const bytes = encodeUtf8(all.map((record, i) => `${lineOf(record, `${node}.${batch}.${i}`)}\n`).join(""));
  const times = records.map(({ time }) => time);
  return {
    ...{ job: 1, node, batch, number: batch, records: records.length, bytes: bytes.length, rawBytes: bytes.length },
    ...{ firstMs: Math.min(...times), lastMs: Math.max(...times), isHeld: false },
    async open(read) {
      // Every other one only turns out to be none when its records were read.
      if (object.fails && batch % 2 === 0) throw new ReadFault("gone", "it is not there");
      return (async function* () {
        for (let at = 0; at < bytes.length; at += pieceBytes) {
          const piece = bytes.slice(at, at + pieceBytes);
          read(piece.length);
          yield piece;
        }
        if (object.fails) throw new ReadFault("damaged", "it is no whole gzip file");
      })();
    },
  };
}

const QUERY = compileQuery({
  all: [{ kind: "condition", path: ["Outcome"], test: { kind: "eq", text: "exception" }, negated: false }],
  sinceMs: 0,
  untilMs: 100,
});

interface Page {
  hits: Hit[];
  cursor: Cursor | null;
  notSearched: NotSearched[];
}

type Order = "newest" | "oldest";

async function page(sources: Sources, order: Order, cursor: Cursor | null, bounds: Partial<Bounds>): Promise<Page> {
  const hits: Hit[] = [];
  const end = await search(
    sources,
    {
      ...{ query: QUERY, order, cursor, signal: NEVER, platform: { now: () => 0 } },
      bounds: { limit: 1_000, hitUnits: 1e9, rawBytes: 1e9, ms: 1e9, atOnce: 2, lookAhead: 3, ...bounds },
    },
    { hits: (found) => void hits.push(...found), progress: () => {} },
  );
  return { hits, cursor: end.cursor, notSearched: end.notSearched };
}

/** All pages, one after the other. */
async function pages(
  list: readonly Stored[],
  order: Order,
  bounds: Partial<Bounds>,
  {
    pieceBytes = 50,
    listMax = Number.POSITIVE_INFINITY,
    late = [],
  }: { pieceBytes?: number; listMax?: number; late?: readonly (readonly number[])[] } = {},
): Promise<Page[]> {
  const sources = list.map((object, i) => sourceOf(object, pieceBytes, object.isOut ? [] : (late[i] ?? [])));
  const out = new Set(sources.filter((_source, i) => list[i]?.isOut));
  const lookUp: LookUp = async (some) => ({ out: new Set(some.filter((source) => out.has(source))), bytes: 1 });
  const edge = order === "newest" ? "lastMs" : "firstMs";
  const sorted = [...sources].sort((a, b) => (order === "newest" ? b[edge] - a[edge] : a[edge] - b[edge]));
  const found: Page[] = [];
  for (let cursor: Cursor | null = null; ; ) {
    const from: number | undefined = cursor?.after?.[0];
    const done = cursor === null ? [] : whollyDone(cursor).map(String);
    const overlapping = sorted.filter(
      ({ job, node, batch, firstMs, lastMs }) =>
        !done.includes(`${job},${node},${batch}`) &&
        (from === undefined || (order === "newest" ? firstMs <= from : lastMs >= from)),
    );
    const listed = overlapping.slice(0, listMax);
    const listedToMs = listed.length < overlapping.length ? (listed.at(-1) as Source)[edge] : null;
    const next = await page({ list: listed, listedToMs, lookUp }, order, cursor, bounds);
    expect(next.hits.map(({ place }) => place)).toEqual(
      next.hits.map(({ place }) => place).sort((a, b) => comparePlaces(a, b, order)),
    );
    found.push(next);
    if (next.cursor === null) return found;
    if (JSON.stringify(next.cursor) === JSON.stringify(cursor)) throw new Error("a page got no further");
    if (found.length > 500) throw new Error("there is no end");
    cursor = next.cursor;
  }
}

const nameOf = ({ place: [time, , node, batch, line], json }: Hit): string =>
  `${time} ${(JSON.parse(json) as { text: string }).text} ${node}.${batch}.${line - 1}`;

/** What a slow search over the same records finds, in order. */
function expected(list: readonly Stored[], order: Order): string[] {
  return list
    .filter(({ fails }) => !fails)
    .flatMap(({ node, batch, records }) =>
      records.flatMap(({ time, match }, i) => {
        const name = `${time} ${node}.${batch}.${i} ${node}.${batch}.${i}`;
        return match ? [{ place: [time, 1, node, batch, i + 1, ""] as const, name }] : [];
      }),
    )
    .sort((a, b) => comparePlaces(a.place, b.place, order))
    .map(({ name }) => name);
}

const orders = fc.constantFrom("newest" as const, "oldest" as const);
const upTo = (max: number) => fc.integer({ min: 1, max });
const good = objects(fc.constant(false));

const namesOn = (found: readonly Page[]): string[] => found.flatMap(({ hits }) => hits.map(nameOf));

/** A search over objects of one record each, in order. */
function searchOver(
  { match, lookUp }: { match: boolean; lookUp: LookUp },
  bounds: Partial<Bounds>,
  { now = () => 0, hits = () => {} }: { now?: () => number; hits?: (found: readonly Hit[]) => void } = {},
) {
  const list = Array.from({ length: 6 }, (_, batch) =>
    sourceOf({ node: 0, batch, records: [{ time: 10 + batch, match }], fails: false, isOut: false }, 50, []),
  );
  return search(
    { list, listedToMs: null, lookUp },
    {
      ...{ query: QUERY, order: "newest", cursor: null, signal: NEVER, platform: { now } },
      bounds: { limit: 10, hitUnits: 1e9, rawBytes: 1e9, ms: 1e9, atOnce: 4, ...bounds },
    },
    { hits, progress: () => {} },
  );
}

describe("a search over objects", () => {
  it("finds what a slow one finds, in order, on pages of a few hits, or on one", async () => {
    const limits = fc.oneof(fc.constant(1_000), upTo(7));
    await fc.assert(
      fc.asyncProperty(good, orders, limits, upTo(200), async (list, order, limit, pieceBytes) => {
        const found = await pages(list, order, { limit }, { pieceBytes });
        for (const { hits } of found) expect(hits.length).toBeLessThanOrEqual(limit);
        if (limit === 1_000) expect(found).toHaveLength(1);
        expect(namesOn(found)).toEqual(expected(list, order));
      }),
      { numRuns: 400 },
    );
  });

  it("finds each hit once on pages that are bounded in objects, hits, bytes of hits and objects listed", async () => {
    const bounds = fc.record({ limit: upTo(7), rawBytes: upTo(600), hitUnits: upTo(400), atOnce: upTo(4) });
    const some = fc.oneof(bounds, fc.record({ limit: upTo(7) }));
    await fc.assert(
      fc.asyncProperty(good, orders, some, upTo(5), async (list, order, bounds, listMax) => {
        const found = await pages(list, order, bounds, { listMax });
        for (const { hits } of found) {
          expect(hits.length).toBeLessThanOrEqual(bounds.limit);
          const units = hits.reduce((sum, { json }) => sum + json.length, 0);
          if (hits.length > 1 && "hitUnits" in bounds) expect(units).toBeLessThanOrEqual(bounds.hitUnits);
        }
        expect(namesOn(found).toSorted()).toEqual(expected(list, order).toSorted());
      }),
      { numRuns: 500 },
    );
  });

  it("names each object that it could not read, and finds all others' hits", async () => {
    await fc.assert(
      fc.asyncProperty(objects(fc.boolean()), orders, upTo(7), upTo(600), async (list, order, limit, rawBytes) => {
        const found = await pages(list, order, { limit, rawBytes });
        expect(namesOn(found).toSorted()).toEqual(expected(list, order).toSorted());
        const named = new Set(found.flatMap(({ notSearched }) => notSearched.map(({ object }) => object)));
        for (const { batch, fails, isOut } of list) if (fails && !isOut) expect(named).toContain(batch);
      }),
      { numRuns: 300 },
    );
  });

  it("finds each hit once where objects get records of any time after they were listed", async () => {
    const late = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 3 });
    const lates = fc.array(late, { minLength: 12, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(good, lates, orders, upTo(5), async (list, times, order, limit) => {
        const names = namesOn(await pages(list, order, { limit }, { late: times }));
        expect(names.toSorted()).toEqual([...new Set(names)].sort());
        for (const name of expected(list, order)) expect(names).toContain(name);
      }),
      { numRuns: 300 },
    );
  });

  it("tells the hits of the first objects before it has asked the sketches of those after them", async () => {
    const told = Promise.withResolvers<void>();
    let [asked, hits] = [0, 0];
    const lookUp: LookUp = async (some) => {
      asked += some.length;
      if (asked > 3) await told.promise;
      return { out: new Set(), bytes: 10 };
    };
    const onHits = (found: readonly Hit[]) => {
      hits += found.length;
      told.resolve();
    };
    const { progress } = await searchOver({ match: true, lookUp }, { lookAhead: 3 }, { hits: onHits });
    expect([hits, asked, progress.sketchBytes]).toEqual([6, 6, 20]);
  });

  it("asks no sketches after its time, and gets on with one object all the same", async () => {
    let [nowMs, asked] = [0, 0];
    const lookUp: LookUp = async (some) => {
      nowMs += 500;
      asked += some.length;
      return { out: new Set(some), bytes: 0 };
    };
    const bounds = { ms: 900, lookAhead: 2 };
    const { progress, cursor } = await searchOver({ match: false, lookUp }, bounds, { now: () => nowMs });
    expect([asked, progress.skipped, progress.read, cursor?.after?.[0]]).toEqual([4, 4, 1, 10]);
  });

  it.each(["its store sends a byte now and then", "the answer is not wanted any more"])(
    "stops in the middle of an object where %s",
    async (why) => {
      const aborted = new AbortController();
      let [nowMs, pieces] = [0, 0];
      const object: Stored = { node: 0, batch: 1, records: [{ time: 1, match: true }], fails: false, isOut: false };
      const endless: Source = {
        ...sourceOf(object, 50, []),
        async open(read) {
          return (async function* () {
            // Nothing of it comes out of the decoder.
            for (; pieces < 1_000; pieces++) {
              nowMs += 9_000;
              if (why.startsWith("the answer")) aborted.abort();
              read(1);
            }
            yield new Uint8Array();
          })();
        },
      };
      const { notSearched } = await search(
        { list: [endless], listedToMs: null },
        {
          ...{ query: QUERY, order: "newest", cursor: null, signal: aborted.signal, platform: { now: () => nowMs } },
          bounds: { limit: 10, hitUnits: 1e9, rawBytes: 1e9, ms: 1e9, atOnce: 1 },
        },
        { hits: () => {}, progress: () => {} },
      );
      expect(pieces).toBeLessThan(10);
      expect(notSearched.map(({ object }) => object)).toEqual([1]);
    },
  );
});
