/** Counts in a terminal: what is asked for, pages that become one, and a table. */
import * as z from "zod";
import { stamp } from "../../src/base/words.ts";
import { type Measure, OPS, Shape } from "../../src/formats/measures/measures.ts";
import { Groups, type Rest, type Row } from "../../src/operate/search/count/groups.ts";
import { groupText, measureText, measureTitle } from "../../src/operate/search/words.ts";
import { UsageFault } from "../command.ts";
import { oneLine } from "./show.ts";

const RestOf = z.object({ values: z.array(z.number().nullable()), state: z.string().optional() });

export const RowLine = RestOf.extend({
  by: z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])),
  time: z.string().optional(),
});

export const GroupsLine = z.object({
  type: z.literal("groups"),
  rows: z.array(RowLine),
  at: z.string().nullable().default(null),
});

/** What `end` has of a count. */
export const COUNT_END = { other: RestOf.nullable().default(null), overflow: z.boolean().default(false) };

/** What the options of a count say. */
export interface Counted {
  by: string[];
  every?: string;
  measures: Measure[];
  top: number;
}

interface Options {
  by?: string | undefined;
  every?: string | undefined;
  measure?: string[] | undefined;
  top: string;
}

/** null: nothing is counted. @throws UsageFault */
export function countedOf({ by, every, measure = [], top }: Options): Counted | null {
  if (by === undefined && every === undefined && measure.length === 0) return null;
  const measures = measure.flatMap((text) => text.split(",")).map(measureOf);
  if (!/^[1-9]\d{0,3}$/.test(top) || Number(top) > 1_000) throw new UsageFault("--top: a whole number from 1 to 1000");
  return {
    by: by?.split(",") ?? [],
    ...(every !== undefined && { every }),
    measures: measures.length === 0 ? [{ op: "count" }] : measures,
    top: Number(top),
  };
}

function measureOf(text: string): Measure {
  const [name = "", ...rest] = text.split(":");
  const op = OPS.find((each) => each === name);
  if (op === undefined) throw new UsageFault(`--measure: ${OPS.join(", ")}, as in p95:took`);
  return rest.length === 0 ? { op } : { op, of: rest.join(":") };
}

/** Answers to one count, which become one. */
export class CountPages {
  readonly #counted: Counted;
  readonly #shape: Shape;
  #sum: Groups | null = null;
  /** Of the last answer that was the whole count, or is not over. */
  #rows: readonly Row[] = [];
  #other: Rest | null = null;
  overflow = false;
  /** How far it is counted, as the answer says it of which the rows are; null: it is not known. */
  at: string | null = null;
  #saidAt: string | null = null;

  constructor(counted: Counted) {
    this.#counted = counted;
    this.#shape = new Shape(counted.measures);
  }

  /** Groups of an answer that goes on: those of the first are shown. */
  show(rows: readonly Row[], at: string | null): void {
    this.#rows = rows;
    this.#saidAt = at;
    if (this.#sum === null) this.at = at;
  }

  /** @param isPart others come before or after it. */
  end(other: Rest | null, overflow: boolean, isPart: boolean): void {
    this.overflow ||= overflow;
    this.#other = other;
    this.at = this.#saidAt;
    if (!isPart) return;
    this.#sum ??= new Groups(this.#shape);
    this.#sum.merge(Groups.of(this.#shape, { rows: this.#rows, other }));
    this.overflow ||= this.#sum.overflows;
  }

  answer(): { rows: readonly Row[]; other: Rest | null } {
    return this.#sum?.answer(this.#counted.top, false) ?? { rows: this.#rows, other: this.#other };
  }

  /** How many records are counted; null: none of the measures tells. */
  get total(): number | null {
    const i = this.#counted.measures.findIndex(({ op, of }) => op === "count" && of === undefined);
    const { rows, other } = this.answer();
    return i === -1 ? null : [...rows, other].reduce((sum, each) => sum + (each?.values[i] ?? 0), 0);
  }

  /** The rows as NDJSON: an object with names and measures. */
  json(): string[] {
    const { by: names, measures } = this.#counted;
    return this.answer().rows.map(({ by, time, values }) =>
      JSON.stringify({
        ...(time !== undefined && { time }),
        ...Object.fromEntries(names.map((name, i) => [name, by[i]])),
        ...Object.fromEntries(measures.map((measure, i) => [measureTitle(measure), values[i]])),
      }),
    );
  }

  /** A table with a line for its titles, one a row, and one for all others. */
  table(): string[] {
    const { by: names, every, measures } = this.#counted;
    const valuesOf = (values: Row["values"]) => measures.map((each, i) => measureText(each, values[i] ?? null));
    const hasTime = every !== undefined;
    const { rows, other } = this.answer();
    const lines = [
      [...(hasTime ? ["time"] : []), ...names, ...measures.map(measureTitle)],
      ...rows.map(({ by, time, values }) => [
        ...(hasTime ? [time === undefined ? "-" : stamp(time)] : []),
        ...by.map((value) => oneLine(groupText(value))),
        ...valuesOf(values),
      ]),
    ];
    const labels = Number(hasTime) + names.length;
    if (other !== null) {
      const label = Array.from({ length: labels }, (_, i) => (i === 0 ? "others" : ""));
      lines.push([...label, ...valuesOf(other.values)]);
    }
    const widths = (lines[0] ?? []).map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
    return lines.map((line) =>
      line
        .map((cell, i) => (i < labels ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join("  ")
        .trimEnd(),
    );
  }
}
