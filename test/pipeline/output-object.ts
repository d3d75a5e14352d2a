/** Whole objects for tests: what a reader gets after decompression. */
import { concat } from "../../src/bytes.ts";
import { FragmentBuilder } from "../../src/pipeline/fragment.ts";
import { type FieldTexts, recordEncoder } from "../../src/pipeline/output.ts";
import { batchTexts, NDJSON, type OutputFormat } from "../../src/pipeline/output-format.ts";
import { jsonText } from "../../src/record/encode.ts";
import type { TraceRecord } from "../../src/record/fields.ts";

/** A record as the JSON of its fields. @param line as the encoder may be given it, too. */
function textsOf(record: object, line?: string): FieldTexts {
  const values = new Map(Object.entries(record));
  return {
    text: (name) => (values.has(name) ? jsonText(values.get(name)) : undefined),
    ...(line !== undefined && { line }),
  };
}

/** A job's encoder, for records as values. */
export function encoderOf(output: OutputFormat): (record: object, line?: string) => string {
  const encode = recordEncoder(output);
  return (record, line) => encode(textsOf(record, line));
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
    for (const record of group) builder.add(encode(record), 0, 0, 0);
    for (const { body, deflated } of builder.finish()) {
      if (deflated) throw new Error("too much for one raw fragment");
      if (parts.length > 1) parts.push(delimiter);
      parts.push(body);
    }
  }
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(concat([...parts, suffix]));
}
