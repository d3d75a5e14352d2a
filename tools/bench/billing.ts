/** From counts to money: pure. */

import { PRICE_NAMES, PRICES, type PriceName, VENDOR } from "../../src/base/prices.ts";
import { ASSUMED_SECONDS, beyondPlan, OBJECT_GB } from "../../src/ship/log/bill.ts";
import type { Measured, MeasuredObject } from "./measure.ts";
import { settings } from "./settings.ts";

const MONTH_S = 30 * 86_400;

/**
 * CPU time, in ms, as docs/costs.md has it: from trace item to message for an event, and from
 * message to fragment for an event and a job of rules of its own.
 */
const CPU_MS = { intake: 0.0125, pipeline: 0.0132 };

export interface Bill {
  /** What is billed, for a million events: how many, and what that costs in dollars. */
  perMillion: { readonly [name in PriceName]: { amount: number; dollars: number } };
  /** For a million events, by list price: nothing is included. */
  dollars: number;
  /** The same if no Durable Object ever hibernated. */
  awakeDollars: number;
  /** A month at this rate, alone in its account: with what the plan includes. */
  monthDollars: number;
  vendor: { dollars: number; monthDollars: number };
}

/** The cost at the rate of a load of which each job takes every event. */
export function bill(measured: Measured): Bill {
  const { events, jobs, seconds, objects } = measured;
  const amounts = amountsOf(measured);
  const perMillion = Object.fromEntries(
    PRICE_NAMES.map((name) => {
      const amount = (amounts[name] / events) * 1e6;
      return [name, { amount, dollars: (amount / 1e6) * PRICES[name].dollars }];
    }),
  ) as Bill["perMillion"];
  const dollars = PRICE_NAMES.reduce((sum, name) => sum + perMillion[name].dollars, 0);
  const active = objects.filter(({ calls, alarms }) => calls + alarms > 0).length;
  const awakeGbSeconds = active * seconds * OBJECT_GB;
  const perMonth = MONTH_S / seconds;
  return {
    perMillion,
    dollars,
    awakeDollars:
      dollars - perMillion.objectGbSeconds.dollars + (awakeGbSeconds / events) * PRICES.objectGbSeconds.dollars,
    monthDollars: PRICE_NAMES.reduce((sum, name) => sum + beyondPlan(amounts[name] * perMonth, PRICES[name]), 0),
    vendor: { dollars: jobs * VENDOR.dollars, monthDollars: beyondPlan(events * jobs * perMonth, VENDOR) },
  };
}

function amountsOf(measured: Measured): { [name in PriceName]: number } {
  const { objects, events, jobs, load, puts, batches, crons, lines } = measured;
  const total = (of: (object: MeasuredObject) => number): number => objects.reduce((sum, each) => sum + of(each), 0);
  const objectRequests = total(({ calls, alarms }) => calls + alarms);
  const writing = total((object) => object.writing);
  const busySeconds =
    measured.packingS +
    (objectRequests - measured.parts - writing) * ASSUMED_SECONDS.reading +
    writing * ASSUMED_SECONDS.writing +
    puts * ASSUMED_SECONDS.upload;
  return {
    // Each message is written, read and deleted.
    queueOperations: 3 * measured.messageUnits,
    requests: batches + crons + (load.isolates === 0 ? events : 0),
    cpuMs: events * (CPU_MS.intake + jobs * CPU_MS.pipeline),
    objectRequests,
    objectGbSeconds: busySeconds * OBJECT_GB,
    rowsWritten: total(({ rowsWritten }) => rowsWritten),
    rowsRead: total(({ rowsRead }) => rowsRead),
    storeClassA: puts,
    logEvents: lines + (events + batches + crons + objectRequests) * settings.loggedShare,
    storeClassB: measured.otherStoreRequests,
  };
}
