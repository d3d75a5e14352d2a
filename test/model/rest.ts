import { resend, retry } from "./calls.ts";
import { due } from "./drive.ts";
import { handler } from "./handler.ts";
import { unreadResend } from "./hold.ts";
import { flushPacker, queueTurns } from "./intake.ts";
import { isRead } from "./kept.ts";
import { Reader } from "./reader.ts";
import { JOIN_EVERY } from "./scale.ts";
import { expectLost, Fault } from "./task.ts";
import type { Thing } from "./thing.ts";
import type { World } from "./world.ts";

/** As the cron does, every five minutes: it starts what was restored. */
export function startAll(w: World): void {
  w.cron = false;
  for (const thing of w.things())
    if (thing !== w.plane)
      try {
        thing.wake();
      } catch (error) {
        expectLost(error);
      }
}

/**
 * No more faults: everything comes to rest, by alarms alone (and the queue, and what persons do).
 * First while poison is poison, formats are too new for half of the machines, and stores that no
 * job uses any more are down: nothing else may wait for that. Then a release comes that can read
 * all.
 */
export function rest(w: World, settle: () => void): void {
  const began = w.now;
  w.faults = false;
  w.broken.clear();
  const isUsed = (store: string): boolean => w.plane.s.jobs.some((job) => job.store === store);
  if (w.does.stores && w.restores === 0)
    for (let i = 0; i < w.nextStore; i++) if (!isUsed(`s${i}`)) w.broken.add(`s${i}`);
  if (w.restores > 0 || w.cron) startAll(w);
  comeToRest(w, settle);
  checkNoneWaits(w, began);
  w.cured = true;
  w.release = 2;
  w.broken.clear();
  for (const { name, started } of w.things()) if (started) w.die(name);
  comeToRest(w, settle);
}

function checkNoneWaits(w: World, began: number): void {
  for (const shard of w.shards.values()) {
    const { config } = shard.s;
    const isForeign = config !== null && config.mark !== w.plane.s.mark;
    if (shard.started && isForeign && shard.appendedMs > Math.max(began, w.planeRestoredMs + JOIN_EVERY))
      throw new Fault(`${shard.name} decides by what a lost control plane said`);
    const left = shard.s.blocks.find((block) => !isRead(shard, block));
    if (left) throw new Fault(`${shard.name}: ${left.n} waits for poison or for a release`);
  }
  for (const { s, name, job } of w.restores === 0 ? w.readers.values() : [])
    if (!w.forgotten.has(job) && s.objects.some(({ state }) => state === "waiting"))
      throw new Fault(`${name}: objects wait for a store that no job uses any more`);
}

/** What only waits for a release tries again and again: that is rest. */
function isAtRest(w: World, thing: Thing): boolean {
  if (w.cured || !(thing instanceof Reader)) return false;
  const isStuck = w.broken.has(thing.s.job?.store ?? "");
  return thing.s.batches.length === 0 && thing.s.objects.every(({ state }) => state !== "waiting" || isStuck);
}

function comeToRest(w: World, settle: () => void): void {
  for (let round = 0; ; round++) {
    if (round > 500) throw new Fault(`it does not come to rest: ${whatWaits(w)}`);
    for (let k = 0; w.step(); k++)
      if (k > 20_000)
        throw new Fault(`it does not end: ${w.tasks.map(({ owner, what }) => `${owner} ${what}`).join()}`);
    w.now += 30;
    settle();
    let isBusy = false;
    if ([...w.packer.values()].some((list) => list.length > 0)) {
      flushPacker(w);
      isBusy = true;
    }
    queueTurns(w);
    if (w.queue.length > 0) {
      w.start("handler x", "handler", handler(w, 9));
      isBusy = true;
    }
    for (const shard of w.shards.values())
      for (const hold of shard.s.holds) {
        w.start("api", "resend", resend(w, shard, hold));
        isBusy = true;
      }
    if (w.cured && resendUnread(w)) isBusy = true;
    for (const reader of w.cured ? w.readers.values() : [])
      for (const unmade of reader.s.unmade)
        if (unmade.why === "poison") {
          w.start("api", "retry", retry(w, reader, unmade, w.random.chance(0.1)));
          isBusy = true;
        }
    const things = w.things().filter((thing) => !isAtRest(w, thing));
    const first = Math.min(...things.map(({ alarm }) => alarm ?? Number.POSITIVE_INFINITY));
    if (!isBusy && first < Number.POSITIVE_INFINITY) w.now = Math.max(w.now, first);
    for (const thing of things)
      if (thing.alarm !== null) {
        isBusy = true;
        w.ring(thing);
      }
    if (!isBusy) return;
  }
}

/** A person sends again what a newer release can read. @returns whether there is any. */
export function resendUnread(w: World): boolean {
  const all = Object.values(w.shard(0).s.unreadable);
  for (const { message } of all) w.start("api", "resend", unreadResend(w, message));
  return all.length > 0;
}

function whatWaits(w: World): string {
  const alarms = w.things().filter(({ alarm }) => alarm !== null);
  const shards = [...w.shards.values()].map((shard) => [shard.n, due(shard), shard.s.jobs]);
  return `${alarms.map(({ name }) => name).join()}; queue ${w.queue.length}; due ${JSON.stringify(shards)}`;
}
