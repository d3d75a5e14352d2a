import { Distinct } from "./distinct.ts";
import { Numbers } from "./numbers.ts";
import type { Part } from "./part.ts";
import { CoarseQuantiles, Quantiles } from "./quantiles.ts";
import type { StateReader, StateWriter } from "./state-bytes.ts";

/** What of the values of a group each measure follows from. */
const KIND_OF = {
  count: "present",
  sum: "numbers",
  avg: "numbers",
  min: "numbers",
  max: "numbers",
  p50: "quantiles",
  p90: "quantiles",
  p95: "quantiles",
  p99: "quantiles",
  distinct: "distinct",
} as const;

export type Op = keyof typeof KIND_OF;
export const OPS = Object.keys(KIND_OF) as readonly Op[];

/** @param of the name of what is measured; absent: records are counted. */
export interface Measure {
  op: Op;
  of?: string | undefined;
}

/** How many records have a value. */
class Present implements Part {
  count = 0;
  readonly weight = 40;

  add(value: unknown): void {
    if (value !== undefined) this.count += 1;
  }

  merge(other: Present): void {
    this.count += other.count;
  }

  write(into: StateWriter): void {
    into.whole(this.count);
  }

  static read(from: StateReader): Present {
    const present = new Present();
    present.count = from.whole();
    return present;
  }
}

type Kind = (typeof KIND_OF)[Op];

const KINDS = { present: Present, numbers: Numbers, quantiles: Quantiles, distinct: Distinct };
const COARSE = { ...KINDS, quantiles: CoarseQuantiles };

/** What is kept of the records of a group, so that all measures follow from it. */
export class Shape {
  readonly measures: readonly Measure[];
  readonly #kinds: readonly (typeof KINDS)[Kind][];
  /** What each part is of. */
  readonly names: readonly string[];
  /** By measure; -1: that of the group itself. */
  readonly #partOf: readonly number[];

  /** @param isCoarse percentiles are within 5 %, not 1, in a tenth of the room. */
  constructor(measures: readonly Measure[], isCoarse = false) {
    this.measures = measures;
    const parts = new Map<string, { kind: Kind; of: string; at: number }>();
    this.#partOf = measures.map(({ op, of }) => {
      if (of === undefined) return -1;
      const kind = KIND_OF[op];
      const key = `${kind} ${of}`;
      const part = parts.get(key) ?? { kind, of, at: parts.size };
      parts.set(key, part);
      return part.at;
    });
    this.#kinds = [...parts.values()].map(({ kind }) => (isCoarse ? COARSE : KINDS)[kind]);
    this.names = [...parts.values()].map(({ of }) => of);
  }

  tally(): Tally {
    return new Tally(this.#kinds.map((kind) => new kind()));
  }

  /** @throws Error for what is no state of this shape. */
  read(from: StateReader): Tally {
    const records = from.whole();
    return new Tally(
      this.#kinds.map((kind) => kind.read(from)),
      records,
    );
  }

  /** The value of each measure; null: no record has a number, or a value. */
  values({ records, parts }: Tally): (number | null)[] {
    return this.measures.map(({ op }, i) => {
      const part = parts[this.#partOf[i] as number];
      return part === undefined ? records : valueIn(op, part);
    });
  }
}

function valueIn(op: Op, part: Part): number | null {
  if (part instanceof Quantiles) return part.at(Number(op.slice(1)) / 100);
  if (part instanceof Present || part instanceof Distinct) return part.count;
  const { count, sum, min, max } = part as Numbers;
  if (count === 0) return null;
  return op === "sum" ? sum : op === "min" ? min : op === "max" ? max : sum / count;
}

/** Some records. */
export class Tally {
  records: number;
  readonly parts: readonly Part[];

  constructor(parts: readonly Part[], records = 0) {
    this.parts = parts;
    this.records = records;
  }

  /** @param values as of {@link Shape.names}. */
  add(values: readonly unknown[]): void {
    this.records += 1;
    for (let i = 0; i < this.parts.length; i++) (this.parts[i] as Part).add(values[i]);
  }

  /** @param other of the same shape. */
  merge(other: Tally): void {
    this.records += other.records;
    for (const [i, part] of this.parts.entries()) part.merge(other.parts[i] as Part);
  }

  get weight(): number {
    return this.parts.reduce((sum, { weight }) => sum + weight, 80);
  }

  write(into: StateWriter): void {
    into.whole(this.records);
    for (const part of this.parts) part.write(into);
  }
}
