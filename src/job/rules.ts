import { parseFilter } from "../filter/parse.ts";
import { UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../limits.ts";
import type { OutputFormat } from "../output/format.ts";
import type { Fault } from "../record/record.ts";
import type { UploadLimits } from "./config.ts";
import { type OutputMeaning, parseLogpullOptions, readOutputOptions } from "./output-rules.ts";
import type { JobBody } from "./schema.ts";

/** The meaning of a job's body in which every option is supported. */
export interface JobMeaning {
  /** As sent, validated; null: none. */
  filter: string | null;
  sampleRate: number;
  output: OutputFormat;
  limits: UploadLimits;
  canary: boolean;
}

/** Part of a body; undefined means absent. */
type ShippingBody = { [name in "filter" | "output_options" | "logpull_options"]?: JobBody[name] | undefined };

type Read<T> = { ok: true; value: T } | { ok: false; faults: Fault[] };

/**
 * Reads a body of the right shape. An option that is not supported is refused, never stored and
 * ignored.
 * @returns the meaning; or the faults, each with its place in the body.
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

/** The parts of a job's body that decide what it ships, and in which format. */
export function readShipping(body: ShippingBody): Read<Omit<JobMeaning, "limits" | "canary">> {
  const output = readOutput(body);
  const filter = readFilter(body.filter ?? "");
  if (!output.ok || !filter.ok) {
    return { ok: false, faults: [output, filter].flatMap((read) => (read.ok ? [] : read.faults)) };
  }
  return { ok: true, value: { filter: filter.value, ...output.value } };
}

/** `output_options`, or `logpull_options` if the former are absent or null. */
function readOutput({ output_options, logpull_options }: ShippingBody): Read<OutputMeaning> {
  const logpull = readLogpull(logpull_options ?? "");
  if (output_options == null) return logpull;
  const output = readOutputOptions(output_options);
  // Without effect, but checked: removing output_options later brings them into force.
  if (output.ok) return logpull.ok ? output : logpull;
  const faults = output.faults.map((fault) => ({ ...fault, pointer: `/output_options${fault.pointer}` }));
  return { ok: false, faults: logpull.ok ? faults : [...faults, ...logpull.faults] };
}

/** The meaning of `logpull_options` alone. */
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
