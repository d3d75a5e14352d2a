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

/**
 * The use of the month that is now: what is kept, or none yet. A clock that is a moment behind begins no month anew.
 * @param kept null: nothing was ever counted.
 */
export function useAt(kept: MonthUse | null, nowMs: number): MonthUse | null {
  const month = monthOf(nowMs);
  if (kept === null || kept.month >= month) return kept;
  return { month, sinceMs: monthStartMs(month), ...NOTHING };
}

/** With one count more. */
export function withUse(kept: MonthUse | null, used: Used, nowMs: number): MonthUse {
  const now = useAt(kept, nowMs) ?? { month: monthOf(nowMs), sinceMs: nowMs, ...NOTHING };
  const sum = { ...now };
  for (const name of Object.keys(NOTHING) as (keyof Used)[]) sum[name] += used[name];
  return sum;
}

/** What the ledger's row holds; null: nothing yet. */
export function parseUse(text: string | null): MonthUse | null {
  return text === null ? null : (JSON.parse(text) as MonthUse);
}
