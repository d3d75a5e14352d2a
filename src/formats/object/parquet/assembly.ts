import { concat } from "../../../base/bytes.ts";
import type { Assembly, Content, Part } from "../encoder.ts";
import { joinContents } from "../gzip.ts";
import type { Column } from "./columns.ts";
import { footer, PARQUET_MAGIC, type Placed } from "./footer.ts";
import { GROUP_HEAD_BYTES, readHead, readTable } from "./table.ts";

const NOTHING: Content = { rawBytes: 0, crc: 0 };

/**
 * A file of groups. Of each it keeps the table, about a kilobyte, and of none the bytes: these are
 * passed over, in whichever pieces they come.
 */
export class ParquetFile implements Assembly {
  readonly head: Part = { bytes: PARQUET_MAGIC.slice(), content: NOTHING };
  readonly #columns: readonly Column[];
  readonly #note: string;
  readonly #groups: Placed[] = [];
  readonly #contents: Content[] = [];
  #at = PARQUET_MAGIC.length;
  /** The beginning of a group, up to the end of its table, as far as it has come. */
  #begun: Uint8Array[] = [];
  #begunBytes = 0;
  /** Bytes of the group in hand that are still to come, and are passed over. */
  #left = 0;

  /** @param note as for {@link footer}. */
  constructor(columns: readonly Column[], note = "") {
    this.#columns = columns;
    this.#note = note;
  }

  add(body: Uint8Array, content: Content): void {
    this.#contents.push(content);
    let from = 0;
    while (from < body.length) {
      if (this.#left > 0) {
        const passed = Math.min(this.#left, body.length - from);
        this.#left -= passed;
        this.#at += passed;
        from += passed;
        continue;
      }
      const wanted = this.#wanted();
      const part = body.slice(from, from + wanted - this.#begunBytes);
      this.#begun.push(part);
      this.#begunBytes += part.length;
      from += part.length;
      this.#at += part.length;
      if (this.#begunBytes === wanted && wanted > GROUP_HEAD_BYTES) this.#endTable();
    }
  }

  /** How many bytes the beginning of the group has. */
  #wanted(): number {
    if (this.#begunBytes < GROUP_HEAD_BYTES) return GROUP_HEAD_BYTES;
    if (this.#begun.length > 1) this.#begun = [concat(this.#begun)];
    return GROUP_HEAD_BYTES + readHead(this.#begun[0] as Uint8Array).tableBytes;
  }

  #endTable(): void {
    const begun = concat(this.#begun);
    const { tableBytes, payloadBytes } = readHead(begun);
    const table = readTable(begun.subarray(GROUP_HEAD_BYTES));
    const isOfFile =
      table.columns.length === this.#columns.length && table.columns.every(({ id }, i) => this.#columns[i]?.id === id);
    if (!isOfFile) throw new Error("a row group has other columns than its file");
    this.#groups.push({ at: this.#at - begun.length, tableBytes, table });
    this.#left = payloadBytes;
    this.#begun = [];
    this.#begunBytes = 0;
  }

  end(): Part {
    if (this.#left > 0 || this.#begunBytes > 0) throw new Error("a row group is not whole");
    return { bytes: footer(this.#columns, this.#groups, this.#note), content: joinContents(this.#contents) };
  }
}
