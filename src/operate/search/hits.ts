import { encodeUtf8 } from "../../base/bytes.ts";
import type { SearchSpan } from "../../ship/reader/searchable.ts";

/** Where a record is: it does not change when its object is cut, delivered or numbered anew. */
export type Place = readonly [timeMs: number, job: number, node: number, batch: number, line: number];

export interface Hit {
  place: Place;
  /** The number of its object when it was read; null: it was not cut yet. */
  object: number | null;
  /** The record, as JSON. */
  json: string;
}

/** Negative: `a` comes first. By the time of the event; those of one time by their place. */
export function comparePlaces(a: Place, b: Place, order: SearchSpan["order"]): number {
  const time = order === "newest" ? b[0] - a[0] : a[0] - b[0];
  return time || a[1] - b[1] || a[2] - b[2] || a[3] - b[3] || a[4] - b[4];
}

const decoder = new TextDecoder();

/**
 * The first hits of those that were found, in order, bounded in number and bytes, those that were
 * taken out included.
 */
export class FirstHits {
  readonly #order: SearchSpan["order"];
  #maxUnits: number;
  #limit: number;
  #isAnyTaken = false;
  #hits: Hit[] = [];
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
      if (comparePlaces((this.#hits[middle] as Hit).place, hit.place, this.#order) < 0) low = middle + 1;
      else high = middle;
    }
    // A part of a text keeps all of it in memory; a copy does not.
    this.#hits.splice(low, 0, { ...hit, json: decoder.decode(encodeUtf8(hit.json)) });
    this.#units += hit.json.length;
    const least = this.#isAnyTaken ? 0 : 1;
    while (this.#hits.length > this.#limit || (this.#units > this.#maxUnits && this.#hits.length > least)) {
      const last = this.#hits.pop() as Hit;
      this.#units -= last.json.length;
      this.#droppedFrom = last.place;
    }
  }

  /** Takes out the hits before a place, in order; null: all. They count towards the bounds. */
  take(before: Place | null): Hit[] {
    const end =
      before === null
        ? this.#hits.length
        : this.#hits.findIndex(({ place }) => comparePlaces(place, before, this.#order) >= 0);
    const taken = this.#hits.splice(0, end === -1 ? this.#hits.length : end);
    for (const { json } of taken) {
      this.#units -= json.length;
      this.#maxUnits -= json.length;
    }
    this.#limit -= taken.length;
    this.#isAnyTaken ||= taken.length > 0;
    return taken;
  }

  /** Forgets what a source had that turned out to be none. */
  drop(isOf: (place: Place) => boolean): void {
    this.#hits = this.#hits.filter(({ place, json }) => {
      const is = isOf(place);
      if (is) this.#units -= json.length;
      return !is;
    });
  }
}
