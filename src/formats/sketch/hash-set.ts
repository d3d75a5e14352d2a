/** Fullest that a set gets: beyond, looking for a free slot takes longer than growing. */
const FULL = 0.5;

/** Smaller sets grow to four times their slots, larger ones to twice: memory counts there. */
const FAST_GROWTH = 2 ** 17;

/**
 * A set of hashes, in one buffer: far cheaper than a `Set` of a hundred thousand numbers. Its
 * loops count: iterators take half as long again.
 */
export class HashSet {
  /** 0: free. */
  #slots = new Int32Array(1_024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @param hash 32 bits, signed or not. */
  add(hash: number): void {
    const wanted = hash | 0 || 1;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = wanted & mask;
    for (let there = slots[at]; there !== 0; there = slots[at]) {
      if (there === wanted) return;
      at = (at + 1) & mask;
    }
    slots[at] = wanted;
    this.#size += 1;
    if (this.#size > slots.length * FULL) this.#grow();
  }

  /** @param count how many of them. */
  addAll(hashes: Int32Array | Uint32Array, count = hashes.length): void {
    for (let i = 0; i < count; i++) this.add(hashes[i] as number);
  }

  /** All of them, in any order: sorting them takes as long as finding them. */
  all(): Uint32Array<ArrayBuffer> {
    const all = new Uint32Array(this.#size);
    let count = 0;
    const slots = this.#slots;
    for (let i = 0; i < slots.length; i++) if (slots[i] !== 0) all[count++] = slots[i] as number;
    return all;
  }

  #grow(): void {
    const old = this.#slots;
    const slots = new Int32Array(old.length * (old.length < FAST_GROWTH ? 4 : 2));
    const mask = slots.length - 1;
    for (let i = 0; i < old.length; i++) {
      const hash = old[i] as number;
      if (hash === 0) continue;
      let at = hash & mask;
      while (slots[at] !== 0) at = (at + 1) & mask;
      slots[at] = hash;
    }
    this.#slots = slots;
  }
}
