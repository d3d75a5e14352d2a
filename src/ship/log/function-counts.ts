import { fairly, TRACED } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import type { Health } from "./function-health.ts";
import { addedKinds, type SeenKind } from "./seen-kinds.ts";

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
  /** Of its kinds of events the latest, in no order; absent: unknown. */
  kinds?: readonly SeenKind[];
}

/** Events of one version of a function in one message. */
export interface CountedFunction extends FunctionCount {
  /** As of `PartFunction`, as is the next. */
  version?: string;
  tag?: string;
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

/** Kinds of all functions that are kept, and most code units of them, each counted once. */
export const KIND_BOUNDS = { kinds: 6_000, chars: 12_000 } as const;

/**
 * Longest name that is kept, in UTF-16 code units. The platform's own limit for a script's name
 * is 63.
 */
export const SCRIPT_NAME_MAX = 255;

/**
 * For one hour or one day: less than 0.95 MB, half a row's limit, as a code unit is at most 6 bytes
 * of JSON and a count at most 80. Sources take another 0.8 MB at most: a name 6 bytes a code unit,
 * of which it has 3 at least, and each mention of it 20. Kinds take 0.2 MB: {@link KIND_BOUNDS}.
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

  add({ scriptName: name, routed, notEnabled, notRouted, lastEventMs, sources, kinds }: FunctionCount): void {
    const scriptName = name !== null && name.length > SCRIPT_NAME_MAX ? null : name;
    const sum = this.#counts.get(scriptName) ?? none(scriptName);
    this.#counts.set(scriptName, sum);
    sum.routed += routed;
    sum.notEnabled += notEnabled;
    sum.notRouted += notRouted;
    sum.lastEventMs = Math.max(sum.lastEventMs, lastEventMs);
    if (sources !== undefined && scriptName === name) this.#seen(sum, sources);
    if (kinds !== undefined && scriptName !== null) sum.kinds = addedKinds(sum.kinds, kinds);
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
    const listed = withinKinds(kept.size === named.length ? named : named.filter((each) => kept.has(each)));
    if (kept.size === named.length) return other === undefined ? listed : [...listed, other];
    const rest = new FunctionTally();
    for (const count of [...(other ? [other] : []), ...named.filter((each) => !kept.has(each))])
      rest.add({ ...count, scriptName: null });
    return [...listed, ...rest.#counts.values()];
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
 * Their sources and kinds as JSON, apart: each name once, then for each function the numbers of its
 * sources, each followed by its time in seconds; the same of kinds, with a number below zero where
 * a sender says so. null: none is known. Each append writes it: no more objects than it takes.
 */
export function sourcesText(counts: readonly FunctionCount[]): string | null {
  const [sources, kinds] = [new Map<Source, number>(), new Map<string, number>()];
  const seen: number[][] = [];
  const kindsSeen: number[][] = [];
  for (const { sources: from = [], kinds: of = [] } of counts) {
    const own: number[] = [];
    for (const { source, lastMs } of from) own.push(numberIn(sources, source), Math.floor(lastMs / 1_000));
    seen.push(own);
    const ownKinds: number[] = [];
    for (const { kind, lastMs, sent } of of) {
      const number = numberIn(kinds, kind);
      ownKinds.push(sent ? -1 - number : number, Math.floor(lastMs / 1_000));
    }
    kindsSeen.push(ownKinds);
  }
  if (kinds.size > 0) return JSON.stringify([[...sources.keys()], seen, [...kinds.keys()], kindsSeen]);
  return sources.size === 0 ? null : JSON.stringify([[...sources.keys()], seen]);
}

function numberIn(names: Map<string, number>, name: string): number {
  const number = names.get(name) ?? names.size;
  if (number === names.size) names.set(name, number);
  return number;
}

/** The reverse of {@link countsText} and {@link sourcesText}. */
export function parseCounts(text: string, sources: string | null = null): FunctionCount[] {
  const rows = JSON.parse(text) as [string | null, number, number, number, number][];
  // Earlier releases write no kinds.
  const tables = sources === null ? [] : (JSON.parse(sources) as [string[], number[][], string[], number[][]]);
  const [names = [], seen = [], kinds = [], kindsSeen = []] = tables;
  return rows.map(([scriptName, routed, notEnabled, notRouted, lastEventMs], i) => {
    const count: FunctionCount = { scriptName, routed, notEnabled, notRouted, lastEventMs };
    const from: SeenSource[] = [];
    for (const [number, lastMs] of pairs(seen[i])) from.push({ source: names[number] ?? "", lastMs });
    if (from.length > 0) count.sources = from;
    const of: SeenKind[] = [];
    for (const [number, lastMs] of pairs(kindsSeen[i]))
      of.push(
        number < 0 ? { kind: kinds[-1 - number] ?? "", lastMs, sent: true } : { kind: kinds[number] ?? "", lastMs },
      );
    if (of.length > 0) count.kinds = of;
    return count;
  });
}

function pairs(own: readonly number[] = []): [number: number, lastMs: number][] {
  const all: [number, number][] = [];
  for (let at = 0; at < own.length; at += 2) all.push([own[at] ?? 0, (own[at + 1] ?? 0) * 1_000]);
  return all;
}

/** Of too many kinds some: first what the platform traced, then of each sender in turn. */
function withinKinds(counts: FunctionCount[]): FunctionCount[] {
  const kinds = new Set<string>();
  let [mentions, chars] = [0, 0];
  for (const { kinds: own = [] } of counts)
    for (const { kind } of own) {
      mentions += 1;
      if (!kinds.has(kind)) chars += kind.length;
      kinds.add(kind);
    }
  if (mentions <= KIND_BOUNDS.kinds && chars <= KIND_BOUNDS.chars) return counts;
  const all = counts.flatMap((count) => (count.kinds ?? []).map((seen) => ({ count, seen })));
  all.sort((a, b) => Number(a.seen.sent ?? false) - Number(b.seen.sent ?? false) || b.seen.lastMs - a.seen.lastMs);
  const known = new Set<string>();
  let left: number = KIND_BOUNDS.chars;
  // One fewer than there are: otherwise they are not dealt.
  const dealt = fairly(all, Math.min(KIND_BOUNDS.kinds, all.length - 1), ({ count }) => namedBy(count));
  const kept = dealt.filter(({ seen: { kind } }) => {
    if (!known.has(kind) && kind.length > left) return false;
    if (!known.has(kind)) left -= kind.length;
    known.add(kind);
    return true;
  });
  const of = Map.groupBy(kept, ({ count }) => count);
  return counts.map(({ kinds: _, ...count }, i) => {
    const own = of.get(counts[i] as FunctionCount)?.map(({ seen }) => seen);
    return { ...count, ...(own && { kinds: own }) };
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

/** Events of a function, whatever became of them. */
export function eventsOf({ routed, notEnabled, notRouted }: FunctionCount): number {
  return routed + notEnabled + notRouted;
}

function none(scriptName: string | null): FunctionCount {
  return { scriptName, routed: 0, notEnabled: 0, notRouted: 0, lastEventMs: 0 };
}
