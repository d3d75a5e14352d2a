import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import { everyJob, type JobsSnapshot } from "../job/config.ts";
import type { LogShards } from "../log/log-shards.ts";
import type { HeldEntry, HeldMessage } from "../log/on-hold.ts";
import { findNode, readerAt } from "../reader/all-readers.ts";
import type { Reader } from "../reader/job-nodes.ts";
import { jobAside } from "../reader/object-pages.ts";
import type { AsideObject } from "../reader/statuses.ts";
import type { UnmadeNote } from "../reader/unmade.ts";

/** Deadline for one job's part of the list, in ms. */
const READERS_MS = 5_000;

/** Where set-aside data is stored: messages in the log, objects and entries with their jobs. */
export interface AsideStores {
  log: LogShards;
  env: Pick<Env, "READERS" | "CONTROL" | "TRACE_LOG">;
  /** Every job, deleted ones included while their readers stand. */
  jobs(): Promise<JobsSnapshot>;
}

export type AsideId =
  | { kind: "message"; id: number }
  | { kind: "object"; job: number; number: number }
  /** A part of the log that kills its job's reader. */
  | { kind: "entry"; job: number; node: number; n: number };

/** An entry of the log that a job's reader could not make. */
export interface AsideEntry extends UnmadeNote {
  job: number;
  node: number;
}

/** With the reader that has it. */
export type FoundAside =
  | { kind: "message"; message: HeldMessage }
  | { kind: "object"; object: AsideObject; reader: Reader }
  | { kind: "entry"; entry: AsideEntry; reader: Reader };

type Found<K extends FoundAside["kind"]> = Extract<FoundAside, { kind: K }>;

/**
 * A page of the list: messages first, then objects, job by job, then entries of the log.
 * @param first how many to skip.
 * @returns `total` of the whole list; `unanswered`: jobs whose readers did not answer, sorted. What
 *   they have is missing.
 */
export async function listAside(
  { log: held, env, jobs }: AsideStores,
  first: number,
  limit: number,
): Promise<{
  messages: HeldEntry[];
  objects: AsideObject[];
  entries: AsideEntry[];
  total: number;
  unanswered: number[];
}> {
  const messages = await held.holdList(first, limit);
  const objects: AsideObject[] = [];
  const unanswered = new Set<number>();
  const part = async (job: number, offset: number, atMost: number) => {
    try {
      return await answered(`job ${job}`, READERS_MS, jobAside(env, job, offset, atMost));
    } catch (error) {
      log.warn("no answer", { who: `job ${job}`, error: errorText(error) });
      unanswered.add(job);
      return { entries: [], total: 0, unmade: [] };
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
  const all = ids.flatMap((job, i): AsideEntry[] => (totals[i]?.unmade ?? []).map((note) => ({ ...note, job })));
  const from = Math.max(0, first - before);
  const entries = all.slice(from, from + Math.max(0, limit - messages.entries.length - objects.length));
  return { messages: messages.entries, objects, entries, total: before + all.length, unanswered: sorted(unanswered) };
}

/** null: it is not set aside (any more). */
export async function findAside(stores: AsideStores, id: AsideId): Promise<FoundAside | null> {
  if (id.kind === "object") return findObject(stores, id);
  if (id.kind === "entry") return findEntry(stores, id);
  const message = await stores.log.holdMessage(id.id);
  return message === null ? null : { kind: "message", message };
}

/** null: it is not set aside (any more). @param orWaiting one that waits for its upload, too. */
export async function findObject(
  { env, jobs }: AsideStores,
  { job, number }: AsideId & { kind: "object" },
  orWaiting = false,
): Promise<Found<"object"> | null> {
  // A reader that is only named would come into being.
  if (!everyJob(await jobs()).some(({ id }) => id === job)) return null;
  const reader = await findNode(env, job, number);
  if (reader === null) return null;
  const object = (await reader.asideObject(number, orWaiting)) as AsideObject | null;
  return object === null ? null : { kind: "object", object, reader };
}

/** null: it is not set aside (any more). */
export async function findEntry(
  { env, jobs }: AsideStores,
  { job, node, n }: AsideId & { kind: "entry" },
): Promise<Found<"entry"> | null> {
  if (!everyJob(await jobs()).some(({ id }) => id === job)) return null;
  const reader = await readerAt(env, job, node);
  const note = (await reader?.asideObjects(0, 0))?.unmade.find((each) => each.n === n);
  return reader && note ? { kind: "entry", entry: { ...note, job, node }, reader } : null;
}

/**
 * Drops a message, an object or an entry. @returns how many events or records count as discarded;
 * null: it is not set aside (any more).
 */
export async function discardAside(stores: AsideStores, id: AsideId): Promise<number | null> {
  if (id.kind === "message") return stores.log.holdDiscard(id.id);
  if (id.kind === "entry") return (await findEntry(stores, id))?.reader.unmadeDiscard(id.n) ?? null;
  const found = await findObject(stores, id);
  const object = (await found?.reader.asideDiscard(id.number)) as AsideObject | null | undefined;
  return object?.records ?? null;
}

/** Sets an object aside that waits for its upload. null: it does not, nor is it set aside. */
export async function setAside(stores: AsideStores, id: AsideId & { kind: "object" }): Promise<AsideObject | null> {
  const found = await findObject(stores, id, true);
  return ((await found?.reader.asidePut(id.number)) as AsideObject | null | undefined) ?? null;
}

export function sorted(ids: Iterable<number>): number[] {
  return [...ids].sort((a, b) => a - b);
}
