import type { Block, Entry } from "./block.ts";
import { copy, type Job, type Window, wasIn } from "./config.ts";
import { type Part, recordsOf } from "./parts.ts";
import { pastNoted } from "./past.ts";
import { pageOf } from "./read.ts";
import { GIVE_UP, PAGE_MAX } from "./scale.ts";
import type { JobState, Shard } from "./shard.ts";
import { some } from "./some.ts";

/** The share of one job in a block. */
export interface Share {
  block: Block;
  entry: Entry;
}

/** The entry of a job, or the virtual one that a kept block has as long as it is of its past. */
export function entryOf(shard: Shard, block: Block, job: number): Entry | undefined {
  return block.entries.find((entry) => entry.job === job) ?? virtualEntry(shard, block, job);
}

function virtualEntry(shard: Shard, block: Block, job: number): Entry | undefined {
  const { s, w } = shard;
  const past = s.jobs[job]?.past;
  if (!past || block.n > past.upTo) return undefined;
  const windows = w.is("pastByWindows") ? (shard.jobOf(job)?.windows ?? []) : past.windows;
  const parts = newParts(block, w.is("pastTakesWholeMessage")).filter(({ takenMs }) => wasIn(windows, takenMs));
  if (parts.length === 0) return undefined;
  return { job, group: null, parts: parts.map(({ id }) => id), received: recordsOf(parts, block.off) };
}

/** Parts that were new with the block, each once. */
export const newParts = ({ records, fresh }: Block, isWhole = false): Part[] =>
  onceEach(records.filter(({ id }) => isWhole || fresh.includes(id)));

/** Of copies of one part, the first. */
export function onceEach(parts: readonly Part[]): Part[] {
  return parts.filter(({ id }, i) => parts.findIndex((each) => each.id === id) === i);
}

/** Whether all jobs of its entries, virtual ones too, have passed it. */
export function isRead(shard: Shard, block: Block): boolean {
  const { s, w } = shard;
  const pasts = Object.keys(s.jobs)
    .map(Number)
    .filter((id) => s.jobs[id]?.past);
  const hasPast = (job: number): boolean => shard.isUnread(job, block) && entryOf(shard, block, job) !== undefined;
  return isReadOf(shard, block) && (w.is("pastDoesNotPin") || !pasts.some(hasPast));
}

/** Of its own entries; a job that the copy lacks counts as having passed it. */
function isReadOf(shard: Shard, block: Block): boolean {
  const { s, w } = shard;
  const lacks = (job: number): boolean => !w.is("forgottenNotRead") && s.config !== null && !shard.jobOf(job);
  const hasPassed = ({ job }: Entry): boolean => lacks(job) || !shard.isUnread(job, block);
  const { entries } = block;
  return w.is("dropsWhenOneHasRead") ? entries.length === 0 || entries.some(hasPassed) : entries.every(hasPassed);
}

/**
 * Drops blocks that are read, after LOG_KEEP_HOURS, or the oldest while all of the shard are more
 * than what is kept (*Backfill*).
 */
export function drop(shard: Shard): void {
  const { s, w } = shard;
  if (w.is("textPastForgotten"))
    for (const id of Object.keys(s.jobs).map(Number))
      if (unreadPast(shard, id).length === 0) some(s.jobs[id]).past = null;
  let excess = s.blocks.length - w.keepBlocks;
  s.blocks = s.blocks.filter((block) => {
    if (!isRead(shard, block) && !(w.is("dropsUnreadByBytes") && w.keepMs > 0 && excess > 0)) return true;
    const isYoung = w.keepMs > 0 && block.atMs >= shard.time() - w.keepMs;
    if (isYoung && excess <= 0) return true;
    excess -= 1;
    const parts = newParts(block).map((part) =>
      w.is("textKeptSinceAppended") ? { ...part, takenMs: block.atMs } : part,
    );
    if (!isYoung || !w.is("keptSinceByTimeAlone")) keepsNone(shard, parts);
    return false;
  });
  if (s.blocks.length > GIVE_UP * w.keepBlocks && giveUp(shard)) drop(shard);
}

/** Parts that are kept no longer, or never were: what is said to be there begins after them. */
export function keepsNone({ s }: Shard, parts: readonly Part[]): void {
  s.keptSince = Math.max(s.keptSince, ...parts.map(({ takenMs }) => takenMs));
}

/** What a job has still to read of its past behind a position. */
export function unreadPast(shard: Shard, id: number, after = 0): Share[] {
  if (!shard.s.jobs[id]?.past) return [];
  return shard.unreadOf(id).filter(({ block, entry }) => block.n > after && !block.entries.includes(entry));
}

/**
 * Notes the past of a job that starts there: in the transaction that takes the first configuration
 * with it. From then on these blocks are for its reader like any others.
 */
export function notePast(shard: Shard, { id, since, windows }: Job): void {
  const { s, w } = shard;
  if (since === null) return;
  const state = shard.jobState(id);
  const end = ({ until }: Window): number => Math.min(until ?? s.newestMs, s.newestMs);
  const fixed = w.is("textPastOpen") ? copy(windows) : windows.map((each) => ({ ...each, until: end(each) }));
  state.past = { upTo: w.is("pastWithoutEnd") ? Number.MAX_SAFE_INTEGER : s.last, windows: fixed };
  if (!w.is("pastNotCounted")) count(state, unreadPast(shard, id));
  if (s.keptSince >= since) state.lacks.push({ from: since, until: s.keptSince });
  w.log(() => `${shard.name} notes past of ${id}: ${JSON.stringify(state)}`);
  pastNoted(shard, id, windows, state.lacks);
}

function count(state: JobState, shares: readonly Share[], sign = 1): void {
  for (const { entry } of shares) state.appended += sign * entry.received;
}

/**
 * Gives up the past of the job that is furthest behind, but for what its reader may have been
 * handed and may commit: a page. No past is given up whose blocks others have not read either.
 * @returns whether there was one.
 */
function giveUp(shard: Shard): boolean {
  const { s, w } = shard;
  const ids = Object.keys(s.jobs).map(Number);
  const end = (id: number): number =>
    w.is("givesUpAtCursor") ? 0 : pageOf(shard, id, some(s.jobs[id]).cursor, PAGE_MAX).end;
  const all = ids
    .map((id) => ({ id, state: some(s.jobs[id]), upTo: end(id), lost: unreadPast(shard, id, end(id)) }))
    .filter(({ lost }) => lost.some(({ block }) => isReadOf(shard, block)));
  const [last] = all.sort((a, b) => a.state.cursor - b.state.cursor);
  if (!last) return false;
  const { id, state, upTo, lost } = last;
  const times = lost.flatMap(({ block, entry }) =>
    newParts(block)
      .filter((part) => entry.parts.includes(part.id))
      .map(({ takenMs }) => takenMs),
  );
  if (!w.is("givesUpUnsaid")) state.lacks.push({ from: Math.min(...times), until: Math.max(...times) });
  if (!w.is("givesUpUncounted")) count(state, lost, -1);
  some(state.past).upTo = upTo;
  w.log(() => `${shard.name} gives up past of ${id} behind ${upTo}`);
  return true;
}
