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
export const EXTRA_FIELDS = ["Source"] as const;
export type ExtraField = (typeof EXTRA_FIELDS)[number];
export type AnyField = FieldName | ExtraField;

/** Type and meaning of each field, in the vendor's form, for `GET /datasets/{dataset}/fields`. */
export const FIELD_DESCRIPTIONS: Readonly<Record<FieldName, string>> = {
  CPUTimeMs: "int; CPU time that the invocation used, in milliseconds",
  DispatchNamespace: "string; dispatch namespace that the function was called in; empty outside of one",
  Entrypoint: "string; name of the entrypoint that was called; empty for the default one",
  Event: "object; what the function was called with; its keys depend on EventType",
  EventTimestampMs: "int; when the event arrived, in milliseconds since the Unix epoch",
  EventType:
    "string; kind of the event: fetch, scheduled, alarm, queue, email, worker_rpc, hibernatable_web_socket, tail or unknown",
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
    "string; where the record came from: tail (traced by the platform), http:<name of the token or member that sent it>, rpc; empty if unknown",
};

const KNOWN: ReadonlySet<string> = new Set(FIELD_NAMES);
const EXTRA: ReadonlySet<string> = new Set(EXTRA_FIELDS);

export function isFieldName(name: string): name is FieldName {
  return KNOWN.has(name);
}

export function isExtraField(name: string): name is ExtraField {
  return EXTRA.has(name);
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

/** The values of the extra fields; of a record that is not in a message yet, there are none. */
export type ExtraValues = { readonly [name in ExtraField]?: string };
