import { readFileSync, writeFileSync } from "node:fs";

/** How long the shipper's queue gathers a batch, in the copy of the configuration that a build has. @throws Error if it is not where it is looked for. */
export function setQueueWait(config: string, seconds: number): void {
  const text = readFileSync(config, "utf8");
  const changed = text.replace(/("queue": "logship-events",[^}]*?"max_batch_timeout": )\d+/, `$1${seconds}`);
  if (changed === text) throw new Error(`${config} has no max_batch_timeout of logship-events`);
  writeFileSync(config, changed);
}
