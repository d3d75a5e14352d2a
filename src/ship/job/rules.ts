import type { Fault } from "../../base/errors.ts";
import { type Filter, parseFilter } from "../../formats/filter/parse.ts";
import { namesOf, type OutputFormat, unplain } from "../../formats/output/format.ts";
import { EXTRA_FIELDS, type ExtraField } from "../../formats/record/fields.ts";
import type { Terms } from "../destinations/destination.ts";
import type { JobConfig } from "./config.ts";
import {
  limitSettings,
  optionOf,
  SWITCH_NAMES,
  SWITCHES,
  type SwitchName,
  type SwitchSettings,
  switchSettings,
  type UploadLimits,
} from "./fields.ts";
import type { JobBody } from "./job-schema.ts";
import { type OutputMeaning, parseLogpullOptions, readOutputOptions } from "./output-rules.ts";

/** The meaning of a job's body in which every option is supported. */
export interface JobMeaning extends SwitchSettings {
  /** As sent, validated; null: none. */
  filter: string | null;
  sampleRate: number;
  output: OutputFormat;
  limits: UploadLimits;
}

/** Part of a body; undefined means absent. */
type ShippingBody = { [name in "filter" | "output_options" | "logpull_options"]?: JobBody[name] | undefined };

type Read<T> = { ok: true; value: T } | { ok: false; faults: Fault[] };

/**
 * Reads a body of the right shape. An option that is not supported is refused, never stored and
 * ignored.
 * @param extra fields that are on.
 * @returns the meaning; or the faults, each with its place in the body.
 */
export function readJob(body: JobBody, extra: readonly ExtraField[] = []): Read<JobMeaning> {
  const shipping = readShipping(body, extra);
  if (!shipping.ok) return shipping;
  return { ok: true, value: { ...shipping.value, limits: limitSettings(body), ...switchSettings(body) } };
}

/**
 * What of a job its destination does not take, each with its place in the body; and what of its
 * meaning follows from it: its limits, so that one write holds what is cut, and that nothing is
 * searched which cannot be read back.
 */
export function fitDestination(
  { output, limits }: Pick<JobMeaning, "output" | "limits">,
  body: { readonly [name in SwitchName | "output_options"]?: JobBody[name] | undefined },
  { plainRecords, fields, limits: most, isReadable }: Terms,
): { faults: Fault[]; limits: UploadLimits } & Partial<SwitchSettings> {
  const at = (name: keyof OutputFormat): string =>
    body.output_options == null ? "/logpull_options" : `/output_options/${optionOf(name)}`;
  const faults: Fault[] = (plainRecords ? unplain(output) : []).map((name) => ({
    pointer: at(name),
    message: `${optionOf(name)}: this destination takes only NDJSON records: no CSV, Parquet, template, prefix or delimiter`,
  }));
  if (output.rows !== undefined && !isReadable) {
    const message = "rows: this destination takes one record for each invocation";
    faults.push({ pointer: at("rows"), message });
  }
  if (output.type === "parquet" && !isReadable && !plainRecords)
    faults.push({ pointer: at("type"), message: "output_type: this destination takes requests of text: no Parquet" });
  for (const name of fields) {
    if (namesOf(output).includes(name)) continue;
    const message = `field_names: this destination needs the field ${name}: name it, or leave field_names out`;
    faults.push({ pointer: at("fieldNames"), message });
  }
  const unreadable = isReadable ? [] : SWITCH_NAMES;
  for (const name of unreadable) {
    const message = `${name}: ${SWITCHES[name].unreadable}`;
    if (body[name] === true) faults.push({ pointer: `/${name}`, message });
  }
  const { records, bytes } = most ?? limits;
  return {
    faults,
    limits: { ...limits, records: Math.min(limits.records, records), bytes: Math.min(limits.bytes, bytes) },
    ...Object.fromEntries(unreadable.map((name) => [name, false])),
  };
}

/** Extra fields that a valid job ships, or filters on. */
export function extraFieldsOf({ output, filter }: Pick<JobConfig, "output" | "filter">): ExtraField[] {
  const read = parseFilter(filter ?? "", EXTRA_FIELDS);
  const named = new Set<string>(namesOf(output));
  if (read.ok && read.filter !== null) for (const key of keysOf(read.filter)) named.add(key);
  return EXTRA_FIELDS.filter((name) => named.has(name));
}

/** The fields that a filter reads. */
function keysOf(filter: Filter): string[] {
  return filter.kind === "condition" ? [filter.path[0]] : filter.nodes.flatMap(keysOf);
}

/** The parts of a job's body that decide what it ships, and in which format. */
export function readShipping(
  body: ShippingBody,
  extra: readonly ExtraField[] = [],
): Read<Pick<JobMeaning, "filter" | "sampleRate" | "output">> {
  const output = readOutput(body, extra);
  const filter = readFilter(body.filter ?? "", extra);
  if (!output.ok || !filter.ok) {
    return { ok: false, faults: [output, filter].flatMap((read) => (read.ok ? [] : read.faults)) };
  }
  return { ok: true, value: { filter: filter.value, ...output.value } };
}

/** `output_options`, or `logpull_options` if the former are absent or null. */
function readOutput(
  { output_options, logpull_options }: ShippingBody,
  extra: readonly ExtraField[],
): Read<OutputMeaning> {
  const logpull = readLogpull(logpull_options ?? "", extra);
  if (output_options == null) return logpull;
  const output = readOutputOptions(output_options, extra);
  // Without effect, but checked: removing output_options later brings them into force.
  if (output.ok) return logpull.ok ? output : logpull;
  const faults = output.faults.map((fault) => ({ ...fault, pointer: `/output_options${fault.pointer}` }));
  return { ok: false, faults: logpull.ok ? faults : [...faults, ...logpull.faults] };
}

/** The meaning of `logpull_options` alone. */
export function readLogpull(text: string, extra: readonly ExtraField[] = []): Read<OutputMeaning> {
  const { options, faults } = parseLogpullOptions(text);
  const read = readOutputOptions(options, extra);
  if (read.ok && faults.length === 0) return read;
  const messages = read.ok ? faults : [...faults, ...read.faults.map(({ message }) => message)];
  return { ok: false, faults: messages.map((message) => ({ pointer: "/logpull_options", message })) };
}

function readFilter(text: string, extra: readonly ExtraField[]): Read<string | null> {
  const read = parseFilter(text, extra);
  if (!read.ok) return { ok: false, faults: read.faults.map((message) => ({ pointer: "/filter", message })) };
  return { ok: true, value: read.filter === null ? null : text };
}
