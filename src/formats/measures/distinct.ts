import type { Part } from "./part.ts";
import type { StateReader, StateWriter } from "./state-bytes.ts";

/** Hashes that are kept as they are: up to here, the number is exact. */
const HASHES_MAX = 1_000;

/** Of 32 bits: the first ones choose a register, the level of what is left is kept in it. */
const REGISTER_BITS = 12;
const REGISTERS = 2 ** REGISTER_BITS;
const LEVEL_MAX = 32 - REGISTER_BITS + 1;

/** Halvings of an interval that ends where doubles end. */
const HALVINGS = 60;

/**
 * How many values differ. Of many, a register has the highest level that a hash had, and whether
 * the two levels below it were there (UltraLogLog, https://arxiv.org/abs/2308.16862): 4 kB, of
 * which the most likely number is computed; its standard error is 1.2 %.
 */
export class Distinct implements Part {
  /** null: there are registers. */
  #hashes: Set<number> | null = new Set();
  #registers = new Uint8Array();

  get weight(): number {
    return 120 + (this.#hashes === null ? REGISTERS : this.#hashes.size * 40);
  }

  add(value: unknown): void {
    if (value !== undefined) this.#addHash(hashOf(value));
  }

  #addHash(hash: number): void {
    if (this.#hashes === null) this.#note(hash);
    else if (this.#hashes.add(hash).size > HASHES_MAX) this.#toRegisters(this.#hashes);
  }

  #toRegisters(hashes: ReadonlySet<number>): void {
    this.#hashes = null;
    this.#registers = new Uint8Array(REGISTERS);
    for (const each of hashes) this.#note(each);
  }

  #note(hash: number): void {
    const left = (hash << REGISTER_BITS) >>> 0;
    this.#raise(hash >>> (32 - REGISTER_BITS), Math.min(Math.clz32(left) + 1, LEVEL_MAX) << 2);
  }

  /** @param with_ another state of this register: its level, then two bits. */
  #raise(register: number, with_: number): void {
    const is = this.#registers[register] as number;
    const [high, low] = is >>> 2 >= with_ >>> 2 ? [is, with_] : [with_, is];
    const levels = (low >>> 2 === 0 ? 0 : 4 | (low & 3)) >>> ((high >>> 2) - (low >>> 2));
    this.#registers[register] = high | (levels & 3);
  }

  merge(other: Distinct): void {
    if (other.#hashes !== null) {
      for (const hash of other.#hashes) this.#addHash(hash);
      return;
    }
    if (this.#hashes !== null) this.#toRegisters(this.#hashes);
    other.#registers.forEach((state, register) => {
      this.#raise(register, state);
    });
  }

  get count(): number {
    if (this.#hashes !== null) return this.#hashes.size;
    // In how many registers each level was; and how likely it was, where it was not.
    const seen = new Float64Array(LEVEL_MAX + 1);
    let missing = 0;
    for (const state of this.#registers) {
      const level = state >>> 2;
      missing += level === LEVEL_MAX ? 0 : 2 ** -level;
      if (level === 0) continue;
      seen[level] = (seen[level] as number) + 1;
      for (let below = 1; below <= Math.min(2, level - 1); below++) {
        if ((state & (4 >>> below)) !== 0) seen[level - below] = (seen[level - below] as number) + 1;
        else missing += shareOf(level - below);
      }
    }
    const hashes = REGISTERS * mostLikely(seen, missing);
    // Values of one hash count once.
    const all = 2 ** 32;
    return Math.round(-all * Math.log1p(-Math.min(hashes, all - 1) / all));
  }

  write(into: StateWriter): void {
    into.whole(this.#hashes === null ? HASHES_MAX + 1 : this.#hashes.size);
    if (this.#hashes === null) into.bytes(this.#registers);
    else into.bytes(new Uint8Array(Uint32Array.from(this.#hashes).sort().buffer));
  }

  static read(from: StateReader): Distinct {
    const distinct = new Distinct();
    const count = from.whole(HASHES_MAX + 1);
    if (count <= HASHES_MAX) {
      for (const hash of new Uint32Array(from.bytes(4 * count).slice().buffer)) distinct.#addHash(hash);
      return distinct;
    }
    distinct.#hashes = null;
    distinct.#registers = from.bytes(REGISTERS).map((state) => Math.min(state, (LEVEL_MAX << 2) | 3));
    return distinct;
  }
}

/** Of hashes in a register, those that have this level. */
function shareOf(level: number): number {
  return 2 ** -Math.min(level, LEVEL_MAX - 1);
}

/** How many hashes a register got most likely. @param seen registers, by level. */
function mostLikely(seen: Float64Array, missing: number): number {
  const slope = (each: number): number =>
    seen.reduce((sum, count, level) => {
      const share = shareOf(level);
      return count === 0 ? sum : sum + (count * share) / Math.expm1(each * share);
    }, -missing);
  let [low, high] = [2 ** -20, 2 ** 24];
  for (let i = 0; i < HALVINGS; i++) {
    const middle = Math.sqrt(low * high);
    if (slope(middle) > 0) low = middle;
    else high = middle;
  }
  return low;
}

/** MurmurHash3 of the units of a text, 32 bits. A number and its text differ. */
function hashOf(value: unknown): number {
  const text = typeof value === "string" ? value : `\u0000${typeof value === "object" ? JSON.stringify(value) : value}`;
  let hash = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = Math.imul(text.charCodeAt(i), 0xcc9e2d51);
    hash ^= Math.imul((unit << 15) | (unit >>> 17), 0x1b873593);
    hash = Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
