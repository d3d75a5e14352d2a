import { pushVarint } from "./thrift.ts";

/**
 * Small numbers as runs: one run of equal values, or one of values packed into bits, the lowest
 * first. Parquet writes levels and places in a dictionary so.
 * https://parquet.apache.org/docs/file-format/data-pages/encodings/
 */
export function writeRuns(values: Uint8Array | Uint32Array, bits: number): Uint8Array<ArrayBuffer> {
  const head: number[] = [];
  const [first = 0] = values;
  if (values.every((value) => value === first)) {
    pushVarint(head, values.length * 2);
    for (let shift = 0; shift < bits; shift += 8) head.push((first >>> shift) & 0xff);
    return Uint8Array.from(head);
  }
  const groups = Math.ceil(values.length / 8);
  pushVarint(head, groups * 2 + 1);
  const runs = new Uint8Array(head.length + groups * bits);
  runs.set(head);
  let bit = head.length * 8;
  for (let i = 0; i < values.length; i++) {
    // Never longer than 24 bits with those before it.
    let rest = (values[i] as number) << (bit & 7);
    for (let at = bit >>> 3; rest > 0; at++, rest >>>= 8) runs[at] = (runs[at] as number) | (rest & 0xff);
    bit += bits;
  }
  return runs;
}

/** A number is read out of three bytes, at any bit of the first. */
const MAX_BITS = 17;

/** Reads what {@link writeRuns} wrote: one run. @throws Error for anything else. */
export function readRuns(bytes: Uint8Array, count: number, bits: number): Uint32Array {
  if (bits > MAX_BITS) throw new Error("numbers that are too large");
  const values = new Uint32Array(count);
  let head = 0;
  let at = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    if (byte === undefined || shift > 28) throw new Error("a run without a length");
    head |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  if ((head & 1) === 0) {
    let value = 0;
    for (let shift = 0; shift < bits; shift += 8) value |= (bytes[at++] ?? 0) << shift;
    if (head >>> 1 !== count) throw new Error("a run of another length");
    return values.fill(value);
  }
  if (head >>> 1 !== Math.ceil(count / 8) || bytes.length < at + (head >>> 1) * bits)
    throw new Error("a run of another length");
  const mask = 2 ** bits - 1;
  for (let i = 0, bit = at * 8; i < count; i++, bit += bits) {
    const byte = bit >>> 3;
    const [a = 0, b = 0, c = 0] = [bytes[byte], bytes[byte + 1], bytes[byte + 2]];
    values[i] = ((a | (b << 8) | (c << 16)) >>> (bit & 7)) & mask;
  }
  return values;
}

/** How many bits the largest of so many places takes: one at least, as some readers want. */
export function bitsOf(places: number): number {
  return Math.max(1, 32 - Math.clz32(places - 1));
}
