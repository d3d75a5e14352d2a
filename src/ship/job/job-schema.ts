import * as z from "zod";
import { utf8Length } from "../../base/bytes.ts";
import type { Fault } from "../../base/errors.ts";
import { FILTER_MAX_BYTES, PREVIEW_EVENTS_MAX, TEXT_MAX_CHARACTERS } from "../../base/limits.ts";
import { DATASETS, type Dataset } from "../../formats/record/fields.ts";
import { DESTINATION_CONF_MAX } from "../destinations/parse.ts";
import {
  NUMBER_NAMES,
  NUMBERS,
  type NumberName,
  SWITCH_NAMES,
  SWITCHES,
  type SwitchName,
  TEXT_NAMES,
  TEXTS,
} from "./fields.ts";
import { readSpare, type Spare, tolerant, tooMany } from "./unknown-keys.ts";

const numberOf = (name: NumberName) => {
  const { bounds, description } = NUMBERS[name];
  const { min, max, fallback } = bounds;
  return z
    .int()
    .refine((value) => value === 0 || (value >= min && value <= max), { error: `must be 0 or from ${min} to ${max}` })
    .meta({ minimum: 0, maximum: max, anyOf: [{ const: 0 }, { minimum: min }] })
    .nullable()
    .describe(`${description} 0 and null: ${fallback}.`);
};

const switchOf = (name: SwitchName) => z.boolean().nullable().describe(SWITCHES[name].description);

function eachOf<Name extends string, T>(names: readonly Name[], of: (name: Name) => T): { [name in Name]: T } {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as { [name in Name]: T };
}

/**
 * Keys that answers have and no request changes: accepted and ignored, so that an answer can be
 * sent back.
 */
const readOnly = z.unknown().optional().meta({ readOnly: true, description: "Accepted and ignored." });
const READ_ONLY = {
  id: readOnly,
  last_complete: readOnly,
  last_error: readOnly,
  error_message: readOnly,
  guarantee: readOnly,
  time_created: readOnly,
  time_modified: readOnly,
};
export const READ_ONLY_KEYS: ReadonlySet<string> = new Set(Object.keys(READ_ONLY));

const text = (max: number) => z.string().max(max).nullable();

/** Text that is written into objects. Half of a surrogate pair has no UTF-8 form. */
const written = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => value.isWellFormed(), { error: "must be Unicode text: it has half of a surrogate pair" })
    .nullable();

export const TIMESTAMP_FORMATS = ["unixnano", "unix", "rfc3339", "rfc3339ms", "rfc3339ns"] as const;

/** The shape of `output_options`; output-rules.ts has their meaning. */
export const OutputOptions = tolerant({
  field_names: z
    .array(z.string().max(64))
    .max(64)
    .nullish()
    .describe(
      "Fields of a record, in the order in which they are written. All but the extra ones by default; `*` stands for those of them that are not named.",
    ),
  output_type: z
    .enum(["ndjson", "csv", "parquet"])
    .nullish()
    .describe(
      "How records are written; `ndjson` by default. `parquet` has typed columns, and none of the texts below; stores alone take it.",
    ),
  ...eachOf(TEXT_NAMES, (name) =>
    written(4_096)
      .optional()
      .describe(TEXTS[name].label + TEXTS[name].more),
  ),
  record_template: written(16_384)
    .optional()
    .describe(
      "Written instead of the joined fields: a Go template of `{{ .Field }}`, constants and comments. A field that `field_names` does not name is written as `null`.",
    ),
  timestamp_format: z
    .enum(TIMESTAMP_FORMATS)
    .nullish()
    .describe("How times are written; `unixnano` by default. Fields whose names end in `Ms` are always milliseconds."),
  sample_rate: z
    .number()
    .gt(0)
    .lte(1)
    .nullish()
    .describe("Share of the matching records to ship; 1 by default. A record always gets the same decision."),
  truncate: z
    .boolean()
    .nullish()
    .describe(
      `Whether \`Exceptions\` and \`Logs\` of a record are cut to ${TEXT_MAX_CHARACTERS} characters; \`true\` by default.`,
    ),
  rows: z
    .enum(["invocation", "log"])
    .nullish()
    .describe(
      "What a record is: `invocation` (the default), or `log`, a row for each log line and each exception. Limits and counts are of invocations either way; one without both has no row, and counts as filtered. Receivers take `invocation` only.",
    ),
  "CVE-2021-44228": z.boolean().nullish().describe("Writes every `${` as `x{`, which disarms Log4j look-ups."),
  escape_formulas: z
    .boolean()
    .nullish()
    .describe(
      "Of CSV: writes a `'` before each text that begins with `=`, `+`, `-`, `@`, a tab or a line break, so that no spreadsheet runs it as a formula; `false` by default.",
    ),
  merge_subrequests: z.boolean().nullish().describe("Accepted; has no effect on this dataset."),
}).meta({ id: "OutputOptions", description: "How records are written. Replaced as a whole." });
export type OutputOptions = z.infer<typeof OutputOptions>;

/** The fields of a job that its owner writes and reads. */
export const JOB_FIELDS = {
  name: text(512).describe("For people to read; need not be unique."),
  output_options: OutputOptions.nullable(),
  enabled: z.boolean().nullable().describe("Whether the job takes new events; `false` by default."),
  filter: z
    .string({
      error: ({ input }) => (input === undefined ? undefined : 'must be JSON as a text: "{\\"where\\":…}"'),
    })
    .refine((value) => utf8Length(value) <= FILTER_MAX_BYTES, { error: `must be at most ${FILTER_MAX_BYTES} bytes` })
    .meta({ maxLength: FILTER_MAX_BYTES })
    .nullable()
    .describe(
      `Which records are kept: JSON, as a text of at most ${FILTER_MAX_BYTES} bytes, of the shape \`{"where":…}\`. \`""\` and null keep all.`,
    ),
  filter_attack_traffic: z
    .literal(false, { error: "concerns attack traffic, which trace events never are: send false, null or nothing" })
    .nullable()
    .describe("Of other datasets; here false or null."),
  frequency: text(64).describe("Accepted and echoed; has no effect."),
  logpull_options: text(4_096).describe(
    "`fields=…&sample=…&timestamps=…&CVE-2021-44228=…`; used if `output_options` are absent.",
  ),
  ...eachOf(NUMBER_NAMES, numberOf),
  ...eachOf(SWITCH_NAMES, switchOf),
};

/** The same, each of which may be left out. */
const OPTIONAL = z.object(JOB_FIELDS).partial();

export const DestinationConf = z
  .string()
  .min(1)
  .max(DESTINATION_CONF_MAX)
  .describe(
    "Where records go, with credentials: a receiver (`https://…`, `elastic://…` and others), or a store (`objstore://…`, `s3://…`, `gs://…`, `azure://…`, `binding://…`) with bucket and path. Placeholders in the path: `{DATE}` (the UTC day of the events, `20261120`), `{DATE_ISO}` (`2026-11-20`), `{YYYY}`, `{MM}`, `{DD}`, `{HOUR}` (`00`–`23`), `{SCRIPT}` (`ScriptName`, percent-encoded, 128 bytes at most). An object never has records of two days, nor of two values of a placeholder.",
  );

/** The vendor's bound of a token; ours has 60 characters. */
const Challenge = text(4_096).describe("Content of the object that `POST …/ownership` wrote. Never returned.");

/** The body that creates a job. */
export const CreateJob = tolerant({
  ...OPTIONAL.shape,
  destination_conf: DestinationConf,
  dataset: z
    .enum(DATASETS)
    .nullish()
    .describe("What is shipped. Both names mean the same dataset, which is the default. Cannot be changed later."),
  kind: z.literal("").nullish().describe("Always empty."),
  ownership_challenge: Challenge.optional(),
  since: z.iso
    .datetime({ offset: true })
    .max(64)
    .nullish()
    .describe(
      "The job starts then (RFC 3339): it also ships what the log keeps from there on. For an enabled job; never returned.",
    ),
  ...READ_ONLY,
}).meta({ id: "CreateJob" });

/**
 * The body that changes a job: only what it names. `dataset` and `kind` may be named with their
 * current value.
 */
export const UpdateJob = tolerant({
  ...OPTIONAL.shape,
  destination_conf: DestinationConf.optional().describe(
    "As on creation. `****` in place of a secret keeps the stored one, for the same scheme, endpoint, account and bucket; of a receiver, for the same host and path.",
  ),
  dataset: z.string().nullish().describe("Cannot be changed; either of its two names is accepted."),
  kind: z.string().nullish().describe("Cannot be changed; its current value is accepted."),
  ownership_challenge: Challenge.optional(),
  since: readOnly,
  ...READ_ONLY,
}).meta({ id: "UpdateJob", description: 'Only the keys that you send change; `""`, 0 and null clear a value.' });

/** The bodies that ask about a destination, a challenge and `logpull_options`. */
export const AskDestination = z.strictObject({ destination_conf: DestinationConf });
export const AskOwnership = z.strictObject({ destination_conf: DestinationConf, ownership_challenge: Challenge });
export const AskOrigin = z.strictObject({
  logpull_options: JOB_FIELDS.logpull_options,
  dataset: z.string().max(64).nullish().describe(`\`${DATASETS[0]}\` by default.`),
});

/** The body of a preview. */
export const AskPreview = z.strictObject({
  destination_conf: DestinationConf.nullish().describe(
    "If it is a receiver: shows the requests that it would get. Secrets may be `****`; nothing is sent.",
  ),
  ...OPTIONAL.pick({ filter: true, output_options: true, logpull_options: true }).shape,
  events: z
    .array(z.unknown())
    .max(PREVIEW_EVENTS_MAX)
    .nullish()
    .describe("Trace items or records, as POST events takes them; absent or null: recent events"),
});

/** A job as its owner wrote it; keys never sent are absent. */
export type JobBody = Partial<z.infer<z.ZodObject<typeof JOB_FIELDS>>> & {
  dataset: Dataset;
  destination_conf: string;
  /** The dataset's name as last sent below each path. */
  spelled: { readonly [name in PathName]?: Dataset };
};

/** The names of the path that jobs are below: ours, and the vendor's. */
export type PathName = "logship" | "logpush";

type Spelled = Pick<JobBody, "dataset" | "spelled">;

/** The dataset's name in answers below a path: as it was sent there, else the path's own. */
export function datasetBelow(path: PathName, body: Spelled): Dataset {
  return body.spelled[path] ?? (path === "logpush" ? "workers_trace_events" : "functions_trace_events");
}

/** With the dataset's name as it was sent below a path, if that is not the one shown there. */
export function respelled(body: Spelled, sent: string | null | undefined, path: PathName): Spelled {
  const { dataset, spelled } = body;
  const isShown = sent == null || sent === datasetBelow(path, body);
  return { dataset, spelled: isShown ? spelled : { ...spelled, [path]: sent } };
}

/** Kept with a body, and never sent. */
const SPELLED = "spelled" satisfies keyof JobBody;
const OWN_KEYS: readonly string[] = [...Object.keys(UpdateJob.shape), SPELLED];
const OWN_OPTIONS: readonly string[] = Object.keys(OutputOptions.shape);

/** Keys of a stored body that have no meaning here, each with what was sent. */
export function spareKeys(body: object): [name: string, value: unknown][] {
  return Object.entries(body).filter(([name]) => !OWN_KEYS.includes(name));
}

/** The unknown keys of a body that was sent, and of its options. */
export function spareIn(sent: { output_options?: object | null | undefined }): Spare {
  const [body, options] = [sent, sent.output_options ?? {}];
  const asked = readSpare("", body, Object.keys(UpdateJob.shape));
  const chosen = readSpare("/output_options", options, OWN_OPTIONS);
  const taken = asked.names.includes(SPELLED)
    ? [{ pointer: `/${SPELLED}`, message: `unknown key "${SPELLED}"; this name is reserved` }]
    : [];
  return { names: [...asked.names, ...chosen.names], faults: [...asked.faults, ...chosen.faults, ...taken] };
}

/** What is wrong with the unknown keys that a job has after a change: each change may add some. */
export function spareAfter(before: object, after: object): Fault[] {
  const [had, has] = [before, after].map((body) => spareKeys(body).length) as [number, number];
  return has > had ? tooMany("", has) : [];
}
