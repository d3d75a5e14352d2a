import { utf8Length } from "../../base/bytes.ts";
import { clause, Tables } from "../../base/storage/sql.ts";
import { hourOf } from "../../base/time.ts";
import { fairly, TRACED } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import type { CountedPart } from "./counted.ts";
import { SCRIPT_NAME_MAX } from "./function-counts.ts";
import { addedHealth, type Health, invocations, NO_HEALTH, storedHealth, withoutProblems } from "./function-health.ts";

/** How many hours of health are kept, the one that is not over included: 30 days. */
export const FUNCTION_HEALTH_HOURS = 720;

/**
 * Functions of an hour that are kept in detail, dealt {@link fairly}: those that fail most, then
 * the busiest. The others are summed.
 */
export const DETAILED_MAX = 200;

/** Functions of an hour that are gathered before the busiest are known. */
const GATHERED_MAX = 2 * DETAILED_MAX;

/**
 * Largest text that is gathered before it becomes rows, in bytes: half of what a row takes. It is
 * read and written with every count; some 1 kB of it a function.
 */
const GATHERED_BYTES = 1_000_000;

/** How long after an hour's end its functions become rows, in ms: stragglers come before. */
const ROWS_AFTER_MS = 300_000;

/** What is known of the last hour is known by so many ms. */
export const SLOT_MS = 300_000;
export const SLOTS_KEPT = 12;

/** How the invocations of a function went in one hour. */
export interface HourHealth {
  /** Who sent the events; "": it is unknown. */
  source: Source;
  /** Since the epoch, by time of intake. */
  hour: number;
  /** Id of the deployed version; absent: unknown. */
  version?: string;
  health: Health;
  /** Other functions were summed in this hour, and this one may be among them in part. */
  isPartial: boolean;
}

/** Invocations of a function that were taken in in {@link SLOT_MS}. */
export interface Slot {
  /** Number of the slot since the epoch. */
  slot: number;
  events: number;
  failed: number;
  /** Time of the first that failed, in ms since the epoch; 0: none did. */
  firstFailedMs: number;
}

export interface FunctionSlots {
  scriptName: string;
  /** Who sent the events; "": it is unknown. */
  source: Source;
  /** In no order. */
  slots: readonly Slot[];
}

/** The slots of a function, by {@link keyOf}. */
type KeySlots = [key: string, slots: Slot[]];

/** What is gathered between two writes of rows. */
interface Gathered {
  /** All before this hour have become rows. */
  from: number;
  each: { hour: number; key: string; health: Health }[];
  slots: KeySlots[];
}

/** The same as it is stored: keys would double the size of the slots. */
type Stored = Omit<Gathered, "slots"> & {
  slots: [key: string, slots: [slot: number, events: number, failed: number, firstFailedMs: number][]][];
};

/**
 * The health of functions, by the hour in which their events were taken in. What is counted is
 * gathered in a column of the shard's own row, which each append writes anyway, and becomes a row
 * for each function once an hour, or when it gets too large.
 */
export class HealthHours extends Tables {
  /**
   * Adds messages. To be called in the transaction in which they are counted.
   * @returns what to write into `state.health` in that transaction.
   */
  add(messages: readonly CountedPart[], nowMs: number): string {
    const gathered = this.#gathered();
    const due = hourOf(nowMs - ROWS_AFTER_MS);
    if (gathered.from < due) {
      this.#toRows(gathered, ({ hour }) => hour < due);
      gathered.from = due;
    }
    const hours = new Map<number, Map<string, Health>>();
    const slots = new SlotTally(gathered.slots, nowMs);
    for (const { hour, key, health } of gathered.each) add(hours, hour, key, health);
    for (const { takenInMs, source = "", functions } of messages) {
      const hour = hourOf(Math.min(takenInMs, nowMs));
      for (const { scriptName: name, health } of functions) {
        const key = name === null || name.length > SCRIPT_NAME_MAX ? SUMMED : keyOf(name, source);
        if (health === undefined || hour < firstHour(nowMs)) continue;
        add(hours, hour, key, health);
        if (key !== SUMMED) slots.add(key, health, Math.min(takenInMs, nowMs));
      }
    }
    gathered.each = [...hours].flatMap(([hour, functions]) =>
      this.#detailed(hour, functions).map(([key, health]) => ({ hour, key, health })),
    );
    gathered.slots = slots.kept();
    const text = textOf(gathered);
    if (utf8Length(text) <= GATHERED_BYTES) return text;
    this.#toRows(gathered, () => true);
    return textOf(gathered);
  }

  /**
   * The hours in which a function ran, from `since` up to but not including `until`, in no order;
   * an hour may be there twice, to be summed.
   */
  of(scriptName: string, since: number, until: number, nowMs: number): HourHealth[] {
    const from = Math.max(since, firstHour(nowMs));
    const to = Math.min(until, hourOf(nowMs) + 1);
    if (from >= to) return [];
    const asked = hours(from, to);
    const rows = this.sql.all<{ hour: number; key: string; health: string }>`
      SELECT hour, function AS key, health FROM function_health WHERE hour IN (${asked}) AND ${named(scriptName)}
      UNION ALL SELECT hour, function, '' FROM function_health WHERE hour IN (${asked}) AND function = ${SUMMED}`;
    const all = [
      ...rows.map(({ health, ...row }) => ({ ...row, health: health === "" ? NO_HEALTH : JSON.parse(health) })),
      ...this.#gathered().each.filter(({ hour }) => hour >= from && hour < to),
    ];
    const summed = new Set(all.filter(({ key }) => key === SUMMED).map(({ hour }) => hour));
    return all
      .filter(({ key }) => key !== SUMMED && ofKey(key).scriptName === scriptName)
      .map(({ hour, key, health }) => ({ hour, source: ofKey(key).source, health, isPartial: summed.has(hour) }));
  }

  /** The last hour of the functions that failed in it. */
  failing(nowMs: number): FunctionSlots[] {
    const slots = new SlotTally(this.#gathered().slots, nowMs).kept();
    const failing = slots.filter(([, own]) => own.some(({ failed }) => failed > 0));
    return failing.map(([key, own]) => ({ ...ofKey(key), slots: own }));
  }

  /** Forgets a function. */
  forget(scriptName: string, nowMs: number): void {
    const all = hours(firstHour(nowMs), hourOf(nowMs) + 1);
    this.sql.run`DELETE FROM function_health WHERE hour IN (${all}) AND ${named(scriptName)}`;
    const gathered = this.#gathered();
    gathered.each = gathered.each.filter(({ key }) => key === SUMMED || ofKey(key).scriptName !== scriptName);
    gathered.slots = gathered.slots.filter(([key]) => ofKey(key).scriptName !== scriptName);
    this.sql.run`UPDATE state SET health = ${textOf(gathered)} WHERE id = 1`;
  }

  /** Forgets the hours that are no longer kept. */
  sweep(nowMs: number): void {
    this.sql.run`DELETE FROM function_health WHERE hour < ${firstHour(nowMs)}`;
  }

  #gathered(): Gathered {
    const health = this.sql.only<string | null>`SELECT health FROM state`;
    if (health === null) return { from: 0, each: [], slots: [] };
    const { from, each, slots } = JSON.parse(health) as Stored;
    return {
      from,
      each,
      slots: slots.map(([key, own]) => [
        key,
        own.map(([slot, events, failed, firstFailedMs]) => ({ slot, events, failed, firstFailedMs })),
      ]),
    };
  }

  /** All of them; or, of too many, some and the sum of the others. */
  #detailed(hour: number, functions: ReadonlyMap<string, Health>): [string, Health][] {
    const named = [...functions].filter(([key]) => key !== SUMMED);
    if (named.length <= GATHERED_MAX) return [...functions];
    const kept = this.#dealt(
      hour,
      named.sort(([, a], [, b]) => byWorth(ranOf(a), ranOf(b))).map(([key]) => key),
    );
    const others = [...functions].filter(([key]) => !kept.has(key)).map(([, health]) => withoutProblems(health));
    return [...named.filter(([key]) => kept.has(key)), [SUMMED, others.reduce(addedHealth, NO_HEALTH)]];
  }

  /** Those that are kept, and a note of whose are not. @param keys the best first. */
  #dealt(hour: number, keys: readonly string[]): ReadonlySet<string> {
    const kept = new Set(fairly(keys, DETAILED_MAX, (key) => ofKey(key).source));
    for (const source of new Set(keys.filter((key) => !kept.has(key)).map((key) => ofKey(key).source)))
      this.sql.run`INSERT OR IGNORE INTO sent (hour, source, place) VALUES (${hour}, ${source}, 'summed')`;
    return kept;
  }

  /** Moves what is gathered of some hours into their rows; see {@link DETAILED_MAX}. */
  #toRows(gathered: Gathered, isWanted: (of: { hour: number }) => boolean): void {
    for (const [hour, of] of Map.groupBy(gathered.each.filter(isWanted), (one) => one.hour)) {
      const rows = this.sql.all<{ function: string; health: string }>`
        SELECT function, health FROM function_health WHERE hour = ${hour}`;
      const before = new Map(rows.map((row) => [row.function, JSON.parse(row.health) as Health]));
      const all = new Map(before);
      for (const { key, health } of of) all.set(key, addedHealth(all.get(key) ?? NO_HEALTH, health));
      const named = [...all].filter(([key]) => key !== SUMMED).sort(([, a], [, b]) => byWorth(ranOf(a), ranOf(b)));
      const kept = this.#dealt(
        hour,
        named.map(([key]) => key),
      );
      for (const [key, health] of named.filter(([key]) => !kept.has(key))) {
        if (before.has(key)) this.sql.run`DELETE FROM function_health WHERE hour = ${hour} AND function = ${key}`;
        all.delete(key);
        all.set(SUMMED, addedHealth(all.get(SUMMED) ?? NO_HEALTH, withoutProblems(health)));
      }
      for (const [key, health] of all)
        if (health !== before.get(key))
          this.sql.replace("function_health", { hour, function: key, health: JSON.stringify(health) });
    }
    gathered.each = gathered.each.filter((one) => !isWanted(one));
  }
}

function textOf({ slots, ...rest }: Gathered): string {
  const stored: Stored = {
    ...rest,
    slots: slots.map(([key, own]) => [
      key,
      own.map(({ slot, events, failed, firstFailedMs }) => [slot, events, failed, firstFailedMs]),
    ]),
  };
  return JSON.stringify(stored);
}

/** The key of the functions that are summed. */
const SUMMED = "null";

/**
 * The key of a function: the JSON of its name, and where it is not the platform that names it, a
 * blank and the source. So a sender that uses the name of another's function changes nothing of it.
 */
export function keyOf(scriptName: string, source: Source): string {
  return JSON.stringify(scriptName) + (source === TRACED ? "" : ` ${source}`);
}

export function ofKey(key: string): Pick<FunctionSlots, "scriptName" | "source"> {
  const [name = '""'] = /^"(?:[^"\\]|\\.)*"/.exec(key) ?? [];
  return { scriptName: JSON.parse(name) as string, source: name === key ? TRACED : key.slice(name.length + 1) };
}

/** The rows of a function, by all that name it. */
const named = (scriptName: string) =>
  clause`function >= ${JSON.stringify(scriptName)} AND function < ${`${JSON.stringify(scriptName)}!`}`;

type Ran = Pick<Slot, "events" | "failed">;

function addedRan(a: Ran, b: Ran): Ran {
  return { events: a.events + b.events, failed: a.failed + b.failed };
}

function ranOf(health: Health): Ran {
  return { events: invocations(health), failed: health.failed };
}

/** What fails much, and mostly, goes before what is busy and fails seldom; then what is busy. */
function byWorth(a: Ran, b: Ran): number {
  const badness = ({ events, failed }: Ran): number => (failed === 0 ? 0 : failed ** 2 / events);
  return badness(b) - badness(a) || b.events - a.events;
}

/** All hours from one up to but not including another: the key begins with the hour. */
const hours = (from: number, to: number) => clause`
  WITH RECURSIVE asked (hour) AS (SELECT ${from} UNION ALL SELECT hour + 1 FROM asked WHERE hour + 1 < ${to})
  SELECT hour FROM asked`;

/** The last hour by function. Of too many, those stay that fail most, then the busiest. */
class SlotTally {
  readonly #first: number;
  readonly #each: Map<string, Map<number, Slot>>;

  constructor(before: readonly KeySlots[], nowMs: number) {
    this.#first = slotOf(nowMs) - SLOTS_KEPT + 1;
    this.#each = new Map(
      before.map(([key, slots]) => [
        key,
        new Map(slots.filter(({ slot }) => slot >= this.#first).map((each) => [each.slot, each])),
      ]),
    );
  }

  add(key: string, health: Health, takenInMs: number): void {
    const slot = slotOf(takenInMs);
    if (slot < this.#first) return;
    const slots = this.#each.get(key) ?? new Map<number, Slot>();
    this.#each.set(key, slots);
    const first = Math.min(...health.errors.map(({ firstMs }) => firstMs), takenInMs);
    // The sender says when its events were.
    const failedMs = health.failed === 0 ? 0 : Math.max(first, slot * SLOT_MS);
    slots.set(
      slot,
      addedSlot(slots.get(slot), { slot, events: invocations(health), failed: health.failed, firstFailedMs: failedMs }),
    );
  }

  kept(): KeySlots[] {
    const kept = [...this.#each]
      .filter(([, slots]) => slots.size > 0)
      .map(([key, slots]): KeySlots => [key, [...slots.values()]]);
    if (kept.length <= GATHERED_MAX) return kept;
    const ran = kept.map((each) => ({ each, sum: each[1].reduce(addedRan, { events: 0, failed: 0 }) }));
    const best = ran.sort((a, b) => byWorth(a.sum, b.sum)).map(({ each }) => each);
    return fairly(best, DETAILED_MAX, ([key]) => ofKey(key).source);
  }
}

function addedSlot(a: Slot | undefined, b: Slot): Slot {
  if (a === undefined) return b;
  return {
    slot: b.slot,
    events: a.events + b.events,
    failed: a.failed + b.failed,
    firstFailedMs:
      a.failed === 0 || (b.failed > 0 && b.firstFailedMs < a.firstFailedMs) ? b.firstFailedMs : a.firstFailedMs,
  };
}

/** The answers of all shards as one. */
export function joinedSlots(all: readonly FunctionSlots[]): FunctionSlots[] {
  return [...Map.groupBy(all, ({ scriptName, source }) => keyOf(scriptName, source))].map(([key, parts]) => {
    const sum = new Map<number, Slot>();
    for (const { slots } of parts) for (const each of slots) sum.set(each.slot, addedSlot(sum.get(each.slot), each));
    return { ...ofKey(key), slots: [...sum.values()] };
  });
}

function add(hours: Map<number, Map<string, Health>>, hour: number, key: string, health: Health): void {
  const functions = hours.get(hour) ?? new Map<string, Health>();
  hours.set(hour, functions);
  const before = functions.get(key);
  functions.set(key, before === undefined ? storedHealth(health) : addedHealth(before, health));
}

function slotOf(timeMs: number): number {
  return Math.floor(timeMs / SLOT_MS);
}

/** The oldest hour that is kept. */
function firstHour(nowMs: number): number {
  return hourOf(nowMs) - FUNCTION_HEALTH_HOURS + 1;
}
