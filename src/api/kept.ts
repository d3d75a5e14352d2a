import { CODE, faultsError } from "../errors.ts";
import type { Platform } from "../platform.ts";
import { LogShards } from "../trace-log/log-shards.ts";
import { isoTime } from "./envelope.ts";
import type { AppContext } from "./route.ts";

/** @throws ApiError 400 for a time from which on not all is kept, or that is yet to come. */
export async function requireKept(c: AppContext, sinceMs: number, platform: Platform): Promise<void> {
  if (sinceMs > platform.now()) throw future("since");
  const { keptSinceMs } = await new LogShards(c.env).status();
  if (keptSinceMs != null && sinceMs >= keptSinceMs) return;
  const why = keptSinceMs == null ? "nothing is kept: LOG_KEEP_HOURS is 0" : `kept since ${isoTime(keptSinceMs)}`;
  throw faultsError(400, CODE.invalid, [{ pointer: "/since", message: `since: is not kept; ${why}` }]);
}

export function future(name: "since" | "until") {
  return faultsError(400, CODE.invalid, [{ pointer: `/${name}`, message: `${name}: is in the future` }]);
}
