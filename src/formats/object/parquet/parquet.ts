import { concat, encodeUtf8, isEqual, utf8Length } from "../../../base/bytes.ts";
import { PARQUET_FRAGMENT } from "../../../base/limits.ts";
import { contentType, NDJSON, type OutputFormat } from "../../output/format.ts";
import { InvocationRenderer, rowsUnitsAtMost } from "../../output/rows.ts";
import { FIELD_NAMES, isTakenField } from "../../record/fields.ts";
import type { RecordLine } from "../../record/line.ts";
import { utcDay } from "../../record/record.ts";
import { SOURCE_MAX_UNITS } from "../../record/source.ts";
import type { Assembly, Encoder, EncoderKind, Gatherer } from "../encoder.ts";
import { FragmentBuilder } from "../fragment.ts";
import { contentOf } from "../gzip.ts";
import { ParquetFile } from "./assembly.ts";
import { type Column, columnsOf } from "./columns.ts";
import { decodeGroup, encodeGroup } from "./group.ts";
import { parquetLines } from "./read.ts";
import { GROUP_HEAD_BYTES, readHead, readTable } from "./table.ts";

/**
 * Parquet: typed columns, of which a reader takes those that it needs. A finished fragment is a row
 * group behind a table of what is in it (table.ts), so an object is its fragments as they are and a
 * footer made of their tables. What waits raw, and what an object is decoded to, are the lines that
 * a job of NDJSON with the same fields and rows ships: docs/objects.md.
 */
export const parquet: EncoderKind = {
  types: ["parquet"],
  suffix: ".parquet",
  canarySuffix: ".parquet.canary",
  fileType: "application/vnd.apache.parquet",
  fileName: "Parquet file",
  linesType: () => NDJSON_TYPE,
  decode: parquetLines,
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

  unitsAtMost(lineUnits: number, record: RecordLine): number {
    const units = this.#addedUnits + lineUnits + (this.#hasExtra ? record.extra.length : 0);
    if (!this.hasRows) return units;
    const own = record.exceptionsAndLogsLength;
    return rowsUnitsAtMost(own, units - own);
  }

  storedAtMost(finishedBytes: number, rawBytes: number): number {
    // A footer is less than a tenth of its groups; of odd records, the lines are kept as well.
    return Math.ceil(finishedBytes * 1.1 + rawBytes * 2) + 20_000;
  }

  gather(partOf?: (record: RecordLine) => string, isSketched = false): Gatherer {
    const builder = new FragmentBuilder(NOTHING, isSketched, this);
    const render = this.text;
    return {
      add: (record, takenInMs) => {
        const text = render(record);
        const { EventTimestampMs: timeMs } = record;
        builder.add(text, utf8Length(text), utcDay(timeMs), timeMs, takenInMs, partOf?.(record));
      },
      finish: () => builder.finish(),
    };
  }

  finish(raw: Uint8Array): Uint8Array<ArrayBuffer> {
    return encodeGroup(raw, this.#columns, this.hasRows);
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
