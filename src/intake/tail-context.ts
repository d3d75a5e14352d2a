import { readIntakeConfig } from "../config.ts";
import { accountLedger } from "../control/ledger.ts";
import { platform } from "../platform.ts";
import { blobStore } from "./blob-store.ts";
import { Gatherer } from "./gather.ts";
import { outbox } from "./outbox.ts";
import type { TailContext } from "./tail.ts";

const gatherer = new Gatherer();

/** What `handleTail` needs, of this deployment. All invocations of an isolate gather together. */
export function tailContext(env: Env, ctx: Pick<ExecutionContext, "waitUntil">): TailContext {
  return {
    queue: env.EVENTS,
    blobs: blobStore(env.BLOBS),
    config: readIntakeConfig(env),
    platform,
    gatherer,
    waitUntil: (promise) => ctx.waitUntil(promise),
    keep: (messages) => outbox(env.OUTBOX).keep(messages),
    countLost: (events) => accountLedger(env.ACCOUNT).countLost(events),
  };
}
