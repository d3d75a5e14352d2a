/** Objects of several jobs that have some records in common, and pages of what is asked of them. */
import fc from "fast-check";
import { expect } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import { compileQuery } from "../../../src/formats/query/compile-query.ts";
import { IdentityWriter } from "../../../src/formats/sketch/identities.ts";
import { type Cursor, readCursor, whollyDone, writeCursor } from "../../../src/operate/search/cursor.ts";
import type { Identified } from "../../../src/operate/search/identify.ts";
import type { NotSearched } from "../../../src/operate/search/not-searched.ts";
import type { Sources, WalkEnd } from "../../../src/operate/search/page.ts";
import { keyOf, type Source } from "../../../src/operate/search/source.ts";
import { ReadFault } from "../../../src/ship/destinations/read-object.ts";

/** A record of some part. `extra`: it matches by a field that some jobs ship; `lacking`: not. */
export interface Minted {
  id: number;
  time: number;
  match: "never" | "always" | "extra" | "lacking";
}

/** How an object is not read, if it is not. */
export type Fault = "none" | "at once" | "in the midst" | "of other records" | "without identities";

const ONLY_TOLD: readonly Fault[] = ["of other records", "without identities"];

export interface Stored {
  job: number;
  batch: number;
  records: Minted[];
  fault: Fault;
  isTold: boolean;
  isLooked: boolean;
  /** How large it is said to be what tells its records, in bytes; absent: as it is. */
  weight?: number;
  /** It waits for its cut, and was listed when it had so many records. */
  listed?: number;
}

export interface Setting {
  objects: Stored[];
  /** By job: what it writes of a record, a bit each; the first is the extra field. */
  fields: number[];
  /** How often it was asked which records an object has. */
  loads?: number;
}

const JOBS = 3;
/** Jobs, the broadest first. */
export const BROADEST = [2, 1, 3];
/** Numbers of the records that there may be. */
export const ids = Array.from({ length: 16 }, (_, id) => id);
export const orders = fc.constantFrom<Order>("newest", "oldest");
export const FAULTS: readonly Fault[] = [
  ...(["none", "none", "at once", "in the midst", "of other records", "without identities"] as const),
];
const minted = fc.array(
  fc.record({ time: fc.nat(25), match: fc.constantFrom<Minted["match"]>("never", "always", "always", "extra") }),
  { minLength: 1, maxLength: 16 },
);

/** Jobs with filters or samples of their own: which of them has a record, and in which object. */
export const setting = (faults: readonly Fault[], areTold: boolean): fc.Arbitrary<Setting> =>
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
            isOpen: fc.integer({ max: 3, min: 0 }).map((n) => n === 3),
          }),
          { minLength: 3 * JOBS, maxLength: 3 * JOBS },
        ),
        fields: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: JOBS, maxLength: JOBS }),
      })
      .map(({ places, kinds, fields }) => ({
        fields,
        objects: kinds.flatMap(({ isOpen, ...kind }, i): Stored[] => {
          const job = Math.floor(i / 3);
          const own = records.flatMap((record, id) => {
            const late = places[id]?.[job] ?? -1;
            const slot = Math.min(2, Math.floor(record.time / 9) + late);
            return late >= 0 && slot === i % 3 ? [{ ...record, id }] : [];
          });
          const fault = kind.isTold || !ONLY_TOLD.includes(kind.fault) ? kind.fault : "none";
          return own.length === 0
            ? []
            : [{ ...kind, fault, job: job + 1, batch: i, records: own, ...(isOpen && { listed: own.length }) }];
        }),
      })),
  );

export const matches = ({ match }: Minted, fields: number): boolean =>
  match === "always" || match === ((fields & 1) === 1 ? "extra" : "lacking");

const partOf = (id: number): string => `${id % 3}`.padStart(32, "0");

export const fieldsOf = ({ fields }: Setting, job: number): number => fields[job - 1] as number;

function sourceOf(object: Stored, fields: number): Source {
  const { job, batch, records, fault, listed = records.length } = object;
  const line = (record: Minted) =>
    `${JSON.stringify({ EventTimestampMs: record.time, Outcome: matches(record, fields) ? "exception" : "ok", id: record.id, ScriptName: `${job} ${record.id}` })}\n`;
  const lines = fault === "of other records" ? [...records, ...records] : records;
  const bytes = encodeUtf8(lines.map(line).join(""));
  const times = records.slice(0, listed).map(({ time }) => time);
  const number = object.listed === undefined ? batch : null;
  return {
    ...{ job, node: 0, batch, number, records: listed, bytes: 1e6, rawBytes: bytes.length },
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

function identifiedOf(of: Setting, { job, records, fault, weight, listed = records.length }: Stored): Identified {
  const fields = fieldsOf(of, job);
  const parts = [records.slice(0, listed), records.slice(listed)].filter(({ length }) => length > 0);
  const bytes = concat(
    parts.map((some) => {
      const writer = new IdentityWriter(fields);
      for (const { id } of some) writer.add(partOf(id), Math.floor(id / 3));
      return writer.finish();
    }),
  );
  const load = async (): Promise<Uint8Array | null> => {
    of.loads = (of.loads ?? 0) + 1;
    return fault === "without identities" ? null : bytes;
  };
  return { bytes: weight ?? bytes.length, fields, load };
}

export const QUERY = compileQuery({
  all: [{ kind: "condition", path: ["Outcome"], test: { kind: "eq", text: "exception" }, negated: false }],
  ...{ sinceMs: 0, untilMs: 100 },
});

export type Order = "newest" | "oldest";

/** Jobs of which a page finds no objects, by page; the last of all further ones. */
export const silences = fc.array(fc.oneof(fc.constant<number[]>([]), fc.subarray(BROADEST, { maxLength: 2 })), {
  minLength: 1,
  maxLength: 4,
});

/**
 * All pages, one after the other. @param ask one page. @param beyond so many more are listed than
 * one moment has. @param silent as {@link silences}.
 */
export async function pagesOf<End extends Pick<WalkEnd, "cursor">>(
  of: Setting,
  order: Order,
  beyond: number,
  ask: (sources: Sources, cursor: Cursor | null) => Promise<End>,
  silent: readonly number[][] = [[]],
  from: Cursor | null = null,
): Promise<End[]> {
  const sources = of.objects.map((object) => sourceOf(object, fieldsOf(of, object.job)));
  const ofMoment = ({ firstMs }: Source) => sources.filter((each) => each.firstMs <= firstMs && firstMs <= each.lastMs);
  const listMax = beyond + Math.max(0, ...sources.map((source) => ofMoment(source).length));
  const told = new Map(sources.map((source, i) => [source, of.objects[i] as Stored]));
  const [edge, sign] = order === "newest" ? (["lastMs", -1] as const) : (["firstMs", 1] as const);
  const sorted = sources.toSorted((a, b) => sign * (a[edge] - b[edge]));
  const ends: End[] = [];
  for (let cursor = from; ; ) {
    const from: number | undefined = cursor?.after?.[0];
    const done = cursor === null ? [] : whollyDone(cursor, true).map(String);
    const absent = silent[ends.length] ?? silent.at(-1) ?? [];
    const overlapping = sorted.filter(
      (source) =>
        !done.includes(keyOf(source)) &&
        !absent.includes(source.job) &&
        (from === undefined || (order === "newest" ? source.firstMs <= from : source.lastMs >= from)),
    );
    const list = overlapping.slice(0, listMax);
    const end = await ask(
      {
        list,
        listedToMs: list.length < overlapping.length ? (list.at(-1) as Source)[edge] : null,
        order: BROADEST,
        silent: absent,
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
              return object.isTold ? [[source, identifiedOf(of, object)] as const] : [];
            }),
          ),
      },
      cursor,
    );
    ends.push(end);
    if (end.cursor === null) return ends;
    if (JSON.stringify(end.cursor) === JSON.stringify(cursor)) throw new Error("a page got no further");
    if (ends.length > 100) throw new Error("there is no end");
    const sent =
      writeCursor({ cursor: end.cursor, span: { sinceMs: 0, untilMs: 100 }, lacks: false, jobs: BROADEST }, "") ?? "";
    cursor = readCursor(sent, "")?.cursor ?? null;
    expect(cursor).toEqual(end.cursor);
  }
}

/** Where a record is: objects that can be read, or all. */
export const holders = ({ objects }: Setting, id: number, readable = true): Stored[] =>
  objects.filter(({ records, fault }) => records.some((own) => own.id === id) && (!readable || fault === "none"));

/** Whether one of these objects is named. */
export const isNamed = (objects: readonly Stored[], left: readonly NotSearched[]): boolean =>
  objects.some(({ job, batch, listed }) =>
    left.some((each) => each.job === job && each.object === (listed === undefined ? batch : null)),
  );
