/** Uploads to each kind of destination, whose service is played: it takes everything at once. */
import { createHash } from "node:crypto";
import { fromBase64, toHex } from "../../../src/base/bytes.ts";
import { UPLOAD_BYTES, UPLOAD_RECORDS } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { readConfig } from "../../../src/config.ts";
import { destinationPurpose, seal } from "../../../src/formats/secrets/sealed.ts";
import { termsOf } from "../../../src/ship/destinations/kinds.ts";
import { randomIds } from "../../../src/ship/intake/ids.ts";
import { packRecords } from "../../../src/ship/intake/packing.ts";
import { prepare } from "../../../src/ship/job/build.ts";
import { type JobConfig, stampOf } from "../../../src/ship/job/config.ts";
import type { Item } from "../../../src/ship/log/blocks.ts";
import type { Page, TraceLog } from "../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { destinationOf } from "../../../src/ship/reader/open.ts";
import {
  type CutSize,
  KIND_NAMES,
  type KindName,
  type ShippedKind,
  type StackedKind,
  type StackingKind,
} from "../protocol.ts";
import { jobOf, loaded } from "./cpu.ts";
import { linesOf } from "./growth.ts";
import { uploads } from "./held-uploads.ts";
import { countStoreRequest, takeUse } from "./meter.ts";

const KEYS = "access-key-id=bench&secret-access-key=bench";
const TOKEN = "header_Authorization=Bearer%20bench";
const SAS = "sv=2021-12-02&ss=b&srt=o&sp=rcw&se=2199-12-31T00%3A00%3A00Z&spr=https&sig=bench";

const CONFS: { readonly [kind in KindName]: string } = {
  s3: `s3://traces/logs/{DATE}?region=auto&endpoint=store.example&${KEYS}`,
  gs: `gs://traces/logs/{DATE}?${KEYS}`,
  azure: `azure://bench.blob.core.windows.net/traces/logs/{DATE}?${SAS}`,
  binding: "binding://TRACES/logs/{DATE}",
  https: `https://logs.example/in?${TOKEN}`,
  sumo: "sumo://sumo.example/receiver/v1/http/bench",
  splunk: "splunk://splunk.example:8088/services/collector/event?header_Authorization=Splunk%20bench",
  datadog: "datadog://http-intake.logs.datadoghq.com/api/v2/logs?header_DD-API-KEY=bench",
  newrelic: "https://log-api.newrelic.com/log/v1?Api-Key=bench",
  elastic: `elastic://es.example/traces?${TOKEN}`,
  loki: `loki://loki.example/loki/api/v1/push?${TOKEN}`,
  otlp: `otlp://collector.example?${TOKEN}`,
  clickhouse: "clickhouse://ch.example:8443/?table=traces&header_X-ClickHouse-Key=bench",
  axiom: `axiom://axiom.example/v1/ingest/traces?${TOKEN}`,
};

/** What each receiver answers to a body of so many records: that it took all. */
const TAKEN: { readonly [kind in KindName]?: (records: number) => Response } = {
  https: () => new Response(null, { status: 204 }),
  sumo: () => new Response(null),
  splunk: () => Response.json({ text: "Success", code: 0 }),
  datadog: () => Response.json({}, { status: 202 }),
  newrelic: () => Response.json({ requestId: "bench" }, { status: 202 }),
  elastic: (records) => Response.json({ errors: false, items: Array(records).fill({ create: { status: 201 } }) }),
  loki: () => new Response(null, { status: 204 }),
  otlp: () => Response.json({ partialSuccess: {} }),
  clickhouse: () => new Response(""),
  axiom: (records) => Response.json({ ingested: records, failed: 0, failures: [] }),
};

const stored = new Set<string>();
let sentBytes = 0;
/** Of the object that is being sent. */
let records = 0;

/** Read to its end, as a network does. @returns its length. */
async function read(body: BodyInit | null | undefined): Promise<void> {
  sentBytes += body instanceof Uint8Array ? body.length : (await new Response(body ?? null).arrayBuffer()).byteLength;
}

/**
 * A store heeds its condition, and shows the MD5 that it was sent: computing it is no work of the
 * shipper.
 */
async function putInto(kind: KindName, url: string, { headers, body }: RequestInit): Promise<Response> {
  const given = new Headers(headers);
  const isConditional = given.has("if-none-match") || given.has("x-goog-if-generation-match");
  if (isConditional && stored.has(url))
    return kind === "azure"
      ? new Response(null, { status: 409, headers: { "x-ms-error-code": "BlobAlreadyExists" } })
      : new Response(null, { status: 412 });
  await read(body);
  stored.add(url);
  const md5 = given.get("content-md5") ?? "";
  return kind === "azure"
    ? new Response(null, { status: 201, headers: { "content-md5": md5 } })
    : new Response(null, { headers: { etag: `"${toHex(fromBase64(md5))}"` } });
}

function serve(kind: KindName): void {
  platform.fetch = async (url, init) => {
    const { method = "GET" } = init;
    countStoreRequest(method);
    if (method === "PUT") return putInto(kind, url, init);
    const answer = TAKEN[kind];
    if (method !== "POST" || answer === undefined) throw new Error(`${kind} is asked with ${method}`);
    await read(init.body);
    return answer(records);
  };
}

/** By length: objects of one length are equal here, and computing it is no work of the shipper. */
const md5s = new Map<number, Uint8Array>();

function md5Of(body: Uint8Array): Uint8Array {
  const md5 = md5s.get(body.length) ?? new Uint8Array(createHash("md5").update(body).digest());
  md5s.set(body.length, md5);
  return md5;
}

/** A bound bucket: only what an upload asks of it. */
export const BUCKET: object = {
  DESTINATION_BINDINGS: "TRACES",
  TRACES: {
    put: async (key: string, body: Uint8Array, { onlyIf }: R2PutOptions) => {
      countStoreRequest("PUT");
      if (onlyIf !== undefined && stored.has(key)) return null;
      await read(body);
      stored.add(key);
      return { etag: "", size: body.length, checksums: { md5: md5Of(body) }, customMetadata: {} };
    },
    head: async () => null,
    get: async () => null,
    createMultipartUpload: () => {},
  },
};

/** The records of each object, as each kind gets them. */
let item: Omit<Item, "n"> | null = null;

async function itemOf(job: JobConfig, count: number): Promise<Omit<Item, "n">> {
  const packed = packRecords(linesOf(count, platform.now()), {
    takenInMs: platform.now(),
    idOf: randomIds(1),
    keyed: false,
    shards: 1,
  });
  if (!packed.ok) throw new Error("a record is too large");
  const messages = await Promise.all(packed.messages.map(({ body }) => loaded(body.slice().buffer)));
  const { fragments, ...share } = prepare(job, messages);
  const group = { output: job.output, template: { hour: false, script: false }, fragments };
  return { takenMs: platform.now(), stamp: stampOf(job), ...share, group };
}

/** What the log has for readers of kinds. */
const pages = new Map<number, Page>();

/** The log, with what is stacked. */
export function withStacked(log: DurableObjectNamespace<TraceLog>): DurableObjectNamespace<TraceLog> {
  const stub = (name: string): object => ({
    read: async (job: number, ...rest: [number, number, string, number]): Promise<unknown> =>
      pages.get(job) ?? log.getByName(name).read(job, ...rest),
  });
  return { getByName: stub } as unknown as DurableObjectNamespace<TraceLog>;
}

/** Cuts objects of equal records, which wait. */
export async function stackKind({ kind, objects, records: count }: StackingKind, env: Env): Promise<StackedKind> {
  const read = readConfig(env);
  if (!read.ok) throw new Error(read.faults.join("; "));
  const job: JobConfig = {
    ...jobOf({ filter: null, fieldNames: null }),
    id: KIND_NAMES.indexOf(kind) + 1,
    destination: seal(CONFS[kind], destinationPurpose(read.config.accountId), read.config.keys),
    path: kind in TAKEN ? "" : "logs/{DATE}",
    limits: { bytes: UPLOAD_BYTES.fallback, records: count, intervalMs: 300_000 },
  };
  item ??= await itemOf(job, count);
  const log = nodeAt(env.READERS, job.id, 0);
  const last = pages.get(job.id)?.end ?? 0;
  const share = { ...item, stamp: stampOf(job) };
  const items = Array.from({ length: objects }, (_, i): Item => ({ ...share, n: last + 1 + i }));
  pages.set(job.id, { items, end: last + objects, isAll: true, job });
  uploads.areHeld = true;
  await log.pull({ segment: 0, from: last, cut: true });
  uploads.areHeld = false;
  const waiting = (await log.status())?.pendingObjects;
  if (waiting !== objects) throw new Error(`${waiting} objects wait for ${kind}, not ${objects}`);
  const { raw_bytes: rawBytes, bytes } = (await log.objectsBefore(Number.MAX_SAFE_INTEGER, 1))[0] as {
    raw_bytes: number;
    bytes: number;
  };
  const size: CutSize = { records: count, rawBytes, bytes };
  const destination = destinationOf(job, { ...env, ...BUCKET });
  if (!destination.ok) throw new Error(destination.why);
  const most = termsOf(destination.value).limits ?? { records: Number.POSITIVE_INFINITY, bytes: UPLOAD_BYTES.fallback };
  const recordsOfFull = Math.min(
    most.records,
    UPLOAD_RECORDS.fallback,
    Math.min(most.bytes, UPLOAD_BYTES.fallback) / (rawBytes / count),
  );
  return { size, recordsOfFull };
}

/** Uploads what waits. @throws if not all of it is taken at once. */
export async function shipKind(kind: KindName, env: Env): Promise<ShippedKind> {
  serve(kind);
  records = item?.group?.fragments.reduce((sum, fragment) => sum + fragment.records, 0) ?? 0;
  sentBytes = 0;
  takeUse();
  const log = nodeAt(env.READERS, KIND_NAMES.indexOf(kind) + 1, 0);
  const { pendingObjects } = await log.drive("manual", 600_000);
  const status = await log.status();
  if (pendingObjects > 0 || status?.counts.pending !== 0)
    throw new Error(`${kind} did not take all: ${status?.errorMessage}`);
  return { use: takeUse(), sentBytes };
}
