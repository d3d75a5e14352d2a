/** Counts over objects, page by page, against a slow one over the records that were read. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { encoderOf } from "../../../src/formats/object/encoders.ts";
import { compileQuery } from "../../../src/formats/query/compile-query.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { IdentityWriter } from "../../../src/formats/sketch/identities.ts";
import type { Facet } from "../../../src/operate/search/count/facets.ts";
import { Groups, type Row } from "../../../src/operate/search/count/groups.ts";
import { type AskedCount, type CountPlan, planCount } from "../../../src/operate/search/count/plan.ts";
import { type CountEnd, count } from "../../../src/operate/search/count.ts";
import { type Cursor, leftOf, whollyDone } from "../../../src/operate/search/cursor.ts";
import type { Identify } from "../../../src/operate/search/identify.ts";
import type { LookUp } from "../../../src/operate/search/look-up.ts";
import type { WalkBounds } from "../../../src/operate/search/page.ts";
import type { Source } from "../../../src/operate/search/source.ts";
import { ReadFault } from "../../../src/ship/destinations/read-object.ts";
import { traceRecord } from "../../formats/record/samples.ts";
import { fileOf, PARQUET } from "../../support/parquet-files.ts";

interface Event {
  /** Its place among all records. */
  id: number;
  time: number;
  status: number | null;
  took: number;
  user: string | null;
}

interface Stored {
  job: 1 | 2;
  node: number;
  batch: number;
  records: Event[];
  kind: "ndjson" | "parquet" | "held";
  /** Of what is held: what comes to it after the first page, and the page that finds it cut. */
  late: Event[];
  cutOn: number;
  fails: "no" | "open" | "end";
}

/** Numbers for records of an object, and the first of those that come late. */
const [IDS, LATE] = [100, 50];

const SPAN = { sinceMs: 100, untilMs: 900 };

const event = fc.record<Omit<Event, "id">>({
  /** Until it is in an object: by how much it is later than the object's first. */
  time: fc.oneof(fc.nat(30), fc.nat(30), fc.nat(900)),
  status: fc.constantFrom(200, 404, 500, null),
  took: fc.oneof(fc.nat(50), fc.nat(1_000_000)),
  user: fc.constantFrom("ann", "bob", null),
});
const some = (max: number, min = 0) => fc.array(event, { minLength: min, maxLength: max });
const objects = (fails: fc.Arbitrary<Stored["fails"]>) =>
  fc
    .array(
      fc.record({
        job: fc.constantFrom<Stored["job"][]>(1, 1, 2),
        /** Of the second job: objects of the first, and records of them, that it has, too. */
        copies: fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { maxLength: 12 }),
        hasOwn: fc.boolean(),
        node: fc.nat(1),
        at: fc.integer({ min: 50, max: 950 }),
        moved: fc.constantFrom(0, 0, 400, -400),
        records: some(10, 1),
        kind: fc.constantFrom<Stored["kind"][]>("ndjson", "parquet", "held"),
        late: some(3),
        cutOn: fc.integer({ min: 1, max: 4 }),
        fails,
      }),
      { maxLength: 10 },
    )
    .map((all) => {
      const made = all.map(({ at, moved, copies, ...each }, batch) => {
        const moveTo = (events: readonly Omit<Event, "id">[], from: number, id: number): Event[] =>
          events.map((event, i) => ({ ...event, id: id + i, time: from + event.time }));
        const records = moveTo(each.records, at, batch * IDS);
        return { ...each, batch, copies, records, late: moveTo(each.late, at + moved, batch * IDS + LATE) };
      });
      const first = made.filter(({ job }) => job === 1);
      const copied = new Set<Event>();
      return made.map(({ copies, hasOwn, ...each }): Stored => {
        const own = copies.flatMap(([from, i]) => first[from]?.records[i] ?? []).filter((event) => !copied.has(event));
        if (each.job === 1) return each;
        for (const event of own) copied.add(event);
        return { ...each, records: [...(hasOwn || own.length === 0 ? each.records : []), ...new Set(own)] };
      });
    });

const lineOf = ({ time, status, took, user }: Event): string =>
  `${recordLine(
    traceRecord({
      EventTimestampMs: time,
      WallTimeMs: took,
      Outcome: status === 500 ? "exception" : "ok",
      Event: {
        Request: { URL: `https://a.example/p/${status}?x`, Method: "GET" },
        ...(status !== null && { Response: { Status: status } }),
      },
      Logs: user === null ? [] : [{ Level: "log", Message: [JSON.stringify({ user })], TimestampMs: time }],
    }),
  )}\n`;

const PARQUET_ENCODER = encoderOf(PARQUET);

/** What of an object was read to its end, by page. */
type Served = Map<Stored, Event[][]>;

const recordsOf = ({ kind, records, late }: Stored, page: number): Event[] =>
  page === 0 || kind !== "held" ? records : [...records, ...late];

function identitiesOf(object: Stored, page: number): Uint8Array {
  const writer = new IdentityWriter(1);
  for (const { id } of recordsOf(object, page)) writer.add("".padStart(32, String(id % 3)), Math.floor(id / 3));
  return writer.finish();
}

/** @param isPast what comes later than its page is left out. */
function sourceOf(object: Stored, page: number, served: Served, isPast: (event: Event) => boolean): Source {
  const { job, node, batch, kind, fails } = object;
  const records = recordsOf(object, page);
  const times = records.map(({ time }) => time);
  const isOpen = kind === "held" && page < object.cutOn;
  return {
    ...{ job, node, batch, number: isOpen ? null : batch, records: records.length, isHeld: isOpen },
    ...{ firstMs: Math.min(...times), lastMs: Math.max(...times), bytes: 1_000 },
    rawBytes: records.length * lineOf(records[0] as Event).length,
    async open(read, { fields, identities }) {
      if (fails === "open") throw new ReadFault("gone", "it is not there");
      if (isOpen) identities?.(identitiesOf(object, page));
      const lines = records.map(lineOf);
      async function* stored() {
        yield kind === "parquet" ? fileOf([lines.slice(0, 4), lines.slice(4)]) : encodeUtf8(lines.join(""));
      }
      const content = kind === "parquet" ? PARQUET_ENCODER.kind.decode(stored(), fields) : stored();
      return (async function* () {
        for await (const piece of content) {
          read(piece.length);
          yield piece;
        }
        if (fails === "end") throw new ReadFault("damaged", "it is no whole file");
        const taken = records.filter((event) => !(object.late.includes(event) && isPast(event)));
        served.set(object, [...(served.get(object) ?? []), taken]);
      })();
    },
  };
}

const mostOf = (numbers: readonly number[]): number => Math.max(0, ...numbers);

const NEVER = new AbortController().signal;
type Order = "newest" | "oldest";

interface Question {
  asked: AskedCount;
  onlyFailed: boolean;
  order: Order;
  bounds: Partial<WalkBounds>;
  listMax: number;
}

function planned(asked: AskedCount): CountPlan {
  const made = planCount(asked, SPAN.untilMs - SPAN.sinceMs);
  if (!made.ok) throw new Error(JSON.stringify(made.faults));
  return made.plan;
}

/** All pages, merged as a client does. */
async function pages(list: readonly Stored[], { asked, onlyFailed, order, bounds, listMax }: Question) {
  const lookUp: LookUp = async (sources) => {
    // What is held has no sketch.
    const isOut = ({ batch, isHeld }: Source): boolean => {
      const { records = [], late = [] } = list[batch] ?? {};
      return onlyFailed && !isHeld && [...records, ...late].every(({ status }) => status !== 500);
    };
    return { out: new Set(sources.filter(isOut)), bytes: 0 };
  };
  const plan = planned(asked);
  const served: Served = new Map();
  const isFailed = {
    kind: "condition",
    path: ["Outcome"],
    test: { kind: "eq", text: "exception" },
    negated: false,
  } as const;
  const query = compileQuery({ all: onlyFailed ? [isFailed] : [], ...SPAN });
  const edge = order === "newest" ? "lastMs" : "firstMs";
  const areSeveral = list.some(({ job }) => job === 2);
  const ends: CountEnd[] = [];
  const sum = new Groups(plan.shape);
  /** Of the page. */
  const last: Row[] = [];
  let told: readonly Facet[] = [];
  /** Over all pages: by name and value, and by name of those that were not told. */
  const facets = new Map<string, number>();
  for (let cursor: Cursor | null = null; ends.length < 200; ) {
    const done = cursor === null ? [] : whollyDone(cursor, areSeveral).map(String);
    const page = ends.length;
    const from: number | undefined = cursor?.after?.[0];
    const left = leftOf(SPAN, order, from);
    const isPast = ({ time }: Event): boolean =>
      areSeveral && from !== undefined && (order === "newest" ? time > from : time < from);
    const overlapping = list
      .map((object) => sourceOf(object, page, served, isPast))
      .filter((source) => source.firstMs < left.untilMs && source.lastMs >= left.sinceMs)
      .filter(({ job, node, batch }) => !done.includes(`${job},${node},${batch}`))
      .sort((a, b) => (order === "newest" ? b[edge] - a[edge] : a[edge] - b[edge]));
    // What is open is listed again and again; of several jobs, what is counted is, too.
    const ofMoment = ({ firstMs }: Source) =>
      overlapping.filter((other) => other.firstMs <= firstMs && firstMs <= other.lastMs).length;
    const again =
      list.filter(({ kind }) => kind === "held").length + (areSeveral ? mostOf(overlapping.map(ofMoment)) : 0);
    const listed = overlapping.slice(0, listMax + again);
    const listedToMs = listed.length < overlapping.length ? (listed.at(-1) as Source)[edge] : null;
    const identify: Identify = async (sources) =>
      new Map(
        sources.map((source) => {
          const bytes = identitiesOf(list[source.batch] as Stored, page);
          return [source, { bytes: bytes.length, fields: 1, load: async () => bytes }];
        }),
      );
    const end: CountEnd = await count(
      { list: listed, listedToMs, lookUp, identify, ...(areSeveral && { order: [1, 2] }) },
      {
        ...{ query, plan, order, cursor, signal: NEVER, platform: { now: () => 0 }, top: 1 },
        bounds: { rawBytes: 1e9, ms: 1e9, atOnce: 2, ...bounds },
      },
      {
        progress: () => {},
        groups: (rows, facets) => {
          last.splice(0, last.length, ...rows);
          told = facets;
        },
      },
    );
    ends.push(end);
    for (const { name, values, other } of told) {
      for (const { value, records } of values) addTo(facets, `${name} ${value}`, records);
      addTo(facets, name, other);
    }
    if (ends.length > 1 || end.cursor !== null)
      sum.merge(Groups.of(plan.shape, { rows: last, other: end.unlisted.other }));
    if (end.cursor === null) {
      const rows = ends.length === 1 ? last : sum.answer(null, false).rows;
      return { rows, facets, served, ends };
    }
    if (JSON.stringify(end.cursor) === JSON.stringify(cursor)) throw new Error("a page got no further");
    cursor = end.cursor;
  }
  throw new Error("there is no end");
}

const NAMES: Readonly<Record<string, (event: Event) => unknown>> = {
  status: ({ status }) => status,
  "Fields.user": ({ user }) => user,
  path: ({ status }) => `/p/${status}`,
  level: ({ user }) => (user === null ? null : "log"),
  "Event.Request.Method": () => "GET",
  took: ({ took }) => took,
};

function addTo(sums: Map<string, number>, key: string, records: number): void {
  sums.set(key, (sums.get(key) ?? 0) + records);
}

/** By values and slot: number, sum, 95th percentile and different users. */
function slowly({ asked }: Question, wanted: readonly Event[]) {
  const groups = Map.groupBy(wanted, (each) =>
    JSON.stringify([(asked.by ?? []).map((name) => NAMES[name]?.(each) ?? null), asked.every === undefined ? null : 0]),
  );
  return new Map(
    [...groups].map(([key, own]) => {
      const times = own.map(({ took }) => took).sort((a, b) => a - b);
      return [
        key,
        {
          count: own.length,
          sum: times.reduce((sum, each) => sum + each, 0),
          p95: times[Math.ceil(times.length * 0.95 - 1e-9) - 1] as number,
          users: new Set(own.flatMap(({ user }) => user ?? [])).size,
        },
      ];
    }),
  );
}

const questions = fc.record<Question>({
  asked: fc.record({
    by: fc.uniqueArray(fc.constantFrom(...Object.keys(NAMES)), { maxLength: 3 }),
    facets: fc.uniqueArray(fc.constantFrom(...Object.keys(NAMES)), { maxLength: 2 }),
    every: fc.constantFrom(undefined, "1m"),
    measures: fc.constant([
      { op: "count" as const },
      { op: "sum" as const, of: "took" },
      { op: "p95" as const, of: "took" },
      { op: "distinct" as const, of: "Fields.user" },
    ]),
  }),
  onlyFailed: fc.boolean(),
  order: fc.constantFrom<Order[]>("newest", "oldest"),
  bounds: fc.oneof(
    fc.constant({}),
    fc.record({ rawBytes: fc.integer({ min: 1, max: 3_000 }), atOnce: fc.integer({ min: 1, max: 3 }) }),
  ),
  listMax: fc.oneof(fc.constant(1_000), fc.integer({ min: 1, max: 5 })),
});

describe("a count over objects", () => {
  it("counts each record once, whatever page finds its object open, cut, or broken", async () => {
    const fails = fc.constantFrom<Stored["fails"][]>("no", "no", "no", "open", "end");
    await fc.assert(
      fc.asyncProperty(objects(fails), questions, async (list, question) => {
        const { rows, facets, served, ends } = await pages(list, question);
        for (const object of list) {
          const read = served.get(object) ?? [];
          const times = object.records.map(({ time }) => time);
          const isWanted = Math.min(...times) < SPAN.untilMs && Math.max(...times) >= SPAN.sinceMs;
          if (object.fails === "no") expect(read.length).toBeLessThanOrEqual(1);
          const isSkipped = question.onlyFailed && object.records.every(({ status }) => status !== 500);
          const named = ends.flatMap(({ notSearched }) =>
            notSearched.filter(({ object: number }) => number === null || number === object.batch),
          );
          const isCopied = object.job === 2 && object.records.every(({ id }) => Math.floor(id / IDS) !== object.batch);
          if (object.fails === "no" && isWanted && !isSkipped && !isCopied)
            expect(object.job === 2 && named.length > 0 ? 1 : read.length).toBe(1);
          if (isCopied) continue;
          if (object.fails !== "no" && isWanted && !isSkipped) expect(named).not.toEqual([]);
        }
        const looked = ends.reduce((sum, { progress }) => sum + progress.read + progress.skipped, 0);
        expect(looked).toBeLessThanOrEqual(list.length);
        const wanted = [...new Set([...served.values()].flat(2))].filter(
          ({ time, status }) => time >= SPAN.sinceMs && time < SPAN.untilMs && (!question.onlyFailed || status === 500),
        );
        const exact = slowly(question, wanted);
        for (const name of question.asked.facets ?? []) {
          const all = Map.groupBy(wanted, (each) => `${name} ${NAMES[name]?.(each) ?? null}`);
          const told = [...facets].filter(([key]) => key.startsWith(`${name} `));
          for (const [key, records] of told) expect(records).toBe(all.get(key)?.length);
          // Of an answer that is the whole count, the largest value alone is told.
          const sum = told.reduce((sum, [, records]) => sum + records, 0);
          expect(sum + (facets.get(name) ?? 0)).toBe(wanted.length);
          if (ends.length > 1) expect(facets.get(name)).toBe(0);
          else
            expect(Math.max(0, ...told.map(([, n]) => n))).toBe(Math.max(0, ...[...all.values()].map((n) => n.length)));
        }
        // Of an answer that is the whole count, the largest group alone is told.
        const other = ends.length === 1 ? (ends[0]?.unlisted.other ?? null) : null;
        const counts = [...rows, ...(other === null ? [] : [other])].map(({ values }) => Number(values[0]));
        const all = [...exact.values()];
        expect(counts.reduce((sum, each) => sum + each, 0)).toBe(all.reduce((sum, each) => sum + each.count, 0));
        if (ends.length > 1) expect(rows).toHaveLength(all.length);
        for (const { by, time, values } of rows) {
          const is = exact.get(JSON.stringify([by, time === undefined ? null : Date.parse(time)]));
          expect([values[0], values[1], values[3]]).toEqual([is?.count, is?.sum, is?.users]);
          expect(Math.abs((values[2] ?? Number.NaN) - (is?.p95 ?? 0))).toBeLessThanOrEqual((is?.p95 ?? 0) * 0.01);
        }
        if (question.bounds.rawBytes === undefined && question.listMax === 1_000) expect(ends).toHaveLength(1);
      }),
      { numRuns: 500 },
    );
  }, 120_000);

  it.each(["newest", "oldest"] as const)(
    "counts nothing twice where what is open moves ahead, %s first",
    async (order) => {
      const ahead = order === "newest" ? 600 : 400;
      const behind = order === "newest" ? 150 : 850;
      const object = (batch: number, time: number, late: number[] = []): Stored => {
        const at = (ms: number, id: number): Event => ({ id, time: ms, status: 200, took: 1, user: null });
        const kind = late.length > 0 ? "held" : "ndjson";
        const records = [at(time, batch * IDS)];
        const more = late.map((ms, i) => at(ms, batch * IDS + LATE + i));
        return { job: 1, node: 0, batch, records, late: more, cutOn: 9, kind, fails: "no" };
      };
      // The first page reads the first one alone; the second one of two that come before it now.
      const list = [
        object(0, 500),
        object(1, (500 + behind) / 2),
        object(2, behind, [ahead]),
        object(3, behind, [ahead]),
      ];
      const measures = [{ op: "count" as const }];
      const bounds = { rawBytes: 1, atOnce: 1 };
      const { rows, served, ends } = await pages(list, {
        asked: { measures },
        onlyFailed: false,
        order,
        bounds,
        listMax: 9,
      });
      expect(list.map((each) => served.get(each)?.length)).toEqual([1, 1, 1, 1]);
      expect([rows.map(({ values }) => values), ends.length]).toEqual([[[6]], 4]);
    },
  );

  it.each([
    ["parquet", 1],
    ["ndjson", 6],
  ] as const)("begins no object after so many bytes that it unpacked: %s", async (kind, answers) => {
    const event = (id: number): Event => ({ id, time: 500, status: 200, took: 1, user: null });
    const list = Array.from({ length: 6 }, (_, batch): Stored => {
      const records = Array.from({ length: 10 }, (_each, i) => event(batch * IDS + i));
      return { job: 1, node: 0, batch, records, late: [], cutOn: 1, kind, fails: "no" };
    });
    const bounds = { rawBytes: 3_000, atOnce: 1 };
    const asked = { by: ["took"], measures: [{ op: "count" as const }] };
    const { rows, ends } = await pages(list, { asked, onlyFailed: false, order: "newest", bounds, listMax: 9 });
    expect([rows.map(({ values }) => values), ends.length]).toEqual([[[60]], answers]);
  });
});
