import { encodeUtf8 } from "../bytes.ts";
import type { FieldName } from "../record/fields.ts";

/** How a job's records are written: `output_options` (or `logpull_options`) read, checked, and with every default filled in. */
export interface OutputFormat {
  /** In this order; null: all fields in canonical order. */
  fieldNames: FieldName[] | null;
  type: "ndjson" | "csv";
  batchPrefix: string;
  batchSuffix: string;
  recordPrefix: string;
  recordSuffix: string;
  /** Between two records, wherever they come from. */
  recordDelimiter: string;
  fieldDelimiter: string;
  /** Replaces the joined fields between record prefix and suffix; "": none. */
  recordTemplate: string;
  /** `CVE-2021-44228`: every `${` becomes `x{`. */
  escapeDollarBrace: boolean;
}

/** What a job without options writes. */
export const NDJSON: OutputFormat = {
  fieldNames: null,
  type: "ndjson",
  batchPrefix: "",
  batchSuffix: "",
  recordPrefix: "{",
  recordSuffix: "}\n",
  recordDelimiter: "",
  fieldDelimiter: ",",
  recordTemplate: "",
  escapeDollarBrace: false,
};

/** The texts around the records of an object, as they are written: final, in UTF-8. */
export interface BatchTexts {
  prefix: Uint8Array<ArrayBuffer>;
  delimiter: Uint8Array<ArrayBuffer>;
  suffix: Uint8Array<ArrayBuffer>;
}

export function batchTexts(format: OutputFormat): BatchTexts {
  const text = (value: string): Uint8Array<ArrayBuffer> =>
    encodeUtf8(format.escapeDollarBrace ? value.replaceAll("${", "x{") : value);
  return {
    prefix: text(format.batchPrefix),
    delimiter: text(format.recordDelimiter),
    suffix: text(format.batchSuffix),
  };
}

/** The media type of an object's content before compression. */
export function contentType(format: OutputFormat): string {
  return format.type === "csv" ? "text/csv" : "application/x-ndjson";
}
