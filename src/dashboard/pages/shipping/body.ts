import type { ErrorEntry } from "../../../errors.ts";
import { parseLogpullOptions } from "../../../job/output-rules.ts";
import type { OutputOptions } from "../../../job/schema.ts";

/** What a person typed where the API wants something else than a text; the API says so, and the field shows it again. */
export type Typed<T> = T | string;

/** `output_options` as a form has them. */
export type Options = Omit<OutputOptions, "sample_rate"> & { sample_rate?: Typed<number> | null | undefined };

/**
 * The body of `POST /jobs`, but for where it ships to. A key that is not there was never sent, and a form that nobody changed adds none. While a form is being
 * filled in, anything may be wrong with it: the API is what says so.
 */
export interface ShippingBody {
  dataset?: string;
  name?: string | null;
  enabled?: boolean | null;
  filter?: string | null;
  output_options?: Options | null;
  logpull_options?: string | null;
  frequency?: string | null;
  max_upload_bytes?: Typed<number> | null;
  max_upload_records?: Typed<number> | null;
  max_upload_interval_seconds?: Typed<number> | null;
  canary?: boolean | null;
}

/** What came of a form. */
export interface FormRead {
  body: ShippingBody;
  /** A button of the form itself was pressed: show it again with this body, and take nothing as final. */
  again: boolean;
}

/** The name of the buttons that say what to do with a form. */
export const DO_FIELD = "do";

/** The options that are in force: `logpull_options` where there are no `output_options`. */
export function optionsOf(body: ShippingBody): Options {
  return body.output_options ?? parseLogpullOptions(body.logpull_options ?? "").options;
}

/** A body with other options. Where they are those in force before, it is left alone: nothing is written down that was not said. */
export function withOptions(before: ShippingBody, options: Options): ShippingBody {
  if (isEqual(options, optionsOf(before))) return before;
  return { ...before, output_options: options };
}

/** Of two values that are JSON; the order of keys is of no account. */
export function isEqual(a: unknown, b: unknown): boolean {
  return sorted(a) === sorted(b);
}

/** JSON with the keys of each object in order. */
export function sorted(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

/** What is wrong at a place of the body, or below it, in the API's words without what it was not allowed to do; undefined: nothing. */
export function faultAt(faults: readonly ErrorEntry[], pointer: string): string | undefined {
  const there = faults.filter(({ source }) => source?.pointer === pointer || source?.pointer.startsWith(`${pointer}/`));
  return there.length === 0 ? undefined : there.map(({ message }) => inShort(message)).join("; ");
}

/** A fault without the words that say which request was refused: the page says that. */
export function inShort(message: string): string {
  return message.replace(/^(?:creating a new job|updating job \d+) is not allowed: /, "");
}
