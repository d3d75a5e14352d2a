/**
 * Public list prices beyond what the paid plan includes, in US dollars for a million; as read on 2026-11-20. The monthly allowances are left out:
 * they are shared with everything else in the account.
 */
export interface Price {
  /** For a million of what is named. */
  dollars: number;
  source: string;
}

const WORKERS = "https://developers.cloudflare.com/workers/platform/pricing/";
const QUEUES = "https://developers.cloudflare.com/queues/platform/pricing/";
const OBJECTS = "https://developers.cloudflare.com/durable-objects/platform/pricing/";

export const PRICES = {
  /** Invocations. Those of `tail()` are billed by CPU time alone: https://developers.cloudflare.com/workers/observability/logs/tail-workers/ */
  requests: { dollars: 0.3, source: WORKERS },
  /** Milliseconds of CPU time. */
  cpuMs: { dollars: 0.02, source: WORKERS },
  /** Writes, reads and deletes of each started 64 KB of a message. */
  queueOperations: { dollars: 0.4, source: QUEUES },
  /** RPC calls and alarms. */
  objectRequests: { dollars: 0.15, source: OBJECTS },
  /** GB-seconds: 128 MB for as long as an object is at work, or idle and unable to hibernate. */
  objectGbSeconds: { dollars: 12.5, source: OBJECTS },
  rowsWritten: { dollars: 1, source: OBJECTS },
  rowsRead: { dollars: 0.001, source: OBJECTS },
  /** PUTs and the like. */
  storeClassA: { dollars: 4.5, source: "https://developers.cloudflare.com/r2/pricing/" },
  /** HEADs and the like. */
  storeClassB: { dollars: 0.36, source: "https://developers.cloudflare.com/r2/pricing/" },
} as const satisfies { readonly [name: string]: Price };

/** What the vendor's own log shipping costs for a million events that reach a destination, in dollars: each job counts. */
export const VENDOR = { dollars: 0.05, source: `${WORKERS}#workers-trace-events-logpush` } as const satisfies Price;
