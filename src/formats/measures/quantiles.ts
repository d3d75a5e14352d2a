import { type BucketCount, LogBuckets, quantileOf } from "../sketch/log-buckets.ts";
import { isNumber, NUMBER_MAX, type Part } from "./part.ts";
import type { StateReader, StateWriter } from "./state-bytes.ts";

/** Within 1 %, rounding included; whole numbers up to 64 are exact. */
const FINE = new LogBuckets({ exactMax: 64, from: 1e-9, growth: 1.019, to: NUMBER_MAX });

/**
 * Buckets that are kept, some 3 kB: of more, the lowest become one, so that low quantiles are too
 * high. That takes whole numbers that span from 1 to ten million, or others a share of 500,000.
 */
const BUCKETS_MAX = 700;
/** They become fewer when there are so many. */
const BUCKETS_HELD = 1_000;

/** How many numbers are in each bucket; those below 0 in the bucket of their opposite. */
export class Quantiles implements Part {
  #counts = new Map<number, number>();

  get weight(): number {
    return 120 + this.#counts.size * 40;
  }

  add(value: unknown): void {
    if (!isNumber(value)) return;
    this.#increase(value < 0 ? -FINE.bucketOf(-value) : FINE.bucketOf(value), 1);
  }

  #increase(bucket: number, by: number): void {
    // -0 and 0 are one key.
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + by);
    if (this.#counts.size > BUCKETS_HELD) this.#counts = new Map(this.#kept());
  }

  merge(other: Quantiles): void {
    for (const [bucket, count] of other.#counts) this.#increase(bucket, count);
  }

  /** In the order of what stands for them, the lowest of too many in one. */
  #kept(): BucketCount[] {
    const sorted = [...this.#counts].sort(([a], [b]) => numberOf(a) - numberOf(b) || a - b);
    const [lowest, ...kept] = sorted.slice(-BUCKETS_MAX);
    if (lowest === undefined) return [];
    const below = sorted.slice(0, -BUCKETS_MAX).reduce((sum, [, count]) => sum + count, lowest[1]);
    return [[lowest[0], below], ...kept];
  }

  /** As {@link quantileOf}. */
  at(share: number): number | null {
    return quantileOf(
      this.#kept().map(([bucket, count]) => [numberOf(bucket), count]),
      share,
    );
  }

  write(into: StateWriter): void {
    const kept = this.#kept().sort(([a], [b]) => a - b);
    into.whole(kept.length);
    let last = -FINE.count;
    for (const [bucket, count] of kept) {
      into.whole(bucket - last);
      into.whole(count);
      last = bucket;
    }
  }

  static read(from: StateReader): Quantiles {
    const quantiles = new Quantiles();
    let bucket = -FINE.count;
    for (let left = from.whole(BUCKETS_MAX); left > 0; left--) {
      bucket += from.whole(FINE.count * 2);
      if (bucket >= FINE.count) throw new Error("a state with a bucket that there is not");
      quantiles.#increase(bucket, from.whole());
    }
    return quantiles;
  }
}

function numberOf(bucket: number): number {
  return bucket < 0 ? -FINE.valueOf(-bucket) : FINE.valueOf(bucket);
}
