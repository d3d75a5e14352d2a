import type { Source } from "./source.ts";

/** Of what the platform traced: it says whose events these are; all others say so themselves. */
export const TRACED: Source = "tail";

/** A producer on the queue that gives no source. Like any sender, it may make up names. */
const UNKNOWN: Source = "unknown";

/** The sender, if one names it; absent: the platform does. @param source "": it is unknown. */
export function sentBy(source: Source | undefined): { sender?: Source } {
  return source === undefined || source === TRACED ? {} : { sender: source || UNKNOWN };
}

/**
 * Those that are kept of too many entries, so that what a sender makes up displaces its own alone:
 * first what the platform named, but for a quarter; then one of each sender in turn.
 * @param entries the best first. @param sourceOf who named it.
 */
export function fairly<T>(entries: readonly T[], max: number, sourceOf: (entry: T) => Source): T[] {
  if (entries.length <= max) return [...entries];
  const { traced = [], sent = [] } = Object.groupBy(entries, (each) => (sourceOf(each) === TRACED ? "traced" : "sent"));
  const turns = new Map<Source, number>();
  const dealt = sent.map((entry) => {
    const source = sourceOf(entry);
    const turn = turns.get(source) ?? 0;
    turns.set(source, turn + 1);
    return { entry, turn };
  });
  const room = Math.max(max - traced.length, Math.floor(max / 4));
  const others = dealt.sort((a, b) => a.turn - b.turn).slice(0, room);
  return [...traced.slice(0, max - others.length), ...others.map(({ entry }) => entry)];
}
