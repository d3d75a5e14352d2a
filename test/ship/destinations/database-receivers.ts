/**
 * Loki, a collector, ClickHouse and Axiom, in memory: what the real one refuses or drops is not
 * taken here either.
 */
import { utf8Length } from "../../../src/base/bytes.ts";
import { isShaped } from "../../support/receiver-dialects/otlp-shape.ts";
import { SECRETS } from "./kinds.ts";
import { asked, marksIn, POISON, type ReceiverFixture, type ReceiverService } from "./receiver-service.ts";

/** The time of these services, unless another one is given. */
const NOW = Date.UTC(2026, 10, 20, 12);
const WEEK_MS = 7 * 86_400_000;
const NS = 1_000_000n;

const json = (body: unknown, status = 200): Response => Response.json(body, { status });
const refuse = (why: string, status = 400): Response => new Response(why, { status });

type Entry = readonly [ns: string, line: string];

/** As the distributor of Loki 3 with its defaults: what is valid of a push is stored. */
export function lokiServer(nowMs = NOW): ReceiverService {
  const entries = new Set<string>();
  const lines: string[] = [];
  return {
    taken: () => lines.flatMap(marksIn),
    fetch: async (url, init) => {
      const { url: at, headers, text } = await asked(url, init);
      if (at.pathname !== "/loki/api/v1/push" || at.search !== "") return refuse("404 page not found", 404);
      if (headers.get("x-scope-orgid") !== "tenant-1") return refuse("no org id", 401);
      if (headers.get("content-type") !== "application/json") return refuse("couldn't parse push request");
      const { streams } = JSON.parse(text) as { streams: { stream: Record<string, string>; values: Entry[] }[] };
      if (streams.length === 0) return refuse("error at least one valid stream is required for ingestion", 422);
      let [bytes, why] = [0, ""];
      for (const { stream, values } of streams) {
        const labels = Object.entries(stream).filter(([, value]) => value !== "");
        if (labels.length === 0 || labels.length > 15) return refuse("label names; limit 15");
        for (const [ns, line] of values) {
          if (typeof ns !== "string" || !/^\d{1,19}$/.test(ns)) return refuse("couldn't parse push request");
          const ms = Number(BigInt(ns) / NS);
          if (ms < nowMs - WEEK_MS) why = "entry has timestamp too old";
          else if (ms > nowMs + 600_000) why = "entry has timestamp too new";
          else if (utf8Length(line) > 262_144) why = "max entry size '262144' bytes exceeded";
          else if (line.includes(POISON)) why = "entry too far behind";
          else {
            bytes += utf8Length(line);
            const entry = JSON.stringify([labels.toSorted(), ns, line]);
            if (!entries.has(entry)) lines.push(line);
            entries.add(entry);
          }
        }
      }
      if (bytes > 6_000_000) return refuse("ingestion rate limit exceeded for user tenant-1", 429);
      return why === "" ? new Response(null, { status: 204 }) : refuse(why);
    },
  };
}

/** As otlpreceiver: JSON of the protobuf, in which it knows every key. */
export function collector(): ReceiverService {
  const taken: string[] = [];
  return {
    taken: () => taken,
    fetch: async (url, init) => {
      const { url: at, headers, text } = await asked(url, init);
      if (at.pathname !== "/base/v1/logs" || at.search !== "") return refuse("404 page not found", 404);
      if (headers.get("content-type") !== "application/json") return refuse("unsupported media type", 415);
      if (utf8Length(text) > 20 * 1_048_576) return refuse("http: request body too large", 413);
      const body = JSON.parse(text);
      const isBad = text.includes(POISON) || !isShaped(body);
      if (isBad) return json({ code: 3, message: "bad" }, 400);
      taken.push(...marksIn(text));
      return json({ partialSuccess: {} });
    },
  };
}

/** Engine, engine_full, and the windows that the server has by default. */
export const TABLE = [
  "MergeTree",
  "MergeTree ORDER BY timestamp SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192",
  ...["0", "10000"],
];

/** A MergeTree with a window: an insert whose token it has succeeds, and leaves nothing. */
export function table(): ReceiverService {
  const inserts = new Map<string, string[]>();
  const raise = (code: number, name: string, status: number): Response =>
    new Response(`Code: ${code}. DB::Exception: no. (${name}) (version 26.9.1.1)`, {
      status,
      headers: { "x-clickhouse-exception-code": `${code}` },
    });
  return {
    taken: () => [...inserts.values()].flat(),
    fetch: async (url, init) => {
      const { url: at, headers, text } = await asked(url, init);
      const { query, insert_deduplication_token: token, ...settings } = Object.fromEntries(at.searchParams);
      if (headers.get("x-clickhouse-key") !== SECRETS[0]) return raise(516, "AUTHENTICATION_FAILED", 403);
      if (query?.startsWith("SELECT ") && text === "\n") return new Response(`${JSON.stringify(TABLE)}\n`);
      if (query !== "INSERT INTO `logs`.`traces` FORMAT JSONEachRow") return raise(60, "UNKNOWN_TABLE", 404);
      const known = ["async_insert", "date_time_input_format", "input_format_skip_unknown_fields", "wait_end_of_query"];
      if (Object.keys(settings).toSorted().join() !== known.join()) return raise(115, "UNKNOWN_SETTING", 404);
      if (token === undefined || settings.async_insert !== "0") return raise(36, "BAD_ARGUMENTS", 400);
      if (text === "") return raise(354, "ZLIB_INFLATE_FAILED", 500);
      const rows = text === "\n" ? [] : text.replace(/\n$/, "").split("\n");
      for (const row of rows) {
        const { timestamp, logship_id: id } = JSON.parse(row);
        if (row.includes(POISON) || typeof id !== "string" || !/^\d{4}-.*Z$/.test(timestamp))
          return raise(117, "INCORRECT_DATA", 400);
      }
      if (!inserts.has(token)) inserts.set(token, rows.flatMap(marksIn));
      return new Response("");
    },
  };
}

/** A dataset of Axiom. */
export function dataset(): ReceiverService {
  const taken: string[] = [];
  return {
    taken: () => taken,
    fetch: async (url, init) => {
      const { url: at, headers, text } = await asked(url, init);
      if (headers.get("authorization") !== `Bearer ${SECRETS[0]}`) return json({ message: "forbidden" }, 403);
      if (at.pathname !== "/v1/ingest/traces") return json({ message: "dataset not found" }, 404);
      if (headers.get("content-type") !== "application/x-ndjson") return json({ message: "type" }, 415);
      const events = text.trimEnd().split("\n");
      if (events.length > 10_000) return json({ message: "too many events" }, 413);
      for (const event of events) {
        const { _time } = JSON.parse(event);
        if (utf8Length(event) > 1_000_000) return json({ message: "event too large" }, 413);
        if (event.includes(POISON) || Number.isNaN(Date.parse(_time))) return json({ message: "bad event" }, 400);
      }
      taken.push(...marksIn(text));
      return json({ ingested: events.length, failed: 0, failures: [], processedBytes: text.length });
    },
  };
}

const BEARER = `header_Authorization=Bearer%20${SECRETS[0]}`;

export const DATABASES: { readonly [name: string]: ReceiverFixture } = {
  loki: {
    conf: `loki://loki.example/loki/api/v1/push?${BEARER}&header_X-Scope-OrgID=tenant-1&labels=env=prod,team=a`,
    service: lokiServer,
    tellsRepeats: true,
    recordBytes: 262_144,
    partialAt: [429],
  },
  otlp: {
    conf: `otlp://collector.example:4318/base?${BEARER}`,
    service: collector,
    tellsRepeats: false,
    recordBytes: null,
  },
  clickhouse: {
    conf: `clickhouse://ch.example:8443/?database=logs&table=traces&header_X-ClickHouse-User=shipper&header_X-ClickHouse-Key=${SECRETS[0]}`,
    service: table,
    tellsRepeats: true,
    recordBytes: null,
  },
  axiom: {
    conf: `axiom://us-east-1.aws.edge.axiom.co/v1/ingest/traces?${BEARER}`,
    service: dataset,
    tellsRepeats: false,
    recordBytes: 1_000_000,
  },
};
