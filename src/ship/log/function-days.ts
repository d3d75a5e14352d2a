import { Tables } from "../../base/storage/sql.ts";
import { HOUR_MS } from "../../base/time.ts";
import { addedSketch, type Sketch } from "./function-health.ts";
import { ofKey, SUMMED } from "./health-keys.ts";

/** How many hours a day of a function has, the one that is not over included. */
export const DAY_HOURS = 24;

/** Invocations, and how many of them failed. */
export interface Counts {
  events: number;
  failed: number;
}

/** The last day of a function, by all that name it: what a list of many shows of each. */
export interface FunctionDay {
  scriptName: string;
  /** The oldest first; the last one is not over. */
  hours: readonly Counts[];
  /** Of the last full five minutes, and of those that are not over. */
  now: Counts;
  /** Wall times of the last hour. */
  wall: Sketch;
  /** The latest intake, in ms since the epoch, and the version that it was of; "": unknown. */
  lastMs: number;
  version: string;
  /** What its owner calls that version; "": nothing. */
  tag: string;
}

/** Of one version, in one piece of time. */
export interface DayPiece extends Omit<FunctionDay, "hours" | "now" | "wall">, Counts {
  /** Since the epoch; null: it counts in no hour, as that has it already. */
  hour: number | null;
  isNow: boolean;
  /** Of the last hour. */
  wall?: Sketch;
}

const NONE: Counts = { events: 0, failed: 0 };

function added(a: Counts, b: Counts): Counts {
  return { events: a.events + b.events, failed: a.failed + b.failed };
}

/** Days of pieces in any order. @param last the hour that is not over. */
export function daysOf(pieces: Iterable<DayPiece>, last: number): FunctionDay[] {
  const days = new Map<string, FunctionDay & { hours: Counts[] }>();
  for (const { hour, isNow, events, failed, wall, ...latest } of pieces) {
    const { scriptName } = latest;
    const day = days.get(scriptName) ?? { ...latest, hours: Array(DAY_HOURS).fill(NONE), now: NONE, wall: [] };
    const at = hour === null ? -1 : hour - last + DAY_HOURS - 1;
    const before = day.hours[at];
    if (before !== undefined) day.hours[at] = added(before, { events, failed });
    if (isNow) day.now = added(day.now, { events, failed });
    if (wall !== undefined) day.wall = addedSketch(day.wall, wall);
    days.set(scriptName, latest.lastMs > day.lastMs ? Object.assign(day, latest) : day);
  }
  return [...days.values()];
}

/** What days have of hours in rows: of those that are over it is read once, as pages ask often. */
export class DayHours extends Tables {
  readonly #read = new Map<number, readonly DayPiece[]>();

  /** @param folded all hours before this one are over. */
  *of(from: number, last: number, folded: number): Generator<DayPiece> {
    for (const hour of this.#read.keys()) if (hour < from) this.#read.delete(hour);
    for (let hour = from; hour <= last; hour++) {
      const pieces = this.#read.get(hour) ?? this.#rows(hour);
      if (hour < folded) this.#read.set(hour, pieces);
      yield* pieces;
    }
  }

  /** To be called when the rows of an hour change. */
  delete(hour: number): void {
    this.#read.delete(hour);
  }

  clear(): void {
    this.#read.clear();
  }

  /** Only what a list shows: an hour of a function is up to some kB. */
  #rows(hour: number): DayPiece[] {
    const rows = this.sql.all<{ key: string; last: number | null; tag: string | null } & Counts>`
      SELECT function AS key, health ->> '$.lastMs' AS last, health ->> '$.tag' AS tag,
        health ->> '$.failed' AS failed,
        (SELECT coalesce(sum(value ->> '$.count'), 0) FROM json_each(health, '$.outcomes')) AS events
      FROM function_health WHERE hour = ${hour} AND function <> ${SUMMED}`;
    return rows.map(({ key, last, tag, events, failed }) => {
      const latest = { lastMs: last ?? hour * HOUR_MS, tag: tag ?? "" };
      return { ...ofKey(key), ...latest, hour, isNow: false, events, failed };
    });
  }
}

function addedDay(a: FunctionDay, b: FunctionDay): FunctionDay {
  const { lastMs, version, tag } = b.lastMs > a.lastMs ? b : a;
  return {
    scriptName: a.scriptName,
    hours: a.hours.map((each, i) => added(each, b.hours[i] ?? NONE)),
    now: added(a.now, b.now),
    wall: addedSketch(a.wall, b.wall),
    ...{ lastMs, version, tag },
  };
}

/** The answers of all shards as one. */
export function joinedDays(all: readonly FunctionDay[]): FunctionDay[] {
  return [...Map.groupBy(all, ({ scriptName }) => scriptName).values()].map((same) => same.reduce(addedDay));
}

/** Of the whole day. */
export function sumOfDay({ hours }: FunctionDay): Counts {
  return hours.reduce(added, NONE);
}

/** Much that fails, and mostly, is worse than what is busy and fails seldom. */
export function badness({ events, failed }: Counts): number {
  return failed === 0 ? 0 : failed ** 2 / events;
}

/** What fails now is first, then what failed in the day, then what is busy. */
export function byWorst(a: FunctionDay, b: FunctionDay): number {
  const [ofA, ofB] = [sumOfDay(a), sumOfDay(b)];
  return badness(b.now) - badness(a.now) || badness(ofB) - badness(ofA) || ofB.events - ofA.events;
}
