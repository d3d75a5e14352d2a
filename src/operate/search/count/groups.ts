import type { Shape, Tally } from "../../../formats/measures/measures.ts";
import { StateReader, StateWriter } from "../../../formats/measures/state-bytes.ts";

/** A value that records are grouped by; null: they have none. */
export type GroupValue = string | number | boolean | null;

/** Records with these values, in a slot of time that begins here, in ms since the epoch. */
export interface GroupKey {
  by: readonly GroupValue[];
  /** null: times are not told apart, or the record has none. */
  atMs: number | null;
}

interface Group extends GroupKey {
  tally: Tally;
}

/** As an answer has it. */
export interface Row {
  by: readonly GroupValue[];
  /** RFC 3339; absent: as of {@link GroupKey.atMs}. */
  time?: string | undefined;
  /** Of each measure, in their order. */
  values: readonly (number | null)[];
  /** All that is known of it, in base64, so that it can be merged with that of another answer. */
  state?: string | undefined;
}

export type Rest = Omit<Row, "by" | "time">;

export interface GroupBounds {
  groups: number;
  /** About so many bytes of memory. */
  weight: number;
}

/** Of all groups of a count, as long as it goes on. */
export const COUNT_BOUNDS: GroupBounds = { groups: 10_000, weight: 8_000_000 };

/** Of what takes too much memory, so much is left. */
const KEPT_SHARE = 0.75;

/** So many records are added until what they take is looked at; fewer where keys are long. */
const LOOK_EVERY = 2_000;
const KEY_UNITS = 100;

/** A text that records are grouped by is cut to so many UTF-16 units. */
export const VALUE_MAX = 256;

export function groupValue(value: unknown): GroupValue {
  if (value === undefined || value === null) return null;
  // Of a number that JSON cannot have, its name.
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
  if (typeof value === "boolean") return value;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= VALUE_MAX ? text : `${text.slice(0, VALUE_MAX)}…`.toWellFormed();
}

/**
 * Records by group. Sums of all are exact; where there are more groups than the bounds allow, those
 * beyond, and then the smallest, are one: `other`. Until then the order of records, and of merging,
 * makes no difference.
 */
export class Groups {
  readonly #shape: Shape;
  readonly #bounds: GroupBounds;
  readonly #groups = new Map<string, Group>();
  #other: Tally | null = null;
  #untilLook = LOOK_EVERY;

  constructor(shape: Shape, bounds: GroupBounds = COUNT_BOUNDS) {
    this.#shape = shape;
    this.#bounds = bounds;
  }

  /** Some records are in `other` that may be of a group that is there. */
  get overflows(): boolean {
    return this.#other !== null;
  }

  /** @param values as of {@link Shape.names}. */
  add(key: GroupKey, values: readonly unknown[]): void {
    this.#tallyOf(key).add(values);
    this.#untilLook -= 1;
    if (this.#untilLook <= 0) this.#fit();
  }

  merge(other: Groups): void {
    for (const group of other.#groups.values()) this.#tallyOf(group).merge(group.tally);
    if (other.#other !== null) this.mergeOther(other.#other);
    this.#fit();
  }

  mergeOther(tally: Tally): void {
    this.#other ??= this.#shape.tally();
    this.#other.merge(tally);
  }

  #tallyOf({ by, atMs }: GroupKey): Tally {
    const values = JSON.stringify(by);
    const key = `${atMs} ${values}`;
    const known = this.#groups.get(key);
    if (known !== undefined) return known.tally;
    if (this.#groups.size >= this.#bounds.groups) {
      this.#other ??= this.#shape.tally();
      return this.#other;
    }
    const tally = this.#shape.tally();
    // A part of a text, as a path is of a URL, keeps all of it in memory; a copy does not.
    this.#groups.set(key, { by: JSON.parse(values), atMs, tally });
    this.#untilLook -= Math.floor(key.length / KEY_UNITS);
    return tally;
  }

  /** Where the groups take too much memory, the smallest go. */
  #fit(): void {
    this.#untilLook = LOOK_EVERY;
    const weights = new Map([...this.#groups].map(([key, { tally }]) => [key, 2 * key.length + 200 + tally.weight]));
    let weight = [...weights.values()].reduce((sum, each) => sum + each, 0);
    if (weight <= this.#bounds.weight) return;
    for (const [key, { tally }] of [...this.#groups].sort(([, a], [, b]) => a.tally.records - b.tally.records)) {
      if (weight <= this.#bounds.weight * KEPT_SHARE) return;
      this.#groups.delete(key);
      this.mergeOther(tally);
      weight -= weights.get(key) as number;
    }
  }

  /**
   * The groups with the most records, those of one kind in all slots of time taken together, the
   * largest first; and the sum of all others.
   * @param top so many; null: all. @param hasState whether they can be merged later.
   */
  answer(top: number | null, hasState: boolean): { rows: Row[]; other: Rest | null } {
    const kinds = [...Map.groupBy(this.#groups.values(), ({ by }) => JSON.stringify(by))]
      .map(([key, groups]) => ({ key, groups, records: groups.reduce((sum, { tally }) => sum + tally.records, 0) }))
      .sort((a, b) => b.records - a.records || (a.key < b.key ? -1 : 1));
    const told = kinds.slice(0, top ?? kinds.length);
    const others = [
      ...kinds.slice(told.length).flatMap(({ groups }) => groups.map(({ tally }) => tally)),
      ...(this.#other === null ? [] : [this.#other]),
    ];
    const rest = this.#shape.tally();
    for (const tally of others) rest.merge(tally);
    const restOf = (tally: Tally): Rest => ({
      values: this.#shape.values(tally),
      ...(hasState && { state: stateOf(tally) }),
    });
    const rows = told.flatMap(({ groups }) =>
      groups
        .sort((a, b) => (a.atMs ?? -1) - (b.atMs ?? -1))
        .map(
          ({ by, atMs, tally }): Row => ({
            by,
            ...(atMs !== null && { time: new Date(atMs).toISOString() }),
            ...restOf(tally),
          }),
        ),
    );
    return { rows, other: others.length === 0 ? null : restOf(rest) };
  }

  /**
   * The groups of an answer.
   * @throws Error for one without states, and for what is no state of this shape.
   */
  static of(shape: Shape, { rows, other }: { rows: readonly Row[]; other: Rest | null }, bounds?: GroupBounds): Groups {
    const groups = new Groups(shape, bounds);
    for (const { by, time, state } of rows)
      groups.#tallyOf({ by, atMs: time === undefined ? null : Date.parse(time) }).merge(readState(shape, state));
    if (other !== null) groups.mergeOther(readState(shape, other.state));
    groups.#fit();
    return groups;
  }
}

function stateOf(tally: Tally): string {
  const writer = new StateWriter();
  tally.write(writer);
  return writer.text();
}

function readState(shape: Shape, state: string | undefined): Tally {
  const reader = new StateReader(state ?? "");
  const tally = shape.read(reader);
  reader.end();
  return tally;
}
