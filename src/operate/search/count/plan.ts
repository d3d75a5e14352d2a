import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../base/time.ts";
import { type Measure, Shape } from "../../../formats/measures/measures.ts";
import { nameOf } from "../../../formats/query/names.ts";
import { type GroupKey, type GroupValue, groupValue } from "./groups.ts";

const UNITS = { s: 1_000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** What is counted, as it is asked for. */
export interface AskedCount {
  by?: readonly string[] | undefined;
  every?: string | undefined;
  measures?: readonly Measure[] | undefined;
  facets?: readonly string[] | undefined;
}

/** Slots of time that a count may have. */
export const SLOTS_MAX = 1_500;

/** What of a record a count needs. */
export interface CountPlan {
  shape: Shape;
  /** Fields of records that it reads. */
  fields: ReadonlySet<string>;
  /** @param timeMs of the event; null: it has none. */
  keyOf(record: object, timeMs: number | null): GroupKey;
  /** As of {@link Shape.names}. */
  valuesOf(record: object): unknown[];
  /** Names whose values are counted beside, each for itself. */
  facets: readonly { name: string; valuesOf(record: object): GroupValue[] }[];
}

/** Fields of records that a count of such records looks at; null: all. */
export function countedFields({ fields }: CountPlan, asked: ReadonlySet<string> | null): ReadonlySet<string> | null {
  return asked === null ? null : new Set([...asked, ...fields]);
}

/** What is wrong with a count, and where. */
export interface CountFault {
  pointer: string;
  message: string;
}

/** From `1s` to `1d`, so that slots begin with the day. null: it is none of these. */
export function everyMs(text: string): number | null {
  const [, count, unit] = /^(\d{1,4})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * UNITS[unit as keyof typeof UNITS];
  return ms > 0 && DAY_MS % ms === 0 ? ms : null;
}

/** @param spanMs of the time that is searched. */
export function planCount({ by = [], every, measures = [{ op: "count" }], facets = [] }: AskedCount, spanMs: number) {
  const faults: CountFault[] = [];
  const fault = (pointer: string, message: string): void => void faults.push({ pointer, message });
  const resolve = (name: string, pointer: string) => {
    const resolved = nameOf(name);
    if (resolved === null) fault(pointer, `unknown name ${JSON.stringify(name)}: see "Counts" in docs/search.md`);
    return resolved ?? { fields: [], valuesOf: () => [] };
  };
  const grouping = by.map((name, i) => resolve(name, `/count/by/${i}`));
  const slotMs = every === undefined ? null : everyMs(every);
  if (every !== undefined && slotMs === null) fault("/count/every", "every: 1s to 1d, and a whole part of a day");
  if (slotMs !== null && spanMs / slotMs > SLOTS_MAX)
    fault("/count/every", `every: more than ${SLOTS_MAX} slots are in this time`);
  for (const [i, { op, of }] of measures.entries())
    if (op !== "count" && of === undefined) fault(`/count/measures/${i}/of`, `of: ${op} needs the name of a field`);
  const shape = new Shape(measures);
  const measured = shape.names.map((name) =>
    resolve(name, `/count/measures/${measures.findIndex(({ of }) => of === name)}/of`),
  );
  const beside = facets.map((name, i) => ({ name, ...resolve(name, `/count/facets/${i}`) }));
  if (faults.length > 0) return { ok: false as const, faults };
  const plan: CountPlan = {
    shape,
    fields: new Set([...grouping, ...measured, ...beside].flatMap(({ fields }) => fields)),
    keyOf: (record, timeMs) => ({
      by: grouping.map(({ valuesOf }) => groupValue(valuesOf(record)[0])),
      atMs: slotMs === null || timeMs === null ? null : Math.floor(timeMs / slotMs) * slotMs,
    }),
    valuesOf: (record) => measured.map(({ valuesOf }) => valuesOf(record)[0]),
    // A search for a value finds a record that has others, too.
    facets: beside.map(({ name, valuesOf }) => ({
      name,
      valuesOf: (record) => {
        const values = valuesOf(record);
        return values.length < 2 ? [groupValue(values[0])] : [...new Set(values.map(groupValue))];
      },
    })),
  };
  return { ok: true as const, plan };
}
