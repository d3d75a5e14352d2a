import { type Window, wasIn } from "./config.ts";
import { newParts } from "./kept.ts";
import type { Rec } from "./parts.ts";
import { SKEW } from "./scale.ts";
import type { Shard } from "./shard.ts";
import { some } from "./some.ts";
import { Fault } from "./task.ts";
import { isAny, passedBy, wasOff } from "./verdict.ts";
import type { Copy, World } from "./world.ts";

/** For the oracle: the past of a job in a shard, as it was when the shard noted it first. */
export interface NotedPast {
  /** Parts that it has to ship: in kept blocks, and, unless it is a rerun, on hold. */
  must: Set<string>;
  /** Parts that were in kept blocks whenever it was noted, as after a restore. */
  kept: Set<string>;
  step: number;
}

/**
 * What is kept here now, the job has to get, and the shard has to say if anything else is missing.
 */
export function pastNoted(shard: Shard, job: number, windows: readonly Window[], lacks: readonly Window[]): void {
  const { s, w, n } = shard;
  const isRerun = some(shard.jobOf(job)).rerun !== null;
  const isOf = ({ takenMs }: { takenMs: number }): boolean => wasIn(windows, takenMs);
  const kept = s.blocks.flatMap((block) => newParts(block).filter(isOf)).map(({ id }) => id);
  const held = s.holds.flatMap(({ parts, tooOld }) => (tooOld || isRerun ? [] : parts.filter(isOf)));
  const surelyHeld = held.filter(({ takenMs, keyed }) => takenMs < w.now - 4 * SKEW && !keyed).map(({ id }) => id);
  const noted = w.pasts.get(`${job}/${n}`);
  for (const id of noted ? kept : []) noted?.kept.add(id);
  if (!noted)
    w.pasts.set(`${job}/${n}`, { must: new Set([...kept, ...surelyHeld]), kept: new Set(kept), step: w.steps });
  if (w.blur.length > 0) return;
  for (const [id, { shard: its }] of w.taken) {
    const copy = singleCopy(w, id);
    if (its !== n || !copy || w.held.has(id) || kept.includes(id) || w.exempt.has(id)) continue;
    const isOn = some(w.accepted.get(id)).records.some(({ fn }) => wasOff(w, fn, copy) === false);
    if (isOn && wasIn(windows, copy.stamp) && !wasIn(lacks, copy.stamp))
      throw new Fault(`${shard.name} lacks ${id} of the past of ${job}, and does not say so`);
  }
}

function singleCopy(w: World, id: string): Copy | undefined {
  const [copy, ...more] = w.accepted.get(id)?.copies ?? [];
  return copy?.sane && more.length === 0 ? copy : undefined;
}

/** Came to its shard after that noted the past, and never was on hold. */
const isLater = (w: World, part: string, { step }: NotedPast): boolean =>
  some(w.taken.get(part)).step > step && !w.held.has(part);

/** Whether a job that starts in the past must have it: it was kept, or came later. */
export function isOfPast(w: World, id: number, part: string, rec: Rec): boolean {
  const copy = singleCopy(w, part);
  const { shard = 0 } = w.taken.get(part) ?? {};
  const noted = w.pasts.get(`${id}/${shard}`);
  if (!copy || !noted || !w.taken.has(part) || isAny(w, id, rec.id)) return false;
  const own = w.changes.filter(({ job }) => job === id);
  const { kind, since = 0, askedMs, edgeMs } = some(own[0]);
  const ends = own.filter((each) => each.kind === "disable" || each.kind === "delete");
  const until = kind === "rerun" ? edgeMs : Math.min(...ends.map((each) => each.edgeMs - 2 * SKEW));
  const lacks = w.shard(shard).s.jobs[id]?.lacks ?? [];
  const isDue = isLater(w, part, noted)
    ? copy.stamp >= since && copy.stamp <= until
    : noted.must.has(part) && !wasIn(lacks, copy.stamp);
  const mayLack = w.exempt.has(part) || w.exempt.has(`${id}/${part}`);
  return isDue && !mayLack && wasOff(w, rec.fn, copy) === false && passedBy(own, rec, askedMs).every((each) => each);
}

/** A job that starts in the past has what it must have; a rerun, nothing that was not kept. */
export function checkPast(w: World, id: number, has: ReadonlyMap<string, number>): void {
  const isRerun = w.changes.some(({ job, kind }) => job === id && kind === "rerun");
  for (const [part, { shard }] of w.taken) {
    const noted = w.pasts.get(`${id}/${shard}`);
    for (const rec of noted ? (w.accepted.get(part)?.records ?? []) : []) {
      if (!has.has(rec.id) && isOfPast(w, id, part, rec)) throw new Fault(`job ${id} lacks ${rec.id} of its past`);
      const mayHave = !isRerun || !noted || noted.kept.has(part) || isLater(w, part, noted) || isAny(w, id, rec.id);
      if (has.has(rec.id) && !mayHave) throw new Fault(`rerun ${id} has ${rec.id}, which was not kept`);
    }
  }
}
