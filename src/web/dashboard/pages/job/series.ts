import { HOUR_MS, hourOf } from "../../../../base/time.ts";
import { stamp } from "../../../../base/words.ts";
import { emptyHour, type HealthHour, sumOf } from "../../../../ship/reader/upload-health.ts";
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
  return oneOf(RANGES, asked, "24h");
}

/** The range with this name; another one: the default. */
export function oneOf<T extends object>(
  ranges: T,
  asked: string | null,
  byDefault: keyof T & string,
): keyof T & string {
  return asked !== null && Object.hasOwn(ranges, asked) ? (asked as keyof T & string) : byDefault;
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

/** Sums hours into bars of `step` hours, without gaps, from `firstMs` to the last hour there is. */
export function bucketed(hours: readonly HourView[], firstMs: number, step: number): HealthHour[] {
  const first = hourOf(firstMs);
  const sums: HealthHour[] = [];
  for (const each of hours.map(healthOf)) {
    const at = Math.floor((each.hour - first) / step);
    if (at < 0) continue;
    while (sums.length <= at) sums.push(emptyHour(first + sums.length * step));
    const sum = sums[at];
    if (sum !== undefined) sums[at] = sumOf(sum, each);
  }
  return sums;
}

/** The sum of all bars. */
export function whole(sums: readonly HealthHour[]): HealthHour {
  return sums.reduce(sumOf, emptyHour(0));
}

function healthOf({ hour, uploads, errors, records, ...rest }: HourView): HealthHour {
  const { sum: totalMs, max: longestMs } = rest.duration_ms;
  const { bytes_raw: rawBytes, bytes_compressed: bytes } = rest;
  return { hour: hourOf(Date.parse(hour)), ...uploads, causes: errors, records, bytes, rawBytes, totalMs, longestMs };
}

/** How a bar of so many hours is named. */
export function bucketOf(startMs: number, step: number): Bucket {
  const label = stamp(startMs);
  if (step !== 24) return { label, short: label.slice(5) };
  const day = label.slice(0, 10);
  return { label: day, short: day };
}
