/**
 * One fixture for each kind of receiver, for their contract suite. A new kind is a line in
 * RECEIVERS.
 */
import { gunzipSync } from "node:zlib";
import { axiom, clickhouse, elastic, loki } from "../../support/receiver-dialects/databases.ts";
import { type Dialect, faultsOf, POISON, refused } from "../../support/receiver-dialects/dialect.ts";
import { datadog, https, newrelic, splunkevent, splunkraw, sumo } from "../../support/receiver-dialects/hosted.ts";
import { otlp } from "../../support/receiver-dialects/otlp.ts";
import { SECRETS } from "./kinds.ts";

export { POISON };

/** What a receiver has taken, in memory. */
export interface ReceiverService {
  /**
   * Answers as its service does. Of a record whose text has {@link POISON} it says that it is bad.
   */
  fetch(url: string, init: RequestInit): Promise<Response>;
  /**
   * The marks of the records that it stored, in order; of a service that tells repeats: once each.
   */
  taken(): string[];
}

export interface ReceiverFixture {
  /** Its secrets are {@link SECRETS}, or one of them. */
  conf: string;
  service(): ReceiverService;
  /** It tells a record that it has from one that it has not. */
  tellsRepeats: boolean;
  /**
   * A record that it takes for itself alone never exceeds this, in bytes of NDJSON; null: none is
   * too long.
   */
  recordBytes: number | null;
  /** Statuses below 500 after which it may have taken some of a body. */
  partialAt?: readonly number[];
  /** Whatever its answer says beside its status. */
  byStatus?: true;
  /** It has taken the records before one that it refuses, which are sent again. */
  takesPrefix?: boolean;
}

interface Asked {
  url: URL;
  headers: Headers;
  /** The body, inflated. */
  text: string;
}

/** What was sent. @throws if it is no gzip of UTF-8, or its length is not what its head says. */
export async function asked(url: string, { headers, body }: RequestInit): Promise<Asked> {
  const packed = new Uint8Array(await new Response(body).arrayBuffer());
  const given = new Headers(headers);
  if (given.get("content-encoding") !== "gzip") throw new Error("the body is no gzip");
  if (given.get("content-length") !== `${packed.length}`) throw new Error("the length is another one");
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(gunzipSync(packed));
  return { url: new URL(url), headers: given, text };
}

/**
 * The values of `Logs[0].Message[0]`: what a test knows a record by. Where records are texts within
 * JSON, its quotes are escaped.
 */
export function marksIn(text: string): string[] {
  return (text.match(/"mark-[0-9a-z-]+\\?"/g) ?? []).map((mark) => mark.replace(/^"|\\?"$/g, ""));
}

function serviceOf({ take }: Pick<Dialect, "take">): ReceiverService {
  const known = new Set<string>();
  const taken: string[] = [];
  return {
    taken: () => taken,
    fetch: async (url, init) => {
      const { url: at, headers, text } = await asked(url, init);
      const request = { path: at.pathname, query: at.searchParams, headers: Object.fromEntries(headers), text, known };
      const { kept, status, body, headers: said = {} } = take({ ...request, ...faultsOf(undefined) });
      taken.push(...kept.flatMap(marksIn));
      const answer = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
      return new Response(answer ?? null, { status, headers: said });
    },
  };
}

/**
 * Which of its events failed, Axiom does not say; one that it cannot read it refuses with all
 * others.
 */
const wholeAxiom: Pick<Dialect, "take"> = {
  take: (sent) => (sent.text.includes(POISON) ? refused(400, { message: "bad event" }) : axiom.take(sent)),
};

/** Engine, engine_full, and the windows that the server has by default. */
export const TABLE = [
  "MergeTree",
  "MergeTree ORDER BY timestamp SETTINGS non_replicated_deduplication_window = 10000, index_granularity = 8192",
  ...["0", "10000"],
] as const;

/** ClickHouse says what its table is, too. */
const table: Pick<Dialect, "take"> = {
  take: (sent) => {
    const isAsked = sent.query.get("query")?.startsWith("SELECT ") && sent.text === "\n";
    return isAsked ? { kept: [], status: 200, body: `${JSON.stringify(TABLE)}\n` } : clickhouse.take(sent);
  },
};

const [KEY] = SECRETS as [string];
const BEARER = `header_Authorization=Bearer%20${KEY}`;
const SPLUNK = `header_Authorization=Splunk%20${KEY}`;
const CHANNEL = "channel=FE0ECFAD-13D5-401B-847D-77833BD77131";

const row = (conf: string, dialect: Pick<Dialect, "take">, recordBytes: number | null): ReceiverFixture => ({
  ...{ conf, recordBytes, tellsRepeats: dialect === elastic || dialect === loki || dialect === table },
  service: () => serviceOf(dialect),
});

export const RECEIVERS: { readonly [name: string]: ReceiverFixture } = {
  loki: {
    ...row(
      `loki://loki.example/loki/api/v1/push?${BEARER}&header_X-Scope-OrgID=tenant-1&labels=env=prod,team=a`,
      loki,
      262_144,
    ),
    partialAt: [429],
  },
  otlp: row(`otlp://collector.example:4318/?${BEARER}`, otlp, null),
  clickhouse: row(
    `clickhouse://ch.example:8443/?database=logs&table=traces&header_X-ClickHouse-User=shipper&header_X-ClickHouse-Key=${KEY}`,
    table,
    null,
  ),
  axiom: row(`axiom://us-east-1.aws.edge.axiom.co/v1/ingest/traces?${BEARER}`, wholeAxiom, 1_000_000),
  datadog: row(
    `datadog://http-intake.logs.datadoghq.eu/api/v2/logs?header_DD-API-KEY=${KEY}&ddsource=cloudflare&ddtags=env:prod`,
    datadog,
    1_000_000,
  ),
  "New Relic": row(`https://log-api.newrelic.com/log/v1?Api-Key=${KEY}&format=cloudflare`, newrelic, 128_000),
  splunk: row(
    `splunk://splunk.example:8088/services/collector/raw?${CHANNEL}&insecure-skip-verify=false&sourcetype=cloudflare:json&${SPLUNK}`,
    splunkraw,
    1_000_000,
  ),
  "splunk, events": {
    ...row(`splunk://splunk.example:8088/services/collector/event?sourcetype=_json&${SPLUNK}`, splunkevent, 1_000_000),
    takesPrefix: true,
  },
  sumo: row(
    `sumo://endpoint4.collection.sumologic.com/receiver/v1/http/${KEY}?header_X-Sumo-Category=prod%2Fworkers`,
    sumo,
    1_000_000,
  ),
  https: { ...row(`https://logs.example/in?${BEARER}&team=a&x-token=${SECRETS[1]}`, https, null), byStatus: true },
  elastic: row(`elastic://es.example:9243/traces?header_Authorization=ApiKey%20${KEY}`, elastic, null),
};
