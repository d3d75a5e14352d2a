import { type Append, append, known, knows } from "./append.ts";
import type { Group } from "./block.ts";
import { type Config, stampOf, wasIn } from "./config.ts";
import { expectAgain, hold, holdUnread } from "./hold.ts";
import { anewOf, send } from "./intake.ts";
import { idsOf, offOf, type Part, prepare, type Queued, sizeOf } from "./parts.ts";
import { APPEND_MAX, HOLD_AFTER, IN_FLIGHT, QUEUE_LIFE, SKEW } from "./scale.ts";
import type { Shard } from "./shard.ts";
import { some } from "./some.ts";
import { Dies, expectLost, Lost, type Step, type Task } from "./task.ts";
import type { World } from "./world.ts";

/** The queue handler (*The way of an event*, 2): one delivery of messages, or of dead letters. */
export function* handler(w: World, number: number): Task {
  const { random } = w;
  const isDead = random.chance(0.3);
  const due = w.queue.filter(({ visibleAt, dead }) => visibleAt <= w.now && dead === isDead);
  const mine = due.slice(0, 1 + random.below(4));
  if (due.length === 0) return;
  for (const each of mine) {
    each.attempts += 1;
    each.triedMs = w.now;
    each.visibleAt = w.now + 15 + random.below(30);
  }
  const now = w.now + random.below(2 * SKEW + 1) - SKEW;
  // A handler is of one release from its beginning to its end.
  const unread = new Set(mine.filter((each) => isUnreadable(w, each)));
  const own = new Delivery(w, `handler ${number}`, isDead, now, queueDone(w, mine, unread, isDead, now), unread);
  if (w.is("acksFirst")) own.ack(mine);
  const config = yield* configOf(w);
  for (const { batch, isAlone } of groupsOf(mine, unread)) {
    try {
      yield* unread.has(some(batch[0])) ? own.holdUnread(batch) : own.handle(config, batch, isAlone);
    } catch (error) {
      expectLost(error);
      yield* own.sendAnew(batch, error);
    }
  }
}

/** Its release cannot read even the head of the message. */
const isUnreadable = (w: World, { message }: Queued): boolean => message.newHead && !w.cured && w.release < 2;

/**
 * Groups messages by shard, each as large as an append at most. A message that comes for the second
 * time, which may kill its handler, is handled alone; so is one that is unreadable.
 */
function groupsOf(mine: readonly Queued[], unread: ReadonlySet<Queued>): { batch: Queued[]; isAlone: boolean }[] {
  const groups: { batch: Queued[]; isAlone: boolean; shard: number; size: number }[] = [];
  for (const each of mine) {
    const isAlone = each.attempts > 1 || each.dead || unread.has(each);
    const { shard } = some(each.message.parts[0]);
    const size = sizeOf(each.message.parts);
    const group = groups.findLast((other) => other.shard === shard && !other.isAlone);
    if (!isAlone && group && group.size + size <= APPEND_MAX) {
      group.batch.push(each);
      group.size += size;
    } else groups.push({ batch: [each], isAlone, shard, size });
  }
  return groups;
}

/** The oldest intake here, or the time at which the oldest that waits was sent. */
function queueDone(
  w: World,
  mine: readonly Queued[],
  unread: ReadonlySet<Queued>,
  isDead: boolean,
  now: number,
): number {
  if (isDead) return -(w.is("noInFlight") ? 0 : IN_FLIGHT);
  const own = mine.flatMap((each) =>
    unread.has(each) ? [each.sentMs] : each.message.parts.map(({ takenMs }) => takenMs),
  );
  const waiting = w.queue.filter(({ dead }) => !dead).map(({ sentMs }) => sentMs);
  return Math.min(now, ...own, ...waiting) - (w.is("noInFlight") ? 0 : IN_FLIGHT);
}

/** A handler may work with any old configuration. */
function* configOf(w: World): Step<Config> {
  const which = w.random.below(2);
  const had = w.caches[which] ?? null;
  if (had !== null && !w.random.chance(0.3)) return had;
  try {
    const config = yield* w.ask(w.plane, () => w.plane.snapshot());
    w.caches[which] = config;
  } catch (error) {
    expectLost(error);
  }
  const config = w.caches[which];
  if (!config) throw new Lost("no configuration");
  return config;
}

class Delivery {
  w: World;
  name: string;
  isDead: boolean;
  now: number;
  queueDoneMs: number;
  /** Messages that its release cannot read. */
  unread: ReadonlySet<Queued>;

  constructor(w: World, name: string, isDead: boolean, now: number, queueDoneMs: number, unread: ReadonlySet<Queued>) {
    this.w = w;
    this.name = name;
    this.isDead = isDead;
    this.now = now;
    this.queueDoneMs = queueDoneMs;
    this.unread = unread;
  }
  /** The acknowledgement may be lost. */
  ack(list: readonly Queued[]): void {
    const { w } = this;
    if (w.faults && w.random.chance(0.05)) return;
    w.log(() => `${this.name} acks ${list.map(({ message }) => idsOf(message.parts)).join()}`);
    w.queue = w.queue.filter((each) => !list.some(({ message }) => message.id === each.message.id));
  }
  /** Holds a message, or appends what is new of a batch, and then acknowledges it. */
  *handle(config: Config, batch: Queued[], isAlone: boolean): Task {
    const { w, queueDoneMs } = this;
    const { random } = w;
    const first = some(batch[0]).message;
    const shard = w.shard(some(first.parts[0]).shard);
    if (isAlone) {
      const deaths = yield* w.ask(shard, () => expectAgain(shard, first, true));
      const age = this.now - Math.min(...first.parts.map(({ takenMs }) => takenMs));
      const isHeld =
        deaths > 4 ||
        (age > HOLD_AFTER && !w.is("noHoldAfterTenDays")) ||
        (w.faults && random.chance(w.does.holds ? 0.3 : 0.02)) ||
        (this.isDead && (some(batch[0]).attempts > 2 || random.chance(0.5)));
      if (!isHeld && age > HOLD_AFTER)
        for (const { id } of first.parts) w.answered.set(id, (w.answered.get(id) ?? 0) + 1);
      if (isHeld) {
        yield* w.ask(shard, () => hold(shard, first));
        return this.ack(batch);
      }
    }
    const all = batch.flatMap(({ message }) => message.parts);
    const parts = yield* this.unknown(shard, all);
    if (parts.length > 0) {
      if (!w.cured && parts.some(({ poison }) => poison) && random.chance(0.9)) throw new Dies(this.name);
      const groups = this.prepare(config, parts);
      yield;
      const { mark, version } = config;
      const records = all;
      yield* this.append(batch, shard, { parts, records, groups, state: { mark, version }, queueDoneMs });
    }
    yield;
    this.ack(batch);
  }
  /** *Bounds*: waits for a shard that is busy, without spending the attempts of the messages. */
  private *append(batch: readonly Queued[], shard: Shard, a: Append): Task {
    const { w } = this;
    const until = w.now + 300;
    for (;;) {
      try {
        yield* w.ask(shard, () => append(shard, a));
        return;
      } catch (error) {
        expectLost(error);
        if (error.what !== "busy" || w.now > until) throw error;
      }
      for (const each of batch) each.visibleAt = w.now + 30;
      for (let k = 0; k < 3; k++) yield;
    }
  }
  /** *on hold*: shard 0 keeps what is unreadable even in its head. */
  *holdUnread(batch: readonly Queued[]): Task {
    const { w } = this;
    const { message, sentMs } = some(batch[0]);
    // A dead letter was sent up to 14 days before it became one.
    const sinceMs = sentMs - IN_FLIGHT - (this.isDead && !w.is("deadUnreadIsYoung") ? QUEUE_LIFE : 0);
    yield* w.ask(w.shard(0), () => holdUnread(w.shard(0), message, sinceMs));
    this.ack(batch);
  }
  /** Leaves out what the shard knows, asking only for parts without a key; of equal copies, one. */
  private *unknown(shard: Shard, all: readonly Part[]): Step<Part[]> {
    const { w } = this;
    const asksAll = w.is("asksForKeyed");
    let parts = [...all];
    if (w.random.chance(0.5)) {
      const ids = all.filter(({ keyed }) => !keyed || asksAll).map(({ id }) => id);
      const has = yield* w.ask(shard, () => known(shard, ids));
      parts = all.filter((part) => !has.includes(part.id) && !(asksAll && part.keyed && knows(shard, part)));
    }
    const isSame = (a: Part, b: Part): boolean => a.id === b.id && a.takenMs === b.takenMs;
    return parts.filter((part, i) => parts.findIndex((each) => isSame(each, part)) === i);
  }
  /** Prepares once for all jobs of equal rules that are offered the same parts. */
  private prepare(config: Config, parts: readonly Part[]): Group[] {
    const { w } = this;
    const off = offOf(config, parts);
    const groups: Group[] = [];
    for (const job of config.jobs) {
      // It does not fit: its entry is open.
      if (w.random.chance(0.15)) continue;
      if (job.format % 2 === 0) continue;
      const { format, mod } = job;
      const mine = parts.filter(({ takenMs }) => wasIn(job.windows, takenMs));
      const ids = mine.map(({ id }) => id);
      const member = { id: job.id, stamp: stampOf(config, job) };
      const areEqual = (group: Group): boolean => group.parts.join() === ids.join() || w.is("groupsUnchecked");
      const same = groups.find((group) => group.format === format && group.mod === mod && areEqual(group));
      if (same) same.jobs.push(member);
      else groups.push({ jobs: [member], parts: ids, made: prepare(job, mine, off), format, mod });
    }
    return groups;
  }
  /**
   * After many attempts it sends the same bytes anew. The queue then knows a younger time, so the
   * shard has to have it as unfinished first.
   */
  *sendAnew(batch: readonly Queued[], why: Lost): Task {
    const { w } = this;
    const isRefused = why.what === "full" || why.what === "busy";
    for (const each of batch) {
      const isLate = each.attempts >= anewOf(w);
      if (isRefused && (isLate || this.isDead)) each.refused += 1;
      const { message, sentMs } = each;
      const isUnread = this.unread.has(each);
      const shard = w.shard(isUnread ? 0 : some(message.parts[0]).shard);
      try {
        // A dead letter that no shard has noted would keep nothing back.
        if (!isRefused && (isLate || this.isDead)) {
          const oldest = isUnread ? sentMs - IN_FLIGHT : Math.min(...message.parts.map(({ takenMs }) => takenMs));
          yield* w.ask(w.plane, () => w.plane.shardAway(shard.n, oldest));
        }
        if (!isLate || this.isDead || isUnread) continue;
        if (!w.is("textAnewUnnoted")) yield* w.ask(shard, () => expectAgain(shard, message, false));
        send(w, message.parts);
        this.ack([each]);
      } catch (error) {
        expectLost(error);
        each.refused = 0;
      }
    }
  }
}
