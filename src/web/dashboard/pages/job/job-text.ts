/** A job in words: pure functions of what the API says. */
import { UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../../../../base/limits.ts";
import { bytes, count, duration, plural } from "../../../../base/words.ts";
import { ALL_FIELDS, isExtraField } from "../../../../formats/record/fields.ts";
import type { Terms } from "../../../../ship/destinations/destination.ts";
import { isOn, SWITCH_NAMES, SWITCHES, TEXT_NAMES } from "../../../../ship/job/fields.ts";
import type { PageContext } from "../../page.ts";
import type { Kind } from "../../parts/panel.tsx";
import type { JobView, LedgerView, ObjectView } from "../../views/job.ts";
import { type Options, optionsOf, type ShippingBody } from "../shipping/body.ts";

/**
 * Seconds from the moment an object is due until its upload starts: the queue and the alarm take
 * that long.
 */
export const STARTS_WITHIN_S = 15;

/** The API path of the job that a page is about. An invalid id is the API's to refuse. */
export function jobPath({ params }: Pick<PageContext, "params">): string {
  return `/logship/jobs/${encodeURIComponent(params.job_id ?? "")}`;
}

/** The trail of a page below the page of its job. */
export function jobTrail(job: Pick<JobView, "id" | "name">): { href: string; label: string }[] {
  const name = nameOf(job);
  const label = name.length <= 60 ? name : `${name.slice(0, 60).toWellFormed()}…`;
  return [{ href: `/jobs/${job.id}`, label }];
}

/** The name of a job, or its number. */
export function nameOf({ id, name }: Pick<JobView, "id" | "name">): string {
  return name === null || name.trim() === "" ? `Job ${id}` : name;
}

export function stateOf({ enabled, error_message }: Pick<JobView, "enabled" | "error_message">): {
  kind: Kind;
  words: string;
} {
  if (error_message !== null) return { kind: "bad", words: enabled ? "failing" : "paused, failing" };
  return enabled ? { kind: "ok", words: "on" } : { kind: "quiet", words: "paused" };
}

/** What a job ships, as names and values. @param terms of its destination; null: unknown. */
export function shippingFacts(
  body: ShippingBody,
  terms: Pick<Terms, "limits"> | null,
): (readonly [name: string, value: string])[] {
  return [
    ["Records", recordsWords(body)],
    ["Output", outputWords(body)],
    ["Object limits", limitsWords(body, terms?.limits)],
    ...SWITCH_NAMES.map((name) => {
      const [title, on] = SWITCHES[name].fact;
      return [title, isOn(body, name) ? on : "off"] as const;
    }),
  ];
}

export function recordsWords(body: ShippingBody): string {
  const options = optionsOf(body);
  const rate = Number(options.sample_rate ?? 1);
  const kept = body.filter == null || body.filter === "" ? "all records" : "filtered";
  const sampled = rate < 1 ? `, ${Number((rate * 100).toPrecision(3))} % sample` : "";
  return `${kept}${sampled}, ${fieldsWords(options)}`;
}

export function fieldsWords({ field_names: names }: Pick<Options, "field_names">): string {
  if (names == null || names.length === 0) return "all fields";
  if (!names.includes(ALL_FIELDS)) return plural(names.length, "field");
  const more = names.filter(isExtraField).length;
  return more === 0 ? "all fields" : `all fields and ${plural(more, "extra field")}`;
}

export function outputWords(body: ShippingBody): string {
  const options = optionsOf(body);
  const own = TEXT_NAMES.some((name) => options[name] != null);
  const what = [
    ...(options.rows === "log" ? ["a row for each log line"] : []),
    ...(options.truncate === false ? ["whole texts"] : []),
    ...(options.escape_formulas === true ? ["formulas escaped"] : []),
  ];
  if (options.output_type === "parquet") return ["Parquet", ...what].join(", ");
  return [
    options.output_type === "csv" ? "CSV" : "NDJSON",
    ...(options.record_template ? ["template"] : []),
    ...(own ? ["custom delimiters"] : []),
    ...what,
    "gzip",
  ].join(", ");
}

/** Whichever limit is reached first cuts an object. @param most what the destination takes. */
export function limitsWords(body: ShippingBody, most?: Terms["limits"]): string {
  const interval = Number(body.max_upload_interval_seconds) || UPLOAD_INTERVAL_S.fallback;
  const { records: mostRecords, bytes: mostBytes } = most ?? { records: Infinity, bytes: Infinity };
  const records = Math.min(Number(body.max_upload_records) || UPLOAD_RECORDS.fallback, mostRecords);
  const size = Math.min(Number(body.max_upload_bytes) || UPLOAD_BYTES.fallback, mostBytes);
  return `${interval} s, ${count(records)} records or ${bytes(size)} before compression`;
}

/** What is waiting, and when it is uploaded. */
export function pendingWords(job: JobView, ledger: LedgerView): string {
  const { pending, pending_objects: objects, oldest_pending_seconds: oldest } = ledger;
  const age = oldest === null ? "" : `, the oldest for ${duration(oldest * 1_000)}`;
  const what = `${plural(pending, "record")} waiting${age}.`;
  if (job.error_message !== null)
    return `${what}${objects === 0 ? "" : ` ${plural(objects, "object")} not uploaded yet.`}`;
  if (objects > 0) return `${what} ${plural(objects, "object")} uploading.`;
  const left = (job.max_upload_interval_seconds || UPLOAD_INTERVAL_S.fallback) - (oldest ?? 0);
  return left > 0
    ? `${what} Next upload in ${left} to ${left + STARTS_WITHIN_S} s.`
    : `${what} The next upload is due.`;
}

/** How often each record reaches the destination. */
export function guaranteeWords({ guarantee }: Pick<LedgerView, "guarantee">): string {
  return guarantee === null ? "unknown: the stored destination cannot be decrypted" : guarantee;
}

/** Whether every received record is accounted for. */
export function addsUp(ledger: LedgerView): { ok: boolean; sum: number } {
  const { filtered, sampled_out, delivered, pending, set_aside, discarded } = ledger;
  const sum = filtered + sampled_out + delivered + pending + set_aside + discarded;
  return { ok: sum === ledger.received, sum };
}

const REASONS: Readonly<Record<ObjectView["reason"], string>> = {
  bytes: "Max size",
  records: "Max records",
  interval: "Max wait",
  scheduled: "Schedule (5 min)",
  manual: "Flush",
  config: "Output changed",
  deleted: "Job deleted",
  replay: "Replay copy",
};

/** Why an object was cut. The job's limit is named if it has not changed since. */
export function reasonWords({ reason, cut_at }: ObjectView, job: JobView): string {
  const isSame = Date.parse(job.time_modified) <= Date.parse(cut_at);
  if (reason !== "interval" || !isSame) return REASONS[reason];
  return `${REASONS.interval} (${job.max_upload_interval_seconds || UPLOAD_INTERVAL_S.fallback} s)`;
}

/** @param isReadable whether its destination can show what it has. */
export function objectState(
  { state, attempts, verified }: ObjectView,
  isReadable: boolean,
): { kind: Kind; words: string } {
  switch (state) {
    case "delivered":
      return { kind: "ok", words: verified === false && isReadable ? "delivered, not verified" : "delivered" };
    case "waiting":
      return attempts > 0 ? { kind: "warn", words: "waiting, retrying" } : { kind: "info", words: "waiting" };
    case "set_aside":
      return { kind: "bad", words: "on hold" };
    case "discarded":
      return { kind: "quiet", words: "discarded" };
  }
}
