import { passes, type Window, wasIn } from "./config.ts";
import { newParts } from "./kept.ts";
import type { Rec } from "./parts.ts";
import { SKEW } from "./scale.ts";
import type { Shard } from "./shard.ts";
import { some } from "./some.ts";
import { Fault } from "./task.ts";
import { isAny, passedBy, wasOff } from "./verdict.ts";
import type { World } from "./world.ts";

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

function singleCopy(w: World, id: string): { stamp: number; trueMs: number; ackMs: number; sane: boolean } | undefined {
  const [copy, ...more] = w.accepted.get(id)?.copies ?? [];
  return copy?.sane && more.length === 0 ? copy : undefined;
}

/**
 * A job that starts in the past has what was kept, and what came later; a rerun has nothing else.
 */
export function checkPast(w: World, id: number, has: ReadonlyMap<string, number>): void {
  const changes = w.changes.filter(({ job }) => job === id);
  const { since = 0, askedMs, edgeMs, kind } = some(changes[0]);
  const isRerun = kind === "rerun";
  const ends = changes.filter((each) => each.kind === "disable" || each.kind === "delete");
  const until = isRerun ? edgeMs : Math.min(...ends.map((each) => each.edgeMs - 2 * SKEW));
  for (const [name, { must, kept, step }] of w.pasts) {
    if (!name.startsWith(`${id}/`)) continue;
    const n = Number(name.split("/")[1]);
    const lacks = w.shard(n).s.jobs[id]?.lacks ?? [];
    for (const [part, taken] of w.taken) {
      const copy = singleCopy(w, part);
      if (taken.shard !== n || w.exempt.has(part) || w.exempt.has(`${id}/${part}`)) continue;
      const isLater = taken.step > step && !w.held.has(part);
      const records = w.accepted.get(part)?.records ?? [];
      const extra = records.find((rec) => has.has(rec.id) && !isAny(w, id, rec.id));
      if (isRerun && !isLater && !kept.has(part) && extra)
        throw new Fault(`${name} has ${extra.id}, which was not kept`);
      if (!copy) continue;
      const isLate = isLater && copy.stamp >= since && copy.stamp <= until;
      const isDue = isLate || (must.has(part) && !wasIn(lacks, copy.stamp));
      for (const rec of records) {
        const off = wasOff(w, rec.fn, copy);
        if (off === true && has.has(rec.id)) throw new Fault(`${name} has ${rec.id}, which was off`);
        const mustPass = passedBy(changes, rec, askedMs).every((each) => each);
        if (isDue && off === false && mustPass && !has.has(rec.id))
          throw new Fault(`${name} lacks ${rec.id}, ${isLate ? "which came later" : "which was kept"}`);
      }
    }
  }
}

/** Whether a job that starts in the past must have it. */
export function isOfPast(w: World, id: number, name: string, rec: Rec): boolean {
  const [copy, ...more] = some(w.accepted.get(name)).copies;
  if (!copy || more.length > 0) return false;
  if (isAny(w, id, rec.id) || w.exempt.has(name) || w.exempt.has(`${id}/${name}`)) return false;
  const own = w.changes.filter((each) => each.job === id);
  const isIn = ([key, { must }]: [string, NotedPast]): boolean =>
    key.startsWith(`${id}/`) &&
    must.has(name) &&
    !wasIn(w.shard(Number(key.split("/")[1])).s.jobs[id]?.lacks ?? [], copy.stamp);
  return (
    wasOff(w, rec.fn, copy) === false &&
    own.every(({ mod }) => mod === undefined || passes(mod, rec)) &&
    [...w.pasts].some(isIn)
  );
}
