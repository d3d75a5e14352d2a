import { bytesOf, type Dialect, POISON, refused, timeIn } from "./dialect.ts";

/**
 * A collector: JSON of the protobuf, in which it knows every key. What it rejects of a request it
 * counts, and does not name; what it cannot read it refuses whole. It knows no repeat.
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp-response
 */
export const otlp: Dialect = {
  count: (text) => logRecordsOf(text).length,
  take({ path, query, headers, text, refuses }) {
    if (path !== "/v1/logs" || query.size > 0) return refused(404, "404 page not found");
    if (headers["content-type"] !== "application/json") return refused(415, "unsupported media type");
    if (bytesOf(text) > 20 * 1_048_576) return refused(413, "http: request body too large");
    if (!isShaped(JSON.parse(text)) || text.includes(POISON)) return refused(400, { code: 3, message: "bad" });
    const records = logRecordsOf(text);
    const kept = records.filter((record, n) => refuses(n, JSON.stringify(record)) === null).map(lineOf);
    const rejected = records.length - kept.length;
    if (rejected === 0) return { kept, status: 200, body: {} };
    const partialSuccess = { rejectedLogRecords: `${rejected}`, errorMessage: "of no concern" };
    return { kept, status: 200, body: { partialSuccess } };
  },
};

interface LogRecord {
  timeUnixNano: string;
  attributes: { key: string; value: { stringValue?: string } }[];
}

function logRecordsOf(text: string): LogRecord[] {
  const { resourceLogs } = JSON.parse(text) as { resourceLogs: { scopeLogs: { logRecords: LogRecord[] }[] }[] };
  return resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
}

/** The record; another one where it has no id, or another time than that of its LogRecord. */
function lineOf({ timeUnixNano, attributes }: LogRecord): string {
  const textOf = (name: string) => attributes.find(({ key }) => key === name)?.value.stringValue;
  const line = textOf("logship.record") ?? "{}";
  return textOf("logship.record.id") !== undefined && `${timeIn(line)}000000` === timeUnixNano ? line : "{}";
}

/**
 * The keys of each message with what they hold.
 * https://github.com/open-telemetry/opentelemetry-proto
 */
const SHAPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  request: { resourceLogs: "resourceLogs[]" },
  resourceLogs: { resource: "resource", scopeLogs: "scopeLogs[]" },
  resource: { attributes: "keyValue[]" },
  scopeLogs: { scope: "scope", logRecords: "logRecord[]" },
  scope: { name: "string" },
  logRecord: {
    ...{ timeUnixNano: "uint64", observedTimeUnixNano: "uint64", severityNumber: "severity" },
    ...{ severityText: "string", body: "anyValue", attributes: "keyValue[]" },
  },
  keyValue: { key: "string", value: "anyValue" },
  anyValue: {
    ...{ stringValue: "string", boolValue: "boolean", intValue: "int64", doubleValue: "number" },
    arrayValue: "arrayValue",
  },
  arrayValue: { values: "anyValue[]" },
};

/** Whether a value is an ExportLogsServiceRequest as JSON, as far as one of logs may have keys. */
function isShaped(value: unknown, kind = "request"): boolean {
  if (kind.endsWith("[]")) return Array.isArray(value) && value.every((each) => isShaped(each, kind.slice(0, -2)));
  if (kind === "uint64") return typeof value === "string" && /^\d{1,19}$/.test(value);
  if (kind === "int64") return typeof value === "string" && /^-?\d{1,19}$/.test(value);
  if (kind === "severity") return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 24;
  const keys = SHAPES[kind];
  if (keys === undefined) return typeof value === kind;
  if (typeof value !== "object" || value === null) return false;
  const members = Object.entries(value);
  if (kind === "anyValue" && members.length !== 1) return false;
  return members.every(([key, member]) => keys[key] !== undefined && isShaped(member, keys[key]));
}
