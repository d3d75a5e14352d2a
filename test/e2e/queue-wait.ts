import { readFileSync, writeFileSync } from "node:fs";

/**
 * Sets how long the shipper's queue gathers a batch, in a build's copy of the configuration.
 * @throws Error if the setting is not found.
 */
export function setQueueWait(config: string, seconds: number): void {
  const text = readFileSync(config, "utf8");
  const changed = text.replace(/("queue": "logship-events",[^}]*?"max_batch_timeout": )\d+/, `$1${seconds}`);
  if (changed === text) throw new Error(`${config} has no max_batch_timeout of logship-events`);
  writeFileSync(config, changed);
}
