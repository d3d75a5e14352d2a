import { encodeUtf8 } from "../../../base/bytes.ts";

/** Types of Thrift's compact protocol, as a field's header and a list's have them. */
export const THRIFT = { true: 1, false: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;

type ListType = (typeof THRIFT)["i32" | "binary" | "struct"];

/**
 * Writes Thrift's compact protocol: what Parquet's own structures are made of.
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */
export class ThriftWriter {
  readonly #bytes: number[] = [];
  /** Number of the field before, in the struct in hand: fields are numbered by their distance. */
  #last = 0;

  bool(id: number, value: boolean): void {
    this.#field(id, value ? THRIFT.true : THRIFT.false);
  }

  i32(id: number, value: number): void {
    this.#field(id, THRIFT.i32);
    this.#zigzag(value);
  }

  /** @param value a safe integer. */
  i64(id: number, value: number): void {
    this.#field(id, THRIFT.i64);
    this.#zigzag(value);
  }

  binary(id: number, value: Uint8Array | string): void {
    this.#field(id, THRIFT.binary);
    this.#chunk(value);
  }

  struct(id: number, write: () => void): void {
    this.#field(id, THRIFT.struct);
    this.#struct(write);
  }

  /** A union, one member of which is there, as a struct of no fields. */
  empty(id: number, member: number): void {
    this.struct(id, () => this.struct(member, () => {}));
  }

  i32s(id: number, values: readonly number[]): void {
    this.#list(id, THRIFT.i32, values.length);
    for (const value of values) this.#zigzag(value);
  }

  binaries(id: number, values: readonly string[]): void {
    this.#list(id, THRIFT.binary, values.length);
    for (const value of values) this.#chunk(value);
  }

  structs<T>(id: number, values: readonly T[], write: (value: T) => void): void {
    this.#list(id, THRIFT.struct, values.length);
    for (const value of values) this.#struct(() => write(value));
  }

  /** What was written, as the outermost struct. */
  finish(): Uint8Array<ArrayBuffer> {
    this.#bytes.push(0);
    return Uint8Array.from(this.#bytes);
  }

  #struct(write: () => void): void {
    const last = this.#last;
    this.#last = 0;
    write();
    this.#bytes.push(0);
    this.#last = last;
  }

  #field(id: number, type: number): void {
    // Those of one struct are written in order, and stand closer than sixteen.
    this.#bytes.push(((id - this.#last) << 4) | type);
    this.#last = id;
  }

  #list(id: number, type: ListType, count: number): void {
    this.#field(id, THRIFT.list);
    this.#bytes.push((Math.min(count, 15) << 4) | type);
    if (count >= 15) this.#varint(count);
  }

  #chunk(value: Uint8Array | string): void {
    const bytes = typeof value === "string" ? encodeUtf8(value) : value;
    this.#varint(bytes.length);
    for (const byte of bytes) this.#bytes.push(byte);
  }

  #zigzag(value: number): void {
    this.#varint(value >= 0 ? 2 * value : -2 * value - 1);
  }

  #varint(value: number): void {
    pushVarint(this.#bytes, value);
  }
}

/** Seven bits a byte, the lowest first. @param value an integer from 0 to 2^53. */
export function pushVarint(into: number[], value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) into.push((rest % 0x80) | 0x80);
  into.push(rest);
}
