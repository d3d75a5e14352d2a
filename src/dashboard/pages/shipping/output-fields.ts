import { withDefaults } from "../../../job/output-rules.ts";
import { UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../../../limits.ts";
import type { Options } from "./body.ts";
import { escaped } from "./text.ts";

/** The options that are short texts, in the order in which they stand in an object. */
export const TEXTS = [
  { option: "batch_prefix", label: "Before the first record of an object", of: "batchPrefix" },
  { option: "record_prefix", label: "Before each record", of: "recordPrefix" },
  { option: "field_delimiter", label: "Between two fields", of: "fieldDelimiter" },
  { option: "record_suffix", label: "After each record", of: "recordSuffix" },
  { option: "record_delimiter", label: "Between two records", of: "recordDelimiter" },
  { option: "batch_suffix", label: "After the last record of an object", of: "batchSuffix" },
] as const;

export const LIMITS = [
  {
    key: "max_upload_interval_seconds",
    label: "How long a record waits at most, in seconds",
    bounds: UPLOAD_INTERVAL_S,
    what: "From its intake to the cut of its object. Longer means fewer and larger objects.",
  },
  {
    key: "max_upload_records",
    label: "Records of an object, at most",
    bounds: UPLOAD_RECORDS,
    what: "An object is cut when it has so many.",
  },
  {
    key: "max_upload_bytes",
    label: "Bytes of an object, at most",
    bounds: UPLOAD_BYTES,
    what: "Before compression.",
  },
] as const;

/** A text as its field shows it: where nothing was said, the default that the type of output has. */
export function shownText(options: Options, { option, of }: (typeof TEXTS)[number], type: string): string {
  const defaults = withDefaults({ output_type: type === "csv" ? "csv" : "ndjson" });
  return escaped(options[option] ?? defaults[of]);
}
