import { encodeUtf8 } from "../../base/bytes.ts";
import type { RecordId } from "../../formats/sketch/identities.ts";
import type { SearchSpan } from "../../ship/reader/searchable.ts";

/**
 * Where a record is: it does not change when its object is cut, delivered or numbered anew.
 * `record`: copies of one record have one place, whatever objects have them; "": it is not known
 * which record it is.
 */
export type Place = readonly [
  timeMs: number,
  job: number,
  node: number,
  batch: number,
  line: number,
  record: RecordId | "",
];

export interface Hit {
  place: Place;
  /** The number of its object when it was read; null: it was not cut yet. */
  object: number | null;
  /** The record, as JSON. */
  json: string;
  /** Of copies, the one with the greatest is shown. */
  worth: number;
  /** Further jobs that have a copy. */
  alsoIn: readonly number[];
}

/** Negative: `a` comes first. By the time of the event; those of one time by their place. */
export function comparePlaces(a: Place, b: Place, order: SearchSpan["order"]): number {
  const time = order === "newest" ? b[0] - a[0] : a[0] - b[0];
  if (time !== 0) return time;
  if (a[5] !== b[5]) return a[5] < b[5] ? -1 : 1;
  return a[5] === "" ? a[1] - b[1] || a[2] - b[2] || a[3] - b[3] || a[4] - b[4] : 0;
}

/** Copies of one record that were found. */
type Copies = [Hit, ...Hit[]];

const decoder = new TextDecoder();

/**
 * The first hits of those that were found, in order, bounded in number and bytes, those that were
 * taken out included. Copies of a record are one.
 */
export class FirstHits {
  readonly #order: SearchSpan["order"];
  #maxUnits: number;
  #limit: number;
  #isAnyTaken = false;
  #hits: Copies[] = [];
  #units = 0;
  /** Hits from here on were dropped; null: none. */
  #droppedFrom: Place | null = null;

  /** @param maxUnits of all, in UTF-16 units; the first hit is there in any case. */
  constructor(order: SearchSpan["order"], limit: number, maxUnits: number) {
    this.#order = order;
    this.#limit = limit;
    this.#maxUnits = maxUnits;
  }

  /** Hits from here on are not wanted any more; null: all are. */
  get droppedFrom(): Place | null {
    return this.#droppedFrom;
  }

  add(hit: Hit): void {
    if (this.#droppedFrom !== null && comparePlaces(hit.place, this.#droppedFrom, this.#order) >= 0) return;
    let [low, high] = [0, this.#hits.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comparePlaces((this.#hits[middle] as Copies)[0].place, hit.place, this.#order) < 0) low = middle + 1;
      else high = middle;
    }
    const copies = this.#hits[low];
    const isCopy = copies !== undefined && comparePlaces(copies[0].place, hit.place, this.#order) === 0;
    // An object may be read twice.
    if (isCopy && copies.some(({ place }) => String(place) === String(hit.place))) return;
    // A part of a text keeps all of it in memory; a copy does not.
    const own = { ...hit, json: decoder.decode(encodeUtf8(hit.json)) };
    if (isCopy) copies.push(own);
    else this.#hits.splice(low, 0, [own]);
    this.#units += hit.json.length;
    const least = this.#isAnyTaken ? 0 : 1;
    while (this.#hits.length > this.#limit || (this.#units > this.#maxUnits && this.#hits.length > least)) {
      const last = this.#hits.pop() as Copies;
      this.#units -= unitsOf(last);
      this.#droppedFrom = last[0].place;
    }
  }

  /** Takes out the hits before a place, in order; null: all. They count towards the bounds. */
  take(before: Place | null): Hit[] {
    const end =
      before === null
        ? this.#hits.length
        : this.#hits.findIndex(([{ place }]) => comparePlaces(place, before, this.#order) >= 0);
    const taken = this.#hits.splice(0, end === -1 ? this.#hits.length : end);
    const shown = taken.map(shownOf);
    for (const [i, { json }] of shown.entries()) {
      this.#units -= unitsOf(taken[i] as Copies);
      this.#maxUnits -= json.length;
    }
    this.#limit -= taken.length;
    this.#isAnyTaken ||= taken.length > 0;
    return shown;
  }

  /** Forgets what a source had that turned out to be none. */
  drop(isOf: (place: Place) => boolean): void {
    this.#hits = this.#hits.flatMap((copies) => {
      const [first, ...others] = copies.filter(({ place }) => !isOf(place));
      const left: Copies[] = first === undefined ? [] : [[first, ...others]];
      this.#units -= unitsOf(copies) - (left[0] === undefined ? 0 : unitsOf(left[0]));
      return left;
    });
  }
}

function unitsOf(copies: Copies): number {
  return copies.reduce((sum, { json }) => sum + json.length, 0);
}

function shownOf(copies: Copies): Hit {
  const shown = copies.reduce((best, hit) => (hit.worth > best.worth ? hit : best));
  const others = new Set(copies.map(({ place }) => place[1]));
  others.delete(shown.place[1]);
  return { ...shown, alsoIn: [...others] };
}
