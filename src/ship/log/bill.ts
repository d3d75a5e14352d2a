/**
 * From a month's counted use to billed amounts and dollars. Pure. The factors come from
 * measurements in docs/costs.md (`npm run bench -- --only=costs`); a test compares the two.
 */
import { PRICES, type Price, type PriceName, VENDOR } from "../../base/prices.ts";
import type { MonthUse } from "./month-use.ts";

/**
 * Bytes of one billed queue operation, and what the platform adds to each message.
 * https://developers.cloudflare.com/queues/platform/pricing/
 */
const QUEUE_UNIT_BYTES = 64_000;
const QUEUE_METADATA_BYTES = 100;

/**
 * Billed memory of a durable object, whatever it uses, in GB.
 * https://developers.cloudflare.com/durable-objects/platform/pricing/
 */
export const OBJECT_GB = 0.128;

/**
 * Duration of durable object requests, in s: assumed, as it cannot be measured offline. A request
 * that writes is answered when the write is replicated; an upload waits for the store.
 */
export const ASSUMED_SECONDS = { reading: 0.005, writing: 0.03, upload: 0.5 } as const;

/**
 * The packer: how often it works at most, once for each interval of isolates (packing-policy.ts),
 * and how long, in s: it waits for half a second, and for isolates far away and the queue.
 */
const PACKER = { everySeconds: 2, workSeconds: 0.7 } as const;

/** The cron of wrangler.jsonc, in ms. */
const CRON_EVERY_MS = 300_000;

/** Rows written, as billed. */
const ROWS = { group: 4.9, object: 10.6, retry: 5, cron: 2 } as const;

/**
 * Requests to durable objects that write: appends, alarms of the log that find work, and what an
 * object takes in its reader and its sketches; and others. `cron`: a run, status checks included;
 * `cronAndJob`: further ones for each job.
 */
const WRITING = { group: 1.1, batch: 0.7, upload: 2.2 } as const;
const READING = { batch: 0.8, upload: 2.1, cron: 18, cronAndJob: 2 } as const;

/**
 * CPU time, in ms, measured on one machine with jobs that filter: from trace item to message for
 * each event; from message to fragment for each event and job, of equal rules only for the first.
 */
export const CPU_MS = { event: 0.0112, offered: 0.0152 } as const;

/** Billed operations to write, read or delete a message of this size. */
export function queueUnits(bytes: number): number {
  return Math.ceil((bytes + QUEUE_METADATA_BYTES) / QUEUE_UNIT_BYTES);
}

/** What the logs of all jobs delivered in the same time. */
export interface Delivered {
  uploads: { ok: number; retried: number; failed: number };
  records: number;
}

/**
 * Where a number comes from: `counted`; `derived` from counts by measured factors; `estimated` by
 * assumptions.
 */
export type Basis = "counted" | "derived" | "estimated";

export interface Operation {
  amount: number;
  basis: Basis;
  /** In US dollars, by list price, without a plan's included amounts. */
  dollars: number;
}

/** Billed operations. Rows read and HEAD requests cost next to nothing and are left out. */
export type OperationName = Exclude<PriceName, "rowsRead" | "storeClassB">;

export interface Bill {
  operations: { readonly [name in OperationName]: Operation };
  /** By list price. */
  dollars: number;
  /** Beyond the paid plan, in an account without other use. */
  beyondPlanDollars: number;
  /** The vendor's own log shipping, for the same records. */
  vendor: { dollars: number; beyondPlanDollars: number };
}

/** The jobs of an account as they are now: nothing says what they were when it was counted. */
export interface Jobs {
  all: number;
  enabled: number;
  /** Different rules among the enabled ones: jobs of equal rules share what is made. */
  rules: number;
}

/**
 * The cost of a month so far.
 * @param nowMs end of the count.
 */
export function billOf(use: MonthUse, { uploads, records }: Delivered, jobs: Jobs, nowMs: number): Bill {
  const made = jobs.enabled === 0 ? 1 : jobs.rules / jobs.enabled;
  const attempts = uploads.ok + uploads.retried + uploads.failed;
  const crons = Math.floor(Math.max(0, nowMs - use.sinceMs) / CRON_EVERY_MS);
  // What is in a message with others was a call of the packer, the first part of it included.
  const packed = Math.min(use.messages, use.furtherParts);
  const parts = use.furtherParts + packed;
  const packings = Math.min(packed, Math.max(0, nowMs - use.sinceMs) / 1_000 / PACKER.everySeconds);
  const writing = WRITING.group * use.groups + WRITING.batch * use.batches + WRITING.upload * attempts;
  const reading =
    READING.batch * use.batches + READING.upload * attempts + (READING.cron + READING.cronAndJob * jobs.all) * crons;
  const busySeconds =
    writing * ASSUMED_SECONDS.writing +
    reading * ASSUMED_SECONDS.reading +
    attempts * ASSUMED_SECONDS.upload +
    packings * PACKER.workSeconds;
  const amounts: { [name in OperationName]: [amount: number, basis: Basis] } = {
    // Each message is written, read and deleted.
    queueOperations: [3 * use.messageUnits, "counted"],
    storeClassA: [attempts, "counted"],
    logEvents: [use.batches + attempts, "counted"],
    requests: [use.batches + crons, "derived"],
    rowsWritten: [
      ROWS.group * use.groups +
        ROWS.object * uploads.ok +
        ROWS.retry * (uploads.retried + uploads.failed) +
        ROWS.cron * crons,
      "derived",
    ],
    objectRequests: [writing + reading + parts, "derived"],
    cpuMs: [CPU_MS.event * use.events + CPU_MS.offered * use.offered * made, "estimated"],
    objectGbSeconds: [busySeconds * OBJECT_GB, "estimated"],
  };
  const operations = Object.fromEntries(
    Object.entries(amounts).map(([name, [exact, basis]]) => {
      const amount = Math.round(exact);
      return [name, { amount, basis, dollars: cost(amount, PRICES[name as OperationName]) }];
    }),
  ) as Bill["operations"];
  const each = Object.entries(operations) as [OperationName, Operation][];
  return {
    operations,
    dollars: each.reduce((sum, [, { dollars }]) => sum + dollars, 0),
    beyondPlanDollars: each.reduce((sum, [name, { amount }]) => sum + beyondPlan(amount, PRICES[name]), 0),
    vendor: { dollars: cost(records, VENDOR), beyondPlanDollars: beyondPlan(records, VENDOR) },
  };
}

/** Cost of the part of a month's amount beyond the included one, in US dollars. */
export function beyondPlan(amount: number, price: Price): number {
  return cost(Math.max(0, amount - price.included), price);
}

function cost(amount: number, { dollars }: Price): number {
  return (amount / 1e6) * dollars;
}
