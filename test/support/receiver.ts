/**
 * A receiver at the scripted endpoint (s3-server.ts): what is sent with the header `x-receiver`
 * goes to the receiver of that name, which speaks the dialect that its name begins with. It is
 * strict: what its service refuses, it refuses. It is scripted as a bucket is, and shows each
 * request of which it kept records as an object: key `<path>/<id>`, NDJSON of the records alone.
 */
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { type Answer, answer, Bucket, type Operation } from "./s3-bucket.ts";
import type { Action } from "./s3-script.ts";

/** Stands in the text of a record that every receiver refuses. */
export const POISON = "poison";

/** A request, read. */
interface Sent {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Inflated. */
  readonly text: string;
  /** Whether the receiver refuses the n-th record, and with what status; null: it takes it. */
  refuses(n: number, line: string): number | null;
  /** Ids of records that it has. */
  readonly known: Set<string>;
}

/** `kept`: lines of NDJSON, as the job wrote them. */
interface Taken {
  readonly kept: readonly string[];
  readonly status: number;
  readonly body?: unknown;
}

interface Dialect {
  /** How many records a body has. */
  count(text: string): number;
  take(sent: Sent): Taken;
}

const refused = (status: number, type: string): Taken => ({ kept: [], status, body: { error: { type } } });

const linesOf = (text: string): string[] => text.split("\n").slice(0, -1);

/** An address of its own: takes all or nothing, and knows no repeat. */
const https: Dialect = {
  count: (text) => linesOf(text).length,
  take({ headers, text, refuses }) {
    if (headers["content-type"] !== "application/x-ndjson") return refused(415, "content_type");
    const lines = linesOf(text);
    const status = lines.map((line, n) => refuses(n, line)).find((found) => found !== null);
    return status == null ? { kept: lines, status: 204 } : refused(status, "bad_record");
  },
};

/**
 * Elasticsearch: each record by itself, known by its `_id`.
 * https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk
 */
const elastic: Dialect = {
  count: (text) => linesOf(text).length / 2,
  take({ path, headers, text, refuses, known }) {
    if (!/^\/[^/]+\/_bulk$/.test(path)) return refused(404, "no_handler");
    if (headers["content-type"] !== "application/x-ndjson") return refused(406, "media_type_header_exception");
    if (!text.endsWith("\n")) return refused(400, "illegal_argument_exception");
    const lines = linesOf(text);
    const kept: string[] = [];
    const items: unknown[] = [];
    for (let at = 0; at < lines.length; at += 2) {
      const { create } = JSON.parse(lines[at] ?? "null") as { create: { _id: string } };
      if (create._id.length > 512) return refused(400, "action_request_validation_exception");
      const { "@timestamp": time, ...record } = JSON.parse(lines[at + 1] ?? "null");
      const isTimed = record.EventTimestampMs === undefined || Date.parse(time) === record.EventTimestampMs;
      const status = isTimed ? refuses(at / 2, lines[at + 1] ?? "") : 400;
      if (known.has(create._id)) items.push(failed(409, "version_conflict_engine_exception"));
      else if (status !== null)
        items.push(failed(status, status === 429 ? "es_rejected_execution_exception" : "document_parsing_exception"));
      else {
        known.add(create._id);
        kept.push(JSON.stringify(record));
        items.push({ create: { status: 201 } });
      }
    }
    return { kept, status: 200, body: { errors: kept.length < items.length, items } };
  },
};

/**
 * Datadog: takes all or nothing, and knows no repeat.
 * https://docs.datadoghq.com/api/latest/logs/send-logs/
 */
const datadog: Dialect = {
  count: (text) => (JSON.parse(text) as unknown[]).length,
  take({ path, headers, text, refuses }) {
    if (path !== "/api/v2/logs") return refused(404, "path");
    if (headers["dd-api-key"] === undefined) return refused(403, "key");
    if (headers["content-type"] !== "application/json") return refused(415, "content_type");
    const logs = JSON.parse(text) as Record<string, unknown>[];
    if (logs.length > 1_000 || text.length > 5_000_000) return refused(413, "payload");
    const status = logs.map((log, n) => refuses(n, JSON.stringify(log))).find((found) => found !== null);
    if (status != null) return refused(status, "bad_record");
    // What is beside the record's own fields.
    const kept = logs.map(({ message, timestamp, status, service, logship, ddsource, hostname, ...record }) => {
      const isWhole = [message, logship, ddsource].every((own) => own !== undefined);
      return JSON.stringify(isWhole && timestamp === record.EventTimestampMs ? record : { message });
    });
    return { kept, status: 202, body: {} };
  },
};

function failed(status: number, type: string): unknown {
  return { create: { status, error: { type, reason: "of no concern" } } };
}

export const DIALECTS = { https, elastic, datadog } as const satisfies Record<string, Dialect>;
export type DialectName = keyof typeof DIALECTS;

/** The names of receivers begin with this, and their dialect. */
const NAME = /^receiver-([a-z]+)-/;

export class Receiver extends Bucket {
  readonly #dialect: Dialect;
  readonly #known = new Set<string>();

  constructor(name: string) {
    super(name);
    const dialect = NAME.exec(name)?.[1] ?? "";
    if (!Object.hasOwn(DIALECTS, dialect)) throw new Error(`no dialect: ${name}`);
    this.#dialect = DIALECTS[dialect as DialectName];
  }

  override perform({ method, key, headers, body, fault }: Operation, nowMs: number): Answer {
    if (method !== "POST") return json(405, { error: { type: "method" } });
    if (headers["content-encoding"] !== "gzip") return json(415, { error: { type: "encoding" } });
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(gunzipSync(body));
    } catch {
      return json(400, { error: { type: "gzip" } });
    }
    if (fault?.do === "limit" && isOver(fault, this.#dialect.count(text), text)) return json(413, {});
    const isProbe = isTest(key);
    const { kept, status, ...said } = this.#dialect.take({
      path: key.slice(0, key.lastIndexOf("/")),
      headers,
      text,
      refuses: (n, line) => (isProbe ? null : refusal(fault, n, line)),
      // A test record is not kept.
      known: isProbe ? new Set() : this.#known,
    });
    const result = json(status, said.body);
    if (isProbe || kept.length === 0) return result;
    this.keep(key, Buffer.from(kept.map((line) => `${line}\n`).join("")), headers, nowMs);
    return { ...result, stored: true };
  }
}

/** Whether a request is of a record that tests a destination. */
function isTest(key: string): boolean {
  return key.slice(key.lastIndexOf("/") + 1).startsWith("test-");
}

function refusal(fault: Action | undefined, n: number, line: string): number | null {
  if (fault?.do === "refuse" && n % fault.each === fault.each - 1) return fault.status;
  return line.includes(POISON) ? 400 : null;
}

function isOver({ records, bytes }: Extract<Action, { do: "limit" }>, count: number, text: string): boolean {
  return (records !== undefined && count > records) || (bytes !== undefined && text.length > bytes);
}

function json(status: number, body: unknown): Answer {
  return answer(status, { "content-type": "application/json" }, body === undefined ? "" : JSON.stringify(body));
}

/** What is shown of a request besides its headers: the checksum of what was sent. */
export function checksum(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}
