import { type Change, passes } from "./config.ts";
import { partOf, type Rec } from "./parts.ts";
import { DAY, IN_FLIGHT, REPEAT, SKEW } from "./scale.ts";
import { some } from "./some.ts";
import type { Copy, World } from "./world.ts";

/** Names under which the parts of a record were noted. */
export function namesOf(w: World, rec: string): string[] {
  return w.partsOfRecord.get(rec) ?? [partOf(rec)];
}

/** When the parts of a record were taken in. */
export function stampsOf(w: World, rec: string): number[] {
  return namesOf(w, rec).flatMap((name) => some(w.accepted.get(name)).copies.map(({ stamp }) => stamp));
}

/** Nothing is promised of the record. */
export function isAny(w: World, job: number, rec: string): boolean {
  const isPartAny = (name: string): boolean =>
    isRepeatedLate(some(w.accepted.get(name)).copies) ||
    w.exempt.get(name) === "any" ||
    w.exempt.get(`${job}/${name}`) === "any";
  return w.exemptJobs.has(job) || namesOf(w, rec).some(isPartAny);
}

/**
 * Repeated later than a repeat is known. It is counted from the first copy: later ones may never
 * have arrived.
 */
function isRepeatedLate(copies: readonly Copy[]): boolean {
  const stamps = copies.map(({ stamp }) => stamp);
  return (
    Math.max(...stamps) - Math.min(...stamps) > REPEAT - DAY || (copies.length > 1 && copies.some(({ sane }) => !sane))
  );
}

/** Whether something was on when a copy was taken in; null: either is right. */
function stateAt(
  changes: readonly Change[],
  on: readonly Change["kind"][],
  off: readonly Change["kind"][],
  { stamp, trueMs, sane }: Copy,
): boolean | null {
  let state: boolean | null = false;
  for (const { kind, askedMs, answeredMs, edgeMs, since } of changes) {
    if (!on.includes(kind) && !off.includes(kind)) continue;
    const to = on.includes(kind);
    const edge = since ?? edgeMs;
    if (answeredMs <= trueMs && (sane || edge < stamp)) state = to;
    else if ((askedMs > trueMs || !sane) && edge > stamp) continue;
    else state = state === to ? to : null;
  }
  return state;
}
export function wasOff(w: World, fn: number, copy: Copy): boolean | null {
  const changes = w.changes.filter((each) => each.fn === fn);
  return stateAt(changes, ["off"], ["on"], copy);
}

/** Filters of a job that may have been in force at a time or later: what each says of a record. */
export function passedBy(changes: readonly Change[], rec: Rec, since: number): boolean[] {
  const mods = changes.flatMap(({ mod, answeredMs }) => (mod === undefined ? [] : [{ mod, answeredMs }]));
  const inForce = mods.findLastIndex(({ answeredMs }) => answeredMs <= since);
  return mods.slice(Math.max(0, inForce)).map(({ mod }) => passes(mod, rec));
}

function isBlurred(w: World, { trueMs, sane }: Copy): boolean {
  const isIn = w.blur.some(({ from, until }) => trueMs >= from - 10 && trueMs <= until + 10);
  return isIn || (!sane && w.blur.length > 0);
}

/** What of its window was kept, or came later: past.ts says which it must have. */
function mayRerun(w: World, { since = 0, edgeMs, mod = 1 }: Change, copy: Copy, rec: Rec): boolean {
  if (isBlurred(w, copy)) return true;
  return copy.stamp >= since && copy.stamp <= edgeMs && wasOff(w, rec.fn, copy) !== true && passes(mod, rec);
}

/** 1: the job must have it; 0: must not; null: either. */
export function verdict(w: World, job: number, name: string, rec: Rec): 0 | 1 | null {
  const { copies } = some(w.accepted.get(name));
  if (isRepeatedLate(copies) || isAny(w, job, rec.id)) return null;
  const own = w.changes.filter((each) => each.job === job);
  const rerun = own.find(({ kind }) => kind === "rerun");
  if (rerun) return copies.some((copy) => mayRerun(w, rerun, copy, rec)) ? null : 0;
  const filters = new Set<boolean>();
  /** Several copies that are not equal: which one decides is not promised. */
  const answeredMs = Math.max(...own.map((each) => (each.since === undefined ? 0 : each.answeredMs)));
  let isMixed = copies.some(({ trueMs }) => trueMs <= answeredMs) || (answeredMs > 0 && w.does.leaps);
  let isAcked = false;
  const verdicts = copies.map((copy): 0 | 1 | null => {
    // Its intake names a time long past, at which there was a job that is forgotten now.
    if (!copy.sane && w.forgotten.has(job)) return null;
    if (isBlurred(w, copy)) {
      isMixed = true;
      return null;
    }
    const enabled = stateAt(own, ["create", "enable"], ["disable", "delete"], copy);
    const off = wasOff(w, rec.fn, copy);
    const may = passedBy(own, rec, copy.trueMs);
    isMixed ||= off !== false || new Set(may).size > 1;
    filters.add(some(may[0]));
    if (enabled === false || off === true || may.every((each) => !each)) return 0;
    if (enabled !== true || off !== false || may.some((each) => !each)) return null;
    // It may be forgotten while a slow isolate has not sent it yet.
    const isInTime =
      copy.ackMs - copy.trueMs < (w.forgotten.has(job) ? IN_FLIGHT - 3 * SKEW : Number.POSITIVE_INFINITY);
    if (isInTime) isAcked = true;
    return 1;
  });
  if (verdicts.every((each) => each === 0)) return 0;
  const mayLack = w.exempt.has(name) || w.exempt.has(`${job}/${name}`);
  const isClear = copies.length === 1 || (!isMixed && filters.size === 1);
  return verdicts.includes(1) && isClear && isAcked && !mayLack ? 1 : null;
}
