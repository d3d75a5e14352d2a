import { utf8Length } from "../../base/bytes.ts";
import { clause, Tables } from "../../base/storage/sql.ts";
import { HOUR_MS, hourOf } from "../../base/time.ts";
import { fairly } from "../../formats/record/shares.ts";
import type { CountedPart } from "./counted.ts";
import { SCRIPT_NAME_MAX } from "./function-counts.ts";
import { badness, type Counts, DAY_HOURS, DayHours, type DayPiece, daysOf, type FunctionDay } from "./function-days.ts";
import { addedHealth, type Health, invocations, NO_HEALTH, storedHealth, withoutProblems } from "./function-health.ts";
import { FunctionVersions, type VersionSeen } from "./function-versions.ts";
import { functionKeyOf, keyOf, named, ofKey, type Ran, type RanIn, SUMMED, textOnce } from "./health-keys.ts";

/** Health is known by so many ms. */
export const SLOT_MS = 300_000;

/** Slots that are kept, the one that is not over included: two days. */
export const SLOTS_KEPT = 576;

const SLOTS_PER_HOUR = 12;

/** Slots that tell what fails now, the one that is not over included. */
export const SLOTS_LATELY = SLOTS_PER_HOUR;

/** How many hours of health are kept, the one that is not over included: 30 days. */
export const FUNCTION_HEALTH_HOURS = 720;

/** How far a clock may have been ahead, in hours. */
const AHEAD_HOURS = 24;

/**
 * Versions of functions in a slot or an hour that are kept in detail, dealt {@link fairly}: those
 * that fail most, then the busiest. The others are summed.
 */
export const DETAILED_MAX = 200;

/** The same before the busiest are known. */
const GATHERED_MAX = 2 * DETAILED_MAX;

/** Largest text of a slot, in UTF-16 code units: 576 of them are kept. */
const SLOT_TEXT_MAX = 200_000;

/**
 * Largest text that is gathered before it becomes rows, in bytes: it shares a row with what else
 * the shard gathers, and is written with every count; less than 1 kB of it a function.
 */
const GATHERED_BYTES = 300_000;

/** How long after its end a slot becomes a row, in ms: stragglers come before. */
const ROWS_AFTER_MS = 300_000;

/** Invocations of a function that were taken in in {@link SLOT_MS}. */
export interface Slot {
  /** Number of the slot since the epoch. */
  slot: number;
  events: number;
  failed: number;
  /** Time of the first that failed, in ms since the epoch; 0: none did. */
  firstFailedMs: number;
}

/** By key. */
type Entries = Map<string, Ran>;

/** What is gathered between two writes of rows. */
interface Gathered {
  /** All hours before have become rows. */
  folded: number;
  /** By slot. */
  slots: Map<number, Entries>;
}

/**
 * The health of functions by version: by the five minutes in which their events were taken in, for
 * two days, and by the hour, for thirty. What is counted is gathered in a column of the shard's own
 * row, which each append writes anyway. A slot that is over becomes one row of all functions, and
 * the slots of an hour a row for each.
 */
export class HealthSlots extends Tables {
  readonly #versions: FunctionVersions;
  readonly #days: DayHours;
  /** null: it is in the row. */
  #held: Gathered | null = null;
  /** Of slots that are rows, see {@link counts}: they are read once. */
  readonly #counts = new Map<number, ReadonlyMap<string, Counts>>();

  constructor(sql: SqlStorage) {
    super(sql);
    this.#versions = new FunctionVersions(sql);
    this.#days = new DayHours(sql);
  }

  /** To be called when a transaction failed: what is held in memory is read again. */
  load(): void {
    this.#held = null;
    this.#counts.clear();
    this.#days.clear();
  }

  /**
   * Adds messages. To be called in the transaction in which they are counted.
   * @returns what to write into `state.slots` in that transaction.
   */
  add(messages: readonly CountedPart[], nowMs: number): string {
    const gathered = this.#settled(nowMs);
    for (const { takenInMs, source = "", functions } of messages) {
      const atMs = Math.min(takenInMs, nowMs);
      if (hourOf(atMs) < firstHour(nowMs)) continue;
      for (const { scriptName: name, version = "", tag, health } of functions) {
        if (health === undefined) continue;
        const isNamed = name !== null && name.length <= SCRIPT_NAME_MAX;
        const key = isNamed ? keyOf({ scriptName: name, source, version }) : SUMMED;
        addTo(slotIn(gathered, slotOf(atMs)), key, ranAt(health, atMs, tag));
      }
    }
    for (const [slot, entries] of gathered.slots)
      if (entries.size > GATHERED_MAX)
        gathered.slots.set(slot, this.#detailed(hourOfSlot(slot), entries, DETAILED_MAX));
    const text = textOf(gathered);
    if (utf8Length(text) <= GATHERED_BYTES) return text;
    this.#toRows(gathered, Number.POSITIVE_INFINITY);
    return textOf(gathered);
  }

  /**
   * The hours in which a function ran, from `since` up to but not including `until`, in no order; a
   * version may have an hour twice, to be summed.
   */
  hours(scriptName: string, since: number, until: number, nowMs: number): RanIn[] {
    const from = Math.max(since, firstHour(nowMs));
    // A clock that was ahead has counted in hours to come.
    const to = Math.min(until, hourOf(nowMs) + AHEAD_HOURS);
    if (from >= to) return [];
    const asked = hours(from, to);
    const rows = this.sql.all<{ at: number; key: string; health: string }>`
      SELECT hour AS at, function AS key, health FROM function_health WHERE hour IN (${asked}) AND ${named(scriptName)}
      UNION ALL SELECT hour, function, '{}' FROM function_health WHERE hour IN (${asked}) AND function = ${SUMMED}`;
    const open = Math.max(from, this.#gathered().folded) * SLOTS_PER_HOUR;
    const slots = this.#each(open, to * SLOTS_PER_HOUR, scriptName);
    return ranIn([
      ...rows.map(({ at, key, health }) => ({ at, key, health: readRan(health, at * HOUR_MS) })),
      // Of a straggler, the hour is a row already.
      ...[...slots, ...this.#unwritten(from * SLOTS_PER_HOUR, open, scriptName)].map(({ at, ...rest }) => ({
        at: hourOfSlot(at),
        ...rest,
      })),
    ]);
  }

  /**
   * The same of slots.
   * @param scriptName null: of all functions.
   */
  slots(scriptName: string | null, since: number, until: number, nowMs: number): RanIn[] {
    const from = Math.max(since, slotOf(nowMs) - SLOTS_KEPT + 1);
    return ranIn([...this.#each(from, until, scriptName)]);
  }

  /** Invocations of functions in an hour that begins with a slot, by key without a version. */
  counts(since: number): ReadonlyMap<string, Counts> {
    const { slots } = this.#gathered();
    for (const slot of this.#counts.keys()) if (slot < since) this.#counts.delete(slot);
    const sum = new Map<string, Counts>();
    for (let slot = since; slot < since + SLOTS_PER_HOUR; slot++)
      for (const [key, own] of [...this.#countsOf(slot), ...countsIn(slots.get(slot) ?? [])])
        sum.set(key, addedRan(sum.get(key) ?? NONE, own));
    return sum;
  }

  #countsOf(slot: number): ReadonlyMap<string, Counts> {
    const known = this.#counts.get(slot);
    if (known !== undefined) return known;
    const [row] = this.#rows(slot, slot + 1);
    const counts = countsIn(readLines(row?.health.split("\n") ?? []));
    this.#counts.set(slot, counts);
    return counts;
  }

  /** The last hour of all functions. */
  lately(nowMs: number): RanIn[] {
    return this.slots(null, slotOf(nowMs) - SLOTS_LATELY + 1, Number.MAX_SAFE_INTEGER, nowMs);
  }

  /** As {@link FunctionVersions.firstOf}. */
  firstOf(functions: readonly string[]): (name: string, version: string) => number | null {
    return this.#versions.firstOf(functions);
  }

  /** Its versions that were seen in ninety days, the newest first. */
  versions(scriptName: string, nowMs: number): VersionSeen[] {
    const lately = this.slots(scriptName, slotOf(nowMs) - SLOTS_LATELY, Number.MAX_SAFE_INTEGER, nowMs);
    return this.#versions.of(scriptName, lately);
  }

  /** The last day of each function. */
  days(nowMs: number): FunctionDay[] {
    return daysOf(this.#ofDay(nowMs), hourOf(nowMs));
  }

  *#ofDay(nowMs: number): Generator<DayPiece> {
    const from = hourOf(nowMs) - DAY_HOURS + 1;
    yield* this.#days.of(from, hourOf(nowMs), this.#gathered().folded);
    const open = Math.max(from, this.#gathered().folded) * SLOTS_PER_HOUR;
    const [slot, lately] = [slotOf(nowMs), slotOf(nowMs) - SLOTS_LATELY + 1];
    const piece = ({ at, key, health }: Found, isInHour: boolean): DayPiece => ({
      ...{ ...ofKey(key), lastMs: health.lastMs, tag: health.tag ?? "", ...ranOf(health) },
      ...{ hour: isInHour ? null : hourOfSlot(at), isNow: at >= slot - 1 },
      ...(at >= lately && { wall: health.wall }),
    });
    for (const found of this.#written(Math.min(lately, open), Number.MAX_SAFE_INTEGER, null))
      if (found.key !== SUMMED) yield piece(found, found.at < open);
    for (const found of this.#unwritten(from * SLOTS_PER_HOUR, Number.MAX_SAFE_INTEGER, null))
      if (found.key !== SUMMED) yield piece(found, false);
  }

  /** Forgets a function. */
  forget(scriptName: string, nowMs: number): void {
    const all = hours(firstHour(nowMs), hourOf(nowMs) + 1);
    this.sql.run`DELETE FROM function_health WHERE hour IN (${all}) AND ${named(scriptName)}`;
    this.#versions.forget(scriptName);
    this.#days.clear();
    const isOther = (key: string): boolean => key === SUMMED || ofKey(key).scriptName !== scriptName;
    // One by one: together they may be more than the memory.
    for (const { slot } of this.sql.all<{ slot: number }>`SELECT slot FROM function_slot`)
      for (const { health } of this.#rows(slot, slot + 1)) {
        const lines = health.split("\n");
        const own = new Set(ownLines(lines, scriptName).filter((line) => !line.startsWith(SUMMED_LINE)));
        if (own.size > 0)
          this.#toRow(
            slot,
            lines.filter((line) => !own.has(line)),
          );
      }
    const gathered = this.#gathered();
    for (const [slot, entries] of gathered.slots)
      gathered.slots.set(slot, new Map([...entries].filter(([key]) => isOther(key))));
    this.sql.run`UPDATE state SET slots = ${textOf(gathered)} WHERE id = 1`;
  }

  /** Forgets what is no longer kept. Where nothing came for long, the last hour becomes a row. */
  sweep(nowMs: number): void {
    this.sql.run`UPDATE state SET slots = ${textOf(this.#settled(nowMs))} WHERE id = 1`;
    this.sql.run`DELETE FROM function_slot WHERE slot < ${slotOf(nowMs) - SLOTS_KEPT + 1}`;
    this.sql.run`DELETE FROM function_health WHERE hour < ${firstHour(nowMs)}`;
    this.#versions.sweep(nowMs);
  }

  #gathered(): Gathered {
    this.#held ??= this.#read();
    return this.#held;
  }

  /** The same, when slots and hours that are over have become rows. */
  #settled(nowMs: number): Gathered {
    const gathered = this.#gathered();
    this.#toRows(gathered, slotOf(nowMs - ROWS_AFTER_MS));
    this.#fold(gathered, hourOf(nowMs - ROWS_AFTER_MS));
    return gathered;
  }

  #read(): Gathered {
    const text = this.sql.only<string | null>`SELECT slots FROM state`;
    if (text === null) return { folded: 0, slots: new Map() };
    const { folded, each } = JSON.parse(text) as Stored;
    return { folded, slots: new Map(each.map(([slot, entries]) => [slot, new Map(entries)])) };
  }

  /** An earlier release gathers hours in another column. To be called when the object begins. */
  takeEarlier(): void {
    const text = this.sql.only<string | null>`SELECT health FROM state`;
    if (text === null) return;
    const { each } = JSON.parse(text) as { each: { hour: number; key: string; health: Health }[] };
    for (const [hour, own] of Map.groupBy(each, (one) => one.hour))
      this.#toHour(hour, new Map(own.map(({ key, health }) => [key, ranAt(health, hour * HOUR_MS)])));
    this.sql.run`UPDATE state SET health = NULL WHERE id = 1`;
  }

  /** What is gathered of slots before this one goes to their rows. */
  #toRows(gathered: Gathered, before: number): void {
    for (const [slot, entries] of gathered.slots) {
      if (slot >= before) continue;
      gathered.slots.delete(slot);
      const hour = hourOfSlot(slot);
      const all = new Map(this.#rows(slot, slot + 1).flatMap(({ health }) => readLines(health.split("\n"))));
      for (const [key, ran] of entries) addTo(all, key, ran);
      const kept = this.#detailed(hour, all, DETAILED_MAX, SLOT_TEXT_MAX);
      this.#versions.see(entries);
      this.#toRow(slot, linesOf(kept));
      // A straggler: the hour is there already.
      if (hour < gathered.folded) this.#toHour(hour, entries);
    }
  }

  #toRow(slot: number, lines: readonly string[]): void {
    this.sql.replace("function_slot", { slot, health: lines.join("\n") });
    this.#counts.delete(slot);
  }

  /** Makes rows of all hours before this one that are none yet. */
  #fold(gathered: Gathered, before: number): void {
    if (before <= gathered.folded) return;
    const rows = this.#rows(gathered.folded * SLOTS_PER_HOUR, before * SLOTS_PER_HOUR);
    for (const [hour, own] of Map.groupBy(rows, ({ slot }) => hourOfSlot(slot))) {
      const entries: Entries = new Map();
      for (const { health } of own) for (const [key, ran] of readLines(health.split("\n"))) addTo(entries, key, ran);
      this.#toHour(hour, entries);
    }
    gathered.folded = before;
  }

  #toHour(hour: number, entries: Entries): void {
    this.#days.delete(hour);
    const rows = this.sql.all<{ key: string; health: string }>`
      SELECT function AS key, health FROM function_health WHERE hour = ${hour}`;
    const before = new Map(rows.map(({ key, health }) => [key, readRan(health, hour * HOUR_MS)]));
    const all = new Map(before);
    for (const [key, ran] of entries) addTo(all, key, ran);
    const kept = this.#detailed(hour, all, DETAILED_MAX);
    for (const key of before.keys())
      if (!kept.has(key)) this.sql.run`DELETE FROM function_health WHERE hour = ${hour} AND function = ${key}`;
    for (const [key, health] of kept)
      if (health !== before.get(key))
        this.sql.replace("function_health", { hour, function: key, health: JSON.stringify(health) });
  }

  /**
   * All of them; or, of too many, some and the sum of the others, with a note of whose are not
   * kept.
   * @param max so many. @param chars the most text of them.
   */
  #detailed(hour: number, entries: Entries, max: number, chars = Number.POSITIVE_INFINITY): Entries {
    const named = [...entries.keys()].filter((key) => key !== SUMMED);
    const size = new Map([...entries].map((entry) => [entry[0], JSON.stringify(entry).length]));
    const text = [...size.values()].reduce((sum, one) => sum + one, 0);
    if (named.length <= max && text <= chars) return entries;
    const worth = (key: string) => ranOf(entries.get(key) as Ran);
    const best = named.sort((a, b) => byWorth(worth(a), worth(b)));
    let left = chars;
    const dealt = fairly(best, max, (key) => ofKey(key).source).filter((key) => {
      left -= size.get(key) ?? 0;
      return left >= 0;
    });
    const kept = new Set(dealt);
    const others = best.filter((key) => !kept.has(key));
    for (const source of new Set(others.map((key) => ofKey(key).source)))
      this.sql.run`INSERT OR IGNORE INTO sent (hour, source, place) VALUES (${hour}, ${source}, 'summed')`;
    const all: Entries = new Map([...entries].filter(([key]) => kept.has(key) || key === SUMMED));
    for (const key of others) addTo(all, SUMMED, withoutProblems(entries.get(key) as Ran));
    return all;
  }

  #rows(from: number, before: number): { slot: number; health: string }[] {
    return this.sql.all`SELECT slot, health FROM function_slot WHERE slot >= ${from} AND slot < ${before}`;
  }

  /** Slots of a function, with those that are summed. @param scriptName null: of all functions. */
  *#each(from: number, before: number, scriptName: string | null): Generator<Found> {
    yield* this.#written(from, before, scriptName);
    yield* this.#unwritten(from, before, scriptName);
  }

  *#written(from: number, before: number, scriptName: string | null): Generator<Found> {
    // Two days of them may be more than the memory.
    const rows = this.sql.each<{ slot: number; health: string }>`
      SELECT slot, health FROM function_slot WHERE slot >= ${from} AND slot < ${before}`;
    for (const { slot: at, health } of rows) {
      const lines = health.split("\n");
      const own = scriptName === null ? lines : ownLines(lines, scriptName);
      for (const [key, ran] of readLines(own)) yield { at, key, health: ran };
    }
  }

  *#unwritten(from: number, before: number, scriptName: string | null): Generator<Found> {
    for (const [at, entries] of this.#gathered().slots)
      if (at >= from && at < before)
        for (const [key, health] of entries)
          if (scriptName === null || key === SUMMED || ofKey(key).scriptName === scriptName) yield { at, key, health };
  }
}

interface Found {
  at: number;
  key: string;
  health: Ran;
}

/** As {@link Gathered} is stored. */
interface Stored {
  folded: number;
  each: [slot: number, entries: [key: string, ran: Ran][]][];
}

/** {@link Stored}, of which most is as it was in the append before. */
function textOf({ folded, slots }: Gathered): string {
  const each = [...slots].map(([slot, entries]) => `[${slot},[${linesOf(entries).join()}]]`);
  return `{"folded":${folded},"each":[${each.join()}]}`;
}

/** A line for each: so one function is found without parsing all others. */
function linesOf(entries: Entries): string[] {
  return [...entries].map(([key, ran]) => `[${JSON.stringify(key)},${textOnce(ran)}]`);
}

function readLines(lines: readonly string[]): [key: string, ran: Ran][] {
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as [string, Ran]);
}

const SUMMED_LINE = `["${SUMMED}",`;

/** Those of a function, and of those that are summed. */
function ownLines(lines: readonly string[], scriptName: string): string[] {
  const begin = `[${JSON.stringify(JSON.stringify(scriptName)).slice(0, -1)}`;
  return lines.filter(
    (line) => line.startsWith(SUMMED_LINE) || (line.startsWith(begin) && /^[" ]/.test(line.slice(begin.length))),
  );
}

/** Those of functions that are named. */
function ranIn(all: readonly Found[]): RanIn[] {
  const summed = new Set(all.filter(({ key }) => key === SUMMED).map(({ at }) => at));
  return all
    .filter(({ key }) => key !== SUMMED)
    .map(({ at, key, health }) => ({ at, ...ofKey(key), health, isPartial: summed.has(at) }));
}

function ranAt({ firstFailureMs, ...health }: Health, atMs: number, tag?: string): Ran {
  // The sender says when its events were. An earlier release tells that of errors alone.
  const first = firstFailureMs ?? Math.min(...health.errors.map(({ firstMs }) => firstMs), atMs);
  const failedMs = Math.max(Math.min(first, atMs), slotOf(atMs) * SLOT_MS);
  return {
    ...storedHealth(health),
    ...{ firstMs: atMs, lastMs: atMs, firstFailedMs: health.failed === 0 ? 0 : failedMs },
    ...(tag && { tag }),
  };
}

/** @param atMs what it is of begins then: an earlier release said no more. */
function readRan(text: string, atMs: number): Ran {
  return { ...NO_HEALTH, firstMs: atMs, lastMs: atMs, firstFailedMs: 0, ...(JSON.parse(text) as Partial<Ran>) };
}

function addTo(entries: Entries, key: string, ran: Ran): void {
  const before = entries.get(key);
  entries.set(key, before === undefined ? ran : addedTimes(before, ran));
}

/** The sum of two. */
export function addedTimes(a: Ran, b: Ran): Ran {
  const { tag = a.tag } = b;
  return {
    ...addedHealth(a, b),
    firstMs: Math.min(a.firstMs, b.firstMs),
    lastMs: Math.max(a.lastMs, b.lastMs),
    firstFailedMs: Math.min(a.firstFailedMs || b.firstFailedMs, b.firstFailedMs || a.firstFailedMs),
    ...(tag !== undefined && { tag }),
  };
}

const NONE: Counts = { events: 0, failed: 0 };

/** By key without a version. */
function countsIn(entries: Iterable<readonly [key: string, ran: Ran]>): ReadonlyMap<string, Counts> {
  const sum = new Map<string, Counts>();
  for (const [key, ran] of entries) {
    const of = functionKeyOf(key);
    sum.set(of, addedRan(sum.get(of) ?? NONE, { events: invocations(ran), failed: ran.failed }));
  }
  return sum;
}

export function addedRan(a: Counts, b: Counts): Counts {
  return { events: a.events + b.events, failed: a.failed + b.failed };
}

export function ranOf(health: Ran): Omit<Slot, "slot"> {
  return { events: invocations(health), failed: health.failed, firstFailedMs: health.firstFailedMs };
}

/** What fails much, and mostly, goes before what is busy and fails seldom; then what is busy. */
function byWorth(a: Counts, b: Counts): number {
  return badness(b) - badness(a) || b.events - a.events;
}

/** All hours from one up to but not including another: the key begins with the hour. */
const hours = (from: number, to: number) => clause`
  WITH RECURSIVE asked (hour) AS (SELECT ${from} UNION ALL SELECT hour + 1 FROM asked WHERE hour + 1 < ${to})
  SELECT hour FROM asked`;

function slotIn({ slots }: Gathered, slot: number): Entries {
  const entries = slots.get(slot) ?? new Map<string, Ran>();
  slots.set(slot, entries);
  return entries;
}

/** The slot, since the epoch, that a time in ms belongs to. */
export function slotOf(timeMs: number): number {
  return Math.floor(timeMs / SLOT_MS);
}

function hourOfSlot(slot: number): number {
  return Math.floor(slot / SLOTS_PER_HOUR);
}

/** The oldest hour that is kept. */
function firstHour(nowMs: number): number {
  return hourOf(nowMs) - FUNCTION_HEALTH_HOURS + 1;
}
