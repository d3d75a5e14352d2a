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

/** How numbers are sorted, and how many buckets are kept. */
interface Grade {
  scale: LogBuckets;
  kept: number;
}
const WITHIN_1 = { scale: FINE, kept: BUCKETS_MAX };

/** Within 5 %, some 300 B. Low quantiles are too high where numbers span more than 1 to 90,000. */
const WITHIN_5 = { scale: new LogBuckets({ exactMax: 0, from: 1e-9, growth: 1.1, to: NUMBER_MAX }), kept: 120 };

/** How many numbers are in each bucket; those below 0 in the bucket of their opposite. */
export class Quantiles implements Part {
  #counts = new Map<number, number>();
  readonly #grade: Grade;

  constructor(grade: Grade = WITHIN_1) {
    this.#grade = grade;
  }

  get weight(): number {
    return 120 + this.#counts.size * 40;
  }

  add(value: unknown): void {
    if (!isNumber(value)) return;
    const { scale } = this.#grade;
    this.#increase(value < 0 ? -scale.bucketOf(-value) : scale.bucketOf(value), 1);
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
    const { kept: most } = this.#grade;
    const sorted = [...this.#counts].sort(([a], [b]) => this.#numberOf(a) - this.#numberOf(b) || a - b);
    const [lowest, ...kept] = sorted.slice(-most);
    if (lowest === undefined) return [];
    const below = sorted.slice(0, -most).reduce((sum, [, count]) => sum + count, lowest[1]);
    return [[lowest[0], below], ...kept];
  }

  /** As {@link quantileOf}. */
  at(share: number): number | null {
    return quantileOf(
      this.#kept().map(([bucket, count]) => [this.#numberOf(bucket), count]),
      share,
    );
  }

  #numberOf(bucket: number): number {
    const { scale } = this.#grade;
    return bucket < 0 ? -scale.valueOf(-bucket) : scale.valueOf(bucket);
  }

  write(into: StateWriter): void {
    const kept = this.#kept().sort(([a], [b]) => a - b);
    into.whole(kept.length);
    let last = -this.#grade.scale.count;
    for (const [bucket, count] of kept) {
      into.whole(bucket - last);
      into.whole(count);
      last = bucket;
    }
  }

  static read(from: StateReader, grade: Grade = WITHIN_1): Quantiles {
    const quantiles = new Quantiles(grade);
    const { count: end } = grade.scale;
    let bucket = -end;
    for (let left = from.whole(grade.kept); left > 0; left--) {
      bucket += from.whole(end * 2);
      if (bucket >= end) throw new Error("a state with a bucket that there is not");
      quantiles.#increase(bucket, from.whole());
    }
    return quantiles;
  }
}

/** The same in a tenth of the room. */
export class CoarseQuantiles extends Quantiles {
  constructor() {
    super(WITHIN_5);
  }

  static override read(from: StateReader): Quantiles {
    return Quantiles.read(from, WITHIN_5);
  }
}
