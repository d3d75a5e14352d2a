import { decodeStrict, utf8Length } from "../../base/bytes.ts";
import { ENTRY_MIN_BYTES, ROWS_MAX_BYTES } from "../../base/limits.ts";
import type { RecordLine } from "../record/line.ts";
import { leftOutRow, rowsOf } from "../record/rows.ts";
import { batchTexts, type OutputFormat } from "./format.ts";
import { type RecordWriter, recordRenderer, recordWriter } from "./render.ts";

/**
 * Renders a record as a job's format has it: as one, or as its rows. Compiled at its first use: a
 * reader of prepared fragments never renders.
 */
export class InvocationRenderer {
  readonly format: OutputFormat;
  #renderer: ((record: RecordLine) => string) | null = null;

  constructor(format: OutputFormat) {
    this.format = format;
  }

  get hasRows(): boolean {
    return this.format.rows === "log";
  }

  /** @throws Error as `recordLayout`. */
  get text(): (record: RecordLine) => string {
    this.#renderer ??= this.hasRows ? rowsRenderer(this.format) : recordRenderer(this.format);
    return this.#renderer;
  }

  /** Faster than `text`; null: the format needs that. */
  get writer(): RecordWriter | null {
    return this.hasRows ? null : recordWriter(this.format);
  }
}

/**
 * The most that the rows of an invocation take, in UTF-16 units.
 * @param own of its logs and exceptions, as JSON. @param row of a row without what is its own.
 * @param repeats how often a row writes a field at most.
 */
export function rowsUnitsAtMost(own: number, row: number, repeats = 1): number {
  const rows = 1 + own / ENTRY_MIN_BYTES;
  return Math.min(rows * row + repeats * own, ROWS_MAX_BYTES) + row + repeats * own;
}

/**
 * How an invocation becomes rows: each as a record of the format, with its delimiter between them.
 * The row that exceeds {@link ROWS_MAX_BYTES}, unless it is the first, becomes a small one with the
 * marker of truncated messages, and those after it are left out.
 * @param maxBytes a parameter only for tests.
 * @throws Error as `recordLayout`.
 */
export function rowsRenderer(format: OutputFormat, maxBytes = ROWS_MAX_BYTES): (record: RecordLine) => string {
  const render = recordRenderer(format);
  const delimiter = decodeStrict(batchTexts(format).delimiter);
  const between = utf8Length(delimiter);
  return (record) => {
    const texts: string[] = [];
    let bytes = 0;
    for (const row of rowsOf(record)) {
      const text = render(row);
      bytes += utf8Length(text) + between;
      if (texts.length > 0 && bytes > maxBytes) {
        texts.push(render(leftOutRow(record, row)));
        break;
      }
      texts.push(text);
    }
    return texts.join(delimiter);
  };
}
