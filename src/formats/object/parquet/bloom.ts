import { concat } from "../../../base/bytes.ts";
import { ThriftWriter } from "./thrift.ts";

/** Bytes of one block of a filter: eight words of 32 bits, one bit of each for a value. */
const BLOCK_BYTES = 32;

/** Bytes of a filter for each value: one value in 400 that is not there seems to be. */
const BYTES_A_VALUE = 1.5;

/** An odd factor for each word of a block, as the specification has them. */
const SALTS = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31] as const;

/**
 * A split-block Bloom filter with its header, by which readers pass over groups that do not have a
 * value. @returns no bytes for no values.
 * @see https://parquet.apache.org/docs/file-format/bloomfilter/
 */
export function bloomFilter(values: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  if (values.length === 0) return new Uint8Array();
  let blocks = 1;
  // Some readers take powers of two alone.
  while (blocks * BLOCK_BYTES < values.length * BYTES_A_VALUE) blocks *= 2;
  const words = new Uint32Array((blocks * BLOCK_BYTES) / 4);
  for (const value of values) {
    const [first, second] = xxHash64(value);
    const block = Math.floor((first * blocks) / 2 ** 32) * 8;
    for (let i = 0; i < SALTS.length; i++) {
      const bit = Math.imul(second, SALTS[i] as number) >>> 27;
      words[block + i] = (words[block + i] as number) | (1 << bit);
    }
  }
  const head = new ThriftWriter();
  head.i32(1, words.byteLength);
  head.empty(2, 1); // blocks
  head.empty(3, 1); // XXH64
  head.empty(4, 1); // not compressed
  return concat([head.finish(), new Uint8Array(words.buffer)]);
}

/** The result of the last step in 64 bits, in halves: a pair for each would be garbage. */
let high = 0;
let low = 0;

/** Halves of the primes 1 to 5. */
const HIGH = [0x9e3779b1, 0xc2b2ae3d, 0x165667b1, 0x85ebca77, 0x27d4eb2f] as const;
const LOW = [0x85ebca87, 0x27d4eb4f, 0x9e3779f9, 0xc2b2ae63, 0x165667c5] as const;

/**
 * XXH64 with seed 0. In halves of 32 bits: big integers take twenty times as long.
 * @returns unsigned halves.
 * @see https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
 */
export function xxHash64(bytes: Uint8Array): [high: number, low: number] {
  const { length } = bytes;
  let at = 0;
  if (length >= 32) at = hashStripes(bytes);
  else {
    high = HIGH[4];
    low = LOW[4];
  }
  add(0, length);
  for (; at + 8 <= length; at += 8) {
    const [h, l] = [high, low];
    mixWord(0, 0, bytes, at);
    xor(h, l);
    rotate(27);
    multiply(0);
    add(HIGH[3], LOW[3]);
  }
  if (at + 4 <= length) {
    const [h, l] = [high, low];
    high = 0;
    low = wordAt(bytes, at);
    multiply(0);
    xor(h, l);
    rotate(23);
    multiply(1);
    add(HIGH[2], LOW[2]);
    at += 4;
  }
  for (; at < length; at++) {
    const [h, l] = [high, low];
    high = 0;
    low = bytes[at] as number;
    multiply(4);
    xor(h, l);
    rotate(11);
    multiply(0);
  }
  xor(0, high >>> 1);
  multiply(1);
  xor(high >>> 29, (low >>> 29) | (high << 3));
  multiply(2);
  xor(0, high);
  return [high >>> 0, low >>> 0];
}

/** Whole stripes of 32 bytes, in four lanes. @returns how many bytes these are. */
function hashStripes(bytes: Uint8Array): number {
  const lanes = [lane(0, 1), [HIGH[1], LOW[1]], [0, 0], lane(null, 0)] as [number, number][];
  let at = 0;
  for (; at + 32 <= bytes.length; at += 32)
    for (let i = 0; i < 4; i++) {
      const [h, l] = lanes[i] as [number, number];
      mixWord(h, l, bytes, at + 8 * i);
      lanes[i] = [high, low];
    }
  let sum: [number, number] = [0, 0];
  for (const [i, by] of [1, 7, 12, 18].entries()) {
    [high, low] = lanes[i] as [number, number];
    rotate(by);
    add(...sum);
    sum = [high, low];
  }
  for (const [h, l] of lanes) {
    [high, low] = [h, l];
    multiply(1);
    rotate(31);
    multiply(0);
    xor(...sum);
    multiply(0);
    add(HIGH[3], LOW[3]);
    sum = [high, low];
  }
  return at;
}

/** The sum of two primes, or the negative of one. */
function lane(a: number | null, b: number): [number, number] {
  if (a === null) {
    high = ~(HIGH[b] as number);
    low = ~(LOW[b] as number);
    add(0, 1);
  } else {
    high = HIGH[a] as number;
    low = LOW[a] as number;
    add(HIGH[b] as number, LOW[b] as number);
  }
  return [high, low];
}

/** A lane, after eight more bytes. */
function mixWord(h: number, l: number, bytes: Uint8Array, at: number): void {
  high = wordAt(bytes, at + 4);
  low = wordAt(bytes, at);
  multiply(1);
  add(h, l);
  rotate(31);
  multiply(0);
}

function wordAt(bytes: Uint8Array, at: number): number {
  const [a, b, c, d] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]] as [number, number, number, number];
  return a | (b << 8) | (c << 16) | (d << 24);
}

function xor(h: number, l: number): void {
  high ^= h;
  low ^= l;
}

function add(h: number, l: number): void {
  const sum = (low >>> 0) + (l >>> 0);
  high = (high + h + (sum > 0xffffffff ? 1 : 0)) | 0;
  low = sum | 0;
}

/** @param by from 1 to 31. */
function rotate(by: number): void {
  const h = (high << by) | (low >>> (32 - by));
  low = (low << by) | (high >>> (32 - by));
  high = h;
}

/** @param prime from 0. */
function multiply(prime: number): void {
  const [h, l] = [HIGH[prime] as number, LOW[prime] as number];
  const [a0, a1, b0, b1] = [low & 0xffff, low >>> 16, l & 0xffff, l >>> 16];
  const middle = a1 * b0 + ((a0 * b0) >>> 16);
  const upper = a0 * b1 + (middle % 0x10000);
  const carried = a1 * b1 + Math.floor(middle / 0x10000) + Math.floor(upper / 0x10000);
  high = (Math.imul(high, l) + Math.imul(low, h) + carried) | 0;
  low = Math.imul(low, l);
}
