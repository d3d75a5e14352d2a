import { utf8Length } from "../../../base/bytes.ts";
import { failureOf, isEmpty, judgeAnswer, type Success } from "./answers.ts";
import type { Receiver, ReceiverAnswer, SentRecord, Verdict } from "./receiver.ts";
import { host, secretHeader, text } from "./receiver-form.ts";
import { withFirst } from "./records.ts";

/**
 * Defaults of a server's `limits_config`. A push above `ingestion_burst_size_mb` (6) never passes.
 * https://grafana.com/docs/loki/latest/configure/#limits_config
 */
const BODY_BYTES = 4_000_000;
const LINE_BYTES = 262_144;
const MAX_AGE_HOURS = 168;
const AHEAD_MS = 10 * 60_000;
const LABELS = 15;

/** What the user may give besides the labels of a record; Loki itself adds `service_name`. */
const GIVEN_LABELS = LABELS - 2;
const LABEL_NAME = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,99}$/;
const LABEL_VALUE_MAX = 512;
const OWN_LABELS: ReadonlySet<string> = new Set(["service_name", "outcome"]);

/**
 * Each value of a label is a stream of its own: an outcome that an event makes up gets none.
 * https://developers.cloudflare.com/workers/runtime-apis/handlers/tail/#tailitems
 */
const OUTCOMES: ReadonlySet<string> = new Set([
  "ok",
  "exception",
  "canceled",
  "exceededCpu",
  "exceededMemory",
  "exceededWallTime",
  "internalError",
  "loadShed",
  "responseStreamDisconnected",
  "scriptNotFound",
  "unknown",
]);

/**
 * Loki's push API. Equal entries of a stream (time in ns, line) are merged when they are read; so
 * the line has the id of its record, and labels are those of the record and the string alone.
 * https://grafana.com/docs/loki/latest/reference/loki-http-api/#ingest-logs
 */
export const loki: Receiver = {
  scheme: "loki",
  name: "Loki",
  own: ["labels", "max-age-hours"],
  id: "logship_id in the line: repeats are merged when read",
  tellsRepeats: true,
  takes: {
    plainRecords: true,
    fields: ["EventTimestampMs", "Outcome", "ScriptName"],
    limits: { records: 10_000, bytes: 2_500_000 },
  },
  fault: ({ path, parameters }) => {
    if (!`/${requestPath(path)}`.endsWith("/loki/api/v1/push")) return "the path must end in /loki/api/v1/push";
    const hours = parameters.get("max-age-hours");
    if (hours !== undefined && !/^\d{1,5}$/.test(hours))
      return "max-age-hours must be a number of hours, or 0 if no record is too old";
    const labels = labelsOf(parameters.get("labels"));
    return typeof labels === "string" ? labels : null;
  },
  asks: {
    about: "`loki://`, Grafana Cloud or your own server.",
    start: "/loki/api/v1/push",
    fields: [
      host({ hint: "Such as `logs-prod-012.grafana.net`." }),
      secretHeader("Authorization", {
        label: "Authorization",
        hint: "If Loki needs it: `Basic` and user:token in Base64.",
      }),
      secretHeader("X-Scope-OrgID", { label: "Tenant", hint: "`X-Scope-OrgID`, if Loki has several tenants." }),
      text("labels", { label: "Labels", hint: "Besides script and outcome, such as `env=production,team=shop`." }),
      text("max-age-hours", {
        label: "Hours until a record is too old",
        hint: "Loki's `reject_old_samples_max_age`. Empty: a week. 0: no record is too old.",
      }),
    ],
  },
  requestPath,
  form: ({ parameters }) => {
    const given = labelsOf(parameters.get("labels"));
    const labels = typeof given === "string" ? [] : given;
    const hours = Number(parameters.get("max-age-hours") ?? MAX_AGE_HOURS);
    return {
      contentType: "application/json",
      frame: { open: '{"streams":[', betweenGroups: ",", between: ",", closeGroup: "]}", close: "]}" },
      limits: {
        records: 20_000,
        bytes: BODY_BYTES,
        entryBytes: LINE_BYTES,
        maxAgeMs: hours === 0 ? null : hours * 3_600_000,
        maxAheadMs: AHEAD_MS,
      },
      entry: (record, id) => {
        const line = withFirst(record.line, `"logship_id":"${id}"`);
        const stream = JSON.stringify(Object.fromEntries([...labels, ...streamOf(record)]));
        return {
          group: `{"stream":${stream},"values":[`,
          text: JSON.stringify([nanoseconds(record.timeMs), line]),
          bytes: utf8Length(line),
        };
      },
    };
  },
  judge,
  // An empty push is refused, and would not show that ingestion is blocked.
};

function requestPath(path: string): string {
  return path.replace(/\/$/, "") || "loki/api/v1/push";
}

/** `k=v,k=v`. @returns in words what is wrong with it. */
function labelsOf(text: string | undefined): [name: string, value: string][] | string {
  if (text === undefined) return [];
  const labels = new Map<string, string>();
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    const [name, value] = [pair.slice(0, Math.max(at, 0)), pair.slice(at + 1)];
    if (!LABEL_NAME.test(name)) return "labels must be <name>=<value>,…; a name has letters, digits and _";
    if (OWN_LABELS.has(name)) return `the label ${name} is set from each record`;
    if (labels.has(name)) return `the label ${name} is given twice`;
    if (!/^[\u0020-\u007e]{1,512}$/.test(value)) return `the label ${name} must be printable ASCII`;
    labels.set(name, value);
  }
  return labels.size > GIVEN_LABELS ? `at most ${GIVEN_LABELS} labels` : [...labels];
}

function streamOf({ fields: { ScriptName, Outcome } }: SentRecord): [string, string][] {
  const name = typeof ScriptName === "string" ? ScriptName.slice(0, LABEL_VALUE_MAX).toWellFormed() : "";
  const outcome = typeof Outcome === "string" && OUTCOMES.has(Outcome) ? Outcome : "other";
  return [
    ["service_name", name === "" ? "unknown_service" : name],
    ["outcome", outcome],
  ];
}

/** Since the epoch, in decimal. Times that a record cannot have are 0. */
function nanoseconds(timeMs: number): string {
  return timeMs >= 1 ? `${Math.trunc(timeMs)}000000` : "0";
}

/**
 * What a refusal says, under the names that Loki's own metrics have for it. Nothing is decided by
 * it but whether a rate limit let some streams pass.
 * https://github.com/grafana/loki/blob/main/pkg/validation/validate.go
 */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^ingestion rate limit exceeded/i, "rate_limited"],
  [/per.stream rate limit exceeded/i, "per_stream_rate_limit"],
  [/maximum active stream limit exceeded/i, "stream_limit"],
  [/ingestion blocked/i, "blocked_ingestion"],
  [/too far behind/i, "too_far_behind"],
  [/timestamp too old/i, "greater_than_max_sample_age"],
  [/timestamp too new/i, "too_far_in_future"],
  [/max entry size/i, "line_too_long"],
  [/missing required labels/i, "missing_enforced_labels"],
];

/**
 * Loki answers 204; others that have its API, 200 with nothing.
 * https://github.com/VictoriaMetrics/VictoriaMetrics/issues/8505
 */
const TAKEN: Success = { statuses: [204, 200], says: isEmpty, otherwise: "the empty answer of Loki" };

/**
 * 260, or what `block_ingestion_status_code` says instead, is a push that was blocked. With 400 and
 * a limit of a stream, other lines of the push are stored.
 */
function judge(answer: ReceiverAnswer): Verdict {
  const { status, text } = answer;
  const reason = REASONS.find(([said]) => said.test(text.slice(0, 10_000)))?.[1] ?? null;
  if (status === 260 || (status < 300 && reason === "blocked_ingestion"))
    return { kind: "failed", error: failureOf(answer, reason), mayBeThere: true };
  const verdict = judgeAnswer(answer, TAKEN, reason);
  const isPartial = status === 400 || (status === 429 && reason !== "rate_limited");
  return verdict.kind === "failed" && isPartial ? { ...verdict, mayBeThere: true } : verdict;
}
