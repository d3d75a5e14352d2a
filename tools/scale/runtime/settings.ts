/** What the simulation takes from wrangler.jsonc, so that it is played by the settings in force. */
import { readFileSync } from "node:fs";
import { parse } from "jsonc-parser";
import { SHIPPER_CONFIG } from "../../paths.ts";
import type { ConsumerSettings } from "./queue.ts";

interface WranglerConfig {
  limits: { cpu_ms: number };
  vars: Record<string, string>;
  queues: {
    consumers: { queue: string; max_batch_size: number; max_batch_timeout: number; max_concurrency: number }[];
  };
  observability: { enabled: boolean; logs: { invocation_logs: boolean } };
  durable_objects: { bindings: { name: string; class_name: string }[] };
}

export interface Settings {
  consumer: ConsumerSettings;
  /** CPU time that an invocation may take, in ms. */
  cpuMs: number;
  /** The share of its invocations that the platform logs. */
  loggedShare: number;
  vars: Record<string, string>;
  /** Classes of durable objects by binding. */
  classes: ReadonlyMap<string, string>;
}

export const settings: Settings = read();

function read(): Settings {
  const config = parse(readFileSync(SHIPPER_CONFIG, "utf8")) as WranglerConfig;
  const [consumer] = config.queues.consumers;
  if (consumer === undefined) throw new Error("wrangler.jsonc has no consumer");
  return {
    consumer: {
      name: consumer.queue,
      batchSize: consumer.max_batch_size,
      batchTimeoutMs: consumer.max_batch_timeout * 1_000,
      concurrency: consumer.max_concurrency,
    },
    cpuMs: config.limits.cpu_ms,
    loggedShare: config.observability.enabled && config.observability.logs.invocation_logs ? 1 : 0,
    vars: config.vars,
    classes: new Map(config.durable_objects.bindings.map(({ name, class_name }) => [name, class_name])),
  };
}
