import { type Block, type Entry, isBefore, type Range, START, whole } from "./block.ts";
import { type Job, wasIn } from "./config.ts";
import type { Part } from "./parts.ts";
import { SKEW } from "./scale.ts";
import type { Shard } from "./shard.ts";
import { some } from "./some.ts";

/**
 * Whether all jobs of its entries have passed it; a job that the copy lacks counts as having done
 * so.
 */
export function isRead(shard: Shard, block: Block): boolean {
  const { s, w } = shard;
  const lacks = (job: number): boolean => !w.is("forgottenNotRead") && s.config !== null && !shard.jobOf(job);
  const hasPassed = ({ job }: Entry): boolean => lacks(job) || !shard.isUnread(job, block);
  const { entries } = block;
  return w.is("dropsWhenOneHasRead") ? entries.length === 0 || entries.some(hasPassed) : entries.every(hasPassed);
}

/**
 * Drops blocks that are read, except what is kept for LOG_KEEP_HOURS while it fits (*Backfill*) and
 * what a range under way has still to read; one range is given up when that is too much.
 */
export function drop(shard: Shard): void {
  const { s, w } = shard;
  const isPinned = (block: Block): boolean =>
    s.ranges.some(({ upTo, at }) => block.n <= upTo && isBefore(at, whole(block.n)));
  const read = s.blocks.filter((block) => isRead(shard, block));
  if (read.filter(isPinned).length > 4 * w.keepBlocks)
    for (const { job, key } of s.ranges.splice(0, 1)) {
      w.mustBack.delete(`${job}/${shard.n}/${key}`);
      w.note(`${job}/${shard.n}/${key}`, "any");
    }
  const young = read.filter(({ atMs }) => w.keepMs > 0 && atMs >= shard.time() - w.keepMs);
  const kept = new Set(young.slice(-w.keepBlocks));
  const mayGo = new Set(read.filter((block) => !kept.has(block) && (w.is("rangesDoNotPin") || !isPinned(block))));
  s.blocks = s.blocks.filter((block) => !mayGo.has(block));
}

/** Notes a range of kept blocks that a job reads beside its cursor: at most two a job. */
export function addRange(shard: Shard, key: string, job: Job, since: number, until: number): void {
  const { s, w } = shard;
  const own = s.ranges.filter((range) => range.job === job.id);
  if (own.length >= 2 || own.some((range) => range.key === key)) return;
  const upTo = w.is("rangeWithoutEnd") ? Number.MAX_SAFE_INTEGER : s.last;
  const range: Range = { key, job: job.id, since, until, upTo, at: START };
  s.ranges.push(range);
  w.log(() => `${shard.name} notes range ${JSON.stringify(range)}`);
  const name = `${job.id}/${shard.n}/${key}`;
  if (!w.mustBack.has(name) && !w.exempt.has(name)) w.mustBack.set(name, mustCome(shard, range, job));
}

/** For the oracle: what is here now, a range has to bring. */
function mustCome(shard: Shard, range: Range, job: Job): Set<string> {
  const { s, w } = shard;
  const there = s.blocks
    .filter((block) => isOfRange(block, range))
    .flatMap((block) => partsOfRange(shard, block, range));
  if (range.key !== "since") return new Set(there.map(({ id }) => id));
  const { edgeMs } = some(w.changes.find((change) => change.kind === "create" && change.job === job.id));
  const held = s.holds.filter(({ tooOld }) => !tooOld).flatMap(({ parts }) => parts);
  return new Set([
    ...there.filter(({ takenMs }) => takenMs < edgeMs - 2 * SKEW).map(({ id }) => id),
    ...held
      .filter(({ takenMs, keyed }) => wasIn(job.windows, takenMs) && takenMs < w.now - 4 * SKEW && !keyed)
      .map(({ id }) => id),
  ]);
}

export function isOfRange(block: Block, range: Range): boolean {
  const hasEntry = block.entries.some(({ job }) => job === range.job);
  return block.n <= range.upTo && !block.again && (range.key !== "since" || !hasEntry);
}

/** Parts that were new with the block, each once: by the job's windows, or by a rerun's times. */
export function partsOfRange(shard: Shard, block: Block, range: Range): Part[] {
  const windows = range.key === "since" ? (shard.jobOf(range.job)?.windows ?? []) : null;
  const isTaken = (t: number): boolean => (windows ? wasIn(windows, t) : t >= range.since && t < range.until);
  const isNew = ({ id }: Part): boolean => block.fresh.includes(id) || shard.w.is("rangeTakesWholeMessage");
  return onceEach(block.records.filter(isNew)).filter(({ takenMs }) => isTaken(takenMs));
}

/** Of copies of one part, the first. */
export function onceEach(parts: readonly Part[]): Part[] {
  return parts.filter(({ id }, i) => parts.findIndex((each) => each.id === id) === i);
}
