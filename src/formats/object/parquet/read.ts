import { concat, isEqual } from "../../../base/bytes.ts";
import type { Pieces } from "../../../base/streams.ts";
import { FOOTER_END_BYTES, PARQUET_MAGIC } from "./footer.ts";
import { decodeGroup, GROUP_MAX_BYTES } from "./group.ts";
import { GROUP_HEAD_BYTES, GROUP_MAGIC, readHead, readTable } from "./table.ts";

/**
 * The lines of a file of ours, group by group as it comes: what stands in front of each group is
 * enough to read it. One group is in memory.
 * @throws Error for what is no whole file of ours.
 */
export async function* parquetLines(file: Pieces): Pieces {
  const reader = new Reader(file);
  try {
    if (!isEqual(await reader.read(PARQUET_MAGIC.length), PARQUET_MAGIC)) throw new Error("no Parquet");
    for (;;) {
      const head = await reader.read(GROUP_HEAD_BYTES);
      if (!isEqual(head.subarray(0, GROUP_MAGIC.length), GROUP_MAGIC)) {
        await endOfFile(reader, head);
        return;
      }
      const { tableBytes, payloadBytes } = readHead(head);
      if (payloadBytes > GROUP_MAX_BYTES) throw new Error("a row group is too long");
      const table = readTable(await reader.read(tableBytes));
      yield* decodeGroup(table, await reader.read(payloadBytes));
    }
  } finally {
    file.return().catch(() => {});
  }
}

/** @param begun how what follows the last group begins. */
async function endOfFile(reader: Reader, begun: Uint8Array): Promise<void> {
  const { bytes, last } = await reader.rest(begun, FOOTER_END_BYTES);
  const view = new DataView(last.buffer, last.byteOffset, last.length);
  if (!isEqual(last.subarray(4), PARQUET_MAGIC) || view.getUint32(0, true) !== bytes - FOOTER_END_BYTES)
    throw new Error("a file without its end");
}

/** Reads pieces of any size as so many bytes. */
class Reader {
  readonly #pieces: Pieces;
  #piece = new Uint8Array() as Uint8Array;

  constructor(pieces: Pieces) {
    this.#pieces = pieces;
  }

  /** @throws Error if there are not so many. */
  async read(bytes: number): Promise<Uint8Array> {
    const whole = new Uint8Array(bytes);
    for (let at = 0; at < bytes; ) {
      if (!(await this.#fill())) throw new Error("a file breaks off");
      const part = this.#piece.subarray(0, bytes - at);
      whole.set(part, at);
      at += part.length;
      this.#piece = this.#piece.subarray(part.length);
    }
    return whole;
  }

  /** All that is left, which is not kept. @returns how long it is, and its last bytes. */
  async rest(begun: Uint8Array, lastBytes: number): Promise<{ bytes: number; last: Uint8Array }> {
    let bytes = begun.length;
    let last = begun.slice(-lastBytes);
    while (await this.#fill()) {
      last = concat([last, this.#piece.subarray(-lastBytes)]).slice(-lastBytes);
      bytes += this.#piece.length;
      this.#piece = new Uint8Array();
    }
    return { bytes, last };
  }

  async #fill(): Promise<boolean> {
    while (this.#piece.length === 0) {
      const next = await this.#pieces.next();
      if (next.done) return false;
      this.#piece = next.value;
    }
    return true;
  }
}
