import { END, isBefore, type Page, type Position, whole } from "./block.ts";
import { stampOf } from "./config.ts";
import { drop, isOfRange, onceEach, partsOfRange } from "./kept.ts";
import type { Shard } from "./shard.ts";
import { some } from "./some.ts";

/**
 * Who reads: a segment, from where, the version that it has, how many records at most, which range.
 */
export interface Read {
  job: number;
  segment: number;
  after: Position;
  stamp: string;
  most: number;
  range: string | null;
}

/**
 * *read*: entries behind a position, or a block of a range. It also tells the shard that `after` is
 * committed, and which version the reader has: the answer of its pull may be lost.
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
  if (how.range !== null) return readRange(shard, how, page);
  // A reader that has passed it: this shard was restored.
  if (after.n > s.last && after.n < Number.MAX_SAFE_INTEGER) s.last = after.n;
  if (isCurrent && isBefore(state.cursor, after)) {
    state.cursor = after;
    if (!w.is("textReadDoesNotDrop")) drop(shard);
  }
  const from = job?.discard && state && isBefore(after, state.cursor) ? state.cursor : after;
  page.end = from;
  let size = 0;
  for (const { n, entries, records, off } of s.blocks) {
    if (!isBefore(from, whole(n))) continue;
    const entry = entries.find((each) => each.job === id);
    if (entry) {
      // As much as fits, or one block.
      const isFirst = page.items.length === 0 && !w.is("pageWithoutOneBlock");
      if (size + entry.received > how.most && (!isFirst || how.most === 0)) return { ...page, isAll: false };
      size += entry.received;
      const parts = onceEach(records.filter((part) => entry.parts.includes(part.id)));
      page.items.push({ n, group: entry.group, parts, off, received: entry.received });
    }
    page.end = whole(n);
  }
  return page;
}

function readRange(shard: Shard, how: Read, page: Page): Page {
  const range = shard.s.ranges.find((each) => each.job === how.job && each.key === how.range);
  const block = range && shard.s.blocks.find((each) => isBefore(how.after, whole(each.n)) && isOfRange(each, range));
  if (!block) return { ...page, end: END };
  const off = shard.w.is("rangeWithoutOff") ? {} : block.off;
  page.items.push({ n: block.n, group: null, parts: partsOfRange(shard, block, range), off, received: 0 });
  return { ...page, end: whole(block.n), isAll: false };
}

export interface ShardStatus {
  segment: number;
  appended: number;
  /** Oldest of what keeps `last_complete` back. */
  oldest: number;
  hasUnread: boolean;
  /** Something on hold or a range under way concerns the job. */
  isOnHold: boolean;
  queueDoneMs: number;
}

/**
 * *counts*: totals, and what holds `last_complete` back: what is unread, on hold, unfinished, and
 * the `since` of a range under way. A shard that does not know the job cannot say what it has of
 * the past.
 */
export function status(shard: Shard, id: number): ShardStatus {
  shard.ready();
  const { s, w } = shard;
  const { segment, appended } = s.jobs[id] ?? { segment: 0, appended: 0 };
  const unread = shard.unreadOf(id);
  const times = unread.flatMap(({ block: { records }, entry }) =>
    records.length > 0
      ? records.map(({ takenMs }) => takenMs)
      : entry.parts.map((part) => some(w.accepted.get(part)?.copies[0]).stamp),
  );
  if (!shard.jobOf(id) && !w.is("textCompleteUnknownJob")) times.push(0);
  if (!w.is("completeWithoutHold")) times.push(...s.holds.flatMap(({ parts }) => parts.map(({ takenMs }) => takenMs)));
  if (!w.is("completeWithoutUnreadable")) times.push(...Object.values(s.unreadable).map(({ sinceMs }) => sinceMs));
  if (!w.is("completeWithoutUnfinished")) times.push(...Object.values(s.unfinished));
  const ranges = s.ranges.filter(({ job }) => job === id);
  if (!w.is("textCompleteWithoutRange"))
    times.push(...ranges.filter(({ key }) => key === "since").map(({ since }) => since));
  return {
    segment,
    appended,
    oldest: Math.min(...times),
    hasUnread: unread.length > 0,
    isOnHold: ranges.length > 0 || s.holds.some(({ jobs }) => Object.values(jobs).some((list) => list.includes(id))),
    queueDoneMs: s.queueDoneMs,
  };
}
