import { fairly, TRACED } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import type { Health } from "./function-health.ts";

/** Events of one function. */
export interface FunctionCount {
  /** null: the sum of all functions whose names are not kept, see {@link FunctionTally}. */
  scriptName: string | null;
  /** Offered to at least one enabled job. */
  routed: number;
  /** Dropped because logging of the function was off. */
  notEnabled: number;
  /** No job was enabled. */
  notRouted: number;
  /** Time of the latest event, in ms since the epoch. */
  lastEventMs: number;
  /** Where its events came from, the latest first; absent: unknown. */
  sources?: readonly SeenSource[];
}

/** Events of one function in one message. */
export interface CountedFunction extends FunctionCount {
  /** Id of the deployed version that ran; absent: unknown. */
  version?: string;
  /** How its invocations went; absent: they were not enabled. */
  health?: Health;
}

/** A source of events of a function. */
export interface SeenSource {
  source: Source;
  /** The latest intake, in ms since the epoch, in whole seconds. */
  lastMs: number;
}

/** Sources of one function that are kept: the latest. */
export const SOURCES_KEPT = 8;

/**
 * Most names that are counted separately, and most UTF-16 code units of these together; and of
 * their sources, each counted once, {@link SOURCE_CHARS} if that is absent.
 */
export interface TallyBounds {
  names: number;
  chars: number;
  sourceChars?: number;
}

const SOURCE_CHARS = 64_000;

/**
 * Longest name that is kept, in UTF-16 code units. The platform's own limit for a script's name
 * is 63.
 */
export const SCRIPT_NAME_MAX = 255;

/**
 * For one hour or one day: less than 0.95 MB, half a row's limit, as a code unit is at most 6 bytes
 * of JSON and a count at most 80. Sources take another 0.8 MB at most: a name 6 bytes a code unit,
 * of which it has 3 at least, and each mention of it 20.
 */
export const TALLY_BOUNDS: TallyBounds = { names: 2_000, chars: 128_000, sourceChars: SOURCE_CHARS };

/**
 * Adds up counts by function. Senders of events choose the names, so their number and length are
 * bounded: counts of a longer name, or of one beyond the bounds, are added to null; which these
 * are is decided {@link fairly}. The sum stays exact.
 */
export class FunctionTally {
  readonly #bounds: TallyBounds;
  readonly #counts = new Map<string | null, FunctionCount>();
  readonly #sources = new Set<Source>();
  #sourceChars = 0;

  constructor(bounds: TallyBounds = TALLY_BOUNDS) {
    this.#bounds = bounds;
  }

  add({ scriptName: name, routed, notEnabled, notRouted, lastEventMs, sources }: FunctionCount): void {
    const scriptName = name !== null && name.length > SCRIPT_NAME_MAX ? null : name;
    const sum = this.#counts.get(scriptName) ?? none(scriptName);
    this.#counts.set(scriptName, sum);
    sum.routed += routed;
    sum.notEnabled += notEnabled;
    sum.notRouted += notRouted;
    sum.lastEventMs = Math.max(sum.lastEventMs, lastEventMs);
    if (sources !== undefined && scriptName === name) this.#seen(sum, sources);
  }

  /** A new source beyond the bounds is left out. */
  #seen(sum: FunctionCount, sources: readonly SeenSource[]): void {
    const known = sources.filter(({ source }) => this.#hasRoom(source));
    const before = sum.sources ?? [];
    // What is stored is in order.
    if (known.length > 0) sum.sources = before.length === 0 ? known : latestOf([...before, ...known]);
  }

  #hasRoom(source: Source): boolean {
    if (source === TRACED || this.#sources.has(source)) return true;
    if (this.#sourceChars + source.length > (this.#bounds.sourceChars ?? SOURCE_CHARS)) return false;
    this.#sources.add(source);
    this.#sourceChars += source.length;
    return true;
  }

  /**
   * In the order of the names' first use; null, if any, last. @param before of two names, which one
   * is rather kept; default: the first to be used.
   */
  counts(before?: (a: FunctionCount, b: FunctionCount) => number): FunctionCount[] {
    const other = this.#counts.get(null);
    const named = [...this.#counts.values()].filter((count) => count !== other);
    const kept = new Set<FunctionCount>();
    let { chars } = this.#bounds;
    for (const count of fairly(before ? named.toSorted(before) : named, this.#bounds.names, namedBy)) {
      chars -= count.scriptName?.length ?? 0;
      if (chars < 0) break;
      kept.add(count);
    }
    if (kept.size === named.length) return other === undefined ? named : [...named, other];
    const rest = new FunctionTally();
    for (const count of [...(other ? [other] : []), ...named.filter((each) => !kept.has(each))])
      rest.add({ ...count, scriptName: null });
    return [...named.filter((each) => kept.has(each)), ...rest.#counts.values()];
  }
}

/** Adds up counts. Beyond the bounds, those with the most events rather keep their names. */
export function joinCounts(counts: Iterable<FunctionCount>, bounds: TallyBounds): FunctionCount[] {
  const all = new FunctionTally(bounds);
  for (const count of counts) all.add(count);
  return all.counts((a, b) => eventsOf(b) - eventsOf(a));
}

/** Who names a function: the platform if it does; ""; it is unknown. */
export function namedBy({ sources = [] }: Pick<FunctionCount, "sources">): Source {
  const named = sources.map(({ source }) => source);
  return named.includes(TRACED) ? TRACED : (named.sort()[0] ?? "");
}

/** Counts as JSON for a row: one array for each function, as keys would double its size. */
export function countsText(counts: readonly FunctionCount[]): string {
  return JSON.stringify(
    counts.map(({ scriptName, routed, notEnabled, notRouted, lastEventMs }) => [
      scriptName,
      routed,
      notEnabled,
      notRouted,
      lastEventMs,
    ]),
  );
}

/**
 * Their sources as JSON, apart: each name once, then for each function the numbers of its sources,
 * each followed by its time in seconds. null: none is known.
 */
export function sourcesText(counts: readonly FunctionCount[]): string | null {
  const numbers = new Map<Source, number>();
  const seen: number[][] = [];
  for (const { sources = [] } of counts) {
    const own: number[] = [];
    for (const { source, lastMs } of sources) {
      const number = numbers.get(source) ?? numbers.size;
      if (number === numbers.size) numbers.set(source, number);
      own.push(number, Math.floor(lastMs / 1_000));
    }
    seen.push(own);
  }
  return numbers.size === 0 ? null : JSON.stringify([[...numbers.keys()], seen]);
}

/** The reverse of {@link countsText} and {@link sourcesText}. */
export function parseCounts(text: string, sources: string | null = null): FunctionCount[] {
  const rows = JSON.parse(text) as [string | null, number, number, number, number][];
  const [names, seen] = sources === null ? [[], []] : (JSON.parse(sources) as [Source[], number[][]]);
  return rows.map(([scriptName, routed, notEnabled, notRouted, lastEventMs], i) => {
    const own = seen[i] ?? [];
    if (own.length === 0) return { scriptName, routed, notEnabled, notRouted, lastEventMs };
    const sources: SeenSource[] = [];
    for (let at = 0; at < own.length; at += 2)
      sources.push({ source: names[own[at] ?? 0] ?? "", lastMs: (own[at + 1] ?? 0) * 1_000 });
    return { scriptName, routed, notEnabled, notRouted, lastEventMs, sources };
  });
}

/** Each source once, the latest first, {@link SOURCES_KEPT} at most. */
function latestOf(seen: readonly SeenSource[]): SeenSource[] {
  const last = new Map<Source, number>();
  for (const { source, lastMs } of seen) last.set(source, Math.max(lastMs, last.get(source) ?? 0));
  return [...last]
    .map(([source, lastMs]) => ({ source, lastMs }))
    .sort((a, b) => Number(b.source === TRACED) - Number(a.source === TRACED) || b.lastMs - a.lastMs)
    .slice(0, SOURCES_KEPT)
    .sort((a, b) => b.lastMs - a.lastMs);
}

/**
 * Part of a text of {@link countsText} exactly if that function is in it: a name has no unescaped
 * quote.
 */
export function nameInText(scriptName: string): string {
  return `[${JSON.stringify(scriptName)},`;
}

function eventsOf({ routed, notEnabled, notRouted }: FunctionCount): number {
  return routed + notEnabled + notRouted;
}

function none(scriptName: string | null): FunctionCount {
  return { scriptName, routed: 0, notEnabled: 0, notRouted: 0, lastEventMs: 0 };
}
