import { hourOf } from "../../base/time.ts";
import { fairly } from "../../formats/record/shares.ts";
import { addedSketch, invocations, quantile, type Sketch } from "./function-health.ts";
import type { VersionSeen } from "./function-versions.ts";
import { type HealthOf, keyOf, ofKey, type RanIn } from "./health-keys.ts";
import { addedRan, type HealthSlots, ranOf, type Slot } from "./health-slots.ts";

/** The last hour of a function. */
export interface FunctionSlots {
  scriptName: string;
  source: HealthOf["source"];
  /** In no order. */
  slots: readonly Slot[];
  /** Which of its versions ran, in no order; absent: an earlier release counted. */
  versions?: readonly VersionRan[];
}

export interface VersionRan extends Omit<VersionSeen, "lastMs" | "source"> {
  events: number;
  failed: number;
}

/** The wall times of a function in the last hour, by slot, and in the day before. */
export interface FunctionTimes {
  scriptName: string;
  source: HealthOf["source"];
  /** In no order. */
  slots: readonly { slot: number; events: number; wall: Sketch }[];
  usual: Sketch;
}

/** By so many ms at least is a function slower than usual that is called slow. */
export const SLOW_BY_MS = 100;

/** Functions of which that is asked, the busiest: the day before is read of each. */
const TIMED_MAX = 20;

const USUAL_MAX = 10 * TIMED_MAX;

/** What the last hour says of functions: which fail, and which are slower than usual. */
export class LastHour {
  readonly #health: HealthSlots;
  /** Wall times of the day before an hour, by function: they are read once in that hour. */
  readonly #usual = new Map<string, Sketch>();
  #usualHour = 0;

  constructor(health: HealthSlots) {
    this.#health = health;
  }

  of(nowMs: number): { failing: FunctionSlots[]; slower: FunctionTimes[] } {
    const lately = this.#health.lately(nowMs);
    return { failing: this.#failing(lately), slower: this.#slower(lately, hourOf(nowMs), nowMs) };
  }

  /** Those that failed in it. */
  #failing(lately: readonly RanIn[]): FunctionSlots[] {
    const byFunction = Map.groupBy(lately, (each) => keyOf({ ...each, version: "" }));
    const failing = [...byFunction].filter(([, own]) => own.some(({ health }) => health.failed > 0));
    const first = this.#health.firstOf(failing.map(([key]) => key));
    return joinedSlots(
      failing.flatMap(([key, own]) =>
        own.map(({ scriptName, source, version, at, health }) => {
          const firstMs = first(key, version) ?? health.firstMs;
          const ran = { version, tag: health.tag ?? "", firstMs, ...ranOf(health) };
          return {
            ...{ scriptName, source, slots: [{ slot: at, ...ranOf(health) }] },
            versions: version === "" ? [] : [ran],
          };
        }),
      ),
    );
  }

  /** Those that are slower now than in the day before. */
  #slower(lately: readonly RanIn[], hour: number, nowMs: number): FunctionTimes[] {
    const times = timesOf(lately).filter(({ slots }) => p95Of(slots.slice(-SLOTS_NOW)) > SLOW_BY_MS);
    const events = ({ slots }: FunctionTimes): number => slots.reduce((sum, slot) => sum + slot.events, 0);
    const busiest = times.sort((a, b) => events(b) - events(a));
    return fairly(busiest, TIMED_MAX, ({ source }) => source).flatMap((each) => {
      const usual = this.#usualOf(each, hour, nowMs);
      return p95Of(each.slots.slice(-SLOTS_NOW)) > (quantile(usual, 0.95) ?? Number.POSITIVE_INFINITY) + SLOW_BY_MS
        ? [{ ...each, usual }]
        : [];
    });
  }

  #usualOf({ scriptName, source }: FunctionTimes, hour: number, nowMs: number): Sketch {
    // Senders make up names.
    if (this.#usualHour !== hour || this.#usual.size > USUAL_MAX) this.#usual.clear();
    this.#usualHour = hour;
    const key = keyOf({ scriptName, source, version: "" });
    const known = this.#usual.get(key);
    if (known !== undefined) return known;
    const before = this.#health.hours(scriptName, hour - 24, hour, nowMs).filter((each) => each.source === source);
    const usual = before.reduce<Sketch>((sum, { health }) => addedSketch(sum, health.wall), []);
    this.#usual.set(key, usual);
    return usual;
  }
}

function addedSlot(a: Slot, b: Slot): Slot {
  const firstFailedMs = Math.min(a.firstFailedMs || b.firstFailedMs, b.firstFailedMs || a.firstFailedMs);
  return { slot: b.slot, ...addedRan(a, b), firstFailedMs };
}

function addedVersion(a: VersionRan, b: VersionRan): VersionRan {
  return { ...a, ...addedRan(a, b), firstMs: Math.min(a.firstMs, b.firstMs) };
}

/** Those with the same key as one. */
function joined<T>(all: readonly T[], keyOfOne: (one: T) => unknown, sum: (a: T, b: T) => T): T[] {
  return [...Map.groupBy(all, keyOfOne).values()].map((same) => same.reduce(sum));
}

/** The answers of all shards as one. */
export function joinedSlots(all: readonly FunctionSlots[]): FunctionSlots[] {
  return [...Map.groupBy(all, (each) => keyOf({ ...each, version: "" }))].map(([key, parts]) => {
    const { scriptName, source } = ofKey(key);
    return {
      ...{ scriptName, source },
      slots: joined(
        parts.flatMap(({ slots }) => slots),
        ({ slot }) => slot,
        addedSlot,
      ),
      versions: joined(
        parts.flatMap(({ versions = [] }) => versions),
        ({ version }) => version,
        addedVersion,
      ),
    };
  });
}

/** The last slots, which tell how it is now. */
const SLOTS_NOW = 3;

function p95Of(slots: FunctionTimes["slots"]): number {
  return (
    quantile(
      slots.reduce<Sketch>((sum, { wall }) => addedSketch(sum, wall), []),
      0.95,
    ) ?? 0
  );
}

/** Of each function, its slots in order. */
function timesOf(lately: readonly RanIn[]): FunctionTimes[] {
  return joinedTimes(
    lately.map(({ scriptName, source, at, health: { wall, ...health } }) => ({
      ...{ scriptName, source, usual: [], slots: [{ slot: at, events: invocations(health), wall }] },
    })),
  );
}

/** The answers of all shards as one. */
export function joinedTimes(all: readonly FunctionTimes[]): FunctionTimes[] {
  return [...Map.groupBy(all, (each) => keyOf({ ...each, version: "" })).values()].map((parts) => {
    const [{ scriptName, source }] = parts as [FunctionTimes];
    const slots = joined(
      parts.flatMap((part) => part.slots),
      ({ slot }) => slot,
      (a, b) => ({ slot: a.slot, events: a.events + b.events, wall: addedSketch(a.wall, b.wall) }),
    );
    const usual = parts.reduce<Sketch>((sum, part) => addedSketch(sum, part.usual), []);
    return { scriptName, source, slots: slots.sort((a, b) => a.slot - b.slot), usual };
  });
}
