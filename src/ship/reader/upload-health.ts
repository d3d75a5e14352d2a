import { columns } from "../../base/storage/sql.ts";
import { hourOf } from "../../base/time.ts";
import type { FailureCause } from "../destinations/failure.ts";
import { added } from "../log/sums.ts";
import { ReaderPart } from "./reader-part.ts";

/** How many hours are kept, the one that is not over included: 30 days. */
export const HEALTH_HOURS = 720;

/** How one attempt to upload an object ended, as far as it counts. */
export type CountedAttempt =
  | { end: "ok"; records: number; bytes: number; rawBytes: number; ms: number }
  /**
   * `retried`: it is tried again by itself. `failed`: a person has to change something, or to
   * decide.
   */
  | { end: "retried" | "failed"; cause: FailureCause };

/** The attempts that ended in one hour. */
export interface HealthHour {
  /** Since the epoch. */
  hour: number;
  ok: number;
  retried: number;
  failed: number;
  /** By what those that were not ok ended on; their sum is `retried + failed`. */
  causes: Record<string, number>;
  /** Of those that were ok, as is all that follows. */
  records: number;
  bytes: number;
  rawBytes: number;
  /** Their durations together, and the longest, in ms. */
  totalMs: number;
  longestMs: number;
}

export function emptyHour(hour: number): HealthHour {
  const counts = { ok: 0, retried: 0, failed: 0, records: 0, bytes: 0, rawBytes: 0, totalMs: 0, longestMs: 0 };
  return { hour, ...counts, causes: {} };
}

/** An hour with one more attempt. */
export function withAttempt(before: HealthHour, attempt: CountedAttempt): HealthHour {
  const one = emptyHour(before.hour);
  one[attempt.end] = 1;
  if (attempt.end === "ok") {
    const { records, bytes, rawBytes, ms } = attempt;
    Object.assign(one, { records, bytes, rawBytes, totalMs: ms, longestMs: ms });
  } else {
    one.causes = { [attempt.cause]: 1 };
  }
  return sumOf(before, one);
}

/** The sum of two counts, under the hour of the first. A cause may have any name. */
export function sumOf(a: HealthHour, b: HealthHour): HealthHour {
  const causes = new Map(Object.entries(a.causes));
  for (const [cause, count] of Object.entries(b.causes)) causes.set(cause, (causes.get(cause) ?? 0) + count);
  const durations = { totalMs: a.totalMs + b.totalMs, longestMs: Math.max(a.longestMs, b.longestMs) };
  return { ...added(a, b), hour: a.hour, causes: Object.fromEntries(causes), ...durations };
}

/**
 * The hours from one to another, of which those are left out that are no longer kept and those yet
 * to come; hours in which nothing ended are there, with zeros.
 * @param found in any order; several of the same hour are summed.
 * @param until the first hour that is not asked for.
 */
export function seriesOf(found: readonly HealthHour[], since: number, until: number, nowMs: number): HealthHour[] {
  const now = hourOf(nowMs);
  const first = Math.max(since, now - HEALTH_HOURS + 1);
  const length = Math.max(0, Math.min(until, now + 1) - first);
  const series = Array.from({ length }, (_, i) => emptyHour(first + i));
  for (const each of found) {
    const before = series[each.hour - first];
    if (before !== undefined) series[each.hour - first] = sumOf(before, each);
  }
  return series;
}

const HOUR = columns(...Object.keys(emptyHour(0)));

/**
 * How the uploads of a reader went, by the hour. What changes anything belongs into a transaction
 * of its caller: the one in which an attempt's outcome is written, so that these numbers and those
 * of the log cannot differ. The newest hour is gathered in the reader's row, which that writes
 * anyway, and becomes a row of its own with the first attempt of another hour.
 */
export class Health extends ReaderPart {
  note(attempt: CountedAttempt, nowMs: number): void {
    const hour = hourOf(nowMs);
    const gathered = this.#gathered();
    const isOver = gathered !== null && gathered.hour !== hour;
    if (isOver) this.#store(gathered.hour);
    const before = gathered === null || isOver ? emptyHour(hour) : gathered;
    this.state.set({ health: JSON.stringify(withAttempt(before, attempt)) });
  }

  #gathered(): HealthHour | null {
    const { health = null } = this.state.row() ?? {};
    return health === null ? null : (JSON.parse(health) as HealthHour);
  }

  /** The hour that is gathered may have a row: a clock went back, or release 1 ran meanwhile. */
  #store(hour: number): void {
    const { causes, ...rest } = this.between(hour, hour + 1).reduce(sumOf);
    this.sql.replace("health_hour", { ...rest, causes: JSON.stringify(causes) });
  }

  /**
   * The hours in which anything ended, from `since` up to but not including `until`; one of them
   * may be there twice, to be summed.
   */
  between(since: number, until: number): HealthHour[] {
    const stored = this.sql.all<Omit<HealthHour, "causes"> & { causes: string }>`
      SELECT ${HOUR} FROM health_hour WHERE hour >= ${since} AND hour < ${until} ORDER BY hour`;
    const rows = stored.map((row) => ({ ...row, causes: JSON.parse(row.causes) as Record<string, number> }));
    const gathered = this.#gathered();
    const isAsked = gathered !== null && gathered.hour >= since && gathered.hour < until;
    return isAsked ? [...rows, gathered] : rows;
  }

  /** What was delivered in this hour and the 23 before. */
  lastDay(nowMs: number): { objects: number; bytes: number } {
    const from = hourOf(nowMs) - 23;
    const { ok, bytes } = this.between(from, Number.MAX_SAFE_INTEGER).reduce(sumOf, emptyHour(from));
    return { objects: ok, bytes };
  }

  /** Forgets the hours that are no longer kept. */
  sweep(nowMs: number): void {
    const last = hourOf(nowMs) - HEALTH_HOURS;
    this.sql.run`DELETE FROM health_hour WHERE hour <= ${last}`;
    if ((this.#gathered()?.hour ?? last + 1) <= last) this.state.set({ health: null });
  }
}
