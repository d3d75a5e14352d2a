import * as z from "zod";
import { UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../../base/limits.ts";
import type { OutputFormat } from "../../formats/output/format.ts";

/*
 * What an owner sets of a job: switches, numbers and texts, a row for each. Its schema and the
 * API's description, its stored configuration, its form, the words of pages and the checks of a
 * destination are made of these rows: a further one needs nothing but the code that goes by it.
 */

/**
 * `fallback`: what is in force where nothing was sent. `words`: in a sentence, on and off. `fact`:
 * in a list of facts, its name, and what it is when it is on. `unreadable`: why a destination
 * refuses it that nothing can be read back from.
 */
export const SWITCHES = {
  sketches: {
    fallback: true,
    description:
      "Keeps a sketch of each object, so that searches read only those that may hold a match; `true` by default. docs/search.md says what it costs.",
    label: "Sketches for searches",
    hint: "Searches skip the objects that cannot hold a match. Sketches are kept for 30 days and take a few per cent of the objects' size.",
    words: ["sketches", "no sketches"],
    fact: ["Sketches", "on"],
    unreadable: "this destination cannot be read back or searched",
  },
  canary: {
    fallback: false,
    description:
      "Writes a synthetic event to the destination every hour, as a separate object that no count includes, and reads it back; `false` by default.",
    label: "Hourly canary",
    hint: "Writes a small synthetic event to the destination every hour and reads it back. Not counted.",
    words: ["an hourly canary", "no canary"],
    fact: ["Canary", "hourly"],
    unreadable: "this destination cannot be read back",
  },
} as const;

export type SwitchName = keyof typeof SWITCHES;
export const SWITCH_NAMES = Object.keys(SWITCHES) as SwitchName[];

/** Part of a body. */
type Switched = { readonly [name in SwitchName]?: boolean | null | undefined };

/** Whether a switch is on. */
export function isOn(body: Switched, name: SwitchName): boolean {
  return body[name] ?? SWITCHES[name].fallback;
}

/**
 * The switches as configurations have them: those that are not as by default. The canary is always
 * there, as release 1 wrote it.
 */
export type SwitchSettings = { canary: boolean } & { [name in Exclude<SwitchName, "canary">]?: boolean };

export const SWITCH_SETTINGS = {
  ...Object.fromEntries(SWITCH_NAMES.map((name) => [name, z.boolean().exactOptional()])),
  canary: z.boolean(),
};

export function switchSettings(body: Switched): SwitchSettings {
  const set = SWITCH_NAMES.filter((name) => isOn(body, name) !== SWITCHES[name].fallback);
  return { canary: false, ...Object.fromEntries(set.map((name) => [name, isOn(body, name)])) };
}

/**
 * What cuts an object. 0 and null: the default. `most`: the limit of a destination that bounds it,
 * too. `limit`: its name in {@link UploadLimits}, and how many of its units one of these is.
 * `asSent`: not a field of the vendor's, so answers have it only where it was sent.
 */
export const NUMBERS = {
  max_upload_interval_seconds: {
    bounds: UPLOAD_INTERVAL_S,
    description: "The longest time from a record's intake until its object is cut, in seconds.",
    label: "Max wait (seconds)",
    hint: "From intake to upload. Longer means fewer, larger objects. ",
    most: null,
    limit: ["intervalMs", 1_000],
    asSent: false,
  },
  max_upload_records: {
    bounds: UPLOAD_RECORDS,
    description: "Most records of an object.",
    label: "Max records per object",
    hint: "",
    most: "records",
    limit: ["records", 1],
    asSent: false,
  },
  max_upload_bytes: {
    bounds: UPLOAD_BYTES,
    description: "Largest object, in bytes before compression.",
    label: "Max bytes per object",
    hint: "Before compression. ",
    most: "bytes",
    limit: ["bytes", 1],
    asSent: false,
  },
} as const;

export type NumberName = keyof typeof NUMBERS;
export const NUMBER_NAMES = Object.keys(NUMBERS) as NumberName[];

/** Those that answers have only where they were sent; of the others, 0. */
type SentName = { [name in NumberName]: (typeof NUMBERS)[name]["asSent"] extends true ? name : never }[NumberName];
export const AS_SENT = Object.fromEntries(
  [...SWITCH_NAMES, ...NUMBER_NAMES.filter((name) => NUMBERS[name].asSent)].map((name) => [name, true]),
) as { [name in SwitchName | SentName]: true };
export const ZEROES = Object.fromEntries(
  NUMBER_NAMES.filter((name) => !NUMBERS[name].asSent).map((name) => [name, 0]),
) as { [name in Exclude<NumberName, SentName>]: 0 };

/** The limits as configurations have them. The first are always there; absent: the fallback. */
const FIRST = ["bytes", "records", "intervalMs"] as const;
type FirstLimit = (typeof FIRST)[number];
type LimitName = (typeof NUMBERS)[NumberName]["limit"][0];
export type UploadLimits = { [name in FirstLimit]: number } & { [name in Exclude<LimitName, FirstLimit>]?: number };

export const LIMIT_SETTINGS = z.looseObject(
  Object.fromEntries(
    NUMBER_NAMES.map((name) => {
      const [limit] = NUMBERS[name].limit;
      const value = z.int().min(1);
      return [limit, FIRST.some((first) => first === limit) ? value : value.exactOptional()];
    }),
  ),
) as unknown as z.ZodType<UploadLimits>;

export function limitSettings(body: { readonly [name in NumberName]?: number | null | undefined }): UploadLimits {
  const settings = NUMBER_NAMES.flatMap((name) => {
    const { limit, bounds, asSent } = NUMBERS[name];
    // One of later releases is in a configuration only where it is set.
    return asSent && !body[name] ? [] : [[limit[0], (body[name] || bounds.fallback) * limit[1]]];
  });
  return Object.fromEntries(settings) as UploadLimits;
}

/** Options that are texts, in the order in which they stand in an object. `of`: of the format. */
export const TEXTS = {
  batch_prefix: { of: "batchPrefix", label: "Before the first record", more: " of an object; empty by default." },
  record_prefix: { of: "recordPrefix", label: "Before each record", more: "; `{` by default, for CSV empty." },
  field_delimiter: { of: "fieldDelimiter", label: "Between fields", more: "; `,` by default." },
  record_suffix: {
    of: "recordSuffix",
    label: "After each record",
    more: "; `}` and a line feed by default, for CSV a line feed.",
  },
  record_delimiter: { of: "recordDelimiter", label: "Between records", more: "; empty by default." },
  batch_suffix: { of: "batchSuffix", label: "After the last record", more: " of an object; empty by default." },
} as const;

export type TextName = keyof typeof TEXTS;
export const TEXT_NAMES = Object.keys(TEXTS) as TextName[];

/** The option that sets a part of the format. */
export function optionOf(part: keyof OutputFormat): string {
  const others: { readonly [name in keyof OutputFormat]?: string } = {
    fieldNames: "field_names",
    type: "output_type",
    recordTemplate: "record_template",
    escapeDollarBrace: "CVE-2021-44228",
  };
  return TEXT_NAMES.find((name) => TEXTS[name].of === part) ?? others[part] ?? part;
}
