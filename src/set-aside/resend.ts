import { appendToChain } from "../delivery/append-to-chain.ts";
import type { AsideObject } from "../delivery/types.ts";
import { getsAgain, type JobsSnapshot, wasIn } from "../job/config.ts";
import { type CommitAppend, ForgottenError } from "../object/append.ts";
import { type Loaded, load } from "../object/load.ts";
import { Patience, type Platform } from "../platform.ts";
import type { Blobs } from "../queue/blob-store.ts";
import { FROM_FUTURE, isFromFuture } from "../queue/delivery.ts";
import { decodeEnvelope } from "../queue/message.ts";
import type { CommitCount, MessageCount } from "../trace-log/outcome.ts";
import type { AsideMessage } from "../trace-log/set-aside-messages.ts";
import { type AsideId, type AsideStores, findObject, sorted } from "./aside.ts";
import { InForce } from "./in-force.ts";

export interface ResendContext {
  /** Offers a message to the jobs, and counts it, as the queue handler does. */
  commit(
    loaded: readonly Loaded[],
    jobs: JobsSnapshot,
    context: { append: CommitAppend; count: CommitCount },
  ): Promise<unknown>;
  blobs: Pick<Blobs, "get">;
  platform: Pick<Platform, "now">;
}

export type Resent =
  | {
      kind: "message";
      /** Jobs that have been offered it. */
      jobs: number[];
      /** Jobs that were enabled when it was taken in, but no longer take anything. */
      gone: number[];
      /** Of all its parts. */
      count: Pick<MessageCount, "events" | "routed" | "notEnabled" | "notRouted">;
    }
  | { kind: "object"; object: AsideObject }
  | NotResent;

export type NotResent =
  /** It is not set aside (any more). */
  | { kind: "gone" }
  /** An object of a job that was deleted with its undelivered records. */
  | { kind: "discarded" }
  /** This code cannot read it. */
  | { kind: "unreadable"; why: string }
  /** The logs of these jobs have forgotten whether they have it. It stays set aside. */
  | { kind: "forgotten"; jobs: number[] }
  /**
   * These jobs could not take it; none: it could not be counted. It stays set aside, and can be
   * sent again at any time.
   */
  | { kind: "failed"; jobs: number[] };

/** Deadline of the whole, in ms: below that of a request. */
const RESEND_MS = 45_000;

/** Deadlines of single calls, in ms. */
const BLOB_MS = 10_000;
const APPEND_MS = 30_000;
const COUNT_MS = 10_000;

/**
 * Sends a message or an object again. A message is offered to every job that was enabled when it
 * was taken in, and counted when all have it; not through the queue, where its id is finished.
 * After a crash it can be repeated: each log remembers for good what it took of it.
 * @throws if the blob store, the ledger or a log does not answer.
 */
export async function resendAside(stores: AsideStores, id: AsideId, context: ResendContext): Promise<Resent> {
  if (id.kind === "object") return resendObject(stores, id);
  const aside = await stores.ledger.asideMessage(id.id);
  if (aside === null) return { kind: "gone" };
  const jobs = await stores.jobs();
  const patience = new Patience(RESEND_MS);
  try {
    // As a redelivery: its records are checked in full, and the logs are asked first whether they
    // have it.
    const delivery = { body: aside.message, envelope: decodeEnvelope(aside.message), attempts: 2 };
    const { envelope } = delivery;
    const nowMs = context.platform.now();
    if (envelope.ok && envelope.value.parts.some(({ takenInMs }) => isFromFuture(takenInMs, nowMs)))
      return { kind: "unreadable", why: FROM_FUTURE };
    const loading = await load(delivery, {
      get: (key) => patience.answer("the blob store", BLOB_MS, () => context.blobs.get(key)),
    });
    switch (loading.kind) {
      case "missing":
        return { kind: "unreadable", why: "refers to records that are not there" };
      case "unreadable":
      case "newer":
        return { kind: "unreadable", why: loading.why };
      case "loaded":
        return await offer(loading.loaded, aside, jobs, stores, context, patience);
    }
  } finally {
    patience.end();
  }
}

async function resendObject(stores: AsideStores, id: AsideId & { kind: "object" }): Promise<Resent> {
  const found = await findObject(stores, id);
  if (found?.object.isDiscarded) return { kind: "discarded" };
  const object = (await found?.log.asideResend(id.number)) as AsideObject | null | undefined;
  return object ? { kind: "object", object } : { kind: "gone" };
}

async function offer(
  loaded: readonly Loaded[],
  aside: AsideMessage,
  jobs: JobsSnapshot,
  { ledger, logs }: AsideStores,
  { commit, platform }: ResendContext,
  patience: Patience,
): Promise<Resent> {
  // Several where newer code wrote it, or where it killed the handler: parts that can be read are
  // set aside one by one.
  const takenInMs = Math.min(...loaded.map(({ message }) => message.takenInMs));
  const inForce = new InForce(aside.terms, takenInMs, (job) => getsAgain(job, platform.now()));
  const taken = new Set<number>();
  const broken = new Map<number, Error["name"]>();
  let counted: readonly MessageCount[] | null = null;
  let isGone = false;
  const append: CommitAppend = async (job, build, messages) => {
    // The logs were asked for the first part alone.
    const again = { isKept: loaded.length === 1 && (aside.terms?.kept.includes(job.id) ?? false) };
    const marked: typeof build = (without) => ({ ...build(without), again });
    try {
      const result = await patience.answer(`the log of job ${job.id}`, APPEND_MS, () =>
        appendToChain(logs, inForce.original(job), marked, messages),
      );
      if (result.kind === "stale") return { kind: "stale", job: inForce.jobOf(result.job) };
      taken.add(job.id);
      return result;
    } catch (error) {
      broken.set(job.id, error instanceof Error ? error.name : "");
      throw error;
    }
  };
  const count: CommitCount = async ({ done, state }) => {
    if (done.length < loaded.length) return null;
    const newer = await patience.answer("the ledger", COUNT_MS, () => ledger.asideSent(aside, done, state));
    isGone = newer === "gone";
    if (isGone) return null;
    if (newer === null) counted = done;
    return newer === null ? null : inForce.snapshotOf(newer);
  };
  const then = inForce.snapshotOf(jobs);
  for (const job of then.unreadable ?? []) if (wasIn(job, takenInMs)) broken.set(job.id, "unreadable");
  await commit(loaded, then, { append, count });
  if (isGone) return { kind: "gone" };
  if (counted !== null)
    return { kind: "message", jobs: sorted(taken), gone: inForce.gone(jobs, taken), count: total(counted) };
  const forgotten = [...broken].filter(([, name]) => name === ForgottenError.name).map(([id]) => id);
  if (forgotten.length > 0) return { kind: "forgotten", jobs: sorted(forgotten) };
  return { kind: "failed", jobs: sorted(broken.keys()) };
}

function total(parts: readonly MessageCount[]): Pick<MessageCount, "events" | "routed" | "notEnabled" | "notRouted"> {
  const sum = { events: 0, routed: 0, notEnabled: 0, notRouted: 0 };
  for (const part of parts) for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += part[name];
  return sum;
}
