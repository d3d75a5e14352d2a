import { isNumber, type Part } from "./part.ts";
import type { StateReader, StateWriter } from "./state-bytes.ts";

/** No sum of doubles needs more parts that do not overlap: 2,098 bits, 53 each. */
const PARTS_MAX = 40;

/**
 * Number, sum and bounds of numbers. The sum is exact until it is rounded, once: it is kept as
 * doubles that do not overlap, the smallest first (Shewchuk 1997; `math.fsum` of Python).
 */
export class Numbers implements Part {
  count = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  #sums: number[] = [];

  get weight(): number {
    return 120 + this.#sums.length * 8;
  }

  add(value: unknown): void {
    if (!isNumber(value)) return;
    this.count += 1;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    this.#addToSum(value);
  }

  #addToSum(value: number): void {
    const sums = this.#sums;
    let kept = 0;
    let high = value;
    for (const each of sums) {
      const [large, small] = Math.abs(high) < Math.abs(each) ? [each, high] : [high, each];
      high = large + small;
      const rest = small - (high - large);
      if (rest !== 0) sums[kept++] = rest;
    }
    sums[kept] = high;
    sums.length = kept + 1;
  }

  merge(other: Numbers): void {
    this.count += other.count;
    this.min = Math.min(this.min, other.min);
    this.max = Math.max(this.max, other.max);
    for (const each of other.#sums) this.#addToSum(each);
  }

  /** Rounded as one addition is: half to even. */
  get sum(): number {
    const sums = this.#sums;
    let at = sums.length - 1;
    let high = sums[at] ?? 0;
    let rest = 0;
    while (at > 0 && rest === 0) {
      const before = high;
      const next = sums[--at] as number;
      high = before + next;
      rest = next - (high - before);
    }
    // What is left decides where the rest is half of the last digit.
    const next = sums[at - 1] ?? 0;
    if (rest !== 0 && Math.sign(rest) === Math.sign(next)) {
      const rounded = high + 2 * rest;
      if (rounded - high === 2 * rest) return rounded;
    }
    return high;
  }

  write(into: StateWriter): void {
    into.whole(this.count);
    if (this.count === 0) return;
    into.double(this.min);
    into.double(this.max);
    into.whole(this.#sums.length);
    for (const each of this.#sums) into.double(each);
  }

  static read(from: StateReader): Numbers {
    const numbers = new Numbers();
    numbers.count = from.whole();
    if (numbers.count === 0) return numbers;
    numbers.min = from.double();
    numbers.max = from.double();
    for (let left = from.whole(PARTS_MAX); left > 0; left--) numbers.#addToSum(from.double());
    return numbers;
  }
}
