/** So many bits are written at once at most, beside seven that wait. */
const MOST_BITS = 16;

/**
 * Ascending numbers by their differences, in Rice's code (Rice, 1979): a difference is its quotient
 * by 2^k in ones and a zero, then k bits. The first byte is k; ones fill the last.
 */
export function packed(ascending: Uint32Array): Uint8Array<ArrayBuffer> {
  const last = ascending.at(-1) ?? 0;
  const k = Math.max(0, Math.min(MOST_BITS, Math.round(Math.log2((last * Math.LN2) / Math.max(1, ascending.length)))));
  const quotients = Math.floor(last / 2 ** k);
  const bytes = new Uint8Array(8 + Math.ceil((ascending.length * (k + 1) + quotients) / 8));
  bytes[0] = k;
  const low = 2 ** k - 1;
  let at = 1;
  let held = 0;
  let bits = 0;
  let before = 0;
  for (let i = 0; i < ascending.length; i++) {
    const number = ascending[i] as number;
    const gap = number - before;
    before = number;
    let ones = gap >>> k;
    for (; ones >= MOST_BITS; ones -= MOST_BITS) {
      held |= 0xffff << bits;
      for (bits += MOST_BITS; bits >= 8; bits -= 8, held >>>= 8) bytes[at++] = held;
    }
    held |= ((1 << ones) - 1) << bits;
    for (bits += ones + 1; bits >= 8; bits -= 8, held >>>= 8) bytes[at++] = held;
    held |= (gap & low) << bits;
    for (bits += k; bits >= 8; bits -= 8, held >>>= 8) bytes[at++] = held;
  }
  if (bits > 0) bytes[at++] = held | (0xff << bits);
  return bytes.slice(0, at);
}

/** Which of the packed numbers are at least `from`, and below `to`. */
export function numbersIn(bytes: Uint8Array, from: number, to: number): number[] {
  const found: number[] = [];
  const k = bytes[0] ?? 0;
  const low = 2 ** k - 1;
  let at = 1;
  let held = 0;
  let bits = 0;
  let number = 0;
  for (;;) {
    for (let isEnd = false; !isEnd; ) {
      for (; bits < 24 && at < bytes.length; bits += 8) held |= (bytes[at++] as number) << bits;
      const zero = ~held & -~held;
      const ones = Math.min(bits, 31 - Math.clz32(zero));
      number += ones * 2 ** k;
      isEnd = ones < bits;
      if (!isEnd && at === bytes.length) return found;
      held = isEnd ? held >>> (ones + 1) : 0;
      bits -= isEnd ? ones + 1 : ones;
    }
    for (; bits < 24 && at < bytes.length; bits += 8) held |= (bytes[at++] as number) << bits;
    number += held & low;
    held >>>= k;
    bits -= k;
    if (number >= to) return found;
    if (number >= from) found.push(number);
  }
}
