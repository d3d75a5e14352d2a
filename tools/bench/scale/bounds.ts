/** The limits that a cell is held against, with their sources. */
import { SHARD_MAX_BYTES } from "../../../src/base/limits.ts";
import { settings } from "../settings.ts";

export interface Bound {
  limit: number;
  unit: string;
  source: string;
}

const OBJECTS = "https://developers.cloudflare.com/durable-objects/platform/limits/";
const QUEUES = "https://developers.cloudflare.com/queues/platform/limits/";
const WORKERS = "https://developers.cloudflare.com/workers/platform/limits/";

export const BOUNDS = {
  isolateCpu: { limit: 1, unit: "CPU", source: `one thread an isolate: ${WORKERS}` },
  queueMessages: { limit: 5_000, unit: "messages/s", source: QUEUES },
  queueBacklog: { limit: 25e9, unit: "B", source: QUEUES },
  consumers: {
    limit: settings.concurrency,
    unit: "invocations",
    source: `max_concurrency in wrangler.jsonc; the platform allows 250: ${QUEUES}`,
  },
  batchCpu: { limit: settings.cpuMs, unit: "ms", source: `limits.cpu_ms in wrangler.jsonc, the most: ${WORKERS}` },
  calls: { limit: 10_000, unit: "calls", source: `subrequests of an invocation: ${WORKERS}` },
  objectRequests: { limit: 1_000, unit: "requests/s", source: `soft: ${OBJECTS}` },
  objectCpu: { limit: 1, unit: "CPU", source: `one thread an object: ${OBJECTS}` },
  objectBytes: { limit: 150e6, unit: "B/s", source: "no limit of the platform: measured in its local runtime" },
  callBytes: {
    limit: 32 * 2 ** 20,
    unit: "B",
    source: "https://developers.cloudflare.com/workers/runtime-apis/rpc/#limits",
  },
  objectStorage: {
    limit: SHARD_MAX_BYTES,
    unit: "B",
    source: `SHARD_MAX_BYTES and SEGMENT_MAX_BYTES in src/base/limits.ts; the platform allows 10 GB: ${OBJECTS}`,
  },
  storePuts: {
    limit: 3_500,
    unit: "PUT/s",
    source: "a prefix of S3: https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html",
  },
} as const satisfies { readonly [name: string]: Bound };

export type BoundName = keyof typeof BOUNDS;
