import { parsedJson } from "../../base/bytes.ts";

/** The account's counted use in one calendar month (UTC). */
export interface MonthUse {
  /** Months since year 0: `year * 12 + month`, January being 0. */
  month: number;
  /** Start of the count, in ms since the epoch: of the month, or of the first count ever. */
  sinceMs: number;
  /** Batches of the queue with anything counted. */
  batches: number;
  /**
   * Groups of messages committed and counted together, of up to 4 MB of records each: usually one a
   * batch.
   */
  groups: number;
  messages: number;
  /**
   * Billed operations to write, read or delete the messages once: one for each started 64 KB of
   * each message.
   */
  messageUnits: number;
  /** Parts of messages beyond the first one of each: the packer has put them together. */
  furtherParts: number;
  events: number;
  /** Entries of jobs in blocks of the log. */
  entries: number;
  /** Records sent to jobs: an event counts once for each job. */
  offered: number;
}

/** The part that one count adds to. */
export type Used = Omit<MonthUse, "month" | "sinceMs">;

export const NO_USE: Used = {
  ...{ batches: 0, groups: 0, messages: 0, messageUnits: 0, furtherParts: 0 },
  ...{ events: 0, entries: 0, offered: 0 },
};
const USED_NAMES = Object.keys(NO_USE) as (keyof Used)[];

/** As {@link MonthUse.month}. */
export function monthOf(ms: number): number {
  const at = new Date(ms);
  return at.getUTCFullYear() * 12 + at.getUTCMonth();
}

/** Start of a month, in ms since the epoch. */
export function monthStartMs(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12);
}

/** `2026-11`. */
export function monthName(month: number): string {
  return new Date(monthStartMs(month)).toISOString().slice(0, 7);
}

/**
 * A clock that is behind by up to this, in ms, does not reset a month that has begun. Further in
 * the future, the stored month is wrong.
 */
const BEHIND_MS = 86_400_000;

/** Use of the current month. @param kept null: nothing was ever counted. */
export function useAt(kept: MonthUse | null, nowMs: number): MonthUse | null {
  const month = monthOf(nowMs);
  if (kept === null || kept.month === month) return kept;
  if (kept.month < month) return { month, sinceMs: monthStartMs(month), ...NO_USE };
  return monthStartMs(kept.month) - nowMs <= BEHIND_MS ? kept : { month, sinceMs: nowMs, ...NO_USE };
}

/** Adds a count. */
export function withUse(kept: MonthUse | null, used: Used, nowMs: number): MonthUse {
  const now = useAt(kept, nowMs) ?? { month: monthOf(nowMs), sinceMs: nowMs, ...NO_USE };
  const sum = { ...now };
  for (const name of USED_NAMES) sum[name] += isWhole(used[name]) ? used[name] : 0;
  return sum;
}

/** The shard's column; null: empty or unreadable. Never throws: counting records matters more. */
export function parseUse(text: string | null): MonthUse | null {
  if (text === null) return null;
  const kept = (parsedJson(text) ?? {}) as Partial<MonthUse>;
  if (!isWhole(kept.month) || !isWhole(kept.sinceMs)) return null;
  const use = { month: kept.month, sinceMs: kept.sinceMs, ...NO_USE };
  for (const name of USED_NAMES) use[name] = isWhole(kept[name]) ? kept[name] : 0;
  return use;
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
