import { concat, encodeUtf8, isEqual } from "../../../base/bytes.ts";
import { PARQUET_FRAGMENT } from "../../../base/limits.ts";
import type { Pieces } from "../../../base/streams.ts";
import { contentType, NDJSON, type OutputFormat, writtenFields } from "../../output/format.ts";
import { InvocationRenderer, rowsUnitsAtMost } from "../../output/rows.ts";
import { FIELD_NAMES, isTakenField } from "../../record/fields.ts";
import type { RecordLine } from "../../record/line.ts";
import { SOURCE_MAX_UNITS } from "../../record/source.ts";
import type { Assembly, Content, Encoder, EncoderKind, Gatherer, Part } from "../encoder.ts";
import { FragmentBuilder, gathererOf } from "../fragment.ts";
import { contentOf, joinContents } from "../gzip.ts";
import { type Column, columnsOf } from "./columns.ts";
import { FOOTER_END_BYTES, footer, PARQUET_MAGIC, type Placed, requireEnd } from "./footer.ts";
import { encodeGroup } from "./group.ts";
import { partLines } from "./parts.ts";
import { decodeGroup, GROUP_MAX_BYTES } from "./read-group.ts";
import { GROUP_HEAD_BYTES, GROUP_MAGIC, namesIn, readHead, readTable } from "./table.ts";

/**
 * Parquet: typed columns, of which a reader takes those that it needs. A finished fragment is a row
 * group behind a table of what is in it (table.ts), so an object is its fragments as they are and a
 * footer made of their tables. hyparquet-writer writes pages and footers; ours is that groups are
 * finished one by one, and read from the beginning without a footer. What waits raw, and what an
 * object is decoded to, are the lines that a job of NDJSON with the same fields and rows ships:
 * docs/output.md.
 */
export const parquet: EncoderKind = {
  types: ["parquet"],
  suffix: ".parquet",
  canarySuffix: ".parquet.canary",
  fileType: "application/vnd.apache.parquet",
  fileName: "Parquet file",
  linesType: () => NDJSON_TYPE,
  decode: parquetLines,
  decodeParts: partLines,
  open: (output) => new Parquet(output),
};

const NDJSON_TYPE = contentType(NDJSON);

const NOTHING = new Uint8Array();

class Parquet extends InvocationRenderer implements Encoder {
  readonly kind = parquet;
  readonly contentType: string;
  readonly aroundBytes = 0;
  readonly seam = { finished: NOTHING, raw: NOTHING, content: { rawBytes: 0, crc: 0 } };
  readonly sizes = PARQUET_FRAGMENT;
  readonly #columns: readonly Column[];
  /** What a line has beside the canonical one and extra fields, in UTF-16 units. */
  readonly #addedUnits: number;
  readonly #hasExtra: boolean;

  constructor(output: OutputFormat) {
    const { fieldNames, rows } = output;
    super({ ...NDJSON, fieldNames, ...(rows !== undefined && { rows }) });
    this.contentType = contentType(output);
    this.#columns = columnsOf(output);
    const names = this.#columns.filter(({ kind }) => kind !== "ray").map(({ name }) => name);
    this.#hasExtra = names.some(isTakenField);
    // Braces and a line feed; and what is not in the canonical line.
    this.#addedUnits = names.reduce((sum, name) => sum + unitsBeside(name), 3);
  }

  unitsAtMost(record: RecordLine): number {
    const units = this.#addedUnits + record.bytes + (this.#hasExtra ? record.extra.length : 0);
    if (!this.hasRows) return units;
    const own = record.exceptionsAndLogsLength;
    return rowsUnitsAtMost(own, units - own);
  }

  storedAtMost(finishedBytes: number, rawBytes: number): number {
    // A footer is a quarter of its groups at most; of odd records, the lines are kept as well.
    return Math.ceil(finishedBytes * 1.3 + rawBytes * 2) + 20_000;
  }

  gather(partOf?: (record: RecordLine) => string, isSketched = false): Gatherer {
    const builder = new FragmentBuilder(NOTHING, isSketched, this, writtenFields(this.format));
    return gathererOf(builder, this, partOf);
  }

  finish(raw: Uint8Array): Uint8Array<ArrayBuffer> {
    return encodeGroup(raw, this.#columns);
  }

  assemble(): Assembly {
    return new ParquetFile(this.#columns);
  }

  single(record: RecordLine, variant: number): Uint8Array<ArrayBuffer> {
    const raw = encodeUtf8(this.text(record));
    const group = this.finish(raw);
    if (!isEqual(linesOf(group), raw)) throw new Error("an object does not read as it was written");
    const file = new ParquetFile(this.#columns, String(variant));
    file.add(group, contentOf(raw));
    const { bytes: tail } = file.end();
    return concat([file.head.bytes, group, tail]);
  }
}

const CANONICAL: ReadonlySet<string> = new Set(FIELD_NAMES);

/** Longest value that a record makes of nothing: `exception`, in quotes. */
const MADE_UNITS = 11;

/** What a field adds to the canonical line and to the extra fields, in UTF-16 units. */
function unitsBeside(name: Column["name"]): number {
  if (CANONICAL.has(name)) return 0;
  return `,"${name}":`.length + (name === "Source" ? SOURCE_MAX_UNITS : MADE_UNITS);
}

/** The lines of one group. */
function linesOf(group: Uint8Array): Uint8Array {
  const payload = GROUP_HEAD_BYTES + readHead(group).tableBytes;
  const table = readTable(group.subarray(GROUP_HEAD_BYTES, payload));
  return concat([...decodeGroup(table, group.subarray(payload))]);
}

const NO_CONTENT: Content = { rawBytes: 0, crc: 0 };

/**
 * A file of groups. Of each it keeps the table, about a kilobyte, and of none the bytes: these are
 * passed over, in whichever pieces they come.
 */
class ParquetFile implements Assembly {
  readonly head: Part = { bytes: PARQUET_MAGIC.slice(), content: NO_CONTENT };
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
    const { payloadBytes } = readHead(begun);
    const { group } = readTable(begun.subarray(GROUP_HEAD_BYTES));
    if (group !== undefined) {
      if (namesIn(group).join() !== this.#columns.map(({ name }) => name).join())
        throw new Error("a row group has other columns than its file");
      this.#groups.push({ at: this.#at - PARQUET_MAGIC.length, group });
    }
    this.#left = payloadBytes;
    this.#begun = [];
    this.#begunBytes = 0;
  }

  end(): Part {
    if (this.#left > 0 || this.#begunBytes > 0) throw new Error("a row group is not whole");
    return { bytes: footer(this.#columns, this.#groups, this.#note), content: joinContents(this.#contents) };
  }
}

/**
 * The lines of a file of ours, group by group as it comes: what stands in front of each group is
 * enough to read it. One group is in memory.
 * @param fields as of {@link decodeGroup}.
 * @throws Error for what is no whole file of ours.
 */
export async function* parquetLines(file: Pieces, fields: ReadonlySet<string> | null = null): Pieces {
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
      yield* decodeGroup(table, await reader.read(payloadBytes), fields);
    }
  } finally {
    file.return().catch(() => {});
  }
}

/** @param begun how what follows the last group begins. */
async function endOfFile(reader: Reader, begun: Uint8Array): Promise<void> {
  const { bytes, last } = await reader.rest(begun, FOOTER_END_BYTES);
  requireEnd(last, bytes);
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
