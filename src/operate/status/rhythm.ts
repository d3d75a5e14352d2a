import { Tables, verbatim } from "../../base/storage/sql.ts";
import { DAY_MS, dayOf, MINUTE_MS } from "../../base/time.ts";
import { fairly, sentBy, TRACED } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import type { Usual } from "./facts.ts";
import { AFTER, KIND_RHYTHM_BOUNDS, RHYTHM_BOUNDS, type RhythmBounds } from "./thresholds.ts";

/**
 * The learned rhythms of the watch. One row of less than 1.2 MB, whatever names senders make up:
 * {@link RHYTHM_BOUNDS}.
 */
export const RHYTHM_SQL = `
      CREATE TABLE rhythm (
        id    INTEGER PRIMARY KEY CHECK (id = 1),
        state TEXT NOT NULL                      -- JSON of RhythmState
      ) STRICT;`;

/** The same by kind of event, of the names of {@link kindName}. */
export const KIND_RHYTHM_SQL = `
      CREATE TABLE kind_rhythm (
        id    INTEGER PRIMARY KEY CHECK (id = 1),
        state TEXT NOT NULL                      -- JSON of RhythmState
      ) STRICT;`;

/**
 * How far back pauses count, in days before the last event: a silence does not change what is
 * usual.
 */
const GAP_DAYS = 14;

/** Shorter pauses, in ms, are not stored: even twice as long is not called quiet. */
const SHORT_MS = AFTER.quiet / 2;

/** A rhythm is known after this many checks that found a new event, over this long, in ms. */
const KNOWN_LOOKS = 5;
const KNOWN_MS = DAY_MS;

/** The events of one function. */
export interface Pulse {
  firstMs: number;
  lastMs: number;
  /** Checks that found a newer event than the one before. */
  checks: number;
  /**
   * The longest pause that ended on each day (since the epoch), in minutes; days with short pauses
   * only are left out.
   */
  gaps: [day: number, minutes: number][];
  /** Who names the function; absent: the platform, or it is unknown. */
  sender?: Source;
}

export interface RhythmState {
  /** Until when all events were known at the last check, in ms. */
  untilMs: number;
  functions: [name: string, pulse: Pulse][];
  /** All events together. */
  account: Pulse | null;
}

/** The latest event of a function, as a check finds it. */
export interface Heard {
  name: string;
  lastMs: number;
  events: number;
  /** As of {@link Pulse}. */
  sender?: Source;
}

/** null: not known yet. */
export function usualOf({ firstMs, lastMs, checks, gaps, sender }: Pulse): Usual | null {
  if (checks < KNOWN_LOOKS || lastMs - firstMs < KNOWN_MS) return null;
  return { lastMs, longestGapMs: Math.max(0, ...gaps.map(([, minutes]) => minutes)) * MINUTE_MS, ...sentBy(sender) };
}

/**
 * Applies a check.
 * @param knownUntilMs until when the check before knew all events. A pause ends there, so that a
 * pause of the watch itself counts as none.
 */
export function heard(before: Pulse | null, lastMs: number, knownUntilMs: number): Pulse {
  if (before === null) return { firstMs: lastMs, lastMs, checks: 1, gaps: [] };
  if (lastMs <= before.lastMs) return before;
  const day = dayOf(lastMs);
  const gapMs = knownUntilMs - before.lastMs;
  const gaps = new Map(before.gaps.filter(([of]) => of >= day - GAP_DAYS));
  if (gapMs > SHORT_MS) gaps.set(day, Math.max(gaps.get(day) ?? 0, Math.ceil(gapMs / MINUTE_MS)));
  return { firstMs: before.firstMs, lastMs, checks: before.checks + 1, gaps: [...gaps] };
}

/**
 * Applies a check. Without room, new names replace the oldest that were seen once; names seen more
 * often stay. Between those that name functions, the room is dealt {@link fairly}.
 * @returns how many names found no room.
 */
export function listened(
  functions: Map<string, Pulse>,
  all: readonly Heard[],
  knownUntilMs: number,
  bounds: RhythmBounds = RHYTHM_BOUNDS,
): number {
  const pulses = new Map(functions);
  for (const { name, lastMs, sender } of all) {
    const { sender: _, ...pulse } = heard(functions.get(name) ?? null, lastMs, knownUntilMs);
    pulses.set(name, { ...pulse, ...sentBy(sender) });
  }
  const seen = [...pulses].filter(([name]) => functions.has(name));
  const fresh = all.filter(({ name }) => !functions.has(name) && name.length <= bounds.name).sort(byEvents);
  const order = [
    ...seen.filter(([, { checks }]) => checks > 1).map(([name]) => name),
    ...fresh.map(({ name }) => name),
    ...seen
      .filter(([, { checks }]) => checks === 1)
      .sort(([, a], [, b]) => b.lastMs - a.lastMs)
      .map(([name]) => name),
  ];
  let { chars } = bounds;
  const kept = fairly(order, bounds.names, (name) => pulses.get(name)?.sender ?? TRACED).filter((name) => {
    const size = name.length + (pulses.get(name)?.sender?.length ?? 0);
    if (size > chars) return false;
    chars -= size;
    return true;
  });
  const stay = new Set(kept);
  for (const name of functions.keys()) if (!stay.has(name)) functions.delete(name);
  for (const name of [...functions.keys(), ...kept]) functions.set(name, pulses.get(name) as Pulse);
  return all.filter(({ name }) => !functions.has(name)).length;
}

function byEvents(a: Heard, b: Heard): number {
  return b.events - a.events || (a.name < b.name ? -1 : 1);
}

/** Keeps a {@link RhythmState}; one row is written where anything has changed. */
export class Rhythm extends Tables {
  readonly #table: "rhythm" | "kind_rhythm";
  readonly #bounds: RhythmBounds;

  constructor(sql: SqlStorage, of: "functions" | "kinds" = "functions") {
    super(sql);
    this.#table = of === "kinds" ? "kind_rhythm" : "rhythm";
    this.#bounds = of === "kinds" ? KIND_RHYTHM_BOUNDS : RHYTHM_BOUNDS;
  }

  /**
   * Applies a check.
   * @param countedMs when events were last counted; null: never.
   * @param untilMs until when all events are known. A check behind an earlier one changes nothing…
   * @param nowMs …unless the clock of the earlier one was ahead: nothing would be learned until
   *   then.
   * @returns how many names found no room.
   */
  listen(all: readonly Heard[], countedMs: number | null, untilMs: number, nowMs: number): number {
    const { functions, account, untilMs: lastUntilMs } = this.#state();
    const knownUntilMs = Math.min(lastUntilMs, nowMs);
    if (untilMs < knownUntilMs) return 0;
    const byName = new Map(functions);
    const left = listened(byName, all, knownUntilMs, this.#bounds);
    this.#keep({
      untilMs,
      functions: [...byName],
      account: countedMs === null ? account : heard(account, countedMs, knownUntilMs),
    });
    return left;
  }

  /** The known rhythms by function. */
  functions(): Map<string, Usual> {
    const known = this.#state().functions.flatMap(([name, pulse]): [string, Usual][] => {
      const usual = usualOf(pulse);
      return usual === null ? [] : [[name, usual]];
    });
    return new Map(known);
  }

  /** All of them, known or not. */
  pulses(): RhythmState["functions"] {
    return this.#state().functions;
  }

  account(): Usual | null {
    const { account } = this.#state();
    return account === null ? null : usualOf(account);
  }

  forget(names: ReadonlySet<string>): void {
    if (names.size === 0) return;
    const state = this.#state();
    this.#keep({ ...state, functions: state.functions.filter(([name]) => !names.has(name)) });
  }

  #state(): RhythmState {
    const row = this.sql.first<{ state: string }>`SELECT state FROM ${verbatim(this.#table)}`;
    return row === null ? { untilMs: 0, functions: [], account: null } : (JSON.parse(row.state) as RhythmState);
  }

  #keep(state: RhythmState): void {
    this.sql.replace(this.#table, { id: 1, state: JSON.stringify(state) });
  }
}
