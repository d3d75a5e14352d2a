import { findSegment } from "../delivery/chain.ts";
import type { JobReader } from "../delivery/job-reader.ts";
import { chainAside } from "../delivery/object-pages.ts";
import type { AsideObject } from "../delivery/types.ts";
import { everyJob, type JobsSnapshot } from "../job/config.ts";
import { errorText, log } from "../log.ts";
import { answered } from "../platform.ts";
import type { LogShards } from "../trace-log/log-shards.ts";
import type { AsideEntry, AsideMessage } from "../trace-log/set-aside-messages.ts";

/** Deadline for one job's part of the list, in ms. */
const LOG_MS = 5_000;

/** Where set-aside data is stored: messages in the ledger, objects in the logs of their jobs. */
export interface AsideStores {
  ledger: LogShards;
  logs: DurableObjectNamespace<JobReader>;
  /** Every job, deleted ones included while their logs stand. */
  jobs(): Promise<JobsSnapshot>;
}

export type AsideId = { kind: "message"; id: number } | { kind: "object"; job: number; number: number };

export type FoundAside = { kind: "message"; message: AsideMessage } | FoundObject;

export interface FoundObject {
  kind: "object";
  object: AsideObject;
  /** The segment that has it. */
  log: DurableObjectStub<JobReader>;
}

/**
 * A page of the list: messages first, then objects, job by job.
 * @param first how many entries to skip.
 * @returns `total` of the whole list; `unanswered`: jobs whose logs did not answer, sorted. Their
 *   objects are missing.
 */
export async function listAside(
  { ledger, logs, jobs }: AsideStores,
  first: number,
  limit: number,
): Promise<{ messages: AsideEntry[]; objects: AsideObject[]; total: number; unanswered: number[] }> {
  const messages = await ledger.asideList(first, limit);
  const objects: AsideObject[] = [];
  const unanswered = new Set<number>();
  const part = async (job: number, offset: number, atMost: number) => {
    try {
      return await answered(`the log of job ${job}`, LOG_MS, chainAside(logs, job, offset, atMost));
    } catch (error) {
      log.warn("no answer", { who: `the log of job ${job}`, error: errorText(error) });
      unanswered.add(job);
      return { entries: [], total: 0 };
    }
  };
  const ids = sorted(everyJob(await jobs()).map(({ id }) => id));
  const totals = await Promise.all(ids.map((job) => part(job, 0, 0)));
  let before = messages.total;
  for (const [i, job] of ids.entries()) {
    const { total } = totals[i] ?? { total: 0 };
    const offset = Math.max(0, first - before);
    const wanted = limit - messages.entries.length - objects.length;
    if (wanted > 0 && offset < total) objects.push(...(await part(job, offset, wanted)).entries);
    before += total;
  }
  return { messages: messages.entries, objects, total: before, unanswered: sorted(unanswered) };
}

/** null: it is not set aside (any more). */
export async function findAside(stores: AsideStores, id: AsideId): Promise<FoundAside | null> {
  if (id.kind === "object") return findObject(stores, id);
  const message = await stores.ledger.asideMessage(id.id);
  return message === null ? null : { kind: "message", message };
}

/** null: it is not set aside (any more). */
export async function findObject(
  { logs, jobs }: AsideStores,
  { job, number }: AsideId & { kind: "object" },
): Promise<FoundObject | null> {
  // A log that is only named would come into being.
  if (!everyJob(await jobs()).some(({ id }) => id === job)) return null;
  const segment = await findSegment(logs, job, number);
  if (segment === null) return null;
  const object = (await segment.asideObject(number)) as AsideObject | null;
  return object === null ? null : { kind: "object", object, log: segment };
}

/**
 * Drops a message or an object. @returns how many events or records count as discarded; null: it is
 * not set aside (any more).
 */
export async function discardAside(stores: AsideStores, id: AsideId): Promise<number | null> {
  if (id.kind === "message") return stores.ledger.asideDiscarded(id.id);
  const found = await findObject(stores, id);
  const object = (await found?.log.asideDiscard(id.number)) as AsideObject | null | undefined;
  return object?.records ?? null;
}

export function sorted(ids: Iterable<number>): number[] {
  return [...ids].sort((a, b) => a - b);
}
