/** An address of its own, Datadog, New Relic, Splunk, Sumo Logic: none of them knows a repeat. */
import { bytesOf, type Dialect, firstRefusal, isJson, linesOf, ndjsonLines, refused, timeIn } from "./dialect.ts";

const failed = (status: number, type: string) => refused(status, { error: { type } });

/** Takes all or nothing. */
export const https: Dialect = {
  count: (text) => linesOf(text).length,
  take({ headers, text, ...sent }) {
    if (headers["content-type"] !== "application/x-ndjson") return failed(415, "content_type");
    const lines = ndjsonLines(text);
    if (lines === null) return failed(400, "no_ndjson");
    const status = firstRefusal(lines, sent);
    return status === null ? { kept: lines, status: 204 } : failed(status, "bad_record");
  },
};

/**
 * Takes all or nothing; what is too old it drops behind a success.
 * https://docs.datadoghq.com/api/latest/logs/send-logs/
 */
export const datadog: Dialect = {
  count: (text) => (JSON.parse(text) as unknown[]).length,
  take({ path, headers, text, isOld, ...sent }) {
    if (path !== "/api/v2/logs") return failed(404, "path");
    if (headers["dd-api-key"] === undefined) return failed(403, "key");
    if (headers["content-type"] !== "application/json") return failed(415, "content_type");
    const logs = JSON.parse(text) as Record<string, unknown>[];
    if (logs.length > 1_000 || bytesOf(text) > 5_000_000) return failed(413, "payload");
    const texts = logs.map((log) => JSON.stringify(log));
    const status = firstRefusal(texts, sent);
    if (status !== null) return failed(status, "bad_record");
    // A longer log is cut, and is none of ours then.
    const kept = logs.flatMap((log, n) => {
      // What is beside the record's own fields.
      const { message, timestamp, status: _status, service: _service, logship, ddsource, hostname, ...record } = log;
      const isWhole = [message, logship, ddsource].every((own) => own !== undefined) && hostname === undefined;
      if (isOld(Number(timestamp))) return [];
      const isIts = isWhole && timestamp === record.EventTimestampMs && bytesOf(texts[n] ?? "") <= 1_000_000;
      return JSON.stringify(isIts ? record : { message });
    });
    return { kept, status: 202, body: {} };
  },
};

/**
 * Takes all or nothing, and cuts what is too long; what is too old it drops behind a success. It
 * knows no lists and no objects, so the record is put together from its attributes.
 * https://docs.newrelic.com/docs/logs/log-api/introduction-log-api/
 */
export const newrelic: Dialect = {
  count: (text) => (JSON.parse(text) as Envelope[])[0]?.logs.length ?? 0,
  take({ path, query, headers, text, isOld, ...sent }) {
    if (path !== "/log/v1" || query.size > 0) return failed(404, "path");
    if (headers["api-key"] === undefined) return failed(403, "key");
    if (headers["content-type"] !== "application/json") return failed(415, "content_type");
    if (bytesOf(text) > 1_000_000) return failed(413, "payload");
    const envelopes = JSON.parse(text) as Envelope[];
    const logs = envelopes[0]?.logs;
    if (envelopes.length !== 1 || !Array.isArray(logs)) return failed(400, "envelope");
    const status = firstRefusal(
      logs.map((log) => JSON.stringify(log)),
      sent,
    );
    if (status !== null) return failed(status, "bad_record");
    const kept = logs.flatMap(({ timestamp, message, attributes }) => {
      const { "logship.id": id, level, ...own } = attributes;
      const record = unflattened(own);
      if (isOld(timestamp)) return [];
      const isWhole =
        [id, level, message].every((text) => typeof text === "string" && text.length < 4_094 && !isJson(text)) &&
        timestamp === record.EventTimestampMs &&
        Object.keys(attributes).length <= 255 &&
        Object.entries(own).every(([name, value]) => name.length <= 255 && isAttribute(value));
      return JSON.stringify(isWhole ? record : { message });
    });
    return { kept, status: 202, body: { requestId: "0f0f0f0f-0001-b000-0000-018c2f6a1d2e" } };
  },
};

interface Envelope {
  logs: { timestamp: number; message: unknown; attributes: Record<string, unknown> }[];
}

/**
 * "Data beyond 128KB will be truncated."
 * https://docs.newrelic.com/docs/logs/log-api/log-event-data/
 */
function isAttribute(value: unknown): boolean {
  if (typeof value === "string") return bytesOf(value) <= 128_000;
  return typeof value === "number" || typeof value === "boolean";
}

/** `Event.Request.Method` as a member of a member; JSON of a list as the list. */
function unflattened(attributes: Record<string, unknown>): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(attributes)) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let at = record;
    for (const name of names) {
      at[name] ??= {};
      at = at[name] as Record<string, unknown>;
    }
    at[last] = typeof value === "string" && /^[[{]/.test(value) && isJson(value) ? JSON.parse(value) : value;
  }
  return record;
}

const NAMES_OF_HEC = ["channel", "host", "source", "sourcetype", "index"];

/** What is wrong with a request to either endpoint of Splunk's collector. */
function faultOfHec({ query, headers, text }: Parameters<Dialect["take"]>[0]) {
  const { authorization } = headers;
  if (authorization === undefined) return refused(401, { text: "Token is required", code: 2 });
  if (!/^Splunk \S+$/.test(authorization)) return refused(401, { text: "Invalid authorization", code: 3 });
  if ([...query.keys()].some((name) => !NAMES_OF_HEC.includes(name))) return refused(400, { text: "No data", code: 5 });
  if (text.trim() === "") return refused(400, { text: "No data", code: 5 });
  if (bytesOf(text) > 1_000_000) return refused(413, "<html>too large</html>");
  return null;
}

const TAKEN_BY_HEC = { text: "Success", code: 0 };
const INVALID = { text: "Invalid data format", code: 6 };

/**
 * Splunk's raw endpoint: takes all or nothing. It wants a channel, and the name of what it is sent.
 * https://docs.splunk.com/Documentation/Splunk/latest/Data/TroubleshootHTTPEventCollector
 */
export const splunkraw: Dialect = {
  count: (text) => linesOf(text).length,
  take(sent) {
    const wrong = faultOfHec(sent);
    if (wrong !== null) return wrong;
    if (sent.path !== "/services/collector/raw") return refused(404, { text: "Not found", code: 404 });
    if (!sent.query.has("channel")) return refused(400, { text: "Data channel is missing", code: 10 });
    const lines = ndjsonLines(sent.text);
    if (lines === null || !sent.query.has("source")) return refused(400, INVALID);
    const status = firstRefusal(lines, sent);
    return status === null ? { kept: lines, status: 200, body: TAKEN_BY_HEC } : refused(status, INVALID);
  },
};

/**
 * Its event endpoint: takes the events before a bad one, which it names.
 * https://help.splunk.com/en/splunk-enterprise/get-data-in/collect-http-event-data/format-events-for-http-event-collector
 */
export const splunkevent: Dialect = {
  count: (text) => text.split("\n").length,
  take(sent) {
    const wrong = faultOfHec(sent);
    if (wrong !== null) return wrong;
    if (sent.path !== "/services/collector/event") return refused(404, { text: "Not found", code: 404 });
    const kept: string[] = [];
    for (const [n, line] of sent.text.split("\n").entries()) {
      if (!isJson(line)) return { kept, status: 400, body: { ...INVALID, "invalid-event-number": n } };
      const { time, event, fields } = JSON.parse(line) as HecEvent;
      const at = { "invalid-event-number": n };
      if (typeof event !== "object")
        return { kept, status: 400, body: { text: "Event field is required", code: 12, ...at } };
      if (typeof fields?.logship_id !== "string")
        return { kept, status: 400, body: { text: "Error in handling indexed fields", code: 15, ...at } };
      const status = sent.refuses(n, line);
      if (status !== null) return { kept, status, body: { ...INVALID, ...at } };
      const isTimed = timeIn(JSON.stringify(event)) === Math.round((time ?? 0) * 1_000);
      kept.push(JSON.stringify(isTimed ? event : {}));
    }
    return { kept, status: 200, body: TAKEN_BY_HEC };
  },
};

interface HecEvent {
  /** In seconds. */
  time?: number;
  event?: object;
  fields?: { logship_id?: unknown };
}

/**
 * Sumo Logic: takes all or nothing, and says so by the status alone.
 * https://www.sumologic.com/help/docs/send-data/hosted-collectors/http-source/troubleshooting/
 */
export const sumo: Dialect = {
  count: (text) => linesOf(text).length,
  take({ path, query, headers, text, ...sent }) {
    if (!/^\/receiver\/v1\/http\/[^/]+$/.test(path)) return refused(401);
    if (query.size > 0 || headers["x-sumo-name"] === undefined) return refused(400);
    if (bytesOf(text) > 1_000_000) return refused(413);
    const lines = ndjsonLines(text);
    if (lines === null) return refused(400);
    const status = firstRefusal(lines, sent);
    return status === null ? { kept: lines, status: 200 } : refused(status);
  },
};
