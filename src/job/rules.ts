import { parseFilter } from "../filter/parse.ts";
import { UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../limits.ts";
import type { OutputFormat } from "../output/format.ts";
import type { Fault } from "../record/record.ts";
import type { UploadLimits } from "./config.ts";
import { type OutputMeaning, parseLogpullOptions, readOutputOptions } from "./output-rules.ts";
import type { JobBody } from "./schema.ts";

/** What a job's body means, once everything in it is known to be carried out. */
export interface JobMeaning {
  /** As it was sent, and as it was found to be valid; null: none. */
  filter: string | null;
  sampleRate: number;
  output: OutputFormat;
  limits: UploadLimits;
  canary: boolean;
}

/** A part of a body; what is undefined is absent. */
type ShippingBody = { [name in "filter" | "output_options" | "logpull_options"]?: JobBody[name] | undefined };

type Read<T> = { ok: true; value: T } | { ok: false; faults: Fault[] };

/**
 * Reads a body of the right shape. An option that is not carried out is refused, never stored and ignored.
 * @returns the reasons why not, each with its place in the body.
 */
export function readJob(body: JobBody): Read<JobMeaning> {
  const shipping = readShipping(body);
  if (!shipping.ok) return shipping;
  const limits = {
    bytes: body.max_upload_bytes || UPLOAD_BYTES.fallback,
    records: body.max_upload_records || UPLOAD_RECORDS.fallback,
    intervalMs: (body.max_upload_interval_seconds || UPLOAD_INTERVAL_S.fallback) * 1_000,
  };
  return { ok: true, value: { ...shipping.value, limits, canary: body.canary === true } };
}

/** What of a job's body decides what it ships, and how that is written. */
export function readShipping(body: ShippingBody): Read<Omit<JobMeaning, "limits" | "canary">> {
  const output = readOutput(body);
  const filter = readFilter(body.filter ?? "");
  if (!output.ok || !filter.ok) {
    return { ok: false, faults: [output, filter].flatMap((read) => (read.ok ? [] : read.faults)) };
  }
  return { ok: true, value: { filter: filter.value, ...output.value } };
}

/** `output_options`, or `logpull_options` where the first are absent or null. */
function readOutput({ output_options, logpull_options }: ShippingBody): Read<OutputMeaning> {
  const logpull = readLogpull(logpull_options ?? "");
  if (output_options == null) return logpull;
  const output = readOutputOptions(output_options);
  // They have no say, but are checked all the same: who takes the others away finds what he left.
  if (output.ok) return logpull.ok ? output : logpull;
  const faults = output.faults.map((fault) => ({ ...fault, pointer: `/output_options${fault.pointer}` }));
  return { ok: false, faults: logpull.ok ? faults : [...faults, ...logpull.faults] };
}

/** What `logpull_options` mean by themselves. */
export function readLogpull(text: string): Read<OutputMeaning> {
  const { options, faults } = parseLogpullOptions(text);
  const read = readOutputOptions(options);
  if (read.ok && faults.length === 0) return read;
  const messages = read.ok ? faults : [...faults, ...read.faults.map(({ message }) => message)];
  return { ok: false, faults: messages.map((message) => ({ pointer: "/logpull_options", message })) };
}

function readFilter(text: string): Read<string | null> {
  const read = parseFilter(text);
  if (!read.ok) return { ok: false, faults: read.faults.map((message) => ({ pointer: "/filter", message })) };
  return { ok: true, value: read.filter === null ? null : text };
}
