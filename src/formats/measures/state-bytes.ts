/** The longest state that is read, in bytes: more than any that is written. */
const STATE_MAX_BYTES = 65_536;

const MORE = 0x80;

/** Numbers as bytes. Nothing here needs the runtime: a page and a terminal read states as well. */
export class StateWriter {
  readonly #bytes: number[] = [];

  /** A whole number, 0 to 2^53 − 1: seven bits a byte, the lowest first. */
  whole(value: number): void {
    let left = value;
    for (; left >= MORE; left = Math.floor(left / MORE)) this.#bytes.push((left % MORE) | MORE);
    this.#bytes.push(left);
  }

  /** Any number, to the bit. */
  double(value: number): void {
    this.bytes(new Uint8Array(Float64Array.of(value).buffer));
  }

  bytes(bytes: Uint8Array): void {
    for (const byte of bytes) this.#bytes.push(byte);
  }

  /** In base64. */
  text(): string {
    let text = "";
    for (const byte of this.#bytes) text += String.fromCharCode(byte);
    return btoa(text);
  }
}

/** Reads what {@link StateWriter} wrote. Each method throws an Error where there is no such. */
export class StateReader {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(text: string) {
    if (text.length > STATE_MAX_BYTES * (4 / 3)) throw new Error("a state that is too long");
    this.#bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  }

  /** @param most it is no more than this. */
  whole(most = Number.MAX_SAFE_INTEGER): number {
    let value = 0;
    for (let unit = 1; unit <= Number.MAX_SAFE_INTEGER; unit *= MORE) {
      const [byte] = this.bytes(1) as unknown as [number];
      value += (byte % MORE) * unit;
      if (byte >= MORE) continue;
      if (value > most) break;
      return value;
    }
    throw new Error("a state with a number that is too large");
  }

  /** A finite one. */
  double(): number {
    const [value] = new Float64Array(this.bytes(8).slice().buffer) as unknown as [number];
    if (!Number.isFinite(value)) throw new Error("a state with a number that is none");
    return value;
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    const from = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw new Error("a state breaks off");
    return this.#bytes.subarray(from, this.#at);
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new Error("a state goes on");
  }
}
