import type { Block, Entry, Group } from "./block.ts";
import { type Job, stampOf, type Window, wasIn } from "./config.ts";
import { holdTooOld, isTooOld } from "./hold.ts";
import { drop, isRead, keepsNone } from "./kept.ts";
import { idsOf, type Off, offOf, type Part, recordsOf, sizeOf } from "./parts.ts";
import { APPEND_MAX, DAY, IDS_LIVE, REPEAT } from "./scale.ts";
import type { Shard } from "./shard.ts";
import { some } from "./some.ts";
import { Lost } from "./task.ts";

export interface Append {
  parts: Part[];
  /** The parts of whole messages, of which some may be known. */
  records: Part[];
  groups: Group[];
  state: { mark: number; version: number };
  queueDoneMs: number;
}

/** *append*: ids, counts, block and alarm in one transaction. @returns ids that were new. */
export function append(shard: Shard, a: Append): string[] {
  shard.ready();
  const { s, w, config } = shard;
  const isNewer = a.state.mark !== config.mark || a.state.version > config.version;
  if (isNewer) shard.join();
  if (isFull(shard)) throw new Lost("full");
  if (isBusy(shard)) throw new Lost("busy");
  if (sizeOf(a.parts) > APPEND_MAX) throw new Lost("too large");
  sweep(shard);
  const fresh: Part[] = [];
  const again: Part[] = [];
  for (const part of a.parts) {
    const isKnown = knows(shard, part) || fresh.some(({ id }) => id === part.id);
    if (part.keyed && isKnown) again.push(part);
    else if (isKnown && !w.is("noDedupe")) continue;
    else if (isTooOld(shard, part)) holdTooOld(shard, part);
    else fresh.push(part);
  }
  w.log(() => `${shard.name} append ${idsOf(a.parts)}: fresh ${idsOf(fresh)}, again ${idsOf(again)}`);
  if (a.queueDoneMs > s.queueDoneMs) s.queueDoneMs = a.queueDoneMs;
  if (fresh.length > 0) addFresh(shard, fresh, a);
  shard.appendedMs = w.now;
  for (const part of again) addAgain(shard, part);
  for (const { id } of a.parts) delete s.unfinished[id];
  drop(shard);
  shard.wakeLater();
  return fresh.map(({ id }) => id);
}

export function knows({ s }: Shard, part: Part): boolean {
  return part.id in (part.keyed ? s.keyed : s.ids);
}

/** Of parts without a key, those that the shard knows. */
export function known(shard: Shard, ids: readonly string[]): string[] {
  shard.ready();
  return ids.filter((id) => id in shard.s.ids);
}

function isFull(shard: Shard): boolean {
  const unread = shard.s.blocks.filter((block) => !isRead(shard, block)).length;
  return shard.w.does.full && shard.w.faults && unread >= 10;
}

/** Appends under way: beyond a bound, a shard takes no more. */
export function isBusy({ w, busyUntil }: Shard): boolean {
  return w.faults && w.now < busyUntil;
}

/**
 * Forgets old ids, up to 15 days before min(now, newest intake known + 1 day): a clock that leaps
 * ahead sweeps nothing.
 */
export function sweep(shard: Shard): void {
  const { s, w } = shard;
  const now = w.is("textSweepTrustsClock") ? shard.time() : Math.min(shard.time(), s.newestMs + DAY);
  const old = now - IDS_LIVE;
  if (old <= s.sweptMs) return;
  s.sweptMs = old;
  for (const [id, ms] of Object.entries(s.ids)) if (ms < old) delete s.ids[id];
  const oldKeyed = old - (w.is("textKeyedFifteenDays") ? 0 : REPEAT);
  for (const [id, { fromMs }] of Object.entries(s.keyed)) if (fromMs < oldKeyed) delete s.keyed[id];
}

export function remember(shard: Shard, part: Part): void {
  const { s, w } = shard;
  w.noteTaken(part.id, shard.n);
  if (part.takenMs > s.newestMs) s.newestMs = part.takenMs;
  if (!part.keyed) s.ids[part.id] = part.takenMs;
}

/**
 * Adds a block, if any job is offered something or records are kept, under the next position, which
 * is a time: greater than any before a restore.
 */
export function addBlock(shard: Shard, added: Omit<Block, "n" | "atMs" | "fresh"> & { fresh: readonly Part[] }): void {
  const { s, w } = shard;
  const { entries, fresh, off } = added;
  const hasAny = recordsOf(fresh, off) > 0;
  const isKept = hasAny && w.keepMs > 0;
  const isStored = isKept || entries.some(({ group }) => group === null);
  if (hasAny && !isStored && !w.is("keptSinceByDropsAlone")) keepsNone(shard, fresh);
  if (entries.length === 0 && !isKept) return;
  const block = { ...added, fresh: fresh.map(({ id }) => id), records: isStored ? added.records : [] };
  const isSmall = w.is("smallNumbers") || w.is("smallNumbersNoJump");
  s.last = isSmall ? s.last + 1 : Math.max(s.last + 1, shard.time() * 1024);
  s.blocks.push({ n: s.last, atMs: shard.time(), ...block });
  const list = entries.map(({ job, group, parts }) => `${job}${group ? "" : "(open)"}:${parts.join("+")}`);
  w.log(() => `${shard.name} block ${s.last} of ${idsOf(fresh)} entries ${list.join(" ")}`);
}

/** Steps 3, 4 and 6: one block with an entry for each job that is offered any of the new parts. */
function addFresh(shard: Shard, fresh: readonly Part[], a: Append): void {
  const { s, w, config } = shard;
  const off = offOf(config, w.is("offByNow") ? fresh.map((part) => ({ ...part, takenMs: shard.time() })) : fresh);
  const entries: Entry[] = [];
  for (const job of config.jobs) {
    const mine = fresh.filter(({ takenMs }) => wasIn(job.windows, w.is("entriesByNow") ? shard.time() : takenMs));
    if (mine.length === 0) continue;
    const parts = mine.map(({ id }) => id);
    const group = usable(shard, a, fresh.length, parts, job.id, stampOf(config, job));
    const received = group ? group.made.received : recordsOf(mine, off);
    entries.push({ job: job.id, group: group ? { ...group.made, format: group.format } : null, parts, received });
    shard.jobState(job.id).appended += received;
  }
  for (const part of fresh) {
    remember(shard, part);
    const jobs = entries.filter(({ parts }) => parts.includes(part.id)).map(({ job }) => job);
    if (part.keyed) s.keyed[part.id] = { takenMs: part.takenMs, fromMs: part.takenMs, jobs };
    count(shard, part, off, jobs.length > 0);
  }
  addBlock(shard, { entries, fresh, records: a.records, off });
}

/** The prepared entry: of the job's version, and of exactly the parts that the job is offered. */
function usable(
  { w }: Shard,
  a: Append,
  fresh: number,
  parts: string[],
  job: number,
  stamp: string,
): Group | undefined {
  const isSame = (its: string): boolean =>
    its === stamp ||
    w.is("preparedOfOldVersion") ||
    (w.is("versionWithoutMark") && its.split(".")[1] === stamp.split(".")[1]);
  const areTheParts = (group: Group): boolean => group.parts.join() === parts.join() || w.is("groupsUnchecked");
  return a.groups.find(
    (group) =>
      group.jobs.some(({ id, stamp: its }) => id === job && isSame(its)) &&
      (w.is("preparedWithKnown") || (fresh === a.parts.length && areTheParts(group))),
  );
}

export function count({ s: { counts } }: Shard, part: Part, off: Off, isRouted: boolean): void {
  for (const { fn } of part.records) {
    counts.processed += 1;
    if (off[part.id]?.includes(fn)) counts.notEnabled += 1;
    else if (isRouted) counts.routed += 1;
    else counts.notRouted += 1;
  }
}

/** Times of which a job has the copy that is in a block, or gets the one that is on hold. */
function pastWindows({ s, w }: Shard, { id, windows }: Job): Window[] {
  const past = s.jobs[id]?.past;
  if (!past || w.is("textAgainForSince")) return [];
  return w.is("againByWindows") ? windows : past.windows;
}

/**
 * Step 5: a further copy of a keyed part, for jobs whose window has this one and that were offered
 * none before. A job that starts in the past finds the copy that is in a block.
 */
export function addAgain(shard: Shard, part: Part): void {
  const { s, w, config } = shard;
  const had = some(s.keyed[part.id]);
  if (w.is("keyedByIdAlone")) return;
  const jobs = config.jobs
    .filter(({ id, windows }) => wasIn(windows, part.takenMs) && !had.jobs.includes(id))
    .filter((job) => !wasIn(pastWindows(shard, job), had.takenMs))
    .filter(({ rerun }) => rerun === null || w.is("rerunGetsCopies"))
    .map(({ id }) => id);
  if (jobs.length === 0) return;
  had.jobs.push(...jobs);
  const off = offOf(config, [part]);
  const received = recordsOf([part], off);
  for (const job of jobs) shard.jobState(job).appended += received;
  const entries = jobs.map((job) => ({ job, group: null, parts: [part.id], received }));
  addBlock(shard, { entries, fresh: w.is("pastTakesRepeats") ? [part] : [], records: [part], off });
}
