import type { Bucket } from "../../parts/chart.tsx";
import type { HourView } from "../../views/job.ts";

const HOUR_MS = 3_600_000;

/** Hours shown, and hours per bar. Bars of 6 and 24 hours are aligned to UTC days. */
export const RANGES = {
  "24h": { label: "24 hours", hours: 24, step: 1 },
  "7d": { label: "7 days", hours: 168, step: 6 },
  "30d": { label: "30 days", hours: 720, step: 24 },
} as const;

export type Range = keyof typeof RANGES;

/** Defaults to a day. */
export function rangeOf(asked: string | null): Range {
  return asked !== null && Object.hasOwn(RANGES, asked) ? (asked as Range) : "24h";
}

/** Start of the first bar, in ms since the epoch. The last bar holds the current hour. */
export function startOf(range: Range, nowMs: number): number {
  const { hours, step } = RANGES[range];
  const last = Math.floor(nowMs / HOUR_MS / step) * step;
  return (last + step - hours) * HOUR_MS;
}

export interface Sum {
  /** In ms since the epoch. */
  startMs: number;
  ok: number;
  retried: number;
  failed: number;
  errors: Record<string, number>;
  records: number;
  raw: number;
  compressed: number;
  totalMs: number;
  longestMs: number;
}

/** Sums hours into bars of `step` hours, without gaps, from `firstMs` to the last hour there is. */
export function bucketed(hours: readonly HourView[], firstMs: number, step: number): Sum[] {
  const sums: Sum[] = [];
  const width = step * HOUR_MS;
  for (const hour of hours) {
    const at = Math.floor((Date.parse(hour.hour) - firstMs) / width);
    if (at < 0) continue;
    while (sums.length <= at) sums.push(empty(firstMs + sums.length * width));
    const sum = sums[at];
    if (sum !== undefined) add(sum, hour);
  }
  return sums;
}

/** The sum of all bars. */
export function whole(sums: readonly Sum[]): Omit<Sum, "startMs"> {
  const all = empty(0);
  for (const sum of sums) {
    for (const name of ["ok", "retried", "failed", "records", "raw", "compressed", "totalMs"] as const)
      all[name] += sum[name];
    all.longestMs = Math.max(all.longestMs, sum.longestMs);
    for (const [cause, n] of Object.entries(sum.errors)) count(all.errors, cause, n);
  }
  return all;
}

function empty(startMs: number): Sum {
  return {
    startMs,
    ok: 0,
    retried: 0,
    failed: 0,
    // No prototype: a cause may have any name.
    errors: Object.create(null) as Record<string, number>,
    records: 0,
    raw: 0,
    compressed: 0,
    totalMs: 0,
    longestMs: 0,
  };
}

function add(sum: Sum, { uploads, errors, records, bytes_raw, bytes_compressed, duration_ms }: HourView): void {
  sum.ok += uploads.ok;
  sum.retried += uploads.retried;
  sum.failed += uploads.failed;
  for (const [cause, n] of Object.entries(errors)) count(sum.errors, cause, n);
  sum.records += records;
  sum.raw += bytes_raw;
  sum.compressed += bytes_compressed;
  sum.totalMs += duration_ms.sum;
  sum.longestMs = Math.max(sum.longestMs, duration_ms.max);
}

function count(causes: Record<string, number>, cause: string, n: number): void {
  causes[cause] = (causes[cause] ?? 0) + n;
}

/** How a bar of so many hours is named. */
export function bucketOf(startMs: number, step: number): Bucket {
  const iso = new Date(startMs).toISOString();
  const [day, time] = [iso.slice(0, 10), iso.slice(11, 16)];
  return step === 24 ? { label: day, short: day } : { label: `${day} ${time}`, short: `${day.slice(5)} ${time}` };
}
