import { errorText, log } from "../../base/logger.ts";
import { Tables } from "../../base/storage/sql.ts";
import type { Shape, Tally } from "../../formats/measures/measures.ts";
import { StateReader } from "../../formats/measures/state-bytes.ts";
import { type AlertedSearch, bucketsAt, isPast, keyOfSearch, shapeOf } from "../job/searches.ts";
import type { SearchCount } from "./append-types.ts";
import { stateOf } from "./searched.ts";

/** A part of the window: its number, how many records, and the state of the measure; "": none. */
type Bucket = readonly [number: number, count: number, state: string];

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

/** They share a row, of 2 MB at most, with all that a shard counts. */
const TEXT_MAX = 250_000;

/** What is added, by {@link keyOfSearch}. */
export type AddedSearches = ReadonlyMap<string, readonly SearchCount[]>;

/**
 * What searches with an alert have matched: of each a total, and a window of counts by when they
 * were added. It is in the row of the shard, and so are its states: see `shapeOf`.
 */
export class SearchCounts extends Tables {
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
    const before = this.sql.only<string>`SELECT searches FROM state`;
    if (added.size === 0 && searches.length > 0) return { text: before, hasCrossed: false };
    const known = JSON.parse(before) as SearchSum[];
    let hasCrossed = false;
    const sums = searches.flatMap((search): SearchSum[] => {
      const { id, stamp } = search;
      const sum = sumIn(known, search) ?? { id, stamp, total: 0, buckets: [] };
      const window = inWindow(search, sum, nowMs);
      const counts = added.get(keyOfSearch(search)) ?? [];
      if (counts.length === 0) return sum.total === 0 ? [] : [{ ...sum, buckets: window }];
      const buckets = withCounts(search, window, counts, nowMs);
      const isOver = (of: readonly Bucket[]): boolean => isPast(search.alert, measured(search, of), shards);
      // Of most, the first is false: both read all states of the window.
      hasCrossed ||= isOver(buckets) && !isOver(window);
      return [{ ...sum, total: counts.reduce((all, { count }) => all + count, sum.total), buckets }];
    });
    const text = JSON.stringify(sums);
    if (text.length <= TEXT_MAX) return { text, hasCrossed };
    log.error("windows of searches are too large, and begin anew", { durable_object: "TraceLog" });
    return { text: JSON.stringify(sums.map((sum) => ({ ...sum, buckets: [] }))), hasCrossed };
  }

  /** Those of these searches. */
  list(searches: readonly AlertedSearch[]): SearchSum[] {
    const known = JSON.parse(this.sql.only`SELECT searches FROM state`) as SearchSum[];
    return searches.flatMap((search) => sumIn(known, search) ?? []);
  }
}

function sumIn(sums: readonly SearchSum[], search: AlertedSearch): SearchSum | undefined {
  return sums.find((sum) => keyOfSearch(sum) === keyOfSearch(search));
}

/** Not what is of later, as a clock that was ahead has it. */
function inWindow({ alert }: AlertedSearch, sum: SearchSum | undefined, nowMs: number): readonly Bucket[] {
  const { first, last } = bucketsAt(alert, nowMs);
  return sum?.buckets.filter(([n]) => n >= first && n <= last) ?? [];
}

function withCounts(
  { alert }: AlertedSearch,
  window: readonly Bucket[],
  counts: readonly SearchCount[],
  nowMs: number,
): readonly Bucket[] {
  const { last } = bucketsAt(alert, nowMs);
  const current = window.filter(([n]) => n === last);
  const added = counts.map(({ count, state = "" }): Bucket => [last, count, state]);
  const sum = merged(shapeOf(alert), [...current, ...added]);
  const bucket: Bucket = [last, sum.records, sum.parts.length === 0 ? "" : stateOf(sum)];
  return [...window.filter(([n]) => n !== last), bucket];
}

function measured({ alert }: AlertedSearch, buckets: readonly Bucket[]): number | null {
  const shape = shapeOf(alert);
  return shape.values(merged(shape, buckets))[0] ?? null;
}

function merged(shape: Shape, buckets: readonly Bucket[]): Tally {
  const sum = shape.tally();
  for (const bucket of buckets) sum.merge(tallyOf(shape, bucket));
  return sum;
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

/** What all shards have of a search. */
export interface SearchTotal {
  total: number;
  /** Of its measure, over its window; null: no record has a value. */
  value: number | null;
  /** Of each shard. */
  values: (number | null)[];
  /** Records by bucket, the oldest first. */
  buckets: [number: number, count: number][];
}

/** Adds up what shards have counted. */
export function addedSums(search: AlertedSearch, all: readonly (readonly SearchSum[])[], nowMs: number): SearchTotal {
  const sums = all.map((shard) => sumIn(shard, search));
  const windows = sums.map((sum) => inWindow(search, sum, nowMs));
  const byNumber = Map.groupBy(windows.flat(), ([n]) => n);
  const counts = [...byNumber].map(([n, own]): [number, number] => [n, own.reduce((sum, [, count]) => sum + count, 0)]);
  return {
    total: sums.reduce((sum, each) => sum + (each?.total ?? 0), 0),
    value: measured(search, windows.flat()),
    values: windows.map((window) => measured(search, window)),
    buckets: counts.sort(([a], [b]) => a - b),
  };
}
