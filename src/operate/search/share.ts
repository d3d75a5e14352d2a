import type { Source } from "./source.ts";

/** What of an object's time is read. */
export interface Share {
  firstMs: number;
  lastMs: number;
  /** Of other jobs: they are read instead. */
  without: readonly (Share & { job: number })[];
}

export function isIn({ firstMs, lastMs, without }: Share, timeMs: number): boolean {
  return firstMs <= timeMs && timeMs <= lastMs && !without.some((share) => isIn(share, timeMs));
}

/** Whether nothing of it is read. */
export function isNone(share: Share): boolean {
  const edges = [...edgesIn(share)].sort((a, b) => a - b);
  return !edges.some((ms, i) => isIn(share, ms) || isIn(share, (ms + (edges[i + 1] ?? ms)) / 2));
}

/** Between two of these times, all is as in the middle. */
function* edgesIn({ firstMs, lastMs, without }: Share): Generator<number> {
  yield firstMs;
  yield lastMs;
  for (const share of without) yield* edgesIn(share);
}

/** What a part of an object's time is of. */
export function wholeOf(source: Source): Source {
  return source.whole ?? source;
}
