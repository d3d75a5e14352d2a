/** Destinations of tests: a bucket or a receiver of the scripted endpoint, and what one kept. */
import { inject, onTestFinished } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import type { DialectName } from "../receiver.ts";
import { type BucketControl, bucketControl } from "../s3-control.ts";
import { destinationConf } from "./api.ts";
import { freshBucket } from "./pipeline.ts";

export interface Bucket {
  readonly name: string;
  readonly control: BucketControl;
}

/** The checksum that an upload by a log has, in each dialect, and a receiver's. */
const CHECKSUMS = [
  "x-amz-meta-logship-sha256",
  "x-ms-meta-logshipsha256",
  "x-goog-meta-logship-sha256",
  "content-sha256",
] as const;

/**
 * Checks that no key of a bucket, and no id of a receiver, was ever sent with other bytes than the
 * first time, whatever became of them.
 */
export async function sentOtherwise(control: BucketControl): Promise<string[]> {
  const first = new Map<string, string>();
  return (await control.requests()).flatMap(({ method, key, headers }) => {
    const isUpload = method === "PUT" ? /\.(log\.gz|parquet)$/.test(key) : !key.includes("/test-");
    const sha256 = CHECKSUMS.map((name) => headers[name]).find((each) => each !== undefined);
    if (!isUpload || sha256 === undefined) return [];
    const before = first.get(key) ?? sha256;
    first.set(key, before);
    return before === sha256 ? [] : [`${key} was sent with other bytes`];
  });
}

/** What a receiver kept, request by request. */
export async function received(control: BucketControl): Promise<{ key: string; bytes: Uint8Array }[]> {
  const kept: { key: string; bytes: Uint8Array }[] = [];
  for (const { key, version } of await control.puts()) {
    const bytes = await control.object(key, version);
    if (bytes !== undefined) kept.push({ key: `${key} (${version})`, bytes });
  }
  return kept;
}

/** The path of a bucket in which a test looks for objects. */
export const WHERE = "logs/{DATE}";

/**
 * Receivers that keep no record twice, by their own means: those of records, and those of a whole
 * request.
 */
export const TELLS_RECORDS: ReadonlySet<DialectName> = new Set(["elastic", "loki"]);
export const TELLS_REQUESTS: ReadonlySet<DialectName> = new Set(["clickhouse"]);

/** A string of New Relic is one by this host. Its requests go to the scripted endpoint. */
const NEW_RELIC = "log-api.newrelic.com";

const BEARER = "header_Authorization=Bearer%20x";
const SPLUNK = "header_Authorization=Splunk%20x&sourcetype=_json";
const USER = "header_X-ClickHouse-User=x&header_X-ClickHouse-Key=x";

/** What a `destination_conf` has before and after the host, as its users write it. */
const STRINGS: Readonly<Record<DialectName, readonly [scheme: string, rest: string]>> = {
  https: ["https", `/in?${BEARER}`],
  elastic: ["elastic", `/in?${BEARER}`],
  datadog: ["datadog", "/api/v2/logs?header_DD-API-KEY=x&ddsource=cloudflare"],
  newrelic: ["https", "/log/v1?Api-Key=x&format=cloudflare"],
  splunkraw: ["splunk", `/services/collector/raw?${SPLUNK}&channel=fe0ecfad-13d5-401b-847d-77833bd77131`],
  splunkevent: ["splunk", `/services/collector/event?${SPLUNK}`],
  sumo: ["sumo", "/receiver/v1/http/x?header_X-Sumo-Category=x"],
  loki: ["loki", `/loki/api/v1/push?${BEARER}&labels=env=prod`],
  otlp: ["otlp", `/v1/logs?${BEARER}`],
  clickhouse: ["clickhouse", `/?database=logs&table=traces&${USER}`],
  axiom: ["axiom", `/v1/ingest/traces?${BEARER}`],
};

/** A destination of a test's own. @param path of a bucket. */
export function freshDestination(
  receiver: DialectName | null,
  whereIn: (bucket: string) => string,
  ofBucket: typeof destinationConf = destinationConf,
): { bucket: Bucket; conf: string } {
  if (receiver === null) {
    const bucket = freshBucket();
    return { bucket, conf: ofBucket(bucket.name, whereIn(bucket.name)) };
  }
  const url = inject("s3Url");
  const name = `receiver-${receiver}-${crypto.randomUUID()}`;
  const [scheme, rest] = STRINGS[receiver];
  const hosted = `${rest}&header_X-Receiver=${name}`;
  const bucket = { name, control: bucketControl(url, name) };
  if (receiver !== "newrelic") return { bucket, conf: `${scheme}://${new URL(url).host}${hosted}&tls=off` };
  connectNewRelic();
  return { bucket, conf: `${scheme}://${NEW_RELIC}${hosted}` };
}

/** For a test, requests to New Relic go to the scripted endpoint, whose receiver they name. */
function connectNewRelic(): void {
  const { fetch } = platform;
  // No mock: a world restores those before its end.
  platform.fetch = (url, init) => {
    const { host, pathname, search } = new URL(url);
    return fetch(host === NEW_RELIC ? `${inject("s3Url")}${pathname}${search}` : url, init);
  };
  onTestFinished(() => {
    platform.fetch = fetch;
  });
}
