import { copy } from "./config.ts";
import { entryOf } from "./kept.ts";
import type { Rec } from "./parts.ts";
import { isOpen, type Plane, type PlaneState } from "./plane.ts";
import { Reader, type ReaderState } from "./reader.ts";
import { DAY } from "./scale.ts";
import { Shard, type ShardState } from "./shard.ts";
import type { Task } from "./task.ts";
import type { Thing } from "./thing.ts";
import { namesOf } from "./verdict.ts";
import type { World } from "./world.ts";

/**
 * *When a part fails*: an object is restored to an earlier time, and the oracle notes what the
 * contract does not promise then.
 */
export function restore(w: World, thing: Thing): void {
  if (thing.saved === null) return;
  const { s: text, atMs } = thing.saved;
  const before = thing.s;
  thing.saved = null;
  w.restores += 1;
  w.cron = true;
  w.log(() => `RESTORE ${thing.name} to ${atMs}`);
  w.die(thing.name);
  thing.s = JSON.parse(text) as object;
  // The alarm may be that of then, of now, or none.
  thing.alarm = w.random.pick([null, thing.alarm, w.now + 5]);
  if (thing instanceof Shard) shardRestored(w, thing, before as ShardState);
  else if (thing instanceof Reader) readerRestored(w, thing, before as ReaderState);
  else planeRestored(w, w.plane, before as PlaneState, atMs);
}

/**
 * What it lost, and messages that were on hold and may be back, are promised to no job. `last`
 * grows by more than a year at once, so that no new block has a position that a reader has passed,
 * however its clock had leapt.
 */
function shardRestored(w: World, shard: Shard, old: ShardState): void {
  const { s, n } = shard;
  const lose = (ids: readonly string[]): void => {
    for (const id of ids) w.note(id, "any");
  };
  w.noSums.add(`*/${n}`);
  s.restored = true;
  lose(Object.keys(old.ids).filter((id) => !(id in s.ids)));
  lose(Object.keys(old.keyed).filter((id) => JSON.stringify(s.keyed[id]) !== JSON.stringify(old.keyed[id])));
  // What it had forgotten by age since: a copy that still waits is new to it.
  for (const [name, { id, copies }] of w.accepted)
    if (w.taken.has(id) && copies.some(({ stamp }) => stamp >= s.sweptMs && stamp < old.sweptMs)) w.note(name, "any");
  for (const { n, fresh } of old.blocks) if (!s.blocks.some((block) => block.n === n)) lose(fresh);
  const isIn = (holds: ShardState["holds"], id: number): boolean => holds.some((each) => each.id === id);
  for (const { id, parts } of [...s.holds, ...old.holds])
    if (!isIn(s.holds, id) || !isIn(old.holds, id)) lose(parts.map((part) => part.id));
  for (const [bytes, { message }] of Object.entries({ ...s.unreadable, ...old.unreadable }))
    if (!(bytes in s.unreadable) || !(bytes in old.unreadable)) lose(message.parts.map(({ id }) => id));
  // Its reader may have been restored as well, to before it sealed: two segments read the same.
  for (const [id, { segment }] of Object.entries(old.jobs))
    if (w.noSums.has(`${id}/${n}`) && segment > (s.jobs[Number(id)]?.segment ?? 0)) w.exemptJobs.add(Number(id));
  // A reader may have passed what it had given up, and has again.
  for (const [job, { lacks }] of Object.entries(old.jobs))
    for (const id of lacks.length > 0 ? (w.pasts.get(`${job}/${n}`)?.must ?? []) : []) w.note(`${job}/${id}`, "any");
  if (w.is("noJumpAfterRestore") || w.is("smallNumbersNoJump")) return;
  s.last = Math.max(s.last, shard.time() * 1024) + (w.is("jumpsByADay") ? DAY : 1000 * DAY) * 1024;
}

/** It lacks what was dropped since, and ships again what the shard still has. */
function readerRestored(w: World, reader: Reader, old: ReaderState): void {
  const { s, job, shardN, segment } = reader;
  const lose = (records: readonly Rec[]): void => {
    for (const { id } of records) for (const name of namesOf(w, id)) w.note(`${job}/${name}`, "any");
  };
  w.noSums.add(`${job}/${shardN}`);
  for (const each of w.readers.values())
    if (each.job === job && each.shardN === shardN && each.segment > segment)
      for (const { records } of [
        ...each.s.objects,
        ...each.s.batches,
        ...each.s.unmade.flatMap(({ item }) => item.parts),
      ])
        lose(records);
  // One that has got another key since is stored under both.
  const keys = new Set(s.objects.map(({ key }) => key));
  for (const { number, key, records } of old.objects) if (number >= s.next || !keys.has(key)) lose(records);
  for (const { records } of [...old.batches, ...s.batches]) lose(records);
  for (const { item } of [...old.unmade, ...s.unmade]) lose(item.parts.flatMap(({ records }) => records));
  const shard = w.shard(shardN);
  for (const block of shard.s.blocks)
    if (block.n <= (old.cursor ?? 0))
      for (const id of entryOf(shard, block, job)?.parts ?? []) w.note(`${job}/${id}`, "any");
}

/**
 * The mark tells its versions apart, and its next job id grows, so that an id is never given twice.
 * For the oracle, all that it does not know any more counts as changed back.
 */
function planeRestored(w: World, plane: Plane, old: PlaneState, atMs: number): void {
  const { s } = plane;
  const lateMs = w.now + w.random.below(60);
  // A call of the plane that was may still be under way.
  const lateCall = function* (n: number): Task {
    const { mark, version, jobs, off } = old;
    while (w.now < lateMs) yield;
    yield* w.ask(w.shard(n), () => w.shard(n).configure(copy({ mark, version, jobs, off })));
  };
  for (const n of old.shards) if (w.random.chance(0.5)) w.start("net", "late", lateCall(n));
  if (!w.is("versionWithoutMark") && !w.is("restoredPlaneKeepsMark")) s.mark = old.mark + 1;
  if (!w.is("textIdsAgain")) s.nextId += 1000;
  w.blur.push({ from: atMs, until: Number.POSITIVE_INFINITY });
  w.planeRestoredMs = w.now;
  const { mark, version } = s;
  const change = { edgeMs: w.now, askedMs: w.now, answeredMs: Number.POSITIVE_INFINITY, mark, version };
  for (const job of old.jobs) {
    const now = s.jobs.find(({ id }) => id === job.id);
    if (!now || now.deleted !== job.deleted || now.store !== job.store) w.exemptJobs.add(job.id);
    else {
      const kind = isOpen(now.windows) ? "enable" : "disable";
      w.changes.push({ ...change, kind, job: job.id, mod: now.mod, format: now.format });
    }
  }
  for (const fn of [0, 1, 2]) {
    const isOff = s.off.some(([each, windows]) => each === fn && isOpen(windows));
    w.changes.push({ ...change, kind: isOff ? "off" : "on", fn });
  }
  for (const { id } of s.jobs) if (!old.jobs.some((job) => job.id === id)) w.exemptJobs.add(id);
  s.confirmed = 0;
  plane.setAlarm(w.now + 1);
}
