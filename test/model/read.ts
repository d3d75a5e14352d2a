import type { Block, Entry, Item, Page } from "./block.ts";
import { stampOf } from "./config.ts";
import { drop, entryOf, onceEach, type Share } from "./kept.ts";
import type { Shard } from "./shard.ts";
import { some } from "./some.ts";

/** Who reads: a segment, from where, the version that it has, how many records at most. */
export interface Read {
  job: number;
  segment: number;
  after: number;
  stamp: string;
  most: number;
}

/**
 * *read*: entries behind a position. It also tells the shard that `after` is committed, and which
 * version the reader has: the answer of its pull may be lost.
 */
export function read(shard: Shard, how: Read): Page {
  const { s, w } = shard;
  const { job: id, segment, after, stamp } = how;
  const job = shard.jobOf(id);
  const state = s.jobs[id];
  const page: Page = { end: after, isAll: true, job: null, items: [] };
  if (job && !w.is("readersKeepTheirJob")) {
    const { config } = shard;
    const now = stampOf(config, job);
    const [mark, version] = stamp.split(".").map(Number);
    if (now !== stamp && (stamp === "" || mark !== config.mark || Number(version) < job.version))
      page.job = { job, stamp: now };
  }
  const isCurrent = state !== undefined && segment === state.segment;
  // It stays due until a pull is answered.
  if (page.job !== null && isCurrent && !w.is("textReadNotesNoVersion")) state.stamp = stamp === "" ? "none" : stamp;
  // It may learn of the job, and of its past: this shard was restored.
  if (!job && !w.is("textReadsUnknownJob")) return page;
  // A reader that has passed it: likewise.
  s.last = Math.max(s.last, after);
  if (isCurrent && state.cursor < after) {
    state.cursor = after;
    drop(shard);
  }
  const from = job?.discard && state ? Math.max(state.cursor, after) : after;
  page.end = from;
  const { items, end, isAll } = pageOf(shard, id, from, how.most);
  return { ...page, end, isAll, items: items.map(({ block, entry }) => itemOf(shard, block, entry)) };
}

/** As much as fits, or one block. */
export function pageOf(
  shard: Shard,
  id: number,
  from: number,
  most: number,
): { items: Share[]; end: number; isAll: boolean } {
  const items: Share[] = [];
  let end = from;
  let size = 0;
  for (const block of shard.s.blocks) {
    if (block.n <= from) continue;
    const entry = entryOf(shard, block, id);
    if (entry) {
      const isFirst = items.length === 0 && !shard.w.is("pageWithoutOneBlock");
      if (size + entry.received > most && (!isFirst || most === 0)) return { items, end, isAll: false };
      size += entry.received;
      items.push({ block, entry });
    }
    end = block.n;
  }
  return { items, end, isAll: true };
}

function itemOf({ w }: Shard, { n, records, off }: Block, { group, parts, received }: Entry): Item {
  const own = onceEach(records.filter(({ id }) => parts.includes(id)));
  return { n, group, parts: own, off: w.is("pastWithoutOff") && group === null ? {} : off, received };
}

export interface ShardStatus {
  segment: number;
  appended: number;
  /** Oldest of what keeps `last_complete` back. */
  oldest: number;
  hasUnread: boolean;
  /** Something on hold concerns the job. */
  isOnHold: boolean;
  queueDoneMs: number;
}

/**
 * *counts*: totals, and what holds `last_complete` back: what is unread, on hold, unfinished. A
 * shard that does not know the job cannot say what it has of the past.
 */
export function status(shard: Shard, id: number): ShardStatus {
  shard.ready();
  const { s, w } = shard;
  const { segment, appended } = s.jobs[id] ?? { segment: 0, appended: 0 };
  const unread = shard.unreadOf(id);
  const times = unread
    .filter(({ block, entry }) => block.entries.includes(entry) || !w.is("completeWithoutPast"))
    .flatMap(({ block: { records }, entry }) =>
      records.length > 0
        ? records.map(({ takenMs }) => takenMs)
        : entry.parts.map((part) => some(w.accepted.get(part)?.copies[0]).stamp),
    );
  if (!shard.jobOf(id) && !w.is("textCompleteUnknownJob")) times.push(0);
  if (!w.is("completeWithoutHold")) times.push(...s.holds.flatMap(({ parts }) => parts.map(({ takenMs }) => takenMs)));
  if (!w.is("completeWithoutUnreadable")) times.push(...Object.values(s.unreadable).map(({ sinceMs }) => sinceMs));
  if (!w.is("completeWithoutUnfinished")) times.push(...Object.values(s.unfinished));
  return {
    segment,
    appended,
    oldest: Math.min(...times),
    hasUnread: unread.length > 0,
    isOnHold: s.holds.some(({ jobs }) => Object.values(jobs).some((list) => list.includes(id))),
    queueDoneMs: s.queueDoneMs,
  };
}
