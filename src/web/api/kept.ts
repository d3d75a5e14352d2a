import { type ApiError, CODE, faultsError } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import { isoTime } from "./envelope.ts";
import type { AppContext } from "./route.ts";

/**
 * Asked late in a request: what is kept may be gone while a destination is slow to answer.
 * @param key the one of the body that names the time.
 * @throws ApiError 400 for a time from which on not all is kept, or that is yet to come.
 */
export async function requireKept(c: AppContext, sinceMs: number, platform: Platform, key = "since"): Promise<void> {
  const { keptSinceMs } = await new LogShards(c.env).status();
  const isFuture = sinceMs > platform.now();
  if (keptSinceMs != null && sinceMs >= keptSinceMs && !isFuture) return;
  const kept = keptSinceMs == null ? "LOG_KEEP_HOURS is 0" : `kept since ${isoTime(keptSinceMs)}`;
  throw badTime(key, `since: is ${isFuture ? "in the future" : "not kept"}; ${kept}`);
}

export function badTime(key: string, message: string): ApiError {
  return faultsError(400, CODE.invalid, [{ pointer: `/${key}`, message }]);
}
