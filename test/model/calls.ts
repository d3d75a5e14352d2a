import { holdDiscard, holdResend } from "./hold.ts";
import { inStore } from "./oracle.ts";
import { isOfPast } from "./past.ts";
import { status } from "./read.ts";
import type { Reader } from "./reader.ts";
import { IN_FLIGHT, SKEW } from "./scale.ts";
import type { Hold, Shard } from "./shard.ts";
import { Fault, type Step, type Task } from "./task.ts";
import { discardUnmade, tryUnmade, type Unmade } from "./unmade.ts";
import { verdict } from "./verdict.ts";
import type { World } from "./world.ts";

/** Sends again what is on hold; of what was too old to tell, only what surely is in no block. */
export function* resend(w: World, shard: Shard, hold: Hold): Task {
  const isThere = hold.tooOld && hold.parts.some(({ id }) => w.taken.has(id));
  // Then only jobs of another copy's time have it.
  if (isThere) for (const { id, keyed } of hold.parts) if (keyed) w.note(id, "lack");
  yield* w.ask(shard, () => (isThere ? holdDiscard(shard, hold.id) : holdResend(shard, hold.id)));
}

export function* retry(w: World, reader: Reader, unmade: Unmade, isDiscard: boolean): Task {
  yield* w.ask(reader, () => (isDiscard ? discardUnmade(reader, unmade) : tryUnmade(reader, unmade)));
}

/** *counts*: asks readers first, then the shard, so that unread is never negative. */
export function* sums(w: World, job: number): Task {
  for (const n of [...w.plane.s.shards]) {
    const shard = w.shard(n);
    const first = yield* w.ask(shard, () => status(shard, job));
    let counted = 0;
    const askReaders = function* (segments: number): Task {
      for (let k = 0; k <= segments; k++) {
        const reader = w.reader(job, n, k);
        const has = yield* w.ask(reader, () => reader.status());
        counted += has.received;
      }
    };
    if (!w.is("sumsShardFirst")) yield* askReaders(first.segment);
    const last = yield* w.ask(shard, () => status(shard, job));
    if (w.is("sumsShardFirst")) yield* askReaders(last.segment);
    if (w.noSums.has(`${job}/${n}`) || w.noSums.has(`*/${n}`) || w.forgotten.has(job) || w.blur.length > 0) continue;
    if (last.appended < counted) throw new Fault(`job ${job} in shard ${n}: unread is ${last.appended - counted}`);
  }
}

/** `last_complete`: asks the queue's times first, then shards, then readers. */
export function* completeTime(w: World, id: number): Step<number> {
  const shards = w.plane.s.shards.map((n) => w.shard(n));
  let time = 0;
  for (const shard of shards) time = Math.max(time, (yield* w.ask(shard, () => status(shard, id))).queueDoneMs);
  const segments = new Map<Shard, number>();
  const askShards = function* (): Task {
    for (const shard of shards) {
      const { oldest, segment } = yield* w.ask(shard, () => status(shard, id));
      segments.set(shard, segment);
      time = Math.min(time, oldest);
    }
  };
  const askReaders = function* (): Task {
    for (const shard of shards)
      for (let k = 0; k <= (segments.get(shard) ?? 0); k++) {
        const reader = w.reader(id, shard.n, k);
        time = Math.min(time, (yield* w.ask(reader, () => reader.status())).oldest);
      }
  };
  if (w.is("completeReadersFirst")) {
    for (const shard of shards) segments.set(shard, status(shard, id).segment);
    yield* askReaders();
    yield* askShards();
  } else {
    yield* askShards();
    yield* askReaders();
  }
  return time;
}

/** Asks for `last_complete`, and compares it with the stores. */
export function* lastComplete(w: World, id: number): Task {
  const began = w.now;
  const before = w.completed.get(id) ?? 0;
  const found = yield* completeTime(w, id);
  const time = yield* w.ask(w.plane, () => w.plane.completed(id, found));
  const job = w.plane.s.jobs.find((each) => each.id === id);
  if (w.blur.length > 0 || job === undefined || job.discard) return;
  w.claims += 1;
  if (time < before && w.restores === 0) throw new Fault(`job ${id} is complete to ${time}, after ${before}`);
  w.completed.set(id, Math.max(w.completed.get(id) ?? 0, time));
  const has = inStore(w, id);
  for (const [name, { copies, records }] of w.accepted) {
    const isClaimed = copies.every(
      ({ ackMs, sane, stamp, trueMs }) =>
        ackMs <= began && sane && stamp < time && ackMs - trueMs < IN_FLIGHT - 3 * SKEW,
    );
    for (const rec of isClaimed ? records : [])
      if (!has.has(rec.id) && (verdict(w, id, name, rec) === 1 || isOfPast(w, id, name, rec)))
        throw new Fault(`job ${id} says complete to ${time}, and lacks ${rec.id} of ${copies[0]?.stamp}`);
  }
}
