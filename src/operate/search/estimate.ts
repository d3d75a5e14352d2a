import type { Platform } from "../../base/platform.ts";
import type { SearchSpan } from "../../ship/reader/searchable.ts";
import type { BatchPlace } from "./cursor.ts";
import { type NotSearched, TOO_MANY_AT_ONCE } from "./not-searched.ts";
import { type Known, keyOf, type Source } from "./source.ts";
import type { Listed } from "./sources.ts";
import { LOOK_MAX } from "./walk.ts";

/** What a search would read. */
export interface Estimate {
  /** With records of that time. */
  objects: number;
  /** Of these, those that their sketches exclude. */
  skipped: number;
  /** Of the others, as stored and before compression. */
  bytes: number;
  rawBytes: number;
  records: number;
  sketchBytes: number;
  notSearched: NotSearched[];
}

export interface Estimating {
  order: SearchSpan["order"];
  /** What there is from a time on, in ms since the epoch, without what is counted. */
  list(fromMs: number | undefined, without: readonly BatchPlace[]): Promise<Listed>;
  platform: Pick<Platform, "now">;
  /** After so long, the rest is left out, and that is said. */
  maxMs: number;
}

/** Lists all that a search would list on its pages, and asks all sketches; no object is read. */
export async function estimate({ order, list, platform, maxMs }: Estimating): Promise<Estimate> {
  const counts = { objects: 0, skipped: 0, bytes: 0, rawBytes: 0, records: 0, sketchBytes: 0 };
  const sum: Estimate = { ...counts, notSearched: [] };
  const startedMs = platform.now();
  const isLate = (): boolean => platform.now() - startedMs >= maxMs;
  const edgeOf = ({ firstMs, lastMs }: Known): number => (order === "newest" ? lastMs : firstMs);
  const leaveFrom = (ms: number, why: string): Estimate => {
    const side = order === "newest" ? "before" : "after";
    sum.notSearched.push({
      job: null,
      object: null,
      why: `${why}: it lacks most of what is ${side} ${new Date(ms).toISOString()}`,
    });
    return sum;
  };
  let counted = new Map<string, Known>();
  for (let fromMs: number | undefined; ; ) {
    const numbered = [...counted.values()].filter(({ number }) => number !== null);
    const listed = await list(
      fromMs,
      numbered.map(({ job, node, batch }) => [job, node, batch]),
    );
    const fresh = listed.list.filter((source) => !counted.has(keyOf(source))).sort((a, b) => edgeOf(a) - edgeOf(b));
    if (order === "newest") fresh.reverse();
    sum.notSearched.push(...listed.notSearched);
    sum.sketchBytes += listed.indexBytes ?? 0;
    for (let at = 0; at < fresh.length; at += LOOK_MAX) {
      const some = fresh.slice(at, at + LOOK_MAX);
      if (isLate()) return leaveFrom(edgeOf(some[0] as Source), "estimating it takes too long");
      await add(sum, some, listed);
    }
    const { listedToMs } = listed;
    if (listedToMs === null) return sum;
    if (isLate()) return leaveFrom(listedToMs, "estimating it takes too long");
    const others = listed.unsearchable?.filter((known) => !counted.has(keyOf(known))) ?? [];
    if (fresh.length + others.length === 0) return leaveFrom(listedToMs, TOO_MANY_AT_ONCE);
    // Of what ends before, the next list has nothing.
    const isOver = ({ firstMs, lastMs }: Known): boolean =>
      order === "newest" ? firstMs > listedToMs : lastMs < listedToMs;
    const all = [...counted.values(), ...fresh, ...others].filter((known) => !isOver(known));
    counted = new Map(all.map((known) => [keyOf(known), known]));
    fromMs = listedToMs;
  }
}

async function add(sum: Estimate, some: readonly Source[], { lookUp }: Listed): Promise<void> {
  const { out, bytes } = (await lookUp?.(some)) ?? { out: new Set(), bytes: 0 };
  sum.objects += some.length;
  sum.skipped += out.size;
  sum.sketchBytes += bytes;
  for (const source of some) {
    if (out.has(source)) continue;
    sum.bytes += source.bytes;
    sum.rawBytes += source.rawBytes;
    sum.records += source.records;
  }
}
