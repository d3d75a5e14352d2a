/** From counts to money: pure. */
import { PRICES } from "./prices.ts";
import type { Simulated } from "./protocol.ts";

/** Bytes of one billed queue operation, and what the platform adds to each message. https://developers.cloudflare.com/queues/platform/pricing/ */
const QUEUE_UNIT_BYTES = 64_000;
const QUEUE_METADATA_BYTES = 100;

/** Memory that a durable object is billed for, whatever it uses, in GB. https://developers.cloudflare.com/durable-objects/platform/pricing/ */
const OBJECT_GB = 0.128;

/**
 * For how long a durable object is at work, in seconds: not measured, as nobody can offline. A request that writes is answered when the write has
 * reached enough machines; an upload waits for the store.
 */
export const ASSUMED_SECONDS = { reading: 0.005, writing: 0.03, upload: 0.5 } as const;

/** How many operations it is to write, to read or to delete a message of that size. */
export function queueUnits(bytes: number): number {
  return Math.ceil((bytes + QUEUE_METADATA_BYTES) / QUEUE_UNIT_BYTES);
}

export interface CpuMs {
  /** From trace item to message, for one event. */
  intake: number;
  /** From message to fragment, for one event and one job. */
  pipeline: number;
}

/** A part of the bill, for a million events. */
export interface Item {
  /** Billed operations, CPU ms, GB-s. */
  amount: number;
  dollars: number;
}

export const ITEMS = [
  "queueOperations",
  "requests",
  "cpuMs",
  "objectRequests",
  "objectGbSeconds",
  "rowsWritten",
  "rowsRead",
  "storeClassA",
  "storeClassB",
] as const satisfies readonly (keyof typeof PRICES)[];

export interface Bill {
  items: { readonly [item in (typeof ITEMS)[number]]: Item };
  /** For a million events. */
  dollars: number;
  /** The same if no durable object ever came to rest between two requests. */
  worstDollars: number;
}

/**
 * What a million events cost at this rate.
 * @param seconds that were simulated. @param jobs that took every event.
 */
export function bill(simulated: Simulated, seconds: number, jobs: number, cpu: CpuMs): Bill {
  const { use, batches, crons, messageUnits } = simulated;
  const objects = Object.values(use.objects);
  const sum = (of: (object: (typeof objects)[number]) => number): number =>
    objects.reduce((total, object) => total + of(object), 0);
  const requests = sum((object) => object.requests);
  const writing = sum((object) => object.writing);
  const busySeconds =
    (requests - writing) * ASSUMED_SECONDS.reading +
    writing * ASSUMED_SECONDS.writing +
    (use.puts + use.otherStoreRequests) * ASSUMED_SECONDS.upload;
  const amounts: { [item in (typeof ITEMS)[number]]: number } = {
    // Written, read, deleted.
    queueOperations: 3 * messageUnits,
    requests: batches + crons,
    cpuMs: simulated.events * (cpu.intake + jobs * cpu.pipeline),
    objectRequests: requests,
    objectGbSeconds: busySeconds * OBJECT_GB,
    rowsWritten: sum((object) => object.rowsWritten),
    rowsRead: sum((object) => object.rowsRead),
    storeClassA: use.puts,
    storeClassB: use.otherStoreRequests,
  };
  const perMillion = 1e6 / simulated.events;
  const items = Object.fromEntries(
    ITEMS.map((name) => {
      const amount = amounts[name] * perMillion;
      return [name, { amount, dollars: (amount / 1e6) * PRICES[name].dollars }];
    }),
  ) as Bill["items"];
  const dollars = ITEMS.reduce((total, name) => total + items[name].dollars, 0);
  const awake = use.instances * seconds * OBJECT_GB * perMillion;
  const worstDollars = dollars - items.objectGbSeconds.dollars + (awake / 1e6) * PRICES.objectGbSeconds.dollars;
  return { items, dollars, worstDollars };
}
