import { env } from "cloudflare:workers";
import { LOG_KEEP_HOURS } from "../../../src/base/limits.ts";
import { JOB_KNOWN_MS } from "../../../src/ship/log/trace-log.ts";
import { forgetting } from "./forgetting.ts";

/** How long the log keeps a block if nothing else is set. */
export const KEPT_MS = LOG_KEEP_HOURS.fallback * 3_600_000 + JOB_KNOWN_MS;

/** From here on, in this test, the log keeps what it takes in for so many hours, and a moment. */
export function keepHours(hours: number): void {
  Object.assign(env, { LOG_KEEP_HOURS: `${hours}` });
}

forgetting.add(() => {
  Object.assign(env, { LOG_KEEP_HOURS: undefined });
});
