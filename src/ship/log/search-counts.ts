import { errorText, log } from "../../base/logger.ts";
import { Tables } from "../../base/storage/sql.ts";
import type { Shape, Tally } from "../../formats/measures/measures.ts";
import { StateReader } from "../../formats/measures/state-bytes.ts";
import { type AlertedSearch, bucketsAt, isPast, keyOfSearch, type SearchAlert, shapeOf } from "../job/searches.ts";
import type { SearchCount } from "./append-types.ts";
import { stateOf } from "./searched.ts";

/** Records of a part of the window: its number, how many, and the state of the measure; "": none. */
export type Bucket = readonly [number: number, count: number, state: string];

/** What a shard has counted of a search, as it is stored. */
export interface SearchSum {
  id: number;
  /** As of its configuration. */
  stamp: string;
  /** All records since then. */
  total: number;
  /** Those of its window, the oldest first. */
  buckets: readonly Bucket[];
}

/** The same in memory. */
interface Held {
  total: number;
  buckets: Map<number, { tally: Tally; text: string | null }>;
  /** Of all buckets. */
  window: Tally;
}

/** What is added, by {@link keyOfSearch}. */
export type AddedSearches = ReadonlyMap<string, readonly SearchCount[]>;

/**
 * What searches with an alert have matched: of each a total, and a window of counts by when they
 * were added. A window that takes room in the row of the shard is bounded: see shapeOf.
 */
export class SearchCounts extends Tables {
  /** As of a stored text, so that it need not be read again. */
  #held: { text: string; sums: Map<string, Held> } = { text: "[]", sums: new Map() };

  /**
   * Adds counts of parts that are new, of those searches that there are. To be called in the
   * transaction that counts the parts.
   * @param shards that add up.
   * @returns what to write into `state.searches` in that transaction, and whether a search may have
   *   passed its threshold by what was added.
   */
  add(
    { searches, shards }: { searches: readonly AlertedSearch[]; shards: number },
    added: AddedSearches,
    nowMs: number,
  ): { text: string; hasCrossed: boolean } {
    const before = this.#sums(searches);
    this.#held = { text: "", sums: new Map() };
    let hasCrossed = false;
    const sums = new Map<string, Held>();
    for (const search of searches) {
      const key = keyOfSearch(search);
      const counts = added.get(key) ?? [];
      const known = before.get(key);
      if (known === undefined && counts.length === 0) continue;
      const shape = shapeOf(search.alert);
      const sum = current(shape, known ?? { total: 0, buckets: new Map(), window: shape.tally() }, search.alert, nowMs);
      sums.set(key, sum);
      if (counts.length === 0) continue;
      const isOver = (): boolean => isPast(search.alert, shape.values(sum.window)[0] ?? null, shards);
      const wasOver = isOver();
      addCounts(shape, sum, counts, bucketsAt(search.alert, nowMs).last);
      hasCrossed ||= !wasOver && isOver();
    }
    const text = JSON.stringify(searches.flatMap((search) => stored(search, sums.get(keyOfSearch(search)))));
    this.#held = { text, sums };
    return { text, hasCrossed };
  }

  /** Those that there are. */
  list(searches: readonly AlertedSearch[]): SearchSum[] {
    const known = new Set(searches.map(keyOfSearch));
    return (JSON.parse(this.#text()) as SearchSum[]).filter((sum) => known.has(keyOfSearch(sum)));
  }

  #sums(searches: readonly AlertedSearch[]): ReadonlyMap<string, Held> {
    const text = this.#text();
    if (text === this.#held.text) return this.#held.sums;
    const byKey = new Map(searches.map((search) => [keyOfSearch(search), search]));
    return new Map(
      (JSON.parse(text) as SearchSum[]).flatMap((sum): [string, Held][] => {
        const search = byKey.get(keyOfSearch(sum));
        if (search === undefined) return [];
        const shape = shapeOf(search.alert);
        const buckets = new Map(sum.buckets.map((each) => [each[0], { tally: tallyOf(shape, each), text: each[2] }]));
        return [[keyOfSearch(sum), { total: sum.total, buckets, window: merged(shape, buckets.values()) }]];
      }),
    );
  }

  #text(): string {
    return this.sql.only`SELECT searches FROM state`;
  }
}

/** Without what is no longer, or not yet, in the window. */
function current(shape: Shape, sum: Held, alert: SearchAlert, nowMs: number): Held {
  const { first, last } = bucketsAt(alert, nowMs);
  const old = [...sum.buckets.keys()].filter((n) => n < first || n > last);
  if (old.length === 0) return sum;
  for (const n of old) sum.buckets.delete(n);
  return { ...sum, window: merged(shape, sum.buckets.values()) };
}

function addCounts(shape: Shape, sum: Held, counts: readonly SearchCount[], n: number): void {
  const bucket = sum.buckets.get(n) ?? { tally: shape.tally(), text: null };
  sum.buckets.set(n, bucket);
  bucket.text = null;
  for (const { count, state = "" } of counts) {
    const tally = tallyOf(shape, [n, count, state]);
    bucket.tally.merge(tally);
    sum.window.merge(tally);
    sum.total += count;
  }
}

function stored({ id, stamp }: AlertedSearch, sum: Held | undefined): SearchSum[] {
  if (sum === undefined) return [];
  const buckets = [...sum.buckets].sort(([a], [b]) => a - b);
  for (const [, bucket] of buckets) bucket.text ??= bucket.tally.parts.length === 0 ? "" : stateOf(bucket.tally);
  return [
    { id, stamp, total: sum.total, buckets: buckets.map(([n, { tally, text }]) => [n, tally.records, text ?? ""]) },
  ];
}

/** What is no state of this shape, as other code may have made it, holds up nothing. */
function tallyOf(shape: Shape, [, count, state]: Bucket): Tally {
  try {
    if (state !== "") return shape.read(new StateReader(state));
  } catch (error) {
    log.warn("a state of a search cannot be read", { error: errorText(error) });
  }
  const tally = shape.tally();
  tally.records = count;
  return tally;
}

function merged(shape: Shape, buckets: Iterable<{ tally: Tally }>): Tally {
  const sum = shape.tally();
  for (const { tally } of buckets) sum.merge(tally);
  return sum;
}

/** What all shards have of a search. */
export interface SearchTotal {
  total: number;
  /** Of its measure, over its window; null: no record has any. */
  value: number | null;
  /** Of each shard. */
  values: (number | null)[];
  /** Records by bucket, the oldest first. */
  buckets: [number: number, count: number][];
}

/** Adds up what shards have counted. @param shards by shard. */
export function addedSums(
  search: AlertedSearch,
  shards: readonly (readonly SearchSum[])[],
  nowMs: number,
): SearchTotal {
  const shape = shapeOf(search.alert);
  const { first, last } = bucketsAt(search.alert, nowMs);
  const own = shards.map((sums) => sums.find((sum) => keyOfSearch(sum) === keyOfSearch(search)));
  const buckets = new Map<number, number>();
  const tallies = own.map((sum) => {
    const inWindow = sum?.buckets.filter(([n]) => n >= first && n <= last) ?? [];
    for (const [n, count] of inWindow) buckets.set(n, (buckets.get(n) ?? 0) + count);
    return merged(
      shape,
      inWindow.map((bucket) => ({ tally: tallyOf(shape, bucket) })),
    );
  });
  const measured = (tally: Tally): number | null => shape.values(tally)[0] ?? null;
  return {
    total: own.reduce((all, sum) => all + (sum?.total ?? 0), 0),
    value: measured(
      merged(
        shape,
        tallies.map((tally) => ({ tally })),
      ),
    ),
    values: tallies.map(measured),
    buckets: [...buckets].sort(([a], [b]) => a - b),
  };
}
