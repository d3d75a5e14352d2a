import type { GroupValue } from "./groups.ts";

/** How many records have each value of a name; one that has several is in each. */
export interface Facet {
  name: string;
  /** Those that most have, first; null: they have none. */
  values: { value: GroupValue; records: number }[];
  /** The sum of all others. */
  other: number;
  /** Some of it may be of values that are there. */
  overflow: boolean;
}

/** About so many bytes of memory: of what is counted, and of an object that is being read. */
export const FACET_WEIGHT = 500_000;
export const OBJECT_FACET_WEIGHT = 250_000;

/** Of what takes too much, so much is left. */
const KEPT_SHARE = 0.75;

/** Records by one value. Where there are too many values, the least frequent become one sum. */
export class ValueCounts {
  readonly #maxWeight: number;
  readonly #counts = new Map<GroupValue, number>();
  #weight = 0;
  #other = 0;

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight;
  }

  add(value: GroupValue, records = 1): void {
    const before = this.#counts.get(value);
    // A part of a text keeps all of that text: what stays is a copy.
    this.#counts.set(before === undefined ? JSON.parse(JSON.stringify(value)) : value, (before ?? 0) + records);
    if (before !== undefined) return;
    this.#weight += weightOf(value);
    if (this.#weight <= this.#maxWeight) return;
    for (const [each, count] of [...this.#counts].sort(([, a], [, b]) => a - b)) {
      if (this.#weight <= this.#maxWeight * KEPT_SHARE) return;
      this.#counts.delete(each);
      this.#weight -= weightOf(each);
      this.#other += count;
    }
  }

  merge(other: ValueCounts): void {
    for (const [value, records] of other.#counts) this.add(value, records);
    this.#other += other.#other;
  }

  /** @param top so many values; null: all. */
  answer(name: string, top: number | null): Facet {
    const all = [...this.#counts].map(([value, records]) => ({ value, records }));
    const values = all.sort((a, b) => b.records - a.records || (`${a.value}` < `${b.value}` ? -1 : 1));
    const rest = values.splice(top ?? values.length);
    const other = rest.reduce((sum, { records }) => sum + records, this.#other);
    return { name, values, other, overflow: this.#other > 0 };
  }
}

function weightOf(value: GroupValue): number {
  return 120 + (typeof value === "string" ? 2 * value.length : 0);
}
