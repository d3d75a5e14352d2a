/** What the simulation takes from wrangler.jsonc, so that it runs by the settings in force. */
import { readFileSync } from "node:fs";
import { parse } from "jsonc-parser";
import { SHIPPER_CONFIG } from "../paths.ts";

interface WranglerConfig {
  limits: { cpu_ms: number };
  vars: Record<string, string>;
  queues: {
    consumers: { max_batch_size: number; max_batch_timeout: number; max_concurrency: number }[];
  };
  observability: { enabled: boolean; logs: { invocation_logs: boolean } };
  durable_objects: { bindings: { name: string; class_name: string }[] };
}

const config = parse(readFileSync(SHIPPER_CONFIG, "utf8")) as WranglerConfig;
const [consumer] = config.queues.consumers;
if (consumer === undefined) throw new Error("wrangler.jsonc has no consumer");

export const settings = {
  batchSize: consumer.max_batch_size,
  batchTimeoutMs: consumer.max_batch_timeout * 1_000,
  /** Invocations of the consumer at the same time. */
  concurrency: consumer.max_concurrency,
  /** CPU time that an invocation may take, in ms. */
  cpuMs: config.limits.cpu_ms,
  /** The share of its invocations that the platform logs. */
  loggedShare: config.observability.enabled && config.observability.logs.invocation_logs ? 1 : 0,
  vars: config.vars,
  /** Classes of durable objects, by binding. */
  classes: new Map(config.durable_objects.bindings.map(({ name, class_name }) => [name, class_name])),
} as const;
