/** Elasticsearch, Loki and ClickHouse, which tell repeats, and Axiom, which does not. */
import {
  bytesOf,
  type Dialect,
  firstRefusal,
  linesOf,
  ndjsonLines,
  refused,
  type Sent,
  type Taken,
  timeIn,
  without,
} from "./dialect.ts";

/**
 * Each record by itself, known by its `_id`.
 * https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk
 */
export const elastic: Dialect = {
  count: (text) => linesOf(text).length / 2,
  take({ path, headers, text, refuses, known }) {
    const failed = (status: number, type: string): Taken => refused(status, { error: { type } });
    if (!/^\/[^/]+\/_bulk$/.test(path)) return failed(404, "no_handler");
    if (headers["content-type"] !== "application/x-ndjson") return failed(406, "media_type_header_exception");
    if (!text.endsWith("\n")) return failed(400, "illegal_argument_exception");
    const lines = linesOf(text);
    const kept: string[] = [];
    const items: unknown[] = [];
    for (let at = 0; at < lines.length; at += 2) {
      const { create } = JSON.parse(lines[at] ?? "null") as { create: { _id: string } };
      if (create._id.length > 512) return failed(400, "action_request_validation_exception");
      const line = lines[at + 1] ?? "";
      const { "@timestamp": time } = JSON.parse(line) as { "@timestamp": string };
      const timeMs = timeIn(line);
      const isTimed = timeMs === null || Date.parse(time) === timeMs;
      const status = isTimed ? refuses(at / 2, line) : 400;
      if (known.has(create._id)) items.push(item(409, "version_conflict_engine_exception"));
      else if (status !== null)
        items.push(item(status, status === 429 ? "es_rejected_execution_exception" : "document_parsing_exception"));
      else {
        known.add(create._id);
        kept.push(without(line, "@timestamp"));
        items.push({ create: { status: 201 } });
      }
    }
    return { kept, status: 200, body: { errors: kept.length < items.length, items } };
  },
};

function item(status: number, type: string): unknown {
  return { create: { status, error: { type, reason: "of no concern" } } };
}

type Push = { streams: { stream: Record<string, string>; values: (readonly [ns: string, line: string])[] }[] };

/**
 * Loki with its defaults: of a push it takes the lines that are in order, and merges those that it
 * has (labels, time in ns, line). Others make it 400, but for a limit, which makes it 429.
 * https://grafana.com/docs/loki/latest/operations/request-validation-rate-limits/
 */
export const loki: Dialect = {
  count: (text) => (JSON.parse(text) as Push).streams.reduce((sum, { values }) => sum + values.length, 0),
  take({ path, query, headers, text, refuses, isOld, known }) {
    if (path !== "/loki/api/v1/push" || query.size > 0) return refused(404, "404 page not found");
    if (headers["content-type"] !== "application/json") return refused(400, "couldn't parse push request");
    const { streams } = JSON.parse(text) as Push;
    if (streams.length === 0) return refused(422, "error at least one valid stream is required for ingestion");
    const all = streams.flatMap(({ stream, values }) => values.map(([ns, line]) => ({ stream, ns, line })));
    if (all.reduce((sum, { line }) => sum + bytesOf(line), 0) > 6_000_000) return refused(429, OVER_BURST);
    const kept: string[] = [];
    let said: { status: number; text: string } | null = null;
    for (const [n, { stream, ns, line }] of all.entries()) {
      const labels = Object.entries(stream).toSorted();
      if (labels.length === 0 || labels.length > 15) return refused(400, "stream has too many label names");
      if (typeof ns !== "string" || !/^\d{1,19}$/.test(ns)) return refused(400, "couldn't parse push request");
      const timeMs = timeIn(line);
      const status = refuses(n, line);
      if (isOld(Number(ns) / 1e6)) said = { status: 400, text: "entry has timestamp too old" };
      else if (bytesOf(line) > 262_144) said = { status: 400, text: "max entry size '262144' bytes exceeded" };
      else if (timeMs !== null && ns !== `${timeMs}000000`) said = { status: 400, text: "entry too far behind" };
      else if (status !== null)
        said = { status, text: status === 429 ? "Per stream rate limit exceeded" : "entry too far behind" };
      else {
        const entry = JSON.stringify([labels, ns, line]);
        if (!known.has(entry)) kept.push(without(line, "logship_id"));
        known.add(entry);
      }
    }
    return said === null ? { kept, status: 204 } : { kept, status: said.status, body: said.text };
  },
};

const OVER_BURST = "Ingestion rate limit exceeded for user fake";

/** As a replicated table: the tokens of its latest inserts. */
const WINDOW = 1_000;

/**
 * ClickHouse: an insert is one block. It is known by its token as long as that is in the window,
 * whatever rows it has, and then answered as a success.
 * https://clickhouse.com/docs/guides/developer/deduplicating-inserts-on-retries
 */
export const clickhouse: Dialect = {
  count: (text) => linesOf(text).length,
  take(sent) {
    const { path, query, headers, text, known, window } = sent;
    if (path !== "/") return raised(404, 0, "NO_HANDLER");
    if (headers["x-clickhouse-key"] === undefined) return raised(403, 516, "AUTHENTICATION_FAILED");
    if (query.get("query") !== "INSERT INTO `logs`.`traces` FORMAT JSONEachRow")
      return raised(404, 60, "UNKNOWN_TABLE");
    if ([...query.keys()].some((name) => !SETTINGS.has(name))) return raised(404, 115, "UNKNOWN_SETTING");
    if (query.get("wait_end_of_query") !== "1") return raised(400, 36, "BAD_ARGUMENTS");
    const rows = text === "\n" ? [] : ndjsonLines(text);
    if (rows === null) return raised(400, 27, "CANNOT_PARSE_INPUT_ASSERTION_FAILED");
    const status = rows.every(isRow) ? firstRefusal(rows, sent) : 400;
    if (status !== null) return raised(status, status === 400 ? 117 : 202, "INCORRECT_DATA");
    // Asynchronous inserts of earlier releases forget their tokens.
    const token = query.get("async_insert") === "0" ? query.get("insert_deduplication_token") : null;
    forget(known, window ?? WINDOW);
    if (token === null || rows.length === 0) return inserted(rows);
    if (known.has(token)) return inserted([]);
    known.add(token);
    return inserted(rows);
  },
};

const SETTINGS = new Set([
  ...["query", "insert_deduplication_token", "async_insert", "wait_end_of_query"],
  ...["input_format_skip_unknown_fields", "date_time_input_format"],
]);

function isRow(line: string): boolean {
  const { logship_id, timestamp } = JSON.parse(line) as { logship_id?: unknown; timestamp?: string };
  const timeMs = timeIn(line);
  return typeof logship_id === "string" && (timeMs === null || Date.parse(timestamp ?? "") === timeMs);
}

const inserted = (rows: readonly string[]): Taken => ({
  kept: rows.map((row) => without(row, "logship_id", "timestamp")),
  status: 200,
  body: "",
});

/** All but the latest ones. */
function forget(known: Sent["known"], window: number): void {
  for (const token of [...known].slice(0, Math.max(0, known.size - window))) known.delete(token);
}

function raised(status: number, code: number, name: string): Taken {
  const headers = { "x-clickhouse-exception-code": `${code}` };
  return { kept: [], status, headers, body: `Code: ${code}. DB::Exception: no. (${name}) (version 26.9.1.1)` };
}

/**
 * Axiom: each event by itself, and how many failed. It knows no repeat.
 * https://axiom.co/docs/restapi/endpoints/ingestToDataset
 */
export const axiom: Dialect = {
  count: (text) => linesOf(text).length,
  take({ path, query, headers, text, refuses }) {
    const failed = (status: number, message: string): Taken => refused(status, { code: status, message });
    if (!/^\/v1\/ingest\/[^/]+$/.test(path) || query.size > 0) return failed(404, "dataset not found");
    if (!/^Bearer \S+$/.test(headers.authorization ?? "")) return failed(403, "forbidden");
    if (headers["content-type"] !== "application/x-ndjson") return failed(415, "unsupported media type");
    const lines = ndjsonLines(text);
    if (lines === null) return failed(400, "invalid json");
    if (lines.length > 10_000) return failed(413, "too many events");
    const kept: string[] = [];
    const failures: { timestamp: string; error: string }[] = [];
    for (const [n, line] of lines.entries()) {
      const { _time, logship_id } = JSON.parse(line) as { _time: string; logship_id: unknown };
      const timeMs = timeIn(line);
      const isTimed = timeMs === null || Date.parse(_time) === timeMs;
      const isTaken =
        isTimed && typeof logship_id === "string" && bytesOf(line) <= 1_000_000 && refuses(n, line) === null;
      if (isTaken) kept.push(without(line, "_time", "logship_id"));
      else failures.push({ timestamp: _time, error: "of no concern" });
    }
    const body = { ingested: kept.length, failed: failures.length, failures, processedBytes: bytesOf(text) };
    return { kept, status: 200, body };
  },
};
