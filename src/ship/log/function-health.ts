import type { Cause } from "../../formats/errors/fingerprint.ts";
import { LogBuckets, quantileOf } from "../../formats/sketch/log-buckets.ts";

/**
 * How invocations of a function went: counts, times as sketches, and what they failed with. It
 * travels with each message and is stored as JSON, so it is plain data. Names and messages come
 * from senders: their number and length are bounded, and what is beyond is summed.
 */
export interface Health {
  /** By how they ended, as that is written in records. */
  outcomes: readonly { readonly outcome: string; readonly count: number }[];
  /** By {@link isFailed}. */
  failed: number;
  /** Of a message: time of the first event that failed, in ms since the epoch; absent: none did. */
  firstFailureMs?: number;
  /** Answers with a status from 500 on. */
  serverErrors: number;
  /**
   * Answers by status: status, count, status, count, …, in the order of the statuses; beyond
   * {@link STATUSES_KEPT} different ones by their first digit. Absent: an earlier release counted.
   */
  statuses?: Sketch;
  wall: Sketch;
  cpu: Sketch;
  /** Of a message: what failed in it. Of hours: none, or those of an earlier release. */
  errors: readonly ErrorCount[];
  /** Of hours: the same as counts, see {@link problemsOf}. */
  problems?: readonly ProblemCount[];
}

/**
 * Times in ms by bucket: bucket, count, bucket, count, …, in the order of the buckets. Sums of
 * sketches lose nothing; see {@link quantile}.
 */
export type Sketch = readonly number[];

/** Records with errors of one cause. Each record is in at most one. */
export interface ErrorCount extends Cause {
  /** Of the problem, as of {@link problemId}; {@link OTHER}: of those that are not told apart. */
  id: string;
  count: number;
  /**
   * Times of the first and of the latest event as their records have them, by which these are
   * found: see `eventMs`. And their ray ids.
   */
  firstMs: number;
  lastMs: number;
  /** "": it has none. */
  firstRay: string;
  lastRay: string;
}

/** The id of a problem, and how many records have it. */
export type ProblemCount = readonly [id: string, count: number];

/** Stands for all problems that are not told apart. */
export const OTHER = "";

/** Problems kept in each sum: half of them the most frequent, the others the latest. */
export const PROBLEMS_KEPT = 32;

/** Different outcomes kept; the platform has fifteen. */
export const OUTCOMES_KEPT = 20;

/** Different statuses kept. */
export const STATUSES_KEPT = 20;

/** The sum of those beyond. */
export const OTHER_OUTCOMES = "other";

/** Longest texts that are kept, in UTF-16 code units. */
export const TEXT_MAX = { outcome: 40, rayId: 40 } as const;

/** Outcomes that say nothing against the function: the client may have gone. */
const WELL: ReadonlySet<string> = new Set(["ok", "canceled", "responseStreamDisconnected", "unknown", ""]);

const SERVER_ERROR = 500;

export function isFailed(outcome: string, status: number): boolean {
  return status >= SERVER_ERROR || !WELL.has(outcome);
}

export const NO_HEALTH: Health = {
  ...{ outcomes: [], failed: 0, serverErrors: 0, statuses: [] },
  ...{ wall: [], cpu: [], errors: [] },
};

export function invocations({ outcomes }: Pick<Health, "outcomes">): number {
  return outcomes.reduce((sum, { count }) => sum + count, 0);
}

/** Whole milliseconds up to 20 have a bucket each; all from eleven days on are in the last one. */
const TIMES = new LogBuckets({ exactMax: 20, from: 20, growth: 1.1, to: 1e9 });

/** How many buckets there are. */
export const BUCKETS = TIMES.count;

/** The bucket of a time in ms; below 0 and what is no number: 0. */
export function bucketOf(ms: number): number {
  return TIMES.bucketOf(ms);
}

/**
 * The least time that a share of all does not exceed (nearest rank), within 5 %, in ms; null: there
 * is none. Times of up to 20 ms are exact to the millisecond.
 * @param share above 0, at most 1.
 */
export function quantile(sketch: Sketch, share: number): number | null {
  return quantileOf(
    pairsOf(sketch).map(([bucket, count]) => [TIMES.valueOf(bucket), count]),
    share,
  );
}

/** Each bucket with its count. */
export function pairsOf(sketch: Sketch): [bucket: number, count: number][] {
  return Array.from({ length: sketch.length / 2 }, (_, i) => [sketch[2 * i] ?? 0, sketch[2 * i + 1] ?? 0]);
}

/** Sums of sketches lose nothing. */
export function addedSketch(a: Sketch, b: Sketch): Sketch {
  if (a.length === 0) return b;
  const sum: number[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const ofA = a[i] ?? Number.POSITIVE_INFINITY;
    const ofB = b[j] ?? Number.POSITIVE_INFINITY;
    let count = 0;
    if (ofA <= ofB) {
      count += a[i + 1] ?? 0;
      i += 2;
    }
    if (ofB <= ofA) {
      count += b[j + 1] ?? 0;
      j += 2;
    }
    sum.push(Math.min(ofA, ofB), count);
  }
  return sum;
}

/** The sum, as it is stored: exact, of problems as {@link PROBLEMS_KEPT} says. */
export function addedHealth(a: Health, b: Health): Health {
  return {
    outcomes: addedOutcomes(a.outcomes, b.outcomes),
    failed: a.failed + b.failed,
    serverErrors: a.serverErrors + b.serverErrors,
    statuses: keptStatuses(addedSketch(a.statuses ?? [], b.statuses ?? [])),
    wall: addedSketch(a.wall, b.wall),
    cpu: addedSketch(a.cpu, b.cpu),
    errors: [],
    problems: addedProblems(problemsOf(a), problemsOf(b)),
  };
}

/** Of too many different statuses, each is counted by its first digit. */
export function keptStatuses(statuses: Sketch): Sketch {
  if (statuses.length <= 2 * STATUSES_KEPT) return statuses;
  const classes = new Map<number, number>();
  for (const [status, count] of pairsOf(statuses)) {
    const digit = status < 10 ? status : Math.floor(status / 100);
    classes.set(digit, (classes.get(digit) ?? 0) + count);
  }
  return [...classes].sort(([a], [b]) => a - b).flat();
}

/** What is stored of the health of a message. */
export function storedHealth(health: Health): Health {
  return health.errors.length === 0 ? health : addedHealth(NO_HEALTH, health);
}

/** Of functions that are summed: which ones have these problems is not known any more. */
export function withoutProblems<T extends Health>(health: T): T {
  return { ...health, errors: [], problems: [] };
}

/** Errors of an earlier release have no id. */
export function problemsOf({ problems = [], errors }: Health): readonly ProblemCount[] {
  return errors.length === 0 ? problems : [...problems, ...errors.map(({ id = OTHER, count }) => [id, count] as const)];
}

/** Each once, what was added last at the end. Too many: the sum is still exact. */
function addedProblems(a: readonly ProblemCount[], b: readonly ProblemCount[]): readonly ProblemCount[] {
  if (b.length === 0) return a;
  const sum = new Map<string, number>();
  // Of an earlier release, several have no id of their own.
  for (const [id, count] of [...a, ...b]) {
    const before = sum.get(id) ?? 0;
    sum.delete(id);
    sum.set(id, before + count);
  }
  const all = [...sum];
  if (all.length <= PROBLEMS_KEPT) return all;
  const named = all.filter(([id]) => id !== OTHER);
  const most = [...named].sort(([, one], [, other]) => other - one).slice(0, PROBLEMS_KEPT / 2);
  const kept = new Set([...most, ...named.filter((each) => !most.includes(each)).slice(-PROBLEMS_KEPT / 2)]);
  const others = all.reduce((total, each) => total + (kept.has(each) ? 0 : each[1]), 0);
  return [...named.filter((each) => kept.has(each)), ...(others > 0 ? [[OTHER, others] as const] : [])];
}

function addedOutcomes(a: Health["outcomes"], b: Health["outcomes"]): Health["outcomes"] {
  const sum = new Map<string, number>();
  for (const { outcome, count } of [...a, ...b]) {
    const isKept = sum.has(outcome) || sum.size < OUTCOMES_KEPT;
    const name = isKept ? outcome : OTHER_OUTCOMES;
    sum.set(name, (sum.get(name) ?? 0) + count);
  }
  return [...sum].map(([outcome, count]) => ({ outcome, count }));
}
