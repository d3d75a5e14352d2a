/** Whole objects for tests: what a reader gets after decompression. */
import { concat } from "../../../src/base/bytes.ts";
import { FragmentBuilder } from "../../../src/formats/object/fragment.ts";
import { batchTexts, NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { type FieldTexts, recordRenderer } from "../../../src/formats/output/render.ts";
import { jsonText } from "../../../src/formats/record/encode.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";

/** A record as the JSON of its fields. */
function textsOf(record: object): FieldTexts {
  const values = new Map(Object.entries(record));
  return { text: (name) => (values.has(name) ? jsonText(values.get(name)) : undefined) };
}

/**
 * A job's encoder, for records as values. @param line the record's own, to be read instead of it.
 */
export function encoderOf(output: OutputFormat): (record: object, line?: string) => string {
  const encode = recordRenderer(output);
  return (record, line) => encode(line === undefined ? textsOf(record) : (RecordLine.read(line) ?? textsOf(record)));
}

export function format(fields: Partial<OutputFormat>): OutputFormat {
  return { ...NDJSON, ...fields };
}

/** An object of these records, each group of which came in an append of its own. */
export function objectText(output: OutputFormat, groups: readonly (readonly TraceRecord[])[]): string {
  const encode = encoderOf(output);
  const { prefix, delimiter, suffix } = batchTexts(output);
  const parts: Uint8Array[] = [prefix];
  for (const group of groups) {
    const builder = new FragmentBuilder(delimiter);
    for (const text of group.map((record) => encode(record))) builder.add(text, 0, 0, 0);
    for (const { body, deflated } of builder.finish()) {
      if (deflated) throw new Error("too much for one raw fragment");
      if (parts.length > 1) parts.push(delimiter);
      parts.push(body);
    }
  }
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(concat([...parts, suffix]));
}
