import { addAgain, addBlock, append, count, knows, remember, sweep } from "./append.ts";
import type { Entry } from "./block.ts";
import { type Job, wasIn } from "./config.ts";
import { onceEach } from "./kept.ts";
import { idsOf, type Message, offOf, type Part, recordsOf } from "./parts.ts";
import type { Hold, Shard } from "./shard.ts";
import { some } from "./some.ts";
import { Fault, type Task } from "./task.ts";
import type { World } from "./world.ts";

/** *append*, step 2: older than the last sweep, so that its id may have been swept. */
export function isTooOld({ s, w }: Shard, part: Part): boolean {
  return part.takenMs < s.sweptMs && !w.is("noTooOld") && !(part.keyed && w.is("textKeyedNeverTooOld"));
}

/** Puts on hold what is too old to tell; its id lives from now, so that a further copy is known. */
export function holdTooOld(shard: Shard, part: Part): void {
  const { s, w } = shard;
  if (!w.taken.has(part.id) && w.answered.has(part.id))
    throw new Fault(`${part.id} is too old to tell, though its shard answered before`);
  if (s.holds.some(({ parts }) => parts.some(({ id }) => id === part.id))) return;
  if (!part.keyed && !w.is("tooOldForgetsIds")) s.ids[part.id] = shard.time();
  keep(shard, [part], true);
}

/** What is on hold goes to no rerun. */
const mayHold = ({ w }: Shard, { rerun }: Job): boolean => rerun === null || w.is("rerunGetsHolds");

function keep(shard: Shard, parts: Part[], tooOld: boolean): void {
  const { s, w, config } = shard;
  const jobs: Hold["jobs"] = {};
  for (const { id, takenMs, keyed, records } of parts) {
    const noted = config.jobs.filter((job) => wasIn(job.windows, takenMs) && mayHold(shard, job)).map((job) => job.id);
    jobs[id] = noted;
    const fromMs = tooOld && !w.is("tooOldForgetsIds") ? shard.time() : takenMs;
    if (keyed) s.keyed[id] = { takenMs, fromMs, jobs: [...noted] };
    s.counts.processed += records.length;
    s.counts.setAside += records.length;
    // Known once, and swept since: it is in a block as well.
    if (!tooOld || !w.taken.has(id)) w.held.add(id);
    delete s.unfinished[id];
  }
  w.log(() => `${shard.name} holds ${idsOf(parts)} for ${JSON.stringify(jobs)}${tooOld ? " too old" : ""}`);
  s.holds.push({ id: s.nextHold++, parts, jobs, off: offOf(config, parts), tooOld });
}

/**
 * *on hold*: keeps the parts that are unknown; what is on hold is in no job until it is sent again.
 */
export function hold(shard: Shard, message: Message): void {
  shard.ready();
  sweep(shard);
  const { s, w } = shard;
  w.log(() => `${shard.name} hold(${idsOf(message.parts)})`);
  const own: Part[] = [];
  for (const part of message.parts) {
    delete s.unfinished[part.id];
    if (knows(shard, part)) {
      if (part.keyed && !w.is("holdIgnoresKnownKeyed")) addAgain(shard, part);
    } else if (own.some(({ id }) => id === part.id)) continue;
    else if (isTooOld(shard, part)) holdTooOld(shard, part);
    else {
      if (!w.is("holdForgetsIds")) remember(shard, part);
      own.push(part);
    }
  }
  if (own.length > 0) keep(shard, own, false);
  shard.wakeLater();
}

/**
 * Sends again, in one transaction: a block with open entries for the jobs noted at that time and
 * those that start in the past, the counts, and the end of the hold.
 */
export function holdResend(shard: Shard, id: number): void {
  shard.ready();
  const { s, w, config } = shard;
  const found = s.holds.find((each) => each.id === id);
  if (!found) return;
  const off = w.is("resendWithoutOff") ? {} : found.off;
  /** It starts in the past, and came later; unless another copy went to it. */
  const startsBefore = (job: Job, { id, keyed, takenMs }: Part): boolean =>
    job.since !== null &&
    mayHold(shard, job) &&
    !w.is("resendByNoteAlone") &&
    wasIn(job.windows, takenMs) &&
    !(keyed && s.keyed[id]?.jobs.includes(job.id));
  const entries: Entry[] = [];
  for (const job of config.jobs) {
    const mine = found.parts.filter((part) => found.jobs[part.id]?.includes(job.id) || startsBefore(job, part));
    if (mine.length === 0) continue;
    const received = recordsOf(mine, off);
    entries.push({ job: job.id, group: null, parts: mine.map((part) => part.id), received });
    shard.jobState(job.id).appended += received;
    for (const part of mine) {
      const had = part.keyed ? s.keyed[part.id] : undefined;
      if (had && !had.jobs.includes(job.id)) had.jobs.push(job.id);
    }
  }
  const routed = new Set(entries.flatMap(({ parts }) => parts));
  if (w.is("resendToForgotten"))
    for (const part of found.parts)
      for (const job of some(found.jobs[part.id]))
        if (!shard.jobOf(job)) entries.push({ job, group: null, parts: [part.id], received: 0 });
  for (const part of found.parts) {
    s.counts.processed -= part.records.length;
    s.counts.setAside -= part.records.length;
    count(shard, part, off, routed.has(part.id));
    w.noteTaken(part.id, shard.n);
  }
  addBlock(shard, { entries, fresh: found.parts, records: found.parts, off });
  w.log(() => `${shard.name} resends ${idsOf(found.parts)} to ${entries.map(({ job }) => job).join()}`);
  const done = (): void => {
    s.holds = s.holds.filter((each) => each !== found);
  };
  const doneLater = function* (): Task {
    yield;
    done();
  };
  if (w.is("resendInTwoSteps")) w.start(shard.name, "drop", doneLater());
  else done();
  shard.wakeLater();
}

export function holdDiscard({ s }: Shard, id: number): void {
  const found = s.holds.find((each) => each.id === id);
  if (!found) return;
  for (const { records } of found.parts) {
    s.counts.setAside -= records.length;
    s.counts.discarded += records.length;
  }
  s.holds = s.holds.filter((each) => each !== found);
}

/** Bytes are the same message, however often they come. */
const bytesOf = ({ id, parts }: Message, w: World): string =>
  w.is("unreadableCountedAgain") ? `${id}` : parts.map((part) => `${part.id}@${part.takenMs}`).join();

/** In shard 0: a message that is unreadable even in its head, counted by the hash of its bytes. */
export function holdUnread(shard: Shard, message: Message, sinceMs: number): void {
  shard.ready();
  const { s, w } = shard;
  w.log(() => `${shard.name} holds unread ${idsOf(message.parts)}`);
  s.unreadable[bytesOf(message, w)] ??= { message, sinceMs };
}

/**
 * Sends it again, once it can be read: its parts to their shard like any others; then it is
 * deleted.
 */
export function* unreadResend(w: World, message: Message): Task {
  const zero = w.shard(0);
  const { parts } = message;
  const shard = w.is("unreadableToShardZero") ? zero : w.shard(some(parts[0]).shard);
  const state = { mark: 0, version: 0 };
  const drop = (): void => {
    delete zero.s.unreadable[bytesOf(message, w)];
  };
  if (w.is("unreadableDroppedFirst")) yield* w.ask(zero, drop);
  yield* w.ask(shard, () =>
    append(shard, { parts: onceEach(parts), records: parts, groups: [], state, queueDoneMs: 0 }),
  );
  yield* w.ask(zero, drop);
}

/**
 * A message comes again: notes what is unfinished, of parts that the shard does not know, with a
 * key or without. @returns how often the message has killed its handler.
 */
export function expectAgain(shard: Shard, message: Message, isDeath: boolean): number {
  const { s } = shard;
  for (const { id, takenMs } of message.parts) if (!(id in s.ids) && !(id in s.keyed)) s.unfinished[id] = takenMs;
  shard.w.log(() => `${shard.name} unfinished ${Object.keys(s.unfinished).join()}`);
  const deaths = (s.deaths[message.id] ?? 0) + (isDeath ? 1 : 0);
  s.deaths[message.id] = deaths;
  return deaths;
}
