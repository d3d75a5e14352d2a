import type { Source } from "./source.ts";

/** Times of events, in whole ms since the epoch, in order: from the first to the last of each. */
export type Times = readonly (readonly [firstMs: number, lastMs: number])[];

/** What of an object's time is read. */
export interface Share {
  times: Times;
  /** This job is read instead in the rest of it; null: there is none. */
  instead: number | null;
}

export function isIn(times: Times, timeMs: number): boolean {
  const ms = Math.floor(timeMs);
  return times.some(([firstMs, lastMs]) => firstMs <= ms && ms <= lastMs);
}

/** What of some times is in none of the others. */
export function without(times: Times, others: readonly Times[]): Times {
  const sorted = others.flat().sort(([a], [b]) => a - b);
  return times.flatMap(([firstMs, lastMs]) => {
    const left: [number, number][] = [];
    let fromMs = firstMs;
    for (const [otherMs, untilMs] of sorted) {
      if (otherMs > fromMs && fromMs <= lastMs) left.push([fromMs, Math.min(otherMs - 1, lastMs)]);
      fromMs = Math.max(fromMs, untilMs + 1);
    }
    if (fromMs <= lastMs) left.push([fromMs, lastMs]);
    return left;
  });
}

/** So many pairs are held of each object. */
const PAIRS_MAX = 16;

/** The same times, and maybe some between them. */
export function roughly(times: Times): Times {
  const [first, last] = [times[0], times.at(-1)];
  return times.length <= PAIRS_MAX || !first || !last ? times : [[first[0], last[1]]];
}

/** What a part of an object's time is of. */
export function wholeOf(source: Source): Source {
  return source.whole ?? source;
}
