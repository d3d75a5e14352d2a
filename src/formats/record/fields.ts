/** The dataset of trace events; the alias is the vendor's own spelling. */
export const DATASETS = ["functions_trace_events", "workers_trace_events"] as const;
export type Dataset = (typeof DATASETS)[number];

/**
 * The vendor's other datasets, which its clients may ask for.
 * https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/
 */
export const VENDORS_DATASETS: ReadonlySet<string> = new Set(
  `access_requests account_abuse_protection_events audit_logs audit_logs_v2 biso_user_actions
   casb_findings device_posture_results dex_application_tests dex_device_state_events
   dlp_forensic_copies dns_firewall_logs dns_logs email_security_alerts
   email_security_post_delivery_events firewall_events gateway_dns gateway_http gateway_network
   http_requests ipsec_logs magic_bgp_logs magic_ids_detections mcp_portal_logs mnm_flow_logs
   nel_reports network_analytics_logs page_shield_events sinkhole_http_logs spectrum_events
   ssh_logs turnstile_events warp_config_changes warp_toggle_changes websocket_analytics
   zaraz_events zero_trust_network_sessions`.split(/\s+/),
);

/**
 * The fields of a record in canonical order; a job without `field_names` ships all in this order.
 */
export const FIELD_NAMES = [
  "CPUTimeMs",
  "DispatchNamespace",
  "Entrypoint",
  "Event",
  "EventTimestampMs",
  "EventType",
  "Exceptions",
  "Logs",
  "Outcome",
  "ScriptName",
  "ScriptTags",
  "ScriptVersion",
  "WallTimeMs",
] as const;
export type FieldName = (typeof FIELD_NAMES)[number];

/**
 * Fields beside these: not in the canonical line, and shipped only by a job that names them, where
 * the setting EXTRA_FIELDS does, too.
 */
export const EXTRA_FIELDS = [
  "Source",
  "RequestHeaders",
  "RequestCF",
  "ExceptionStacks",
  "DurableObjectID",
  "ExecutionModel",
  "Truncated",
  "LogErrors",
  "Preview",
] as const;
export type ExtraField = (typeof EXTRA_FIELDS)[number];
export type AnyField = FieldName | ExtraField;

/** Extra fields that are taken from the event, and only where the setting names them: extras.ts. */
export type TakenField = Exclude<ExtraField, "Source">;
export const TAKEN_FIELDS = EXTRA_FIELDS.filter((name): name is TakenField => name !== "Source");

/** What a row has of its log line or exception, where a job ships rows: rows.ts. */
export const ROW_FIELDS = ["Level", "Message", "TimestampMs", "RowType", "ExceptionName", "Fields"] as const;
export type RowField = (typeof ROW_FIELDS)[number];

/** The fields of a record that its rows have, too. */
export const INVOCATION_FIELDS = FIELD_NAMES.filter((name) => name !== "Exceptions" && name !== "Logs");

/** The fields of a row in their order, without extra fields. */
export const ROW_FIELD_NAMES = [...INVOCATION_FIELDS, ...ROW_FIELDS] as const;

/** What a job may write. */
export type OutputField = AnyField | RowField;

/** In a list of fields, stands for all that it does not name, but the extra ones. */
export const ALL_FIELDS = "*";

/** Type and meaning of each field, in the vendor's form, for `GET /datasets/{dataset}/fields`. */
export const FIELD_DESCRIPTIONS: Readonly<Record<FieldName, string>> = {
  CPUTimeMs: "int; CPU time that the invocation used, in milliseconds",
  DispatchNamespace: "string; dispatch namespace that the function was called in; empty outside of one",
  Entrypoint: "string; name of the entrypoint that was called; empty for the default one",
  Event: "object; what the function was called with; its keys depend on EventType",
  EventTimestampMs: "int; when the event arrived, in milliseconds since the Unix epoch",
  EventType:
    "string; kind of the event: fetch, scheduled, alarm, queue, email, worker_rpc, hibernatable_web_socket, onHibernate, connect, tail or unknown",
  Exceptions:
    "array[object]; what was thrown and not caught, each with name, message and TimestampMs; a stack is not shipped",
  Logs: "array[object]; what the function logged, each entry with Level, Message (array of strings) and TimestampMs",
  Outcome: "string; how the invocation ended: ok, exception, exceededCpu, canceled and others",
  ScriptName: "string; name of the function",
  ScriptTags: "array[string]; tags of the function",
  ScriptVersion: "object; version of the function that ran, with ID, Message and Tag",
  WallTimeMs: "int; time from the start of the invocation to its end, in milliseconds",
};

/** The same of the extra fields. */
export const EXTRA_DESCRIPTIONS: Readonly<Record<ExtraField, string>> = {
  Source:
    "string; where the record came from: tail (traced by Cloudflare), http:<name of the token or member that sent it>, rpc; empty if unknown",
  RequestHeaders: "object; some headers of the request, by lower-case name; none that may hold a secret",
  RequestCF: "object; what Cloudflare knows of the request: colo, country, asn, httpProtocol, tlsVersion and others",
  ExceptionStacks: "array[string]; the stack of each of Exceptions, in their order; empty for one that has none",
  DurableObjectID: "string; id of the Durable Object that ran; empty if none did",
  ExecutionModel: "string; stateless, durableObject or workflow",
  Truncated: "bool; whether Cloudflare cut off logs of the invocation before it handed them on",
  LogErrors:
    "array[object]; the errors among the arguments of Logs, each with Log and Argument (its place, from 0), name, message and stack",
  Preview: "object; the preview deployment that ran, with id, slug and name; empty if none did",
};

/** The same of what rows have. */
export const ROW_DESCRIPTIONS: Readonly<Record<RowField, string>> = {
  Level: "string; level of the log line; error for an exception",
  Message:
    "string; arguments of the log line, with a space between them, or message of the exception; empty where it is in Fields",
  TimestampMs: "int; when it was logged or thrown, in milliseconds since the Unix epoch",
  RowType: "string; log or exception",
  ExceptionName: "string; name of the exception; empty for a log line",
  Fields: "object; the log line, if its only argument is one JSON object; empty otherwise",
};

/** The type of a field, as its description begins. */
export type FieldType = "int" | "bool" | "string" | "object" | "array[object]" | "array[string]";

const DESCRIPTIONS = { ...FIELD_DESCRIPTIONS, ...EXTRA_DESCRIPTIONS, ...ROW_DESCRIPTIONS };

export function typeOf(name: OutputField): FieldType {
  return DESCRIPTIONS[name].split(";", 1)[0] as FieldType;
}

/** The JSON of a field that a record has not. */
export function emptyText(name: OutputField): string {
  return { int: "0", bool: "false", string: '""', object: "{}", "array[object]": "[]", "array[string]": "[]" }[
    typeOf(name)
  ];
}

const KNOWN: ReadonlySet<string> = new Set(FIELD_NAMES);
const EXTRA: ReadonlySet<string> = new Set(EXTRA_FIELDS);

export function isFieldName(name: string): name is FieldName {
  return KNOWN.has(name);
}

export function isRowField(name: string): name is RowField {
  return (ROW_FIELDS as readonly string[]).includes(name);
}

export function isExtraField(name: string): name is ExtraField {
  return EXTRA.has(name);
}

export function isTakenField(name: string): name is TakenField {
  return EXTRA.has(name) && name !== "Source";
}

/** Why an extra field is refused that EXTRA_FIELDS does not name. */
export function isOff(name: ExtraField): string {
  return `field ${name} is off: EXTRA_FIELDS, a setting of this service, does not name it`;
}

export interface LogEntry {
  Level: string;
  Message: string[];
  TimestampMs: number;
}

export interface ExceptionEntry {
  name: string;
  message: string;
  TimestampMs: number;
}

/**
 * One invocation of a function. No value is null or missing: the default is `""`, `[]`, `0` or an
 * object with empty strings. The properties are in the canonical order of {@link FIELD_NAMES};
 * encoders rely on it.
 */
export interface TraceRecord {
  CPUTimeMs: number;
  DispatchNamespace: string;
  Entrypoint: string;
  Event: Record<string, unknown>;
  /** In ms since the epoch, like every time in a record. */
  EventTimestampMs: number;
  EventType: string;
  Exceptions: ExceptionEntry[];
  Logs: LogEntry[];
  Outcome: string;
  ScriptName: string;
  ScriptTags: string[];
  ScriptVersion: { ID: string; Message: string; Tag: string };
  WallTimeMs: number;
}

/** A logged error: its line among `Logs` as they were logged, its place in `Message`, from 0. */
export type LogError = Readonly<Record<"Log" | "Argument", number> & Record<"name" | "message" | "stack", string>>;

/** The values of the extra fields; of a record that is not in a message yet, there are none. */
export interface ExtraValues {
  readonly Source?: string;
  /** Values by lower-case name. */
  readonly RequestHeaders?: Readonly<Record<string, string>>;
  readonly RequestCF?: Readonly<Record<string, string | number | boolean>>;
  readonly ExceptionStacks?: readonly string[];
  readonly DurableObjectID?: string;
  readonly ExecutionModel?: string;
  readonly Truncated?: boolean;
  readonly LogErrors?: readonly LogError[];
  readonly Preview?: Readonly<Record<string, string | number | boolean>>;
}
