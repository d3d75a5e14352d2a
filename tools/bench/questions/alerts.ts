/** When alerts came, beside when they could have. */
import { CRON, type Made, SLOW } from "./events.ts";

/** A call of an alert. */
export interface Told {
  readonly atMs: number;
  readonly type: string;
  readonly data: { kind?: string; summary?: string; incident?: string; subject?: object; [name: string]: unknown };
}

/** From when on an incident of the set is one, in ms since the epoch. */
export interface Planted {
  readonly name: string;
  /** Whether an incident that a message tells of is this one. */
  is(about: About): boolean;
  readonly crossedMs: number;
}

/** An incident, as a message has it. */
export interface About {
  incident?: string;
  kind?: string;
  subject?: { type?: string; id?: number; name?: string };
}

/** The setting FUNCTION_FAILING, by default. */
const FAILING = { share: 0.05, least: 20 } as const;

/** What is looked at ends with the five minutes that are under way, and has two more of them. */
const SLOT_MS = 300_000;

/** When so many of a Worker's requests were bad, of those looked at then, from some time on. */
function reachedMs(
  own: readonly Made[],
  { share, least }: { share: number; least: number },
  isBad: (made: Made) => boolean,
): number {
  for (const [i, { atMs }] of own.entries()) {
    const sinceMs = (Math.floor(atMs / SLOT_MS) - 2) * SLOT_MS;
    const lately = own.slice(0, i + 1).filter((each) => each.atMs >= sinceMs);
    const bad = lately.filter(isBad).length;
    if (bad >= least && bad / lately.length >= share) return atMs;
  }
  return Number.NaN;
}

/** When so many requests had failed that the Worker counts as failing. */
export function failingFromMs(made: readonly Made[], name: string): number {
  const own = made.filter(({ worker }) => worker === name);
  return reachedMs(own, FAILING, ({ hasFailed }) => hasFailed);
}

/** When so many were slow that the Worker counts as slower than usual. */
export function slowerFromMs(made: readonly Made[]): number {
  const own = made.filter(({ worker }) => worker === SLOW);
  return reachedMs(own, { share: 0.05, least: 10 }, ({ isSlow }) => isSlow);
}

/** When the 95th of a hundred was slow, of a time that ends then. */
export function slowFromMs(made: readonly Made[], overMs: number): number {
  const own = made.filter(({ worker }) => worker === SLOW);
  const first = own.findIndex(({ isSlow }) => isSlow);
  for (let i = Math.max(0, first); first >= 0 && i < own.length; i++) {
    const atMs = own[i]?.atMs ?? 0;
    const lately = own.slice(0, i + 1).filter((each) => each.atMs > atMs - overMs);
    if (lately.filter(({ isSlow }) => isSlow).length > 0.05 * lately.length) return atMs;
  }
  return Number.NaN;
}

/** When the cron was to have run for the second time since its last run. */
export function silentFromMs(lastMs: number): number {
  return lastMs + 2 * 60_000;
}

/** Which incidents a message tells of. */
export function aboutOf({ data }: Told): About[] {
  return [data as About, ...((data.also ?? []) as About[])];
}

export interface AlertRow {
  readonly name: string;
  readonly crossedMs: number;
  /** When each message that it is open came. */
  readonly toldMs: readonly number[];
  /** Others in the first of these messages. */
  readonly beside: number;
  readonly overMs: number | null;
  readonly links: readonly string[];
}

/** What was told of each. */
export function alertRows(planted: readonly Planted[], told: readonly Told[]): AlertRow[] {
  return planted.map(({ name, is, crossedMs }) => {
    const its = told.filter((each) => aboutOf(each).some(is));
    const opened = its.filter(({ type }) => type === "incident.opened");
    const [first] = opened;
    const links = Object.keys((first?.data.links ?? {}) as object);
    return {
      ...{ name, crossedMs, toldMs: opened.map(({ atMs }) => atMs) },
      beside: first === undefined ? 0 : aboutOf(first).length - 1,
      overMs: its.find(({ type }) => type === "incident.over")?.atMs ?? null,
      links: [...links, ...(first?.data.version === undefined ? [] : [`version ${first.data.version}`])],
    };
  });
}

/** Messages that tell of any of these that it is open. */
export function messagesOf(planted: readonly Planted[], told: readonly Told[]): number {
  const isOne = (about: About): boolean => planted.some(({ is }) => is(about));
  return told.filter((each) => each.type === "incident.opened" && aboutOf(each).some(isOne)).length;
}

/** Incidents that were not planted. */
export function strangers(planted: readonly Planted[], told: readonly Told[]): string[] {
  const all = told.flatMap(aboutOf).filter((about) => !planted.some(({ is }) => is(about)));
  return [...new Set(all.map(({ kind, subject }) => `${kind} ${JSON.stringify(subject)}`))];
}

export function isOfCron({ kind, subject }: About): boolean {
  return kind === "function_kind_quiet" && subject?.name === CRON;
}
