import { bytesOf, type Dialect, POISON, refused, timeIn } from "./dialect.ts";
import { isShaped } from "./otlp-shape.ts";

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
