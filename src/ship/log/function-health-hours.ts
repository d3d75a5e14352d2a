import { utf8Length } from "../../base/bytes.ts";
import { clause, Tables } from "../../base/storage/sql.ts";
import type { CountedPart } from "./counted.ts";
import { SCRIPT_NAME_MAX } from "./function-counts.ts";
import { addedHealth, type Health, invocations, NO_HEALTH } from "./function-health.ts";

const HOUR_MS = 3_600_000;

/** How many hours of health are kept, the one that is not over included: 30 days. */
export const FUNCTION_HEALTH_HOURS = 720;

/** Functions of an hour that are kept in detail: the busiest. The others are summed. */
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
  /** Since the epoch, by time of intake. */
  hour: number;
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
  /** In no order. */
  slots: readonly Slot[];
}

/** What is gathered between two writes of rows. */
interface Gathered {
  /** All before this hour have become rows. */
  from: number;
  /** null: the functions that are summed. */
  each: { hour: number; scriptName: string | null; health: Health }[];
  slots: FunctionSlots[];
}

/** The same as it is stored: keys would double the size of the slots. */
type Stored = Omit<Gathered, "slots"> & {
  slots: [scriptName: string, slots: [slot: number, events: number, failed: number, firstFailedMs: number][]][];
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
    const hours = new Map<number, Map<string | null, Health>>();
    const slots = new SlotTally(gathered.slots, nowMs);
    for (const { hour, scriptName, health } of gathered.each) add(hours, hour, scriptName, health);
    for (const { takenInMs, functions } of messages) {
      const hour = hourOf(Math.min(takenInMs, nowMs));
      for (const { scriptName: name, health } of functions) {
        const scriptName = (name?.length ?? 0) > SCRIPT_NAME_MAX ? null : name;
        if (health === undefined || hour < firstHour(nowMs)) continue;
        add(hours, hour, scriptName, health);
        if (scriptName !== null) slots.add(scriptName, health, Math.min(takenInMs, nowMs));
      }
    }
    gathered.each = [...hours].flatMap(([hour, functions]) =>
      busiest(functions, GATHERED_MAX).map(([scriptName, health]) => ({ hour, scriptName, health })),
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
    const key = JSON.stringify(scriptName);
    const rows = this.sql.all<{ hour: number; function: string; health: string }>`
      SELECT hour, function, health FROM function_health
      WHERE hour IN (${hours(from, to)}) AND function IN (${key}, ${SUMMED})`;
    const { each } = this.#gathered();
    const asked = each.filter(({ hour }) => hour >= from && hour < to);
    const summed = new Set([
      ...rows.filter((row) => row.function === SUMMED).map(({ hour }) => hour),
      ...asked.filter((one) => one.scriptName === null).map(({ hour }) => hour),
    ]);
    return [
      ...rows
        .filter((row) => row.function === key)
        .map(({ hour, health }) => ({ hour, health: JSON.parse(health) as Health })),
      ...asked.filter((one) => one.scriptName === scriptName),
    ].map(({ hour, health }) => ({ hour, health, isPartial: summed.has(hour) }));
  }

  /** The last hour of the functions that failed in it. */
  failing(nowMs: number): FunctionSlots[] {
    const slots = new SlotTally(this.#gathered().slots, nowMs).kept();
    return slots.filter((each) => each.slots.some(({ failed }) => failed > 0));
  }

  /** Forgets a function. */
  forget(scriptName: string, nowMs: number): void {
    const all = hours(firstHour(nowMs), hourOf(nowMs) + 1);
    this.sql.run`DELETE FROM function_health WHERE hour IN (${all}) AND function = ${JSON.stringify(scriptName)}`;
    const gathered = this.#gathered();
    gathered.each = gathered.each.filter((one) => one.scriptName !== scriptName);
    gathered.slots = gathered.slots.filter((one) => one.scriptName !== scriptName);
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
      slots: slots.map(([scriptName, own]) => ({
        scriptName,
        slots: own.map(([slot, events, failed, firstFailedMs]) => ({ slot, events, failed, firstFailedMs })),
      })),
    };
  }

  /** Moves what is gathered of some hours into their rows; see {@link DETAILED_MAX}. */
  #toRows(gathered: Gathered, isWanted: (of: { hour: number }) => boolean): void {
    for (const [hour, of] of Map.groupBy(gathered.each.filter(isWanted), (one) => one.hour)) {
      const rows = this.sql.all<{ function: string; health: string }>`
        SELECT function, health FROM function_health WHERE hour = ${hour}`;
      const before = new Map(rows.map((row) => [row.function, row.health]));
      let room = DETAILED_MAX - rows.filter((row) => row.function !== SUMMED).length;
      const changed = new Map<string, Health>();
      for (const { scriptName, health } of of.sort((a, b) => invocations(b.health) - invocations(a.health))) {
        const own = JSON.stringify(scriptName);
        const isKept = scriptName !== null && (before.has(own) || room-- > 0);
        const key = isKept ? own : SUMMED;
        const stored = before.get(key);
        const sum = changed.get(key) ?? (stored === undefined ? NO_HEALTH : (JSON.parse(stored) as Health));
        changed.set(key, addedHealth(sum, isKept ? health : { ...health, errors: [] }));
      }
      for (const [key, health] of changed) {
        const row = { hour, function: key, health: JSON.stringify(health) };
        this.sql.replace("function_health", row);
      }
    }
    gathered.each = gathered.each.filter((one) => !isWanted(one));
  }
}

function textOf({ slots, ...rest }: Gathered): string {
  const stored: Stored = {
    ...rest,
    slots: slots.map(({ scriptName, slots: own }) => [
      scriptName,
      own.map(({ slot, events, failed, firstFailedMs }) => [slot, events, failed, firstFailedMs]),
    ]),
  };
  return JSON.stringify(stored);
}

/** The key of the functions that are summed; that of a function is the JSON of its name. */
const SUMMED = "null";

/** All hours from one up to but not including another: the key begins with the hour. */
const hours = (from: number, to: number) => clause`
  WITH RECURSIVE asked (hour) AS (SELECT ${from} UNION ALL SELECT hour + 1 FROM asked WHERE hour + 1 < ${to})
  SELECT hour FROM asked`;

/** The last hour by function. Of too many, those with the most events stay. */
class SlotTally {
  readonly #first: number;
  readonly #each: Map<string, Map<number, Slot>>;

  constructor(before: readonly FunctionSlots[], nowMs: number) {
    this.#first = slotOf(nowMs) - SLOTS_KEPT + 1;
    this.#each = new Map(
      before.map(({ scriptName, slots }) => [
        scriptName,
        new Map(slots.filter(({ slot }) => slot >= this.#first).map((each) => [each.slot, each])),
      ]),
    );
  }

  add(scriptName: string, health: Health, takenInMs: number): void {
    const slot = slotOf(takenInMs);
    if (slot < this.#first) return;
    const slots = this.#each.get(scriptName) ?? new Map<number, Slot>();
    this.#each.set(scriptName, slots);
    const first = Math.min(...health.errors.map(({ firstMs }) => firstMs), takenInMs);
    // The sender says when its events were.
    const failedMs = health.failed === 0 ? 0 : Math.max(first, slot * SLOT_MS);
    slots.set(
      slot,
      addedSlot(slots.get(slot), { slot, events: invocations(health), failed: health.failed, firstFailedMs: failedMs }),
    );
  }

  kept(): FunctionSlots[] {
    const kept = [...this.#each]
      .filter(([, slots]) => slots.size > 0)
      .map(([scriptName, slots]) => ({ scriptName, slots: [...slots.values()] }));
    if (kept.length <= GATHERED_MAX) return kept;
    const events = ({ slots }: FunctionSlots): number => slots.reduce((sum, each) => sum + each.events, 0);
    return kept.sort((a, b) => events(b) - events(a)).slice(0, DETAILED_MAX);
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
  return [...Map.groupBy(all, ({ scriptName }) => scriptName)].map(([scriptName, parts]) => {
    const sum = new Map<number, Slot>();
    for (const { slots } of parts) for (const each of slots) sum.set(each.slot, addedSlot(sum.get(each.slot), each));
    return { scriptName, slots: [...sum.values()] };
  });
}

function add(
  hours: Map<number, Map<string | null, Health>>,
  hour: number,
  scriptName: string | null,
  health: Health,
): void {
  const functions = hours.get(hour) ?? new Map<string | null, Health>();
  hours.set(hour, functions);
  functions.set(scriptName, addedHealth(functions.get(scriptName) ?? NO_HEALTH, health));
}

/** All of them; or, of more than `max`, the busiest {@link DETAILED_MAX}, and null for the rest. */
function busiest(functions: ReadonlyMap<string | null, Health>, max: number): [string | null, Health][] {
  const named = [...functions].filter(([name]) => name !== null);
  if (named.length <= max) return [...functions];
  named.sort(([, a], [, b]) => invocations(b) - invocations(a));
  const others = named.slice(DETAILED_MAX).map(([, health]) => ({ ...health, errors: [] }));
  return [...named.slice(0, DETAILED_MAX), [null, others.reduce(addedHealth, functions.get(null) ?? NO_HEALTH)]];
}

function slotOf(timeMs: number): number {
  return Math.floor(timeMs / SLOT_MS);
}

function hourOf(timeMs: number): number {
  return Math.floor(timeMs / HOUR_MS);
}

/** The oldest hour that is kept. */
function firstHour(nowMs: number): number {
  return hourOf(nowMs) - FUNCTION_HEALTH_HOURS + 1;
}
