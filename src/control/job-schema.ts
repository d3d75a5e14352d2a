import * as z from "zod";
import { utf8Length } from "../bytes.ts";
import { DESTINATION_CONF_MAX } from "../destinations/parse.ts";
import { FILTER_MAX_BYTES, UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../limits.ts";
import { DATASETS } from "../record/fields.ts";

const bounded = ({ min, max }: { min: number; max: number }) =>
  z
    .int()
    .refine((value) => value === 0 || (value >= min && value <= max), { error: `must be 0 or from ${min} to ${max}` })
    .nullable();

/** Keys that every answer has and no request changes: accepted, so that what was read can be sent back, and ignored. */
const READ_ONLY = {
  id: z.unknown().optional(),
  last_complete: z.unknown().optional(),
  last_error: z.unknown().optional(),
  error_message: z.unknown().optional(),
  time_created: z.unknown().optional(),
  time_modified: z.unknown().optional(),
};
export const READ_ONLY_KEYS: ReadonlySet<string> = new Set(Object.keys(READ_ONLY));

const text = (max: number) => z.string().max(max).nullable();

/** A text that is written into objects. One with half of a surrogate pair has no UTF-8, so it could only be written as something else. */
const written = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => value.isWellFormed(), { error: "must be Unicode text: there is half of a surrogate pair in it" })
    .nullable();

export const TIMESTAMP_FORMATS = ["unixnano", "unix", "rfc3339", "rfc3339ms", "rfc3339ns"] as const;

/** The shape of `output_options`; what they mean is in output-rules.ts. */
export const OutputOptions = z.strictObject({
  field_names: z.array(z.string().max(64)).max(64).nullable().optional(),
  output_type: z.enum(["ndjson", "csv"]).nullable().optional(),
  batch_prefix: written(4_096).optional(),
  batch_suffix: written(4_096).optional(),
  record_prefix: written(4_096).optional(),
  record_suffix: written(4_096).optional(),
  record_delimiter: written(4_096).optional(),
  field_delimiter: written(4_096).optional(),
  record_template: written(16_384).optional(),
  timestamp_format: z.enum(TIMESTAMP_FORMATS).nullable().optional(),
  sample_rate: z.number().gt(0).lte(1).nullable().optional(),
  "CVE-2021-44228": z.boolean().nullable().optional(),
  merge_subrequests: z.boolean().nullable().optional(),
});
export type OutputOptions = z.infer<typeof OutputOptions>;

const FIELDS = {
  name: text(512),
  output_options: OutputOptions.nullable(),
  enabled: z.boolean().nullable(),
  filter: z
    .string()
    .refine((value) => utf8Length(value) <= FILTER_MAX_BYTES, { error: `must be at most ${FILTER_MAX_BYTES} bytes` })
    .nullable(),
  frequency: text(64),
  logpull_options: text(4_096),
  max_upload_bytes: bounded(UPLOAD_BYTES),
  max_upload_records: bounded(UPLOAD_RECORDS),
  max_upload_interval_seconds: bounded(UPLOAD_INTERVAL_S),
};

export const DestinationConf = z.string().min(1).max(DESTINATION_CONF_MAX);

/** The vendor's own bound of a token; ours has 60 characters. */
const Challenge = text(4_096);

/** The body that creates a job. */
export const CreateJob = z.strictObject({
  ...z.object(FIELDS).partial().shape,
  destination_conf: DestinationConf,
  dataset: z.enum(DATASETS).nullable().optional(),
  kind: z.literal("").nullable().optional(),
  ownership_challenge: Challenge.optional(),
  ...READ_ONLY,
});

/** The body that changes one: only what it names. `dataset` and `kind` may be named with the value they have. */
export const UpdateJob = z.strictObject({
  ...z.object(FIELDS).partial().shape,
  destination_conf: DestinationConf.optional(),
  dataset: z.string().nullable().optional(),
  kind: z.string().nullable().optional(),
  ownership_challenge: Challenge.optional(),
  ...READ_ONLY,
});

/** The bodies that ask about a destination, a challenge and `logpull_options`. */
export const AskDestination = z.strictObject({ destination_conf: DestinationConf });
export const AskOwnership = z.strictObject({ destination_conf: DestinationConf, ownership_challenge: Challenge });
export const AskOrigin = z.strictObject({
  logpull_options: FIELDS.logpull_options,
  dataset: z.string().max(64).nullable().optional(),
});

/** A job as its owner wrote it; a key that was never sent is not there. */
export type JobBody = Partial<z.infer<z.ZodObject<typeof FIELDS>>> & {
  dataset: (typeof DATASETS)[number];
  destination_conf: string;
};
