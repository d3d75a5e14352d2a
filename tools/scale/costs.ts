/** What a million events cost, by the number of isolates that take them in: one job. */
import { queueUnits } from "../../src/ship/log/usage.ts";
import { type Bill, bill } from "../bench/billing.ts";
import type { LoadResult } from "./cell.ts";
import { settings } from "./runtime/settings.ts";

export const COST_RATES = [1, 100, 1_000, 10_000];
export const COST_ISOLATES = [1, 20, 100, 1_000];

/** Simulated time, in s: a period of the cron. CPU time after which it ends earlier, in s. */
export const COST_EFFORT = { seconds: 300, cpuSeconds: 6 };

export interface Cost {
  eventsPerSecond: number;
  isolates: number;
  eventsPerMessage: number;
  /** For a million events. */
  messages: number;
  bill: Bill;
}

/** @param result of a load. */
export function costOf({ load, taken, consumed, played }: LoadResult): Cost {
  const repeats = played.batches / consumed.batches.length;
  const events = consumed.events * repeats;
  const messages = consumed.messages * repeats;
  const bytes = taken.messages.map(({ body }) => body.byteLength);
  const meanOf = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;
  const simulated = {
    events,
    messages,
    messageBytes: messages * meanOf(bytes),
    messageUnits: messages * meanOf(bytes.map(queueUnits)),
    batches: played.batches,
    crons: played.crons,
    ...{ parts: 0, packed: 0, packingS: 0 },
    use: played.use,
  };
  const { batchSize, batchTimeoutMs } = settings.consumer;
  const scenario = { jobs: [1], ...load, warmUpS: 0, seconds: played.seconds, batchSize, batchTimeoutMs, seed: 0 };
  const terms = {
    intakeCpuMs: taken.cpuUs / 1_000,
    pipelineCpuMs: consumed.cpuUs / 1_000,
    loggedShare: settings.loggedShare,
  };
  return {
    ...load,
    eventsPerMessage: events / messages,
    messages: (messages / events) * 1e6,
    bill: bill(scenario, simulated, terms),
  };
}
