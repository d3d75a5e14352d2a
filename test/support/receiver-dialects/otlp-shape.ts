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
export function isShaped(value: unknown, kind = "request"): boolean {
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
