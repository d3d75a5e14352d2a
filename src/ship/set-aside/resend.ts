import { Patience, type Platform } from "../../base/platform.ts";
import { type Loaded, load, storedMessage } from "../../formats/queue/load-records.ts";
import { FROM_FUTURE, isFromFuture } from "../../formats/queue/retries.ts";
import { shardOf } from "../../formats/queue/shard.ts";
import { bareAppend } from "../log/append-types.ts";
import { headOf } from "../log/heads.ts";
import type { HeldMessage } from "../log/on-hold.ts";
import type { HoldResent } from "../log/shard-answers.ts";
import { traceLog } from "../log/trace-log.ts";
import type { AsideObject } from "../reader/statuses.ts";
import { type AsideId, type AsideStores, findEntry, findObject } from "./list-aside.ts";

export type Resent =
  | ({ kind: "message" } & HoldResent)
  | { kind: "object"; object: AsideObject }
  /** `records` of the entry wait for their upload. */
  | { kind: "entry"; records: number }
  | NotResent;

export type NotResent =
  /** It is not set aside (any more). */
  | { kind: "gone" }
  /** It waits, and is being sent now. */
  | { kind: "under_way" }
  /** An object of a job that was deleted with its undelivered records. */
  | { kind: "discarded" }
  /** This code cannot read it. */
  | { kind: "unreadable"; why: string }
  /** This code cannot make its records. */
  | { kind: "unmade" };

/** Deadline of the whole, and of one call, in ms: below that of a request. */
const RESEND_MS = 45_000;
const CALL_MS = 15_000;

/**
 * Sends a message, an object or an entry of the log again. A message is added to the log, for the
 * jobs that were enabled when it was taken in, in the transaction that deletes it: it was in no job
 * before. Repeating it changes nothing.
 * @throws if the log or a reader does not answer.
 */
export async function resendAside(stores: AsideStores, id: AsideId, platform: Pick<Platform, "now">): Promise<Resent> {
  if (id.kind === "object") return resendObject(stores, id);
  if (id.kind === "entry") return resendEntry(stores, id);
  const held = await stores.log.holdMessage(id.id);
  if (held === null) return { kind: "gone" };
  const loading = load(storedMessage(new Uint8Array(held.message)));
  if (loading.kind !== "loaded") return { kind: "unreadable", why: loading.why };
  if (loading.loaded.some(({ message }) => isFromFuture(message.takenInMs, platform.now())))
    return { kind: "unreadable", why: FROM_FUTURE };
  const patience = new Patience(RESEND_MS);
  try {
    return await (held.parts.length > 0
      ? resendParts(stores, held, loading.loaded, patience)
      : appendAll(stores, held, loading.loaded, patience));
  } finally {
    patience.end();
  }
}

/** Its parts are on hold under their own ids. */
async function resendParts(
  { log }: AsideStores,
  held: HeldMessage,
  loaded: readonly Loaded[],
  patience: Patience,
): Promise<Resent> {
  const heads = loaded.filter(({ message }) => held.parts.includes(message.id)).map((part) => headOf(part));
  const { shard, id } = log.holder(held.id);
  const resent = (await patience.answer("the log", CALL_MS, async () =>
    shard.holdResend(id, heads),
  )) as HoldResent | null;
  return resent === null ? { kind: "gone" } : { kind: "message", ...resent };
}

/**
 * Not even its head could be read, and it was counted by its bytes; now that it can be, its parts
 * are appended to their shard like any others, and then it is deleted.
 */
async function appendAll(
  { log, env }: AsideStores,
  held: HeldMessage,
  loaded: readonly Loaded[],
  patience: Patience,
): Promise<Resent> {
  const [first] = loaded;
  if (first === undefined) return { kind: "unreadable", why: "holds no part" };
  const append = bareAppend(
    loaded.map((part) => ({ ...headOf(part), bytes: 0 })),
    [{ body: new Uint8Array(held.message), parts: loaded.map(({ message }) => message.id) }],
  );
  await patience.answer("the log", CALL_MS, async () => traceLog(env.TRACE_LOG, shardOf(first.message)).append(append));
  const { shard, id } = log.holder(held.id);
  await patience.answer("the log", CALL_MS, async () => shard.holdSent(id));
  const events = loaded.reduce((sum, { message }) => sum + message.records, 0);
  return { kind: "message", jobs: [], gone: [], count: { events, routed: events, notEnabled: 0, notRouted: 0 } };
}

async function resendObject(stores: AsideStores, id: AsideId & { kind: "object" }): Promise<Resent> {
  const found = await findObject(stores, id, true);
  if (found?.object.isDiscarded) return { kind: "discarded" };
  const object = (await found?.reader.asideResend(id.number)) as AsideObject | "under_way" | null | undefined;
  if (object === "under_way") return { kind: "under_way" };
  return object ? { kind: "object", object } : { kind: "gone" };
}

async function resendEntry(stores: AsideStores, id: AsideId & { kind: "entry" }): Promise<Resent> {
  const found = await findEntry(stores, id);
  const isMade = (await found?.reader.unmadeRetry(id.n)) ?? null;
  if (found === null || isMade === null) return { kind: "gone" };
  return isMade ? { kind: "entry", records: found.entry.records } : { kind: "unmade" };
}
