import { Tables } from "../../base/storage/sql.ts";
import { hourOf } from "../../base/time.ts";
import {
  countsText,
  type FunctionCount,
  FunctionTally,
  joinCounts,
  nameInText,
  parseCounts,
  sourcesText,
  TALLY_BOUNDS,
  type TallyBounds,
} from "./function-counts.ts";

/** How long counts by function are kept, in ms: thirty whole days. */
export const FUNCTION_HISTORY_MS = 30 * 86_400_000;

/** Bounds of an answer for thirty days: far below the 32 MiB of a call. */
export const LISTED_BOUNDS: TallyBounds = { names: 10_000, chars: 1_000_000, sourceChars: 1_000_000 };

type Row = {
  counts: string;
  sources: string | null;
};

/** What is counted of an hour, and in no row of it yet; null: nothing is. */
export type HourRow = { [name in keyof Row]: Row[name] | null } & { hour: number | null };

const NONE: HourRow = { hour: null, counts: null, sources: null };

const HOURS_PER_DAY = 24;

/** Counts of an hour that are gathered beside all else of their shard's row, in characters. */
const GATHERED_MAX = 200_000;

/**
 * Events by function, one row an hour: a row for each function would cost a write for each function
 * in a batch. Those of the hour that is not over are gathered in columns of the shard's own row,
 * which each append writes anyway. With 500 functions, reading, adding and writing takes 0.6 ms, so
 * there is no copy in memory to roll back. The hours of a past day are joined in its first one, so
 * that thirty days are some fifty rows.
 */
export class FunctionHours extends Tables {
  /**
   * Adds counts at `nowMs`; later event times are capped to it. To be called in the transaction of
   * the messages.
   * @returns what to write into the shard's row in that transaction.
   */
  add(counts: Iterable<FunctionCount>, nowMs: number): HourRow {
    const hour = hourOf(nowMs);
    const gathered = this.#gathered();
    if (gathered.hour !== hour) this.#toRow(gathered);
    const tally = new FunctionTally();
    for (const count of gathered.hour === hour ? countsOf(gathered) : []) tally.add(count);
    for (const count of counts) tally.add({ ...count, lastEventMs: Math.min(count.lastEventMs, nowMs) });
    const row = rowOf(hour, tally.counts());
    if ((row.counts?.length ?? 0) + (row.sources?.length ?? 0) <= GATHERED_MAX) return row;
    this.#toRow(row);
    return NONE;
  }

  /** Every function's counts of the last thirty days. */
  totals(nowMs: number): FunctionCount[] {
    return joinCounts(this.#since(firstHour(nowMs)), LISTED_BOUNDS);
  }

  /** Every function's counts of today and yesterday (UTC). */
  lately(nowMs: number): FunctionCount[] {
    return joinCounts(this.#since(firstOfDay(hourOf(nowMs)) - HOURS_PER_DAY), TALLY_BOUNDS);
  }

  /**
   * Each function's latest event in the last thirty days, in ms since the epoch; those without one
   * are left out.
   */
  lastOf(names: ReadonlySet<string>, nowMs: number): Map<string, number> {
    const last = new Map<string, number>();
    for (const { scriptName, lastEventMs } of this.#since(firstHour(nowMs))) {
      if (scriptName === null || !names.has(scriptName)) continue;
      last.set(scriptName, Math.max(last.get(scriptName) ?? 0, lastEventMs));
    }
    return last;
  }

  /**
   * One function's counts of the last thirty days; null: none. Rows without its name are not read
   * into memory.
   */
  of(scriptName: string, nowMs: number): FunctionCount | null {
    const tally = new FunctionTally();
    const rows = this.sql.each<Row>`
      SELECT counts, sources FROM function_hour
      WHERE hour >= ${firstHour(nowMs)} AND instr(counts, ${nameInText(scriptName)}) > 0`;
    const all = [...rows].flatMap(({ counts, sources }) => parseCounts(counts, sources));
    for (const count of [...all, ...this.#gatheredSince(firstHour(nowMs))])
      if (count.scriptName === scriptName) tally.add(count);
    return tally.counts()[0] ?? null;
  }

  /** Forgets a function's name. Its counts stay in the sum. */
  forget(scriptName: string): void {
    this.#flush();
    const holding = this.sql.all<{ hour: number }>`
      SELECT hour FROM function_hour WHERE instr(counts, ${nameInText(scriptName)}) > 0`;
    for (const { hour } of holding) {
      const tally = new FunctionTally();
      for (const { sources, ...count } of this.#hour(hour))
        tally.add(
          count.scriptName === scriptName ? { ...count, scriptName: null } : { ...count, ...(sources && { sources }) },
        );
      this.#write(hour, tally.counts());
    }
  }

  /** Joins the hours of past days, and deletes those older than thirty days. */
  sweep(nowMs: number): void {
    this.#flush();
    this.sql.run`DELETE FROM function_hour WHERE hour < ${firstHour(nowMs)}`;
    const today = firstOfDay(hourOf(nowMs));
    const days = this.sql.all<{ first: number }>`
      SELECT hour - hour % ${HOURS_PER_DAY} AS first FROM function_hour
      WHERE hour < ${today} GROUP BY first HAVING count(*) > 1`;
    for (const { first } of days) {
      const joined = joinCounts(this.#since(first, first + HOURS_PER_DAY), TALLY_BOUNDS);
      this.sql.run`DELETE FROM function_hour WHERE hour > ${first} AND hour < ${first + HOURS_PER_DAY}`;
      this.#write(first, joined);
    }
  }

  #hour(hour: number): FunctionCount[] {
    const [row] = this.sql.all<Row>`SELECT counts, sources FROM function_hour WHERE hour = ${hour}`;
    return row === undefined ? [] : parseCounts(row.counts, row.sources);
  }

  *#since(from: number, before = Number.MAX_SAFE_INTEGER): Generator<FunctionCount> {
    const rows = this.sql.each<Row>`
      SELECT counts, sources FROM function_hour WHERE hour >= ${from} AND hour < ${before} ORDER BY hour`;
    for (const { counts, sources } of rows) yield* parseCounts(counts, sources);
    yield* this.#gatheredSince(from, before);
  }

  #gatheredSince(from: number, before = Number.MAX_SAFE_INTEGER): FunctionCount[] {
    const gathered = this.#gathered();
    const { hour } = gathered;
    return hour !== null && hour >= from && hour < before ? countsOf(gathered) : [];
  }

  #gathered(): HourRow {
    return this.sql.one`SELECT hour, hour_counts AS counts, hour_sources AS sources FROM state`;
  }

  /** Adds what is gathered of an hour to its row. */
  #toRow(gathered: HourRow): void {
    const { hour } = gathered;
    if (hour === null) return;
    const tally = new FunctionTally();
    for (const count of [...this.#hour(hour), ...countsOf(gathered)]) tally.add(count);
    this.#write(hour, tally.counts());
  }

  #flush(): void {
    this.#toRow(this.#gathered());
    this.sql.run`UPDATE state SET hour = NULL, hour_counts = NULL, hour_sources = NULL WHERE hour IS NOT NULL`;
  }

  #write(hour: number, counts: readonly FunctionCount[]): void {
    this.sql.replace("function_hour", rowOf(hour, counts));
  }
}

function rowOf(hour: number, counts: readonly FunctionCount[]): HourRow {
  return { hour, counts: countsText(counts), sources: sourcesText(counts) };
}

function countsOf({ counts, sources }: HourRow): FunctionCount[] {
  return counts === null ? [] : parseCounts(counts, sources);
}

function firstOfDay(hour: number): number {
  return hour - (hour % HOURS_PER_DAY);
}

/** First hour of the oldest day that is kept. */
function firstHour(nowMs: number): number {
  return firstOfDay(hourOf(nowMs - FUNCTION_HISTORY_MS));
}
