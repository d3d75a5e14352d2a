import { sentBy, TRACED } from "../../formats/record/shares.ts";
import {
  eventsOf,
  type FunctionCount,
  namedBy,
  SCRIPT_NAME_MAX,
  TALLY_BOUNDS,
  type TallyBounds,
} from "../../ship/log/function-counts.ts";
import type { FunctionSetting } from "../../state/control/function-settings.ts";
import type { FunctionFacts, Usual } from "./facts.ts";
import type { Heard } from "./rhythm.ts";
import { isQuiet } from "./thresholds.ts";

/** What is known of functions before the ledger is asked about some of them. */
export interface KnownFunctions {
  /** Counts of today and yesterday. */
  lately: readonly FunctionCount[];
  settings: readonly FunctionSetting[];
  usual: Map<string, Usual>;
}

/**
 * Functions with a counted name. An event counts as heard even if it was dropped. Where the
 * platform traces a function, it alone is heard: others may use its name.
 */
export function heardOf(counts: readonly FunctionCount[]): Heard[] {
  return counts.flatMap((count) => {
    const { scriptName: name, lastEventMs } = count;
    const lastMs = Math.min(lastEventMs, tracedMs(count) ?? lastEventMs);
    const heard = { lastMs, events: eventsOf(count), ...sentBy(namedBy(count)) };
    return name === null ? [] : [{ name, ...heard }];
  });
}

/** The latest intake of what the platform traced, in ms; null: it did not. */
function tracedMs({ sources }: Pick<FunctionCount, "sources">): number | null {
  return sources?.find(({ source }) => source === TRACED)?.lastMs ?? null;
}

/**
 * The last event whose name could not be counted for lack of room, in ms; null: there was room, or
 * none of them is a name that the platform has.
 * While there is room, the sum without a name only holds forgotten functions.
 */
export function unnamedMs(counts: readonly FunctionCount[], bounds: TallyBounds = TALLY_BOUNDS): number | null {
  const names = counts.flatMap(({ scriptName }) => scriptName ?? []);
  const chars = names.reduce((sum, name) => sum + name.length, 0);
  if (names.length < bounds.names && chars + SCRIPT_NAME_MAX <= bounds.chars) return null;
  const other = counts.find(({ scriptName }) => scriptName === null);
  if (other === undefined) return null;
  return other.sources === undefined ? other.lastEventMs : tracedMs(other);
}

/**
 * Functions to ask the ledger about: those that look quiet, and those whose logging is on but that
 * sent nothing lately.
 */
export function candidates({ lately, settings, usual }: KnownFunctions, untilMs: number): string[] {
  const seen = new Set(lately.map(({ scriptName }) => scriptName));
  const quiet = [...usual].filter(([, each]) => isQuiet(each, untilMs)).map(([name]) => name);
  const expected = settings.filter(({ logging }) => logging === "on").map(({ name }) => name);
  return [...new Set([...quiet, ...expected.filter((name) => !seen.has(name))])];
}

/** Functions with a setting or a rhythm, those known for longest first. */
export function functionFacts(
  { lately, settings, usual }: KnownFunctions,
  last: ReadonlyMap<string, number>,
): FunctionFacts[] {
  const counts = new Map(lately.map((count) => [count.scriptName, count]));
  const set = new Map(settings.map((setting) => [setting.name, setting]));
  return [...new Set([...usual.keys(), ...set.keys()])].map((name) => {
    const count = counts.get(name);
    const sender = count === undefined ? usual.get(name)?.sender : namedBy(count);
    return {
      name,
      ...(!set.has(name) && sentBy(sender)),
      logging: set.get(name)?.logging ?? "unset",
      setMs: set.get(name)?.modifiedMs ?? null,
      dropped: count?.notEnabled ?? 0,
      lastEventMs: count?.lastEventMs ?? last.get(name) ?? null,
      usual: usual.get(name) ?? null,
    };
  });
}
