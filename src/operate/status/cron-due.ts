import { Cron } from "croner";
import { MINUTE_MS } from "../../base/time.ts";
import { CRON_MAX } from "../../ship/log/seen-kinds.ts";

/** A cron may start so much before its minute, in ms, by the clock of the event. */
const EARLY_MS = MINUTE_MS / 2;

/**
 * Five fields of the characters that Cron Triggers have; the library knows others, and gives them
 * meanings of its own.
 * @see https://developers.cloudflare.com/workers/configuration/cron-triggers/
 */
const FIELDS = /^[\w*,/#-]+( +[\w*,/#-]+){4}$/;

/** UTC, Sunday is 1; of days of the month and of the week, one must match; `5/15` is allowed. */
const DIALECT = { mode: "5-part", utcOffset: 0, alternativeWeekdays: true, sloppyRanges: true, paused: true } as const;

/**
 * When a cron that last ran at some time is due for the second time after it, in ms since the
 * epoch: twice its interval, where that is always the same.
 * @returns null: it cannot be read, or does not run twice more.
 */
export function secondDueMs(cron: string, lastMs: number): number | null {
  if (cron.length > CRON_MAX || !FIELDS.test(cron) || isRareDate(cron)) return null;
  try {
    return new Cron(cron, DIALECT).nextRuns(2, new Date(lastMs + EARLY_MS))[1]?.getTime() ?? null;
  } catch {
    return null;
  }
}

/**
 * The 30th or 31st of some months alone, or of these a fifth weekday: there may be no such day in
 * decades, and a search takes long.
 */
function isRareDate(cron: string): boolean {
  const [, , days = "", months, weekdays = ""] = cron.split(/ +/);
  return (
    (weekdays === "*" || weekdays.includes("#5")) &&
    months !== "*" &&
    days.split(",").every((day) => Number.parseInt(day, 10) >= 30)
  );
}
