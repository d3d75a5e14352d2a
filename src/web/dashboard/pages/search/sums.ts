import * as z from "zod";
import { encodeUtf8, fromBase64, parsedJson, toBase64Url } from "../../../../base/bytes.ts";
import { FACETS_MAX } from "../../../../base/limits.ts";
import type { Facet } from "../../../../operate/search/count/facets.ts";
import type { GroupValue, Row } from "../../../../operate/search/count/groups.ts";
import type { Left } from "../../../../operate/search/not-searched.ts";
import type { Looked } from "../../../../operate/search/words.ts";
import { summaryOf } from "../../parts/record-summary.ts";

/** What became of records, as the histogram tells them apart. */
export const ENDS = ["ok", "failed", "other"] as const;
export type Ends = [ok: number, failed: number, other: number];

/** Values of a facet that go on from answer to answer; the others become one sum. */
const VALUES_KEPT = 200;

/** Of what goes on, in characters: with a cursor it fits into a form. */
const KEPT_MAX = 250_000;

const Whole = z.int().min(0);
const Value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const Kept = z.strictObject({
  slots: z.array(z.tuple([z.int(), Whole, Whole, Whole])).max(1_500),
  untimed: z.tuple([Whole, Whole, Whole]),
  facets: z.array(z.tuple([z.array(z.tuple([Value, Whole])), Whole, z.boolean()])).max(FACETS_MAX),
  looked: z.strictObject({ objects: Whole, read: Whole, skipped: Whole, bytes_read: Whole, sketch_bytes: Whole }),
  atMs: z.int().nullable(),
  left: z
    .array(
      z.strictObject({
        what: z.string().max(1_000),
        why: z.string().max(1_000),
        job: Whole.nullable(),
        objects: z.array(Whole).optional(),
        manifests: z.array(z.string().max(1_000)).optional(),
      }),
    )
    .max(500),
});

/** What is counted by outcome, every slot, with facets beside; and how much was read for it. */
export class Sums {
  /** By the beginning of a slot, in ms since the epoch. */
  readonly slots = new Map<number, Ends>();
  /** Of records without a time, and of groups that an answer did not tell. */
  untimed: Ends = [0, 0, 0];
  facets: Facet[];
  looked: Looked = { objects: 0, read: 0, skipped: 0, bytes_read: 0, sketch_bytes: 0 };
  /** Beyond it, all is counted, in ms since the epoch; null: nothing is known to be. */
  atMs: number | null = null;
  left: Left[] = [];

  constructor(names: readonly string[]) {
    this.facets = names.map((name) => ({ name, values: [], other: 0, overflow: false }));
  }

  get ends(): Ends {
    return [...this.slots.values(), this.untimed].reduce<Ends>(sumOf, [0, 0, 0]);
  }

  get total(): number {
    return this.ends.reduce((sum, each) => sum + each, 0);
  }

  /** The sum of these and an answer's groups, as they are so far. */
  with({ rows, facets = [] }: { rows: readonly Row[]; facets?: readonly Facet[] | undefined }): Sums {
    const sum = new Sums([]);
    for (const [at, ends] of this.slots) sum.slots.set(at, ends);
    sum.untimed = this.untimed;
    for (const { by, time, values } of rows) {
      const own: Ends = [0, 0, 0];
      own[endOf(by[0] ?? null)] = values[0] ?? 0;
      if (time === undefined) sum.untimed = sumOf(sum.untimed, own);
      else sum.slots.set(Date.parse(time), sumOf(sum.slots.get(Date.parse(time)) ?? [0, 0, 0], own));
    }
    sum.facets = this.facets.map((before, i) => mergedFacet(before, facets[i]));
    sum.looked = this.looked;
    sum.atMs = this.atMs;
    sum.left = this.left;
    return sum;
  }

  /** For the next answer. */
  write(): string {
    for (let values = VALUES_KEPT; ; values = Math.floor(values / 2)) {
      const facets = this.facets.map(({ values: all, other, overflow }) => {
        const rest = all.slice(values).reduce((sum, { records }) => sum + records, 0);
        return [
          all.slice(0, values).map(({ value, records }) => [value, records]),
          other + rest,
          overflow || rest > 0,
        ] as const;
      });
      const { untimed, looked, atMs, left } = this;
      const slots = [...this.slots].map(([at, ends]) => [at, ...ends]);
      const text = toBase64Url(encodeUtf8(JSON.stringify({ slots, untimed, facets, looked, atMs, left })));
      if (text.length <= KEPT_MAX || values === 0) return text;
    }
  }

  /** What {@link write} wrote, of the same names; null: it is none. It proves nothing. */
  static read(text: string, names: readonly string[]): Sums | null {
    const read = Kept.safeParse(parsedJson(new TextDecoder().decode(fromBase64(text))));
    if (!read.success || read.data.facets.length !== names.length) return null;
    const { slots, facets, ...rest } = read.data;
    const sums = Object.assign(new Sums([]), rest);
    for (const [at, ...ends] of slots) sums.slots.set(at, ends);
    sums.facets = facets.map(([values, other, overflow], i) => ({
      name: names[i] as string,
      values: values.map(([value, records]) => ({ value, records })),
      other,
      overflow,
    }));
    return sums;
  }
}

function sumOf(a: Ends, b: Ends): Ends {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
}

function endOf(outcome: GroupValue): 0 | 1 | 2 {
  const { kind } = summaryOf({ Outcome: outcome });
  return kind === "ok" ? 0 : kind === "bad" ? 1 : 2;
}

function mergedFacet(before: Facet, { values, other, overflow }: Facet = { ...before, values: [], other: 0 }): Facet {
  const sums = new Map(before.values.map(({ value, records }) => [value, records]));
  for (const { value, records } of values) sums.set(value, (sums.get(value) ?? 0) + records);
  return {
    name: before.name,
    values: [...sums].map(([value, records]) => ({ value, records })).sort((a, b) => b.records - a.records),
    other: before.other + other,
    overflow: before.overflow || overflow,
  };
}
