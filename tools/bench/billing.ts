/** From counts to money: pure. */

import { PRICE_NAMES, PRICES, type PriceName, VENDOR } from "../../src/base/prices.ts";
import { ASSUMED_SECONDS, beyondPlan, OBJECT_GB } from "../../src/ship/log/usage.ts";
import type { ObjectUse, Scenario, Simulated } from "./protocol.ts";

const MONTH_S = 30 * 86_400;

/** What a bill depends on besides the counts. */
export interface Terms {
  /** CPU time from trace item to message, for one event, in ms. */
  intakeCpuMs: number;
  /** CPU time from message to fragment, for one event and one job, in ms. */
  pipelineCpuMs: number;
  /** The share of its own invocations that the shipper logs, as wrangler.jsonc says. */
  loggedShare: number;
}

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

/** The cost at the rate of a scenario in which each job takes every event. */
export function bill(scenario: Scenario, simulated: Simulated, terms: Terms): Bill {
  const { events, use } = simulated;
  const jobs = scenario.jobs.length;
  const amounts = amountsOf(simulated, scenario, terms);
  const perMillion = Object.fromEntries(
    PRICE_NAMES.map((name) => {
      const amount = (amounts[name] / events) * 1e6;
      return [name, { amount, dollars: (amount / 1e6) * PRICES[name].dollars }];
    }),
  ) as Bill["perMillion"];
  const dollars = PRICE_NAMES.reduce((sum, name) => sum + perMillion[name].dollars, 0);
  const awakeGbSeconds = (use.activeObjects * scenario.seconds * OBJECT_GB * 1e6) / events;
  const perMonth = MONTH_S / scenario.seconds;
  return {
    perMillion,
    dollars,
    awakeDollars:
      dollars - perMillion.objectGbSeconds.dollars + (awakeGbSeconds / 1e6) * PRICES.objectGbSeconds.dollars,
    monthDollars: PRICE_NAMES.reduce((sum, name) => sum + beyondPlan(amounts[name] * perMonth, PRICES[name]), 0),
    vendor: { dollars: jobs * VENDOR.dollars, monthDollars: beyondPlan(events * jobs * perMonth, VENDOR) },
  };
}

function amountsOf(
  simulated: Simulated,
  { jobs: { length: jobs }, isolates }: Scenario,
  terms: Terms,
): { [name in PriceName]: number } {
  const { use, events, messageUnits, batches, crons } = simulated;
  const total = (of: (object: ObjectUse) => number): number =>
    Object.values(use.objects).reduce((sum, object) => sum + of(object), 0);
  const objectRequests = total(({ requests }) => requests);
  const writing = total((object) => object.writing);
  const busySeconds =
    simulated.packingS +
    (objectRequests - simulated.parts - writing) * ASSUMED_SECONDS.reading +
    writing * ASSUMED_SECONDS.writing +
    use.puts * ASSUMED_SECONDS.upload;
  return {
    // Each message is written, read and deleted.
    queueOperations: 3 * messageUnits,
    requests: batches + crons + (isolates === 0 ? events : 0),
    cpuMs: events * (terms.intakeCpuMs + jobs * terms.pipelineCpuMs),
    objectRequests,
    objectGbSeconds: busySeconds * OBJECT_GB,
    rowsWritten: total(({ rowsWritten }) => rowsWritten),
    rowsRead: total(({ rowsRead }) => rowsRead),
    storeClassA: use.puts,
    logEvents: use.logLines + (events + batches + crons + objectRequests) * terms.loggedShare,
    storeClassB: use.otherStoreRequests,
  };
}
