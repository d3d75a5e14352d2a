import { lastComplete, resend, retry, sums } from "./calls.ts";
import { handler } from "./handler.ts";
import { flushPacker, intake, queueTurns } from "./intake.ts";
import { checkAlways, checkEnd } from "./oracle.ts";
import { resendUnread, rest, startAll } from "./rest.ts";
import { restore } from "./restore.ts";
import { DAY, SHARDS, SKEW, SKEW_WAIT } from "./scale.ts";
import { expectLost } from "./task.ts";
import type { Thing } from "./thing.ts";
import { ODDS, type Odd, type Options, World } from "./world.ts";

export type RunSums = Record<"steps" | "parts" | "objects" | "changes" | "restores" | "claims", number>;

/**
 * One run: some hundred turns under faults, then rest, then the oracle. Everything follows from the
 * seed. @throws Fault if the oracle finds something wrong.
 */
export function run(seed: number, options: Options = {}): RunSums {
  const w = new World(seed, options);
  const { random } = w;
  const length = 200 + random.below(350);
  const keys = choose(w);
  for (let i = 0; i < length; i++) {
    disturb(w, i);
    turn(w, i, keys);
    if (w.cron && w.faults && random.chance(0.05)) startAll(w);
    for (const job of w.plane.s.jobs) if (job.discard) w.discards.add(job.id);
    endBlur(w);
    if (i % 32 === 0) checkAlways(w);
  }
  rest(w, () => endBlur(w));
  checkEnd(w);
  const objects = [...w.readers.values()].reduce((sum, { s }) => sum + s.objects.length, 0);
  const { steps, accepted, changes, restores, claims } = w;
  return { steps, parts: accepted.size, objects, changes: changes.length, restores, claims };
}

/** What this run does. @returns the keys of its requests. */
function choose(w: World): string[] {
  const { random, does, seed } = w;
  w.keepMs = !w.forces("past") && random.chance(0.5) ? 0 : random.pick([300, 20 * DAY]);
  if (w.keepMs > 0 && random.chance(0.4)) w.keepBlocks = 1 + random.below(8);
  for (const name of Object.keys(ODDS) as Odd[])
    does[name] = w.options.force ? w.forces(name) : random.chance(ODDS[name]);
  const hasKeys = w.forces("keyed") || random.chance(0.5);
  const keys = does.long ? [`k${seed}a`] : [`k${seed}a`, `k${seed}b`];
  if (w.forces("shards") || random.chance(0.4)) for (const each of w.isolates) each.shards = random.pick(SHARDS);
  const { s } = w.plane;
  if (w.forces("shards") || random.chance(0.4)) s.keyShards = random.pick(SHARDS);
  for (const each of w.isolates) each.keyShards = s.keyShards;
  if (w.is("textKeyShardsByFirst")) s.keyShards = 0;
  // Clocks of intake or of objects leap, not both: an intake that says next month, and a shard that
  // believes it, sweep ids.
  for (const each of w.isolates) {
    each.clock = random.below(2 * SKEW + 1) - SKEW;
    if (does.leaps && seed % 2 === 0 && random.chance(0.3)) each.clock += random.pick([30 * DAY, -3 * DAY, -20 * DAY]);
  }
  return hasKeys ? keys : [];
}

/** After a restore of the control plane: until all shards have what it has now. */
function endBlur(w: World): void {
  const { s } = w.plane;
  for (const blur of w.blur) {
    if (blur.until < Number.POSITIVE_INFINITY || s.confirmed !== s.version) continue;
    const configs = [...w.shards.values()].flatMap(({ n, s: { config } }) => (config ? [{ n, config }] : []));
    const isCurrent = configs.every(
      ({ n, config }) => config.mark === s.mark && config.version === s.version && s.shards.includes(n),
    );
    if (isCurrent) blur.until = w.now + SKEW_WAIT;
  }
}

/** What happens to all: time, the queue, restores, outages, releases, stores, clocks. */
function disturb(w: World, i: number): void {
  const { random, does, plane, now } = w;
  if (does.busy && random.chance(0.06)) plane.randomChange();
  if (does.long && random.chance(0.08)) {
    w.now = now + random.below(DAY * 1.5);
    for (let k = 0; k < 10; k++) w.step();
  }
  if (i % 4 === 0) queueTurns(w);
  if (does.restores && random.chance(0.02)) {
    const thing = random.pick(w.things());
    if (thing.saved !== null) restore(w, thing);
    else if (thing !== plane || plane.s.version === plane.s.confirmed)
      thing.saved = { s: JSON.stringify(thing.s), atMs: w.now };
  }
  if (does.outages && random.chance(0.01)) {
    const thing: Thing = random.pick(w.forces("shards") ? [...w.shards.values(), plane] : w.things());
    w.die(thing.name);
    thing.downUntil = w.now + random.below(does.long ? 22 * DAY : 700);
  }
  if (does.keeps && random.chance(0.02)) w.keepMs = w.keepMs > 0 ? 0 : 300;
  if (does.full && random.chance(0.02))
    random.pick([...w.shards.values(), w.shard(0)]).busyUntil = w.now + random.below(200);
  if (does.rollback && random.chance(0.02)) {
    w.release = 3 - w.release;
    for (const { name } of w.things()) if (random.chance(0.7)) w.die(name);
  }
  if (does.stores && random.chance(w.broken.size > 0 ? 0.01 : 0.06)) {
    const store = plane.s.jobs.length > 0 ? random.pick(plane.s.jobs).store : "s0";
    if (!w.broken.delete(store)) w.broken.add(store);
  }
  if (does.leaps && w.seed % 2 === 1 && random.chance(0.01)) {
    const thing = random.pick(w.things());
    if (thing !== plane) thing.clock += random.pick([30 * DAY, -DAY, 2 * DAY, -30 * DAY]);
  }
  const deleted = does.forget ? plane.s.jobs.filter((job) => job.deleted) : [];
  if (deleted.length > 0 && random.chance(0.1)) w.start("plane", "forget", plane.forgetJob(random.pick(deleted).id));
  if (w.forces("claims") && plane.s.jobs.length > 0 && random.chance(0.15))
    w.start("api", "complete", lastComplete(w, random.pick(plane.s.jobs).id));
}

/** One thing that is done from outside; mostly, one task makes a step. */
function turn(w: World, i: number, keys: readonly string[]): void {
  const { random, does, plane } = w;
  const dice = random.next();
  if (dice < 0.08) {
    const key = keys.length > 0 && random.chance(does.long ? 0.6 : 0.3) ? random.pick(keys) : null;
    w.start(`intake ${i}`, "intake", intake(w, key));
  } else if (dice < 0.1) flushPacker(w);
  else if (dice < 0.17) {
    const number = i % 4;
    if (!w.tasks.some(({ owner }) => owner === `handler ${number}`))
      w.start(`handler ${number}`, "handler", handler(w, number));
  } else if (dice < 0.3) ringOne(w);
  else if (dice < 0.325) plane.randomChange();
  else if (dice < 0.335 && random.chance(0.5)) restartIsolate(w);
  else if (dice < 0.36) {
    const owners = [...new Set(w.tasks.map(({ owner }) => owner))];
    if (owners.length > 0) w.die(random.pick(owners));
  } else if (dice < 0.37) {
    const shard = random.pick([...w.shards.values(), w.shard(0)]);
    if (shard.s.holds.length > 0) w.start("api", "resend", resend(w, shard, random.pick(shard.s.holds)));
    if (w.release === 2) resendUnread(w);
  } else if (dice < 0.378) {
    const reader = w.readers.size > 0 ? random.pick([...w.readers.values()]) : null;
    if (reader && reader.s.unmade.length > 0)
      w.start("api", "retry", retry(w, reader, random.pick(reader.s.unmade), random.chance(0.1)));
  } else if (dice < 0.41 && plane.s.jobs.length > 0) {
    const { id, deleted } = random.pick(plane.s.jobs);
    if (deleted) w.start("plane", "forget", plane.forgetJob(id));
    else w.start("api", "sums", random.chance(0.25) ? sums(w, id) : lastComplete(w, id));
  } else if (dice < (w.forces("past") ? 0.417 : 0.413) && w.keepMs > 0 && plane.s.jobs.length > 0)
    plane.rerun(random.pick(plane.s.jobs));
  else if (dice < 0.42 && random.chance(0.3)) w.cron = true;
  else w.step();
}

/** It starts with the settings of another deployment. */
function restartIsolate(w: World): void {
  const isolate = w.random.pick(w.isolates);
  isolate.shards = w.random.pick(SHARDS);
  isolate.mayUseKeys = null;
  if (w.does.keyShards) isolate.keyShards = w.random.pick(SHARDS);
}

function ringOne(w: World): void {
  const things = w.things().filter(({ alarm }) => alarm !== null && alarm <= w.now);
  if (things.length === 0) return;
  try {
    w.ring(w.random.pick(things));
  } catch (error) {
    expectLost(error);
  }
}
