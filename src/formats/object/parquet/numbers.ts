import { type Chunk, type ChunkSizes, ENCODING, NO_PAGE, page, unpacked } from "./chunk.ts";

/** @param values safe integers. */
export function intChunk(values: Float64Array): Chunk {
  const raw = new Uint8Array(values.length * 8);
  const view = new DataView(raw.buffer);
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    setInt64(view, i * 8, value);
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return {
    ...page([], raw, values.length, ENCODING.plain),
    ...{ entries: 0, dictionary: NO_PAGE },
    ...(values.length > 0 && { range: { min: int64(min), max: int64(max) } }),
  };
}

/** Flags, eight a byte, the first in the lowest bit. */
export function boolChunk(values: readonly boolean[]): Chunk {
  const raw = new Uint8Array(Math.ceil(values.length / 8));
  for (const [i, value] of values.entries()) if (value) raw[i >>> 3] = (raw[i >>> 3] as number) | (1 << (i & 7));
  const [min, max] = [values.every(Boolean), values.some(Boolean)];
  return {
    ...page([], raw, values.length, ENCODING.plain),
    ...{ entries: 0, dictionary: NO_PAGE },
    ...(values.length > 0 && { range: { min: Uint8Array.of(Number(min)), max: Uint8Array.of(Number(max)) } }),
  };
}

/** Reads what {@link intChunk} wrote. @throws Error for anything else. */
export function readInts(chunk: Uint8Array, { data, values }: ChunkSizes): (i: number) => number {
  const raw = unpacked(chunk, 0, data);
  if (raw.length !== values * 8) throw new Error("a page of another length");
  const view = new DataView(raw.buffer, raw.byteOffset, raw.length);
  return (i) => view.getInt32(i * 8 + 4, true) * 2 ** 32 + view.getUint32(i * 8, true);
}

/** Reads what {@link boolChunk} wrote. @throws Error for anything else. */
export function readBools(chunk: Uint8Array, { data, values }: ChunkSizes): (i: number) => boolean {
  const raw = unpacked(chunk, 0, data);
  if (raw.length !== Math.ceil(values / 8)) throw new Error("a page of another length");
  return (i) => (((raw[i >>> 3] as number) >>> (i & 7)) & 1) === 1;
}

function int64(value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  setInt64(new DataView(bytes.buffer), 0, value);
  return bytes;
}

function setInt64(view: DataView, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  view.setUint32(at, value - high * 2 ** 32, true);
  view.setInt32(at + 4, high, true);
}
