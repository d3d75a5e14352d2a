import { HOUR_MS } from "../../../../base/time.ts";
import type { Bucket } from "../../parts/chart.tsx";
import type { HourView } from "../../views/job.ts";

/** Hours shown, hours per bar, and these in words. Bars of 6 and 24 hours begin with UTC days. */
export const RANGES = {
  "24h": { label: "24 hours", hours: 24, step: 1, per: "hour" },
  "7d": { label: "7 days", hours: 168, step: 6, per: "6 hours" },
  "30d": { label: "30 days", hours: 720, step: 24, per: "day" },
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

/** What the API is asked for. It includes the current hour; the API leaves out future ones. */
export function timesOf(range: Range, nowMs: number): { since: string; until: string } {
  const firstMs = startOf(range, nowMs);
  const untilMs = firstMs + RANGES[range].hours * HOUR_MS;
  return { since: new Date(firstMs).toISOString(), until: new Date(untilMs).toISOString() };
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
    if (sum !== undefined) add(sum, sumOf(hour));
  }
  return sums;
}

/** The sum of all bars. */
export function whole(sums: readonly Sum[]): Omit<Sum, "startMs"> {
  const all = empty(0);
  for (const sum of sums) add(all, sum);
  return all;
}

function empty(startMs: number): Sum {
  return {
    ...{ startMs, ok: 0, retried: 0, failed: 0, records: 0, raw: 0, compressed: 0, totalMs: 0, longestMs: 0 },
    // No prototype: a cause may have any name.
    errors: Object.create(null) as Record<string, number>,
  };
}

function add(sum: Sum, { startMs: _, errors, longestMs, ...amounts }: Sum): void {
  for (const [name, amount] of Object.entries(amounts)) sum[name as keyof typeof amounts] += amount;
  sum.longestMs = Math.max(sum.longestMs, longestMs);
  for (const [cause, n] of Object.entries(errors)) sum.errors[cause] = (sum.errors[cause] ?? 0) + n;
}

function sumOf({ hour, uploads, errors, records, ...rest }: HourView): Sum {
  const { sum: totalMs, max: longestMs } = rest.duration_ms;
  const { bytes_raw: raw, bytes_compressed: compressed } = rest;
  return { startMs: Date.parse(hour), ...uploads, errors, records, raw, compressed, totalMs, longestMs };
}

/** How a bar of so many hours is named. */
export function bucketOf(startMs: number, step: number): Bucket {
  const iso = new Date(startMs).toISOString();
  const [day, time] = [iso.slice(0, 10), iso.slice(11, 16)];
  return step === 24 ? { label: day, short: day } : { label: `${day} ${time}`, short: `${day.slice(5)} ${time}` };
}
