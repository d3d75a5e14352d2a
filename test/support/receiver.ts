/**
 * A receiver at the scripted endpoint (s3-server.ts): what is sent with the header `x-receiver`
 * goes to the receiver of that name, which speaks the dialect that its name begins with. It is
 * strict: what its service refuses, it refuses. It is scripted as a bucket is, and shows each
 * request of which it kept records as an object: key `<path>/<id>`, NDJSON of the records alone.
 */
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { axiom, clickhouse, elastic, loki } from "./receiver-dialects/databases.ts";
import { type Dialect, faultsOf, type Taken } from "./receiver-dialects/dialect.ts";
import { datadog, https, newrelic, splunkevent, splunkraw, sumo } from "./receiver-dialects/hosted.ts";
import { otlp } from "./receiver-dialects/otlp.ts";
import { type Answer, answer, Bucket, type Operation } from "./s3-bucket.ts";
import type { Action } from "./s3-script.ts";

/** Each service by its dialect. */
export const DIALECTS = {
  ...{ https, elastic, datadog, newrelic, splunkraw, splunkevent, sumo },
  ...{ loki, otlp, clickhouse, axiom },
} as const satisfies Record<string, Dialect>;
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

  override perform({ method, key, query, headers, body, fault }: Operation, nowMs: number): Answer {
    if (method !== "POST") return say(405, { error: { type: "method" } });
    if (headers["content-encoding"] !== "gzip") return say(415, { error: { type: "encoding" } });
    const isProbe = isTest(key);
    let taken: Taken;
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(gunzipSync(body));
      if (fault?.do === "limit" && isOver(fault, this.#dialect.count(text), text)) return say(413, {});
      taken = this.#dialect.take({
        ...{ path: key.slice(0, key.lastIndexOf("/")), query, headers, text },
        ...(isProbe ? faultsOf(undefined) : faultsOf(fault)),
        // A test record is not kept.
        known: isProbe ? new Set() : this.#known,
      });
    } catch {
      return say(400, { error: { type: "unreadable" } });
    }
    const { kept, status, headers: told, body: said } = taken;
    const result = say(status, said, told);
    if (isProbe || kept.length === 0) return result;
    this.keep(key, Buffer.from(kept.map((line) => `${line}\n`).join("")), headers, nowMs);
    return { ...result, stored: true };
  }
}

/** Whether a request is of a record that tests a destination. */
function isTest(key: string): boolean {
  return key.slice(key.lastIndexOf("/") + 1).startsWith("test-");
}

function isOver({ records, bytes }: Extract<Action, { do: "limit" }>, count: number, text: string): boolean {
  return (records !== undefined && count > records) || (bytes !== undefined && text.length > bytes);
}

function say(status: number, said: unknown, headers: Taken["headers"] = {}): Answer {
  const body = said === undefined ? "" : typeof said === "string" ? said : JSON.stringify(said);
  return answer(status, { "content-type": "application/json", ...headers }, body);
}

/** What is shown of a request besides its headers: the checksum of what was sent. */
export function checksum(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}
