/** All pages of a search, and of a count, over objects of several jobs. */
import type { Row } from "../../../src/operate/search/count/groups.ts";
import { planCount } from "../../../src/operate/search/count/plan.ts";
import { count } from "../../../src/operate/search/count.ts";
import type { Cursor } from "../../../src/operate/search/cursor.ts";
import type { Hit } from "../../../src/operate/search/hits.ts";
import type { NotSearched } from "../../../src/operate/search/not-searched.ts";
import type { Progress, Sources, WalkBounds } from "../../../src/operate/search/page.ts";
import { type Bounds, search } from "../../../src/operate/search/search.ts";
import { type Order, pagesOf, QUERY, type Setting } from "./several-jobs.ts";

export interface Found {
  hits: Hit[];
  notSearched: NotSearched[];
  progress: Progress;
}

/** All pages, one after the other. @param beyond so many more are listed than one moment has. */
export async function searched(
  of: Setting,
  order: Order,
  bounds: Partial<Bounds>,
  beyond = 100,
  silent?: readonly number[][],
): Promise<Found> {
  const found: Found = { hits: [], notSearched: [], progress: {} as Progress };
  const ask = async (sources: Sources, cursor: Cursor | null) => {
    const end = await search(
      sources,
      {
        ...{ query: QUERY, order, cursor, signal: new AbortController().signal, platform: { now: () => 0 } },
        bounds: { limit: 1_000, hitUnits: 1e9, rawBytes: 1e9, ms: 1e9, atOnce: 2, lookAhead: 2, ...bounds },
      },
      { hits: (hits) => void found.hits.push(...hits), progress: () => {} },
    );
    found.notSearched.push(...end.notSearched);
    found.progress = end.progress;
    return end;
  };
  await pagesOf(of, order, beyond, ask, silent);
  return found;
}

const SPAN_MS = 100;

/** `job id` of what was counted, as often as it was. */
export interface Counted {
  counted: string[];
  notSearched: NotSearched[];
  read: number;
  copies: number;
}

export async function countedIn(
  of: Setting,
  order: Order,
  bounds: Partial<WalkBounds>,
  beyond = 100,
  silent?: readonly number[][],
  query = QUERY,
): Promise<Counted> {
  // The name tells the job and the record.
  const planned = planCount({ by: ["ScriptName"] }, SPAN_MS);
  if (!planned.ok) throw new Error(JSON.stringify(planned.faults));
  const { plan } = planned;
  const counted: string[] = [];
  let rows: readonly Row[] = [];
  const ask = async (sources: Sources, cursor: Cursor | null) => {
    const end = await count(
      sources,
      {
        ...{ query, plan, top: 1_000, order, cursor, signal: new AbortController().signal },
        platform: { now: () => 0 },
        bounds: { rawBytes: 1e9, ms: 1e9, atOnce: 2, lookAhead: 2, ...bounds },
      },
      {
        groups: (all) => {
          rows = all;
        },
        progress: () => {},
      },
    );
    for (const { by, values } of rows) counted.push(...Array.from({ length: Number(values[0]) }, () => String(by[0])));
    return end;
  };
  const ends = await pagesOf(of, order, beyond, ask, silent);
  const sum = (of: (end: (typeof ends)[number]) => number): number => ends.reduce((sum, end) => sum + of(end), 0);
  return {
    counted,
    notSearched: ends.flatMap((end) => end.notSearched),
    read: sum(({ progress }) => progress.read),
    copies: sum(({ progress }) => progress.copies),
  };
}
