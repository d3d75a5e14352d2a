import type { CommitCount, MessageCount } from "../account/outcome.ts";
import type { AsideMessage } from "../account/set-aside-messages.ts";
import type { JobsSnapshot } from "../job/config.ts";
import { type CommitAppend, ForgottenError } from "../object/append.ts";
import { type Loaded, load } from "../object/load.ts";
import { Patience, type Platform } from "../platform.ts";
import type { Blobs } from "../queue/blob-store.ts";
import { Terms } from "./terms.ts";

/** The append of one job's share, and the count, as the consumer of the queue has them. */
export interface ResendContext {
  append: CommitAppend;
  /** Offers a message to the jobs, as the consumer of the queue does. */
  commit(loaded: Loaded, jobs: JobsSnapshot, context: { append: CommitAppend; count: CommitCount }): Promise<unknown>;
  /** Counts it as what became of it, and lets go of it; or answers, as {@link CommitCount}, that jobs have changed; or `gone`: it was not there any more. */
  count(message: MessageCount, state: string): Promise<unknown>;
  blobs: Pick<Blobs, "get">;
  platform: Pick<Platform, "now">;
}

export type Resent =
  | {
      kind: "sent";
      /** Jobs that were offered it by now. */
      jobs: number[];
      /** Jobs that were enabled when it was taken in, and take nothing any more. */
      gone: number[];
      count: MessageCount;
    }
  /** Somebody else has sent or discarded it meanwhile. */
  | { kind: "gone" }
  /** Not by this code. */
  | { kind: "unreadable"; why: string }
  /** Nobody can tell whether these jobs' logs have it: it stays set aside. */
  | { kind: "forgotten"; jobs: number[] }
  /** These could not take it; if there are none, it could not be counted. It stays set aside, and may be sent again at any time. */
  | { kind: "failed"; jobs: number[] };

/** How long it may take, in ms: less than what a request may take. */
const RESEND_MS = 45_000;

/** How long each of those that are asked may take to answer, in ms. */
const BLOB_MS = 10_000;
const APPEND_MS = 30_000;
const COUNT_MS = 10_000;

/**
 * Offers a message that was set aside to every job that was enabled when it was taken in, as the consumer of the queue does, and counts it when all
 * have it. It does not go through the queue, where its id is one that is done. Whatever breaks off where, it can be repeated: each log remembers for
 * good what it took of what is sent again.
 * @throws if the blob store does not answer.
 */
export async function resendMessage(aside: AsideMessage, jobs: JobsSnapshot, context: ResendContext): Promise<Resent> {
  const patience = new Patience(RESEND_MS);
  try {
    const loading = await load(deliveryOf(aside), {
      get: (key) => patience.answer("the blob store", BLOB_MS, () => context.blobs.get(key)),
    });
    switch (loading.kind) {
      case "missing":
        return { kind: "unreadable", why: "refers to records that are not there" };
      case "unreadable":
        return loading;
      case "loaded":
        return await offer(loading.loaded, aside, jobs, context, patience);
    }
  } finally {
    patience.end();
  }
}

async function offer(
  loaded: Loaded,
  aside: AsideMessage,
  jobs: JobsSnapshot,
  context: ResendContext,
  patience: Patience,
): Promise<Resent> {
  const terms = new Terms(aside.terms, loaded.message.takenInMs, context.platform.now());
  const taken = new Set<number>();
  const broken = new Map<number, Error["name"]>();
  let counted: MessageCount | null = null;
  let isGone = false;
  const append: CommitAppend = async (job, build, suspects) => {
    const again = { isKept: aside.terms?.kept.includes(job.id) ?? false };
    const marked: typeof build = (without) => ({ ...build(without), again });
    try {
      const result = await patience.answer(`the log of job ${job.id}`, APPEND_MS, () =>
        context.append(terms.original(job), marked, suspects),
      );
      if (result.kind === "stale") return { kind: "stale", job: terms.jobOf(result.job) };
      taken.add(job.id);
      return result;
    } catch (error) {
      broken.set(job.id, error instanceof Error ? error.name : "");
      throw error;
    }
  };
  const count: CommitCount = async ({ done: [message], state }) => {
    if (message === undefined) return null;
    const newer = await patience.answer("the ledger", COUNT_MS, () => context.count(message, state));
    isGone = newer === "gone";
    if (isGone) return null;
    if (newer === null) counted = message;
    return newer === null ? null : terms.snapshotOf(newer);
  };
  await context.commit(loaded, terms.snapshotOf(jobs), { append, count });
  if (isGone) return { kind: "gone" };
  if (counted !== null) return { kind: "sent", jobs: sorted(taken), gone: terms.gone(jobs, taken), count: counted };
  const forgotten = [...broken].filter(([, name]) => name === ForgottenError.name).map(([id]) => id);
  if (forgotten.length > 0) return { kind: "forgotten", jobs: sorted(forgotten) };
  return { kind: "failed", jobs: sorted(broken.keys()) };
}

/** A message as the queue would deliver it a second time: its records are looked at in full, and the logs are asked first whether they have it. */
function deliveryOf({ id, atMs, message }: AsideMessage): Message<unknown> {
  const nobody = (): void => {};
  return { id: `${id}`, timestamp: new Date(atMs), body: message, attempts: 2, ack: nobody, retry: nobody };
}

function sorted(ids: Iterable<number>): number[] {
  return [...ids].sort((a, b) => a - b);
}
