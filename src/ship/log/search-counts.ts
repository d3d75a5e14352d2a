import { errorText, log } from "../../base/logger.ts";
import { Tables } from "../../base/storage/sql.ts";
import type { Shape, Tally } from "../../formats/measures/measures.ts";
import { StateReader } from "../../formats/measures/state-bytes.ts";
import { type AlertedSearch, bucketEndMs, bucketsAt, isPast, keyOfSearch, shapeOf } from "../job/searches.ts";
import type { SearchCount } from "./append-types.ts";
import { type CountedPart, sumOf } from "./counted.ts";
import { textOnce } from "./health-keys.ts";
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
  /** Of {@link ALL}: what came before may be missing in windows. */
  sinceMs?: number;
}

/**
 * Stands for all parts that were counted with searches; its total is of their events. Where the
 * shard has counted more, it was by a release that knows no searches.
 */
const ALL = { id: 0, stamp: "", buckets: [] } as const;

/** The cron looks as often, in ms. */
const LOOKED_MS = 300_000;

/** They share a row, of 2 MB at most, with all that a shard counts. */
const TEXT_MAX = 250_000;

/** What is added, by {@link keyOfSearch}. */
export type AddedSearches = ReadonlyMap<string, readonly SearchCount[]>;

/**
 * What searches with an alert have matched: of each a total, and a window of counts by when they
 * were added. It is in the row of the shard, and so are its states: see `shapeOf`.
 */
export class SearchCounts extends Tables {
  /** null: it is in the row. */
  #held: readonly SearchSum[] | null = null;

  /** To be called when a transaction failed: what is held in memory is read again. */
  load(): void {
    this.#held = null;
  }

  /** To be called when the shard starts, before it counts. */
  begin(nowMs: number): void {
    if ((sumIn(this.#known(), ALL)?.total ?? 0) !== this.#events()) this.missed(nowMs);
  }

  /** What came until now may be missing. To be called in a transaction. */
  missed(nowMs: number): void {
    this.sql.run`UPDATE state SET searches = ${this.#text(this.#known(), this.#events(), nowMs)}`;
  }

  /**
   * Adds counts of parts that are new, of those searches that there are. To be called in the
   * transaction that counts the parts.
   * @param shards that add up.
   * @returns what to write into `state.searches` in that transaction, and whether a search may have
   *   passed its threshold by what was added, or passes it before the cron looks.
   */
  add(
    { searches, shards }: { searches: readonly AlertedSearch[]; shards: number },
    parts: readonly CountedPart[],
    added: AddedSearches,
    nowMs: number,
  ): { text: string; hasCrossed: boolean } {
    const known = this.#known();
    let hasCrossed = false;
    const sums = searches.flatMap((search): SearchSum[] => {
      const { id, stamp } = search;
      const sum = sumIn(known, search) ?? { id, stamp, total: 0, buckets: [] };
      const window = inWindow(search, sum, nowMs);
      const counts = added.get(keyOfSearch(search)) ?? [];
      if (counts.length === 0)
        return sum.total === 0 ? [] : [window.length === sum.buckets.length ? sum : { ...sum, buckets: window }];
      const buckets = withCounts(search, window, counts, nowMs);
      const pastMs = pastFromMs(search, buckets, nowMs, shards);
      // Of most, the first is false: both read all states of the window.
      hasCrossed ||= pastMs < nowMs + LOOKED_MS && pastMs < pastFromMs(search, window, nowMs, shards);
      return [{ ...sum, total: counts.reduce((all, { count }) => all + count, sum.total), buckets }];
    });
    const events =
      this.#events() + sumOf(parts, ({ routed, notEnabled, notRouted }) => routed + notEnabled + notRouted);
    const sinceMs = Math.min(nowMs, sumIn(known, ALL)?.sinceMs ?? 0);
    const text = this.#text(sums, events, sinceMs);
    if (text.length <= TEXT_MAX) return { text, hasCrossed };
    log.error("windows of searches are too large, and begin anew", { durable_object: "TraceLog" });
    return {
      text: this.#text(
        sums.map((sum) => ({ ...sum, buckets: [] })),
        events,
        nowMs,
      ),
      hasCrossed,
    };
  }

  #known(): readonly SearchSum[] {
    this.#held ??= JSON.parse(this.sql.only`SELECT searches FROM state`) as SearchSum[];
    return this.#held;
  }

  /** Those that the shard has counted. */
  #events(): number {
    return this.sql.only`SELECT routed + not_enabled + not_routed FROM state`;
  }

  /** What is stored, of which most is as it was before. */
  #text(sums: readonly SearchSum[], total: number, sinceMs: number): string {
    this.#held = [{ ...ALL, total, sinceMs }, ...sums.filter(({ id }) => id !== ALL.id)];
    return `[${this.#held.map(textOnce).join()}]`;
  }

  /** Those of these searches, and of {@link ALL}. */
  list(searches: readonly AlertedSearch[]): SearchSum[] {
    const known = this.#known();
    return [ALL, ...searches].flatMap((search) => sumIn(known, search) ?? []);
  }
}

function sumIn(sums: readonly SearchSum[], search: Pick<SearchSum, "id" | "stamp">): SearchSum | undefined {
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

/**
 * When it is past its threshold if nothing more comes, in ms since the epoch: buckets leave the
 * window, the oldest first. @param shards as of {@link isPast}.
 */
function pastFromMs({ alert }: AlertedSearch, buckets: readonly Bucket[], nowMs: number, shards = 1): number {
  const shape = shapeOf(alert);
  const left = shape.tally();
  const isPastNow = (): boolean => isPast(alert, shape.values(left)[0] ?? null, shards);
  const newestFirst = [...Map.groupBy(buckets, ([n]) => n)].sort(([a], [b]) => b - a);
  const fromMs = newestFirst.map(([n]) => bucketEndMs(alert, n)).concat(nowMs);
  let pastMs = isPastNow() ? (fromMs[0] as number) : Number.POSITIVE_INFINITY;
  for (const [i, [, own]] of newestFirst.entries()) {
    left.merge(merged(shape, own));
    if (isPastNow()) pastMs = fromMs[i + 1] as number;
  }
  return pastMs;
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
  /** Its window lacks nothing that came since then, in ms since the epoch. */
  sinceMs: number;
  /** When its window is empty if nothing more comes, in ms since the epoch. */
  emptyMs: number;
  /** When it is past its threshold then; and when, at the earliest, with more in other shards. */
  pastMs: number;
  nearMs: number;
}

/** Adds up what shards have counted. */
export function addedSums(search: AlertedSearch, all: readonly (readonly SearchSum[])[], nowMs: number): SearchTotal {
  const sums = all.map((shard) => sumIn(shard, search));
  const windows = sums.map((sum) => inWindow(search, sum, nowMs));
  const each = windows.flat();
  return {
    total: sums.reduce((sum, each) => sum + (each?.total ?? 0), 0),
    value: measured(search, each),
    sinceMs: Math.max(search.sinceMs, ...all.map((shard) => sumIn(shard, ALL)?.sinceMs ?? 0)),
    emptyMs: Math.max(nowMs, ...each.map(([n]) => bucketEndMs(search.alert, n))),
    pastMs: pastFromMs(search, each, nowMs),
    nearMs: Math.min(...windows.map((window) => pastFromMs(search, window, nowMs, windows.length))),
  };
}
