import { parsedJson } from "../../../base/bytes.ts";
import { isEmpty, judgeAnswer, type Success, unclear, words } from "./answers.ts";
import { fieldsOf } from "./protobuf.ts";
import type { Receiver, ReceiverAnswer, SentRecord, Verdict } from "./receiver.ts";
import { secretHeader, url } from "./receiver-form.ts";
import { listOf, messageOf, objectOf, type Severity, severityOf } from "./records.ts";

/** A collector takes 20 MiB of a body, after decompression. */
const BODY_BYTES = 10_000_000;

/**
 * OpenTelemetry logs over HTTP, as JSON. An invocation is one LogRecord: its lines share attributes
 * and outcome, and a count of LogRecords is one of records.
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
export const otlp: Receiver = {
  scheme: "otlp",
  name: "an OTLP receiver",
  id: "attribute logship.record.id",
  takes: {
    plainRecords: true,
    fields: ["EventTimestampMs", "ScriptName"],
    limits: { records: 2_500, bytes: 2_000_000 },
  },
  // As `OTEL_EXPORTER_OTLP_ENDPOINT`: the base of the paths of all signals.
  requestPath: (path) => {
    const base = path.replace(/\/$/, "");
    if (base === "v1/logs" || base.endsWith("/v1/logs")) return base;
    return base === "" ? "v1/logs" : `${base}/v1/logs`;
  },
  form: () => ({
    contentType: "application/json",
    frame: { open: '{"resourceLogs":[', betweenGroups: ",", between: ",", closeGroup: "]}]}", close: "]}" },
    limits: { records: 10_000, bytes: BODY_BYTES, entryBytes: BODY_BYTES - 10_000, maxAgeMs: null },
    entry: (record, id) => ({
      group: `{"resource":{"attributes":${attributes(resourceAttributes(record))}},"scopeLogs":[{"scope":{"name":"logship"},"logRecords":[`,
      text: logRecord(record, id),
    }),
  }),
  asks: {
    name: "OpenTelemetry (OTLP)",
    about: "`otlp://`, a collector or a service that takes OTLP over HTTP.",
    fields: [
      url({ hint: "Such as `https://collector.example:4318`. `/v1/logs` is appended if missing." }),
      secretHeader("Authorization", { hint: "If the service needs it, such as `Bearer` and a token." }),
    ],
  },
  judge,
  // It should be answered as a success, and leaves nothing.
  probe: { body: '{"resourceLogs":[]}' },
};

/** https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber */
const SEVERITY_NUMBER: Readonly<Record<Severity, number>> = { info: 9, warn: 13, error: 17 };

function logRecord(record: SentRecord, id: string): string {
  const severity = severityOf(record.fields);
  const time = nanoseconds(record.timeMs);
  const given: Record<string, Json | undefined> = {
    ...recordAttributes(record.fields),
    "logship.record.id": id,
    "logship.record": record.line,
  };
  const head = JSON.stringify({
    timeUnixNano: time,
    // When it was first seen is not known, and the clock would make each attempt another one.
    observedTimeUnixNano: time,
    severityNumber: SEVERITY_NUMBER[severity],
    severityText: severity.toUpperCase(),
    body: { stringValue: messageOf(record.fields) },
  });
  return `${head.slice(0, -1)},"attributes":${attributes(given)}}`;
}

/** As `fixed64`, which JSON has as a string; 0 is an unknown time. */
function nanoseconds(timeMs: number): string {
  return timeMs >= 1 && timeMs <= NANOSECONDS_MAX_MS ? `${Math.trunc(timeMs)}000000` : "0";
}

/** 2^63 ns: collectors keep times as signed. */
const NANOSECONDS_MAX_MS = 9_223_372_036_854;

function attributes(of: Record<string, Json | undefined>): string {
  const list = Object.entries(of).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: any(value) }]));
  return JSON.stringify(list);
}

/** An AnyValue; integers of 64 bits are strings. */
function any(value: Json): unknown {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isSafeInteger(value) ? { intValue: `${value}` } : { doubleValue: value };
  return { arrayValue: { values: value.map(any) } };
}

/** 200 with a message. Some say it by the status: 202, or 204 with nothing. */
const TAKEN: Success = { statuses: [200, 202, 204], otherwise: "as an OTLP receiver answers" };

/**
 * What was rejected in part is not to be sent again, and is not named. 500 and 408 are for good by
 * the specification, after which a client drops the data: here they are tried again, as no record
 * may be lost and both are mostly of the moment.
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp-response
 */
function judge(answer: ReceiverAnswer, count: number): Verdict {
  const said = saidIn(answer);
  const byStatus = judgeAnswer(answer, TAKEN, statusCodeIn(said));
  if (byStatus.kind !== "taken") return byStatus;
  const rejected = rejectedIn(said);
  if (rejected === 0) return byStatus;
  if (rejected === null || rejected > count) return unclear(answer, TAKEN.otherwise);
  const unnamed = { records: rejected, words: `${words(answer)}, but records were rejected` };
  return { kind: "partly", again: [], error: null, refused: [], unnamed };
}

/** The body: its bytes where it is protobuf. undefined: it is not readable. */
function saidIn({ bytes, text, headers }: ReceiverAnswer): unknown {
  const isProtobuf = /^application\/(?:x-)?protobuf\b/i.test(headers.get("content-type") ?? "");
  return isProtobuf ? bytes : parsedJson(isEmpty(text) ? "{}" : text);
}

/** Of an ExportLogsServiceResponse. null: it is none. */
function rejectedIn(said: unknown): number | null {
  const response = messageIn(said, ["partialSuccess"]);
  const partial = response && messageIn(response.get("partialSuccess") ?? {}, ["rejectedLogRecords", "errorMessage"]);
  return partial && integerOf(partial.get("rejectedLogRecords") ?? 0);
}

/** Of a google.rpc.Status, as an error has it. */
function statusCodeIn(said: unknown): string | null {
  const code = integerOf(messageIn(said, ["code", "message", "details"])?.get("code"));
  return code === null ? null : `OTLP.${code}`;
}

/**
 * The fields of a message that has these, numbered from 1: in protobuf, or in JSON by either of
 * their names. Unknown ones are passed over, as the specification demands.
 * @returns null: it is no message, has a field twice, or others alone.
 */
function messageIn(said: unknown, names: readonly string[]): ReadonlyMap<string, unknown> | null {
  if (typeof said !== "object" || said === null || Array.isArray(said)) return null;
  const members = said instanceof Uint8Array ? fieldsOf(said) : Object.entries(said);
  if (members === null) return null;
  const fields = new Map<string, unknown>();
  for (const [name, value] of members) {
    const known = typeof name === "number" ? names[name - 1] : names.find((each) => each === camelCase(name));
    if (known === undefined) continue;
    if (fields.has(known) && known !== "details") return null;
    fields.set(known, value);
  }
  return fields.size > 0 || members.length === 0 ? fields : null;
}

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** In JSON, an integer is a number or a text. null: it is none, or none that a count can be. */
function integerOf(value: unknown): number | null {
  const isText = typeof value === "string" && /^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value);
  const count = isText || typeof value === "number" || typeof value === "bigint" ? Number(value) : -1;
  return Number.isSafeInteger(count) && count >= 0 ? count : null;
}

/** A value that an attribute may have. */
type Json = string | number | boolean | readonly string[];

type Fields = SentRecord["fields"];
type Attributes = Record<string, Json | undefined>;

/**
 * What a record is in the words of the semantic conventions; what these have no word for, in those
 * of Cloudflare's own telemetry. Pure; a field that is missing or of another type gives nothing.
 * https://opentelemetry.io/docs/specs/semconv/registry/attributes/
 * https://developers.cloudflare.com/workers/observability/traces/spans-and-attributes/
 */
function recordAttributes(fields: Fields): Attributes {
  const event = objectOf(fields.Event);
  const request = objectOf(event.Request);
  const method = textOf(request.Method);
  const [thrown] = listOf(fields.Exceptions);
  const exception = thrown ?? listOf(fields.LogErrors)[0];
  const type = textOf(fields.EventType);
  return {
    "faas.trigger": type === undefined ? undefined : (TRIGGERS[type] ?? "other"),
    "faas.cron": textOf(event.Cron),
    "http.request.method": method === undefined || METHODS.has(method) ? method : "_OTHER",
    "http.request.method_original": method === undefined || METHODS.has(method) ? undefined : method,
    "url.full": textOf(request.URL),
    "http.response.status_code": numberOf(objectOf(event.Response).Status),
    "exception.type": textOf(exception?.name ?? exception?.Name),
    "exception.message": textOf(exception?.message ?? exception?.Message),
    "exception.stacktrace": textOf(thrown ? textsOf(fields.ExceptionStacks)?.[0] : exception?.stack),
    "cloudflare.ray_id": textOf(event.RayID),
    "cloudflare.outcome": textOf(fields.Outcome),
    "cloudflare.handler_type": type,
    "cloudflare.entrypoint": textOf(fields.Entrypoint),
    "cloudflare.dispatch_namespace": textOf(fields.DispatchNamespace),
    "cloudflare.script_tags": textsOf(fields.ScriptTags),
    "cloudflare.cpu_time": numberOf(fields.CPUTimeMs),
    "cloudflare.wall_time": numberOf(fields.WallTimeMs),
    "cloudflare.scheduled_time": numberOf(event.ScheduledTimeMs),
    "cloudflare.queue.name": textOf(event.Queue),
    "cloudflare.queue.batch_size": numberOf(event.BatchSize),
    "cloudflare.jsrpc.method": textOf(event.RPCMethod),
    "cloudflare.email.from": textOf(event.MailFrom),
    "cloudflare.email.to": textOf(event.RcptTo),
    "cloudflare.email.size": numberOf(event.RawSize),
  };
}

/** What the records of a script have in common. */
function resourceAttributes({ fields }: Pick<SentRecord, "fields">): Attributes {
  const name = textOf(fields.ScriptName);
  const version = textOf(objectOf(fields.ScriptVersion).ID);
  return {
    "service.name": name ?? "unknown_service",
    "service.version": version,
    "cloud.provider": "cloudflare",
    "cloud.platform": "cloudflare.workers",
    "faas.name": name,
    "faas.version": version,
  };
}

/** https://opentelemetry.io/docs/specs/semconv/registry/attributes/faas/#faas-trigger */
const TRIGGERS: Readonly<Record<string, string | undefined>> = {
  __proto__: null as never,
  fetch: "http",
  scheduled: "timer",
  alarm: "timer",
  queue: "pubsub",
};

/** https://opentelemetry.io/docs/specs/semconv/registry/attributes/http/#http-request-method */
const METHODS: ReadonlySet<string> = new Set([
  ...["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"],
]);

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function textsOf(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === "string")
    ? value
    : undefined;
}
