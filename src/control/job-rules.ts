import { UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../limits.ts";
import { parseFilter } from "../pipeline/filter-parse.ts";
import type { OutputFormat } from "../pipeline/output-format.ts";
import type { Fault } from "../record/record.ts";
import type { UploadLimits } from "./job-config.ts";
import type { JobBody } from "./job-schema.ts";
import { type OutputMeaning, parseLogpullOptions, readOutputOptions } from "./output-rules.ts";

/** What a job's body means, once everything in it is known to be carried out. */
export interface JobMeaning {
  /** As it was sent, and as it was found to be valid; null: none. */
  filter: string | null;
  sampleRate: number;
  output: OutputFormat;
  limits: UploadLimits;
}

type Read<T> = { ok: true; value: T } | { ok: false; faults: Fault[] };

/**
 * Reads a body of the right shape. An option that is not carried out is refused, never stored and ignored.
 * @returns the reasons why not, each with its place in the body.
 */
export function readJob(body: JobBody): Read<JobMeaning> {
  const output = readOutput(body);
  const filter = readFilter(body.filter ?? "");
  if (!output.ok || !filter.ok) {
    return { ok: false, faults: [output, filter].flatMap((read) => (read.ok ? [] : read.faults)) };
  }
  const limits = {
    bytes: body.max_upload_bytes || UPLOAD_BYTES.fallback,
    records: body.max_upload_records || UPLOAD_RECORDS.fallback,
    intervalMs: (body.max_upload_interval_seconds || UPLOAD_INTERVAL_S.fallback) * 1_000,
  };
  return { ok: true, value: { filter: filter.value, ...output.value, limits } };
}

/** `output_options`, or `logpull_options` where the first are absent or null. */
function readOutput({ output_options, logpull_options }: JobBody): Read<OutputMeaning> {
  if (output_options != null) {
    const read = readOutputOptions(output_options);
    return read.ok
      ? read
      : { ok: false, faults: read.faults.map((fault) => ({ ...fault, pointer: `/output_options${fault.pointer}` })) };
  }
  const pointer = "/logpull_options";
  const { options, faults } = parseLogpullOptions(logpull_options ?? "");
  const read = readOutputOptions(options);
  const messages = read.ok ? faults : [...faults, ...read.faults.map(({ message }) => message)];
  return read.ok && faults.length === 0
    ? read
    : { ok: false, faults: messages.map((message) => ({ pointer, message })) };
}

function readFilter(text: string): Read<string | null> {
  const read = parseFilter(text);
  if (!read.ok) return { ok: false, faults: read.faults.map((message) => ({ pointer: "/filter", message })) };
  return { ok: true, value: read.filter === null ? null : text };
}
