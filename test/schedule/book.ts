import { CLOCK_SKEW_MS } from "../../src/ship/job/config.ts";

/** What was asked of the service and what it has answered, and so what it has to deliver. */

/** When an event was handed over: its time of intake lies between the two, if it was taken. */
export interface Copy {
  fromMs: number;
  toMs: number;
  /** It was acknowledged. */
  isAcked: boolean;
}

export interface Sent {
  id: string;
  fn: string;
  event: Record<string, unknown>;
  copies: Copy[];
  /** Its isolate gathered it: it may have been counted as lost. */
  isTraced: boolean;
}

/** Something was asked to be so, and was answered then; Infinity: never. */
export interface Change<T> {
  to: T;
  fromMs: number;
  untilMs: number;
}

/** Which events a job wants: those of a function, or all. */
export type Filter = string | null;

export interface Job {
  name: string;
  /** null: not known (yet). */
  id: number | null;
  /** The last one is the present one. */
  buckets: string[];
  enabled: Change<boolean>[];
  filters: Change<Filter>[];
  isDeleted: boolean;
  isDiscarded: boolean;
  /** Its reader, or the control plane that knew of it, was restored: its ledger says nothing. */
  isRestored: boolean;
  /** Events of which nothing is promised, as something was restored. */
  lost: Set<string>;
  /** The latest `last_complete` that was answered, in ms. */
  completeMs: number;
  /** A change of it is under way. */
  isBusy: boolean;
  /** It starts in the past, and was asked for then, in ms; null: it does not. */
  since: { fromMs: number; askedMs: number } | null;
  reruns: Rerun[];
}

/** A rerun that was answered. */
export interface Rerun {
  name: string;
  sinceMs: number;
  untilMs: number;
  /** While it was asked for. */
  asked: Pick<Change<unknown>, "fromMs" | "untilMs">;
}

/**
 * A time within so many ms of another is on either side: windows are wider by what clocks may
 * differ, and clocks do differ.
 */
const SKEW_MS = CLOCK_SKEW_MS + 200;

/** What was in force at some time of a span. */
export function statesAt<T>(changes: readonly Change<T>[], fromMs: number, toMs: number): T[] {
  const settled = changes.findLastIndex(({ untilMs }) => untilMs <= fromMs);
  return changes
    .filter(({ fromMs: asked }, i) => i === settled || (i > settled && asked <= toMs + SKEW_MS))
    .concat(changes.filter(({ untilMs }, i) => i < settled && untilMs === Number.POSITIVE_INFINITY))
    .map(({ to }) => to);
}

export class Book {
  readonly sent = new Map<string, Sent>();
  readonly jobs: Job[] = [];
  /** Whether logging of a function is on. */
  readonly logging = new Map<string, Change<boolean>[]>();
  /** Events of which nothing is promised to any job, as a shard was restored. */
  readonly lost = new Set<string>();
  /** Restores so far. */
  restores = 0;
  endMs = Number.POSITIVE_INFINITY;
  /** Everything is kept for as long as a run takes. */
  isKept = true;
  /** A shard may not have heard of a change that was answered. */
  isLate = false;

  /** It was answered at this time. */
  answered<T>(change: Change<T>, nowMs: number): void {
    if (!this.isLate) change.untilMs = nowMs;
  }

  /** "must": the job has it once; "may": at most once; "not": never; "any": nothing is promised. */
  verdict(job: Job, { id, fn, copies }: Sent): "must" | "may" | "not" | "any" {
    if (this.lost.has(id) || job.lost.has(id)) return "any";
    const filters = (copy: Copy): boolean[] =>
      statesAt(job.filters, copy.fromMs, this.endMs).map((filter) => filter === null || filter === fn);
    /** The same records are offered, whichever copy decides. */
    let isSame = true;
    const verdicts = copies.map((copy) => {
      const enabled = statesAt(job.enabled, copy.fromMs, copy.toMs);
      const logging = statesAt(this.logging.get(fn) ?? [{ to: true, fromMs: 0, untilMs: 0 }], copy.fromMs, copy.toMs);
      const kept = filters(copy);
      isSame &&= [...logging, ...kept].every((state) => state);
      if ([enabled, logging, kept].some((states) => states.every((state) => !state))) return "not";
      return isSame && enabled.every((state) => state) ? "must" : "may";
    });
    if (verdicts.every((verdict) => verdict === "not")) return "not";
    // Of the past, the copy that the log took first decides; and what is not kept is not promised.
    const isPast = ({ fromMs }: Copy): boolean => job.since !== null && fromMs <= job.since.askedMs;
    const isPastOwed = this.isKept && copies.every((copy, i) => !isPast(copy) || verdicts[i] === "must");
    const isOwed = copies.some((copy, i) => copy.isAcked && verdicts[i] === "must" && (isPastOwed || !isPast(copy)));
    return isOwed && isSame && !job.isDiscarded ? "must" : "may";
  }

  /** The same of a rerun. */
  verdictOfRerun(job: Job, { sinceMs, untilMs, asked }: Rerun, { id, fn, copies }: Sent): "must" | "may" | "not" {
    if (this.lost.has(id) || job.lost.has(id)) return "may";
    const filters = statesAt(job.filters, asked.fromMs, asked.untilMs).map(
      (filter) => filter === null || filter === fn,
    );
    const logging = copies.map(({ fromMs, toMs }) =>
      statesAt(this.logging.get(fn) ?? [{ to: true, fromMs: 0, untilMs: 0 }], fromMs, toMs),
    );
    const isWithin = copies.map(
      ({ fromMs, toMs, isAcked }) => isAcked && fromMs - SKEW_MS >= sinceMs && toMs + SKEW_MS < untilMs,
    );
    const mayBe = copies.some(
      ({ fromMs, toMs }, i) =>
        toMs + SKEW_MS >= sinceMs && fromMs - SKEW_MS < untilMs && logging[i]?.some((isOn) => isOn) === true,
    );
    if (!mayBe || filters.every((wants) => !wants)) return "not";
    const isSure = isWithin.every((is) => is) && [...filters, ...logging.flat()].every((is) => is);
    return isSure && this.isKept && this.restores === 0 && !job.isDeleted ? "must" : "may";
  }
}
