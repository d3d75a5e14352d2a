import { createHash } from "node:crypto";
import type { ErrorEntry } from "../../../../base/errors.ts";
import type { NumberName } from "../../../../ship/job/fields.ts";
import { JOB_FIELDS, type JobBody, type OutputOptions } from "../../../../ship/job/job-schema.ts";
import { parseLogpullOptions } from "../../../../ship/job/output-rules.ts";
import type { JobView } from "../../views/job.ts";

/**
 * Text that was typed where the API wants another type. It is kept: the API refuses it, and the
 * field shows it again.
 */
export type Typed<T> = T | string;

/** `output_options` as a form holds them. */
export type Options = Omit<OutputOptions, "sample_rate"> & { sample_rate?: Typed<number> | null | undefined };

type Own = keyof typeof JOB_FIELDS;

/**
 * The body of `POST /jobs` without its destination. An absent key was never sent, and an untouched
 * form adds none. The values may be invalid while a form is filled in: the API judges them.
 */
export type ShippingBody = { [name in Exclude<Own, NumberName | "output_options">]?: JobBody[name] | undefined } & {
  [name in NumberName]?: Typed<number> | null | undefined;
} & {
  dataset?: string;
  output_options?: Options | null | undefined;
  /** Of a new job. */
  since?: string;
};

export interface FormRead {
  body: ShippingBody;
  /** A button of the form builder was pressed: show the form again with this body, save nothing. */
  again: boolean;
}

/** The options in force: `logpull_options` where there are no `output_options`. */
export function optionsOf(body: ShippingBody): Options {
  return body.output_options ?? parseLogpullOptions(body.logpull_options ?? "").options;
}

/**
 * Replaces the options. Equal options leave the body as it is, so that no default gets written
 * down.
 */
export function withOptions(before: ShippingBody, options: Options): ShippingBody {
  return isEqual(options, optionsOf(before)) ? before : { ...before, output_options: options };
}

/** Compares two JSON values; the order of keys does not matter. */
export function isEqual(a: unknown, b: unknown): boolean {
  return sorted(a) === sorted(b);
}

/** JSON with the keys of each object in order. */
function sorted(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

/** The faults at or below a JSON pointer, in one text; undefined: none. */
export function faultAt(faults: readonly ErrorEntry[], pointer: string): string | undefined {
  const there = faults.filter(({ source }) => source?.pointer === pointer || source?.pointer.startsWith(`${pointer}/`));
  return there.length === 0 ? undefined : there.map(({ message }) => inShort(message)).join("; ");
}

/** Drops the prefix that names the refused request: the page says that. */
export function inShort(message: string): string {
  return message.replace(/^(?:creating a new job|updating job \d+) is not allowed: /, "");
}

/** Everything that can be changed, except the destination. */
const KEYS = Object.keys(JOB_FIELDS) as Own[];

/** A stored job as the forms hold it. */
export function bodyOf(job: JobView): ShippingBody {
  const there = (["dataset", ...KEYS] as const).filter((key) => job[key] !== undefined);
  return Object.fromEntries(there.map((key) => [key, job[key]]));
}

/** Changes whenever something changes that the edit page shows. */
export function digestOf(job: JobView): string {
  const shown = { ...bodyOf(job), destination_conf: job.destination_conf };
  return createHash("sha256")
    .update(`${sorted(shown)}`)
    .digest("base64url");
}

/** The body of the `PUT`: only what differs. A key that is gone becomes null. */
export function changes(before: ShippingBody, after: ShippingBody): Partial<Record<(typeof KEYS)[number], unknown>> {
  const changed = KEYS.filter((key) => !isEqual(before[key], after[key]));
  return Object.fromEntries(changed.map((key) => [key, after[key] ?? null]));
}
