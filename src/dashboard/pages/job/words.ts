/** A job in words: pure functions of what the API says. */
import { UPLOAD_BYTES, UPLOAD_INTERVAL_S, UPLOAD_RECORDS } from "../../../limits.ts";
import type { Kind } from "../../parts/panel.tsx";
import { bytes, count, duration, plural } from "../../parts/values.tsx";
import type { JobView, LedgerView, ObjectView } from "../../views/job.ts";

/** An upload starts within so many seconds after its object is due. CONTRACT 4. */
const STARTS_WITHIN_S = 15;

/** What a job is called: its name, or its number. */
export function nameOf({ id, name }: Pick<JobView, "id" | "name">): string {
  return name === null || name.trim() === "" ? `Job ${id}` : name;
}

/** The same where there is little room: above a page's title. */
export function shortNameOf(job: Pick<JobView, "id" | "name">): string {
  const name = nameOf(job);
  return name.length <= 60 ? name : `${name.slice(0, 60).toWellFormed()}…`;
}

export function stateOf({ enabled, error_message }: Pick<JobView, "enabled" | "error_message">): {
  kind: Kind;
  words: string;
} {
  if (error_message !== null) return { kind: "bad", words: enabled ? "failing" : "paused, and failing" };
  return enabled ? { kind: "ok", words: "on" } : { kind: "quiet", words: "paused" };
}

/** Which records, in a sentence or two. */
export function recordsWords({ output_options: options, filter }: JobView): string {
  const fields = options?.field_names;
  const rate = options?.sample_rate;
  const which = fields === undefined ? "all fields" : plural(fields.length, "field");
  const kept = filter === null || filter === "" ? "every record" : "records that a filter keeps";
  const sampled = typeof rate === "number" && rate < 1 ? `, a sample of ${Number((rate * 100).toPrecision(3))} %` : "";
  return `${kept}${sampled}, with ${which}`;
}

/** In which form. */
export function outputWords({ output_options: options = {} }: JobView): string {
  const type = options.output_type === "csv" ? "CSV" : "NDJSON";
  const times = typeof options.timestamp_format === "string" ? `, times as ${options.timestamp_format}` : "";
  const own = ["batch_prefix", "batch_suffix", "record_prefix", "record_suffix", "record_delimiter", "field_delimiter"];
  const texts = own.some((name) => typeof options[name] === "string") ? ", texts of its own around records" : "";
  const template =
    typeof options.record_template === "string" && options.record_template !== "" ? ", by a template" : "";
  return `${type}${times}${template}${texts}, gzip`;
}

/** When an object is cut at the latest. */
export function limitsWords(job: JobView): string {
  const interval = job.max_upload_interval_seconds || UPLOAD_INTERVAL_S.fallback;
  const records = job.max_upload_records || UPLOAD_RECORDS.fallback;
  const size = job.max_upload_bytes || UPLOAD_BYTES.fallback;
  return `after ${interval} s, ${count(records)} records, or ${bytes(size)} before compression`;
}

/** What waits, and what becomes of it. */
export function pendingWords(job: JobView, ledger: LedgerView): string {
  const { pending, pending_objects: objects, oldest_pending_seconds: oldest } = ledger;
  if (pending === 0) return "Nothing waits.";
  const age = oldest === null ? "" : `, the oldest for ${duration(oldest * 1_000)}`;
  const what = `${plural(pending, "record")} ${pending === 1 ? "waits" : "wait"}${age}.`;
  const cut =
    objects === 0 ? "" : ` ${plural(objects, "object")} ${objects === 1 ? "is" : "are"} cut and not uploaded yet.`;
  if (job.error_message !== null)
    return `${what}${cut} Uploads fail at the moment and are tried again; none of it is lost.`;
  if (objects > 0) return `${what}${cut} Uploads are under way.`;
  const left = (job.max_upload_interval_seconds || UPLOAD_INTERVAL_S.fallback) - (oldest ?? 0);
  return left > 0
    ? `${what} The next upload starts in ${left} to ${left + STARTS_WITHIN_S} s.`
    : `${what} The next upload is due.`;
}

/** Whether every record that was received is somewhere. */
export function addsUp(ledger: LedgerView): { ok: boolean; sum: number } {
  const { filtered, sampled_out, delivered, pending, set_aside, discarded } = ledger;
  const sum = filtered + sampled_out + delivered + pending + set_aside + discarded;
  return { ok: sum === ledger.received, sum };
}

const REASONS: Readonly<Record<string, string>> = {
  bytes: "it was large enough",
  records: "it had enough records",
  interval: "its oldest record had waited long enough",
  scheduled: "the schedule, every five minutes",
  manual: "somebody asked for a flush",
  config: "the job's output changed",
  deleted: "the job was deleted",
  replay: "a copy that a replay wrote",
};

export function reasonWords(reason: string): string {
  return REASONS[reason] ?? reason;
}

export function objectState({ state, attempts, verified }: ObjectView): { kind: Kind; words: string } {
  switch (state) {
    case "delivered":
      return verified === false
        ? { kind: "ok", words: "delivered, not shown by its store" }
        : { kind: "ok", words: "delivered" };
    case "waiting":
      return attempts > 0 ? { kind: "warn", words: "waiting, tried in vain" } : { kind: "info", words: "waiting" };
    case "set_aside":
      return { kind: "bad", words: "set aside" };
    case "discarded":
      return { kind: "quiet", words: "discarded" };
    default:
      return { kind: "quiet", words: String(state) };
  }
}
