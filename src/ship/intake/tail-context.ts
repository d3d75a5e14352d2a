import { platform } from "../../base/platform.ts";
import { readIntakeConfig } from "../../config.ts";
import { traceLog } from "../log/trace-log.ts";
import { appendCall } from "./direct.ts";
import type { Gatherer } from "./gather.ts";
import { packer } from "./packer.ts";
import type { TailContext } from "./tail.ts";
import { isolateTakeovers } from "./takeovers.ts";
import { earlyCall, isolateViewers, type Viewers } from "./viewers.ts";

/** @param gatherer shared by all invocations of the isolate. @param viewers likewise. */
export function tailContext(
  env: Env,
  ctx: Pick<ExecutionContext, "waitUntil">,
  gatherer: Gatherer,
  viewers: Viewers = isolateViewers,
): TailContext {
  const waitUntil = (promise: Promise<void>): void => ctx.waitUntil(promise);
  return {
    queue: env.EVENTS,
    append: appendCall(env),
    config: readIntakeConfig(env),
    platform,
    gatherer,
    waitUntil,
    early: viewers.by({ call: earlyCall(env), waitUntil, platform }),
    forTakeover: isolateTakeovers.by({ env, waitUntil, platform }),
    pack: (part) => packer(env.PACKER).pack(part),
    countLost: (events, why) => traceLog(env.TRACE_LOG, 0).countLost(events, why),
  };
}
