import { cut } from "../../base/bytes.ts";
import { LogBuckets, quantileOf } from "../../formats/sketch/log-buckets.ts";

/**
 * How invocations of a function went: counts, times as sketches, and the most frequent errors. It
 * travels with each message and is stored as JSON, so it is plain data. Names and messages come
 * from senders: their number and length are bounded, and what is beyond is summed.
 */
export interface Health {
  /** By how they ended, as that is written in records. */
  outcomes: readonly { readonly outcome: string; readonly count: number }[];
  /** By {@link isFailed}. */
  failed: number;
  /** Answers with a status from 500 on. */
  serverErrors: number;
  /**
   * Answers by status: status, count, status, count, …, in the order of the statuses; beyond
   * {@link STATUSES_KEPT} different ones by their first digit. Absent: an earlier release counted.
   */
  statuses?: Sketch;
  wall: Sketch;
  cpu: Sketch;
  errors: readonly ErrorCount[];
}

/**
 * Times in ms by bucket: bucket, count, bucket, count, …, in the order of the buckets. Sums of
 * sketches lose nothing; see {@link quantile}.
 */
export type Sketch = readonly number[];

/** Failed invocations that ended in the same way, and the latest of them, to be searched for. */
export interface ErrorCount {
  /** Of the exception, `HTTP <status>`, or the outcome. */
  name: string;
  /** With its numbers and hexadecimal ids written as `#`, see {@link folded}. */
  message: string;
  /** At least so many: see {@link ERRORS_KEPT}. */
  count: number;
  /** Time of the first and of the latest event, in ms since the epoch. */
  firstMs: number;
  lastMs: number;
  /** Ray id of the latest; "": it has none. */
  rayId: string;
}

/** Errors kept in each sum: half of them the most frequent, the others the latest beside those. */
export const ERRORS_KEPT = 16;

/** Different outcomes kept; the platform has fifteen. */
export const OUTCOMES_KEPT = 20;

/** Different statuses kept. */
export const STATUSES_KEPT = 20;

/** The sum of those beyond. */
export const OTHER_OUTCOMES = "other";

/** Longest texts that are kept, in UTF-16 code units. */
export const TEXT_MAX = { outcome: 40, name: 60, message: 160, rayId: 40 } as const;

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

/** @param counts by bucket. */
export function sketchOfBuckets(counts: Uint32Array): Sketch {
  const sketch: number[] = [];
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const count = counts[bucket] as number;
    if (count > 0) sketch.push(bucket, count);
  }
  return sketch;
}

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

/** The sum; that of counts is exact, of errors as {@link ErrorCount} says. */
export function addedHealth(a: Health, b: Health): Health {
  return {
    outcomes: addedOutcomes(a.outcomes, b.outcomes),
    failed: a.failed + b.failed,
    serverErrors: a.serverErrors + b.serverErrors,
    statuses: keptStatuses(addedSketch(a.statuses ?? [], b.statuses ?? [])),
    wall: addedSketch(a.wall, b.wall),
    cpu: addedSketch(a.cpu, b.cpu),
    errors: b.errors.length === 0 ? a.errors : keptErrors(addedErrors([...a.errors, ...b.errors])),
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

function addedOutcomes(a: Health["outcomes"], b: Health["outcomes"]): Health["outcomes"] {
  const sum = new Map<string, number>();
  for (const { outcome, count } of [...a, ...b]) {
    const isKept = sum.has(outcome) || sum.size < OUTCOMES_KEPT;
    const name = isKept ? outcome : OTHER_OUTCOMES;
    sum.set(name, (sum.get(name) ?? 0) + count);
  }
  return [...sum].map(([outcome, count]) => ({ outcome, count }));
}

/** Each error once, the most frequent first. */
export function addedErrors(errors: Iterable<ErrorCount>): ErrorCount[] {
  const sum = new Map<string, ErrorCount>();
  for (const each of errors) {
    const key = `${each.name.length} ${each.name}${each.message}`;
    const before = sum.get(key);
    sum.set(key, before === undefined ? each : addedError(before, each));
  }
  return [...sum.values()].sort((a, b) => b.count - a.count || b.lastMs - a.lastMs);
}

function addedError(a: ErrorCount, b: ErrorCount): ErrorCount {
  const { lastMs, rayId } = b.lastMs >= a.lastMs ? b : a;
  return { ...a, count: a.count + b.count, firstMs: Math.min(a.firstMs, b.firstMs), lastMs, rayId };
}

/**
 * The latest are kept as well: an error that has begun late is seldom among the most frequent at
 * first.
 * @param errors the most frequent first.
 */
function keptErrors(errors: readonly ErrorCount[]): readonly ErrorCount[] {
  if (errors.length <= ERRORS_KEPT) return errors;
  const most = errors.slice(0, ERRORS_KEPT / 2);
  const latest = errors.slice(ERRORS_KEPT / 2).sort((a, b) => b.lastMs - a.lastMs);
  return [...most, ...latest.slice(0, ERRORS_KEPT - most.length)];
}

/**
 * A message without what differs each time: ids in hexadecimal digits and numbers are `#`. Cut to
 * {@link TEXT_MAX} before.
 */
export function folded(message: string): string {
  return cut(message, TEXT_MAX.message).replace(/(?=[0-9a-f-]*[0-9])[0-9a-f]{8}[0-9a-f-]*|[0-9]+/gi, "#");
}
