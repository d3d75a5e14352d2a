/**
 * Public list prices of the paid plan in December 2026, in US dollars, as read on 2026-11-30, and
 * the plan's monthly included amounts, which the whole account shares.
 */
export interface Price {
  /** Per million units beyond the included amount; a million kB is a GB. */
  dollars: number;
  /** Per month. */
  included: number;
  source: string;
}

const WORKERS = "https://developers.cloudflare.com/workers/platform/pricing/";
const QUEUES = "https://developers.cloudflare.com/queues/platform/pricing/";
const OBJECTS = "https://developers.cloudflare.com/durable-objects/platform/pricing/";
const STORE = "https://developers.cloudflare.com/r2/pricing/";
const LOGS = "https://developers.cloudflare.com/observability/pricing/";

/** Workers Logs and traces from 2026-12-01, by size before compression. */
export const LOG_PRICES = {
  /** What comes in, in kB. */
  takenIn: { dollars: 0.25, included: 50e6, source: LOGS },
  /** What can be queried, in kB-months: each event for seven days of thirty. */
  stored: { dollars: 0.1, included: 12e6, source: LOGS },
  keptMonths: 7 / 30,
  /** Average event: https://developers.cloudflare.com/observability/logs/datasets/ */
  eventKb: 4.84,
} as const;

export const PRICES = {
  /** Writes, reads and deletes, each per started 64 KB of a message. */
  queueOperations: { dollars: 0.4, included: 1e6, source: QUEUES },
  /**
   * Invocations. Those of `tail()` are billed by CPU time alone:
   * https://developers.cloudflare.com/workers/observability/logs/tail-workers/
   */
  requests: { dollars: 0.3, included: 10e6, source: WORKERS },
  /** Milliseconds of CPU time. */
  cpuMs: { dollars: 0.02, included: 30e6, source: WORKERS },
  /** RPC calls and alarms. */
  objectRequests: { dollars: 0.15, included: 1e6, source: OBJECTS },
  /** GB-seconds: 128 MB while an object is active, or idle and unable to hibernate. */
  objectGbSeconds: { dollars: 12.5, included: 400_000, source: OBJECTS },
  /** Inserts, updates and deletes, including index entries, and `setAlarm`. */
  rowsWritten: { dollars: 1, included: 50e6, source: OBJECTS },
  rowsRead: { dollars: 0.001, included: 25e9, source: OBJECTS },
  /** PUTs and the like. */
  storeClassA: { dollars: 4.5, included: 1e6, source: STORE },
  /**
   * Log events of the shipper itself, each of average size: its lines, and one per invocation,
   * including `tail()`, unless `observability.logs.invocation_logs` is false. The allowance for
   * what comes in is used up first.
   */
  logEvents: {
    dollars: LOG_PRICES.eventKb * (LOG_PRICES.takenIn.dollars + LOG_PRICES.keptMonths * LOG_PRICES.stored.dollars),
    included: Math.floor(LOG_PRICES.takenIn.included / LOG_PRICES.eventKb),
    source: LOGS,
  },
  /** HEADs and the like. */
  storeClassB: { dollars: 0.36, included: 10e6, source: STORE },
} as const satisfies { readonly [name: string]: Price };

export type PriceName = keyof typeof PRICES;
export const PRICE_NAMES = Object.keys(PRICES) as PriceName[];

/** The vendor's own log shipping, per million events that reach a destination; each job counts. */
export const VENDOR = { dollars: 0.05, included: 10e6, source: WORKERS } as const satisfies Price;
