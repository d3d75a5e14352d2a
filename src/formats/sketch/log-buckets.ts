/** A bucket of numbers that are alike, and how many are in it. */
export type BucketCount = readonly [bucket: number, count: number];

export interface Scale {
  /** Whole numbers up to here have a bucket each. */
  exactMax: number;
  /** What is above is in buckets of which each ends at `growth` times the end of the one before. */
  from: number;
  growth: number;
  /** All from here on are in the last bucket. */
  to: number;
}

/**
 * Sorts numbers into buckets whose width is a share of what is in them: of any amount of numbers,
 * counts by bucket tell each quantile within that share, and counts of parts add up.
 * https://arxiv.org/abs/1908.10693
 */
export class LogBuckets {
  readonly #scale: Scale;
  readonly #perLog: number;
  readonly #logFrom: number;
  /** One more than the last. */
  readonly count: number;

  constructor(scale: Scale) {
    this.#scale = scale;
    this.#perLog = 1 / Math.log(scale.growth);
    this.#logFrom = Math.log(scale.from);
    this.count = 1 + scale.exactMax + Math.ceil((Math.log(scale.to) - this.#logFrom) * this.#perLog);
  }

  /** Below 0 and what is no number: 0. */
  bucketOf(value: number): number {
    const { exactMax, from, to } = this.#scale;
    if (!(value > 0)) return 0;
    if (value <= from || (value <= exactMax && Number.isInteger(value))) return Math.round(value);
    return exactMax + Math.ceil((Math.log(Math.min(value, to)) - this.#logFrom) * this.#perLog);
  }

  /** The number that stands for a bucket, at most (growth − 1) / (growth + 1) from any in it. */
  valueOf(bucket: number): number {
    const { exactMax, from, growth } = this.#scale;
    if (bucket <= exactMax) return bucket;
    // Whole numbers would be too coarse.
    return Number(((from * growth ** (bucket - exactMax) * 2) / (1 + growth)).toPrecision(4));
  }
}

/**
 * The least that a share of all does not exceed (nearest rank). null: there is none.
 * @param counts by what stands for it, in order. @param share above 0, at most 1.
 */
export function quantileOf(counts: readonly BucketCount[], share: number): number | null {
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  // 0.95 × 20 is a little above 19.
  let left = Math.ceil(total * share - 1e-9);
  for (const [value, count] of counts) {
    left -= count;
    if (left <= 0) return value;
  }
  return null;
}
