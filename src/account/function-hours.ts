import {
  countsText,
  type FunctionCount,
  FunctionTally,
  joinCounts,
  nameInText,
  parseCounts,
  TALLY_BOUNDS,
  type TallyBounds,
} from "./function-counts.ts";

/** How long events are counted by function, in ms: thirty whole days. */
export const FUNCTION_HISTORY_MS = 30 * 86_400_000;

/** The names of thirty days that are told apart when somebody asks; an answer stays far below the 32 MiB of a call. */
const LISTED_BOUNDS: TallyBounds = { names: 10_000, chars: 1_000_000 };

const HOUR_MS = 3_600_000;
const HOURS_PER_DAY = 24;

/**
 * Events by function, one row an hour: a row for each function would cost as many written rows as there are functions in a batch. With 500
 * functions, reading, adding up and writing the row takes 0.4 ms, so nothing is kept in memory that a failed transaction would have to take back.
 * The hours of a day that is over are joined in its first one, so that a look at thirty days takes some fifty rows.
 */
export class FunctionHours {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Counts events at `nowMs`; no event is later than that, whatever it says of itself. Call it in the transaction of what they belong to. */
  add(counts: Iterable<FunctionCount>, nowMs: number): void {
    const hour = hourOf(nowMs);
    const tally = new FunctionTally();
    for (const count of this.#hour(hour)) tally.add(count);
    for (const count of counts) tally.add({ ...count, lastEventMs: Math.min(count.lastEventMs, nowMs) });
    this.#write(hour, tally.counts());
  }

  /** What was counted of every function in the last thirty days. */
  totals(nowMs: number): FunctionCount[] {
    return joinCounts(this.#since(firstHour(nowMs)), LISTED_BOUNDS);
  }

  /** What was counted of every function today and yesterday, by UTC; hours of days that are over may be joined. */
  lately(nowMs: number): FunctionCount[] {
    return joinCounts(this.#since(firstOfDay(hourOf(nowMs)) - HOURS_PER_DAY), TALLY_BOUNDS);
  }

  /** Of these functions, the latest event that was counted in the last thirty days, in ms; those without any are left out. */
  lastOf(names: ReadonlySet<string>, nowMs: number): Map<string, number> {
    const last = new Map<string, number>();
    for (const { scriptName, lastEventMs } of this.#since(firstHour(nowMs))) {
      if (scriptName === null || !names.has(scriptName)) continue;
      last.set(scriptName, Math.max(last.get(scriptName) ?? 0, lastEventMs));
    }
    return last;
  }

  /** What was counted of one function in the last thirty days; null: nothing. Rows without its name are not read into memory. */
  of(scriptName: string, nowMs: number): FunctionCount | null {
    const tally = new FunctionTally();
    const rows = this.#sql.exec<{ counts: string }>(
      "SELECT counts FROM function_hour WHERE hour >= ? AND instr(counts, ?) > 0",
      firstHour(nowMs),
      nameInText(scriptName),
    );
    for (const { counts } of rows) {
      for (const count of parseCounts(counts)) if (count.scriptName === scriptName) tally.add(count);
    }
    return tally.counts()[0] ?? null;
  }

  /** Forgets a function's name; its events stay in the sum. */
  forget(scriptName: string): void {
    const holding = this.#sql
      .exec<{ hour: number }>("SELECT hour FROM function_hour WHERE instr(counts, ?) > 0", nameInText(scriptName))
      .toArray();
    for (const { hour } of holding) {
      const tally = new FunctionTally();
      for (const count of this.#hour(hour))
        tally.add(count.scriptName === scriptName ? { ...count, scriptName: null } : count);
      this.#write(hour, tally.counts());
    }
  }

  /** Joins the hours of days that are over, and forgets what is older than thirty days. */
  sweep(nowMs: number): void {
    this.#sql.exec("DELETE FROM function_hour WHERE hour < ?", firstHour(nowMs));
    const today = firstOfDay(hourOf(nowMs));
    const days = this.#sql
      .exec<{ first: number }>(
        `SELECT hour - hour % ${HOURS_PER_DAY} AS first FROM function_hour WHERE hour < ? GROUP BY first HAVING count(*) > 1`,
        today,
      )
      .toArray();
    for (const { first } of days) {
      const joined = joinCounts(this.#since(first, first + HOURS_PER_DAY), TALLY_BOUNDS);
      this.#sql.exec("DELETE FROM function_hour WHERE hour > ? AND hour < ?", first, first + HOURS_PER_DAY);
      this.#write(first, joined);
    }
  }

  #hour(hour: number): FunctionCount[] {
    const [row] = this.#sql.exec<{ counts: string }>("SELECT counts FROM function_hour WHERE hour = ?", hour).toArray();
    return row === undefined ? [] : parseCounts(row.counts);
  }

  *#since(from: number, before = Number.MAX_SAFE_INTEGER): Generator<FunctionCount> {
    const rows = this.#sql.exec<{ counts: string }>(
      "SELECT counts FROM function_hour WHERE hour >= ? AND hour < ? ORDER BY hour",
      from,
      before,
    );
    for (const { counts } of rows) yield* parseCounts(counts);
  }

  #write(hour: number, counts: readonly FunctionCount[]): void {
    this.#sql.exec("INSERT OR REPLACE INTO function_hour (hour, counts) VALUES (?, ?)", hour, countsText(counts));
  }
}

function hourOf(timeMs: number): number {
  return Math.floor(timeMs / HOUR_MS);
}

function firstOfDay(hour: number): number {
  return hour - (hour % HOURS_PER_DAY);
}

/** Of the oldest day that still counts. */
function firstHour(nowMs: number): number {
  return firstOfDay(hourOf(nowMs - FUNCTION_HISTORY_MS));
}
