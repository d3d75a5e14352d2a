import { errorText, log } from "../../base/logger.ts";
import { Patience, settled } from "../../base/platform.ts";
import type { Following } from "../../ship/log/nodes.ts";
import { type Answered, eachNode, nodeAt, type ReaderBindings } from "../../ship/reader/job-nodes.ts";
import type { Searchable, SearchSpan } from "../../ship/reader/searchable.ts";
import { type BatchPlace, batchesOf } from "./cursor.ts";

/** Objects that one page of a search lists, of all jobs: some 700 bytes of memory each. */
export const LIST_MAX = 5_000;

/** Jobs, or nodes of them, that are asked side by side. */
const ASKED_AT_ONCE = 8;

/** Deadline of one question, and of all together, in ms. */
const ASK_MS = 10_000;
const LIST_MS = 20_000;

/** Without what is known already. */
export interface ListedSpan extends Omit<SearchSpan, "limit" | "without"> {
  without: readonly BatchPlace[];
}

export interface Listing {
  /** In the order of jobs and nodes. */
  found: { job: number; node: number; object: Searchable }[];
  /** As of `Sources`. */
  listedToMs: number | null;
  /** Jobs whose readers did not answer, or not all of them. */
  silent: number[];
  /** Jobs with so many records that could not be made. */
  unmade: { job: number; records: number }[];
}

/**
 * What the readers of these jobs have of a time. Each node is asked how much that is, then all
 * share the room: one with little leaves the rest of its share to those with more.
 * @param limit of all nodes; each lists one object in any case.
 */
export async function listObjects(
  env: ReaderBindings,
  jobs: readonly number[],
  span: ListedSpan,
  limit: number = LIST_MAX,
): Promise<Listing> {
  const patience = new Patience(LIST_MS);
  const silent = new Set<number>();
  const ask = async <T>(job: number, question: () => Promise<T>): Promise<T | null> => {
    try {
      return await patience.answer(`the log of job ${job}`, ASK_MS, question);
    } catch (error) {
      log.warn("a log was not searched", { job, error: errorText(error) });
      silent.add(job);
      return null;
    }
  };
  const without = batchesOf(span.without);
  const spanOf = (job: number, node: number, most: number): SearchSpan => ({
    ...span,
    limit: most,
    without: without.get(`${job},${node}`) ?? [],
  });
  try {
    const counted = await each(jobs, async (job) => {
      const count = () => eachNode<Counted>(env, job, (log, node) => log.searchableCount(spanOf(job, node, 0)));
      return ((await ask<Answered<Counted>[]>(job, count)) ?? []).map(({ node, answer }) => ({
        ...{ job, node, objects: answer.objects, unmade: answer.unmade },
      }));
    });
    const unmade = jobs.map((job, i) => ({
      job,
      records: (counted[i] ?? []).reduce((sum, each) => sum + each.unmade, 0),
    }));
    const nodes = counted.flat().filter(({ objects }) => objects > 0);
    const shares = sharesOf(
      nodes.map(({ objects }) => objects),
      limit,
    );
    const asked = nodes.map(({ job, node }, i) => ({ job, node, most: shares[i] as number }));
    const pages = await each(asked, async ({ job, node, most }) => {
      const list = async (): Promise<Page> => nodeAt(env.READERS, job, node).searchable(spanOf(job, node, most));
      return { job, node, page: await ask<Page>(job, list) };
    });
    const bounds = pages.flatMap(({ page }) => (page === null || page.isAll ? [] : page.objects.slice(-1)));
    const listedToMs = nearer(span.order, ...bounds.map((object) => edgeOf(object, span.order)));
    const found = pages.flatMap(({ job, node, page }) =>
      (page?.objects ?? [])
        // Of what is beyond, the next page lists all.
        .filter((object) => !isBeyond(edgeOf(object, span.order), listedToMs, span.order))
        .map((object) => ({ job, node, object })),
    );
    return { found, listedToMs, silent: [...silent], unmade: unmade.filter(({ records }) => records > 0) };
  } finally {
    patience.end();
  }
}

type Counted = Following & { objects: number; unmade: number };
type Page = Following & { objects: Searchable[]; isAll: boolean };

export async function each<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results = await settled(items, ASKED_AT_ONCE, run);
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** How much of some room each gets: as much as it wants, or as much as any other. At least one. */
export function sharesOf(wanted: readonly number[], room: number): number[] {
  const shares = wanted.map(() => 0);
  let left = room;
  const byWant = wanted.map((want, i) => ({ want, i })).sort((a, b) => a.want - b.want);
  for (const [before, { want, i }] of byWant.entries()) {
    const share = Math.max(1, Math.min(want, Math.floor(left / (byWant.length - before))));
    shares[i] = share;
    left -= share;
  }
  return shares;
}

export function edgeOf({ firstMs, lastMs }: Searchable, order: SearchSpan["order"]): number {
  return order === "newest" ? lastMs : firstMs;
}

/** The bound that comes first; null: there is none. */
export function nearer(order: SearchSpan["order"], ...bounds: (number | null)[]): number | null {
  const known = bounds.filter((bound) => bound !== null);
  if (known.length === 0) return null;
  return order === "newest" ? Math.max(...known) : Math.min(...known);
}

export function isBeyond(edgeMs: number, boundMs: number | null, order: SearchSpan["order"]): boolean {
  if (boundMs === null) return false;
  return order === "newest" ? edgeMs < boundMs : edgeMs > boundMs;
}
