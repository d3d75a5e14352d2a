import { createHash } from "node:crypto";

/**
 * A set of paths in 16 bytes each: their hashes, with a salt that is not known before, so that no
 * file can be named to have the hash of another one.
 */
export class Fingerprints {
  readonly #salt: Uint8Array;
  /** Pairs; 0, 0: free. */
  #slots = new Uint32Array(2 * 1_024);
  #size = 0;

  constructor(salt: Uint8Array) {
    this.#salt = salt;
  }

  add(path: string): void {
    const [high, low] = this.#hash(path);
    if (this.#put(high, low)) this.#size += 1;
    if (this.#size * 4 > this.#slots.length) this.#grow();
  }

  has(path: string): boolean {
    const [high, low] = this.#hash(path);
    const at = this.#find(high, low);
    return this.#slots[at] === high && this.#slots[at + 1] === low;
  }

  #hash(path: string): [number, number] {
    const hash = createHash("sha256").update(this.#salt).update(path).digest("hex");
    return [Number.parseInt(hash.slice(0, 8), 16) || 1, Number.parseInt(hash.slice(8, 16), 16)];
  }

  /** Where it is, or would be. */
  #find(high: number, low: number): number {
    const mask = this.#slots.length / 2 - 1;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const there = this.#slots[2 * slot];
      if (there === 0 || (there === high && this.#slots[2 * slot + 1] === low)) return 2 * slot;
    }
  }

  #put(high: number, low: number): boolean {
    const at = this.#find(high, low);
    if (this.#slots[at] !== 0) return false;
    this.#slots[at] = high;
    this.#slots[at + 1] = low;
    return true;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(2 * old.length);
    for (let at = 0; at < old.length; at += 2) if (old[at] !== 0) this.#put(old[at] as number, old[at + 1] as number);
  }
}
