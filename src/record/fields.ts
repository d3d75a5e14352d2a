/** The dataset of trace events; the alias is the vendor's own spelling. */
export const DATASETS = ["functions_trace_events", "workers_trace_events"] as const;
export type Dataset = (typeof DATASETS)[number];

/** The fields of a record in their canonical order: a job without `field_names` ships all of them in this order. */
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

const KNOWN: ReadonlySet<string> = new Set(FIELD_NAMES);

export function isFieldName(name: string): name is FieldName {
  return KNOWN.has(name);
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
 * One invocation of a function. Nothing is null or missing: what was not there is `""`, `[]`, `0` or an object with empty strings.
 * The order of the properties is the canonical order of {@link FIELD_NAMES}; encoders rely on it.
 */
export interface TraceRecord {
  CPUTimeMs: number;
  DispatchNamespace: string;
  Entrypoint: string;
  Event: Record<string, unknown>;
  /** Milliseconds since the epoch, as every time in a record. */
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
