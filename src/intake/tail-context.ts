import { readIntakeConfig } from "../config.ts";
import { platform } from "../platform.ts";
import { blobStore } from "../queue/blob-store.ts";
import { accountLedger } from "../trace-log/trace-log.ts";
import { type Audience, earlyCall, isolateAudience } from "./audience.ts";
import type { Gatherer } from "./gather.ts";
import { outbox } from "./outbox.ts";
import { packer } from "./packer.ts";
import type { TailContext } from "./tail.ts";

/** @param gatherer shared by all invocations of the isolate. @param audience likewise. */
export function tailContext(
  env: Env,
  ctx: Pick<ExecutionContext, "waitUntil">,
  gatherer: Gatherer,
  audience: Audience = isolateAudience,
): TailContext {
  const waitUntil = (promise: Promise<void>): void => ctx.waitUntil(promise);
  return {
    queue: env.EVENTS,
    blobs: blobStore(env.BLOBS),
    config: readIntakeConfig(env),
    platform,
    gatherer,
    waitUntil,
    early: audience.by({ call: earlyCall(env), waitUntil, platform }),
    pack: (part) => packer(env.PACKER).pack(part),
    keep: (messages, shard) => outbox(env.OUTBOX, shard).keep(messages),
    countLost: (events) => accountLedger(env.TRACE_LOG).countLost(events),
  };
}
