import { MINUTE_MS } from "../../base/time.ts";
import { sentBy, TRACED } from "../../formats/record/shares.ts";
import { eventsOf, type FunctionCount, namedBy } from "../../ship/log/function-counts.ts";
import { FUNCTION_HISTORY_MS } from "../../ship/log/function-hours.ts";
import { cronOf, KINDS_KEPT } from "../../ship/log/seen-kinds.ts";
import type { FunctionSetting } from "../../state/control/function-settings.ts";
import { secondDueMs } from "./cron-due.ts";
import type { KindFacts } from "./facts.ts";
import { type Heard, heard, type Pulse, usualOf } from "./rhythm.ts";
import { AFTER, QUIET_TIMES, quietAfterMs } from "./thresholds.ts";

/** The name by which the rhythm of a function's kind of event is kept. */
export function kindName(scriptName: string, kind: string): string {
  return JSON.stringify([scriptName, kind]);
}

/** What is set of functions: those with a setting, and of these the expectations by kind. */
type Settings = readonly Pick<FunctionSetting, "name" | "expect">[];

type Expected = NonNullable<FunctionSetting["expect"]>[0];

function expectedIn(settings: Settings): ReadonlyMap<string, Expected> {
  return new Map(
    settings.flatMap(({ name, expect = [] }) => expect.map((each) => [kindName(name, each.kind), each] as const)),
  );
}

/** Up to then, nothing of the kind counts any more: its owner has forgotten it. */
function isForgotten(expected: Expected | undefined, lastMs: number): boolean {
  return expected?.everyMinutes === null && lastMs <= expected.setMs;
}

/**
 * Kinds of events of functions with a counted name. Where the platform traces a function, what
 * senders say of it is not heard.
 */
export function heardKinds(counts: readonly FunctionCount[], settings: Settings): Heard[] {
  const set = expectedIn(settings);
  return counts.flatMap((count) => {
    const { scriptName, kinds = [] } = count;
    const source = namedBy(count);
    const told = scriptName === null ? [] : kinds.filter(({ sent }) => !sent || source !== TRACED);
    return told.flatMap(({ kind, lastMs }) => {
      const name = kindName(scriptName ?? "", kind);
      return isForgotten(set.get(name), lastMs) ? [] : [{ name, lastMs, events: eventsOf(count), ...sentBy(source) }];
    });
  });
}

/** A kind that was seen, or is set. */
export interface KnownKind {
  /** As of {@link kindName}. */
  key: string;
  name: string;
  kind: string;
  lastMs: number | null;
  /** As set; null: not set. */
  everyMinutes: number | null;
  isForgotten: boolean;
  /** null: it is not expected, or not yet. */
  facts: KindFacts | null;
}

/**
 * What is known of functions, by kind of event.
 * @param pulses by {@link kindName}. @param counts of today and yesterday.
 */
export function knownKinds(
  pulses: Iterable<readonly [string, Pulse]>,
  settings: Settings,
  counts: readonly FunctionCount[],
): KnownKind[] {
  const set = expectedIn(settings);
  const learned = new Map(pulses);
  const owned = new Set(settings.map(({ name }) => name));
  const full = new Map(
    counts.flatMap(({ scriptName, kinds = [] }) =>
      kinds.length < KINDS_KEPT ? [] : [[scriptName, new Set(kinds.map(({ kind }) => kind))]],
    ),
  );
  return [...new Set([...learned.keys(), ...set.keys()])].map((key) => {
    const [name, kind] = JSON.parse(key) as [string, string];
    const pulse = learned.get(key);
    const lastMs = pulse?.lastMs ?? null;
    // Of a function with more kinds than are counted, those that are not there may go on.
    const isHidden = full.get(name)?.has(kind) === false;
    const expected = isHidden ? null : expectationOf(kind, pulse, set.get(key));
    const sender = owned.has(name) ? {} : sentBy(pulse?.sender);
    return {
      ...{ key, name, kind, lastMs, everyMinutes: set.get(key)?.everyMinutes ?? null },
      isForgotten: isForgotten(set.get(key), lastMs ?? 0),
      facts: expected && { name, kind, lastMs, ...sender, ...expected },
    };
  });
}

/** null: none, or not yet. */
function expectationOf(
  kind: string,
  pulse: Pulse | undefined,
  set: Expected | undefined,
): Pick<KindFacts, "quietAfterMs" | "by" | "everyMs"> | null {
  if (set !== undefined && set.everyMinutes !== null) {
    const everyMs = set.everyMinutes * MINUTE_MS;
    const fromMs = Math.max(set.setMs, pulse?.lastMs ?? 0);
    return { by: "set", everyMs, quietAfterMs: fromMs + QUIET_TIMES * everyMs + AFTER.due };
  }
  if (pulse === undefined || isForgotten(set, pulse.lastMs)) return null;
  const cron = cronOf(kind);
  const dueMs = cron === null ? null : secondDueMs(cron, pulse.lastMs);
  if (dueMs !== null) return { by: "cron", everyMs: 0, quietAfterMs: dueMs + AFTER.due };
  const usual = usualOf(pulse);
  return usual && { by: "learned", everyMs: usual.longestGapMs, quietAfterMs: quietAfterMs(usual) };
}

export function isKindQuiet(facts: KindFacts | null, untilMs: number): facts is KindFacts {
  return facts !== null && untilMs > facts.quietAfterMs;
}

/**
 * Keys of learned kinds to forget: those that their owner has, that are silent for thirty days
 * beyond what is expected, or whose function is deleted.
 * @param isGone nothing is counted of such a function in thirty days.
 */
export function goneKinds(
  known: readonly KnownKind[],
  isGone: (scriptName: string) => boolean,
  nowMs: number,
): Set<string> {
  const gone = known.filter(({ name, lastMs, facts, isForgotten: hasEnded }) => {
    if (hasEnded || lastMs === null) return hasEnded;
    if (nowMs - lastMs < FUNCTION_HISTORY_MS && isGone(name)) return true;
    return facts !== null && nowMs - facts.quietAfterMs > FUNCTION_HISTORY_MS;
  });
  return new Set(gone.map(({ key }) => key));
}

/**
 * How long after it is quiet a kind is looked at, in ms: the check of the cron may come before, and
 * see that it goes on. With the check that confirms it, it is told within two minutes.
 */
const LOOK_AFTER_MS = 10_000;

/** The least time to the next check while the queue may hide what came, in ms. */
const LOOK_AGAIN_MS = 5_000;

/**
 * When the next of what is set, or known from a cron, is quiet if nothing comes; null: none.
 * @param untilMs until when all events are known.
 */
export function nextDueMs(kinds: readonly KindFacts[], nowMs: number, untilMs: number): number | null {
  const due = kinds.filter(
    (each) => each.by !== "learned" && each.sender === undefined && each.quietAfterMs >= untilMs,
  );
  if (due.length === 0) return null;
  const quietMs = Math.min(...due.map((each) => each.quietAfterMs));
  if (quietMs + LOOK_AFTER_MS > nowMs) return quietMs + LOOK_AFTER_MS;
  // What waits may end it: the longer that takes, the less often one looks.
  return nowMs + Math.max(LOOK_AGAIN_MS, (nowMs - quietMs) / 2);
}

/** One function's kinds as they are shown, the latest first: also those that no check has seen. */
export function shownKinds(
  pulses: Iterable<readonly [string, Pulse]>,
  setting: FunctionSetting | null,
  count: FunctionCount | null,
): KnownKind[] {
  const settings = setting === null ? [] : [setting];
  const all = new Map(pulses);
  for (const { name: key, lastMs } of heardKinds(count === null ? [] : [count], settings)) {
    const before = all.get(key) ?? heard(null, lastMs, lastMs);
    all.set(key, { ...before, lastMs: Math.max(before.lastMs, lastMs) });
  }
  const shown = knownKinds(all, settings, []).filter((each) => !each.isForgotten);
  return shown.sort((a, b) => (b.lastMs ?? 0) - (a.lastMs ?? 0));
}
