/** Fullest that a set gets: beyond, looking for a free slot takes longer than growing. */
const FULL = 0.5;

const SLOTS_MIN = 1_024;

/** Smaller sets grow to four times their slots, larger ones to twice: memory counts there. */
const FAST_GROWTH = 2 ** 17;

/**
 * A set of hashes, in two buffers: far cheaper than a `Set` of a hundred thousand numbers. Its
 * loops count: iterators take half as long again.
 */
export class HashSet {
  /** 0: free. */
  #slots: Int32Array;
  /** Those in it, as they came: looking through the slots takes longer. */
  #all: Int32Array<ArrayBuffer>;
  #size = 0;

  /** @param expected so many do not let it grow. More may come. */
  constructor(expected = 0) {
    let slots = SLOTS_MIN;
    while (slots * FULL <= expected) slots *= 2;
    this.#slots = new Int32Array(slots);
    this.#all = new Int32Array(slots * FULL);
  }

  get size(): number {
    return this.#size;
  }

  /** @param hashes 32 bits each, signed or not. @param count how many of them. */
  addAll(hashes: Int32Array | Uint32Array, count = hashes.length): void {
    let slots = this.#slots;
    let all = this.#all;
    let size = this.#size;
    for (let i = 0; i < count; i++) {
      const wanted = (hashes[i] as number) | 0 || 1;
      const mask = slots.length - 1;
      let at = wanted & mask;
      while (slots[at] !== 0 && slots[at] !== wanted) at = (at + 1) & mask;
      if (slots[at] === wanted) continue;
      slots[at] = wanted;
      all[size++] = wanted;
      if (size < all.length) continue;
      this.#grow();
      slots = this.#slots;
      all = this.#all;
    }
    this.#size = size;
  }

  /** All of them, in any order: sorting them takes as long as finding them. */
  all(): Uint32Array<ArrayBuffer> {
    return new Uint32Array(this.#all.buffer.slice(0, this.#size * Int32Array.BYTES_PER_ELEMENT));
  }

  /** It is full: all of {@link HashSet.#all} is in it. */
  #grow(): void {
    const old = this.#all;
    const slots = new Int32Array(this.#slots.length * (this.#slots.length < FAST_GROWTH ? 4 : 2));
    const mask = slots.length - 1;
    for (let i = 0; i < old.length; i++) {
      const hash = old[i] as number;
      let at = hash & mask;
      while (slots[at] !== 0) at = (at + 1) & mask;
      slots[at] = hash;
    }
    this.#slots = slots;
    this.#all = new Int32Array(slots.length * FULL);
    this.#all.set(old);
  }
}
