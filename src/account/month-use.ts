/** What the account used in one calendar month (UTC), as far as it is counted as it happens. */
export interface MonthUse {
  /** Months since year 0: `year * 12 + month`, January being 0. */
  month: number;
  /** Since when all of it was counted, in ms since the epoch: the beginning of the month, or the first count of all. */
  sinceMs: number;
  /** Batches of the queue of which anything was counted. */
  batches: number;
  /** Groups of messages, of up to 4 MB of records each, that were committed and counted together: a batch is mostly one. */
  groups: number;
  messages: number;
  /** What it takes to write, to read or to delete these messages once: one for each started 64 KB of each. */
  messageUnits: number;
  events: number;
  /** Calls in which a job's log took records. */
  appends: number;
  /** Records that jobs were offered: an event counts once for each of them. */
  offered: number;
}

/** What one count adds. */
export type Used = Omit<MonthUse, "month" | "sinceMs">;

const NOTHING: Used = { batches: 0, groups: 0, messages: 0, messageUnits: 0, events: 0, appends: 0, offered: 0 };
const USED_NAMES = Object.keys(NOTHING) as (keyof Used)[];

/** The month, as {@link MonthUse.month}, that a time in ms belongs to. */
export function monthOf(ms: number): number {
  const at = new Date(ms);
  return at.getUTCFullYear() * 12 + at.getUTCMonth();
}

/** When a month begins, in ms since the epoch. */
export function monthStartMs(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12);
}

/** `2026-11`. */
export function monthName(month: number): string {
  return new Date(monthStartMs(month)).toISOString().slice(0, 7);
}

/** A clock that is behind by less, in ms, begins no month anew; by more, what is kept is of a time that has not come, and would stand in the way until it does. */
const BEHIND_MS = 86_400_000;

/**
 * The use of the month that is now: what is kept, or none yet.
 * @param kept null: nothing was ever counted.
 */
export function useAt(kept: MonthUse | null, nowMs: number): MonthUse | null {
  const month = monthOf(nowMs);
  if (kept === null || kept.month === month) return kept;
  if (kept.month < month) return { month, sinceMs: monthStartMs(month), ...NOTHING };
  return monthStartMs(kept.month) - nowMs <= BEHIND_MS ? kept : { month, sinceMs: nowMs, ...NOTHING };
}

/** With one count more. */
export function withUse(kept: MonthUse | null, used: Used, nowMs: number): MonthUse {
  const now = useAt(kept, nowMs) ?? { month: monthOf(nowMs), sinceMs: nowMs, ...NOTHING };
  const sum = { ...now };
  for (const name of USED_NAMES) sum[name] += isWhole(used[name]) ? used[name] : 0;
  return sum;
}

/** What the ledger's row holds; null: nothing yet, or nothing that anybody can read. It never throws: the records that are counted with it matter more. */
export function parseUse(text: string | null): MonthUse | null {
  if (text === null) return null;
  try {
    const kept = JSON.parse(text) as Partial<MonthUse> | null;
    if (kept === null || !isWhole(kept.month) || !isWhole(kept.sinceMs)) return null;
    const use = { month: kept.month, sinceMs: kept.sinceMs, ...NOTHING };
    // One that an older version did not count, or that is no number, is none so far.
    for (const name of USED_NAMES) use[name] = isWhole(kept[name]) ? kept[name] : 0;
    return use;
  } catch {
    return null;
  }
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
