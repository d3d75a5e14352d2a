/** Medians and spreads: pure. */
export interface Summary {
  median: number;
  /** The middle half lies between these two. */
  low: number;
  high: number;
}

/** @throws if there is nothing to sum up. */
export function summary(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: quantile(sorted, 0.5), low: quantile(sorted, 0.25), high: quantile(sorted, 0.75) };
}

/** Between two neighbours, by their distance. */
function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  if (below === undefined || above === undefined) throw new Error("nothing to sum up");
  return below + (above - below) * (at - Math.floor(at));
}
