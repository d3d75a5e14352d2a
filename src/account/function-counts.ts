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
}

/** Most names that are counted separately, and most UTF-16 code units of these together. */
export interface TallyBounds {
  names: number;
  chars: number;
}

/**
 * Longest name that is kept, in UTF-16 code units. The platform's own limit for a script's name
 * is 63.
 */
export const SCRIPT_NAME_MAX = 255;

/**
 * For one hour or one day: less than 0.95 MB, half a row's limit, as a code unit is at most 6 bytes
 * of JSON and a count at most 80.
 */
export const TALLY_BOUNDS: TallyBounds = { names: 2_000, chars: 128_000 };

/**
 * Adds up counts by function. Senders of events choose the names, so their number and length are
 * bounded: counts of a longer name, or of a new one beyond the bounds, are added to null. The sum
 * stays exact.
 */
export class FunctionTally {
  readonly #bounds: TallyBounds;
  readonly #counts = new Map<string, FunctionCount>();
  #other: FunctionCount | null = null;
  #chars = 0;

  constructor(bounds: TallyBounds = TALLY_BOUNDS) {
    this.#bounds = bounds;
  }

  add({ scriptName, routed, notEnabled, notRouted, lastEventMs }: FunctionCount): void {
    const sum = this.#of(scriptName);
    sum.routed += routed;
    sum.notEnabled += notEnabled;
    sum.notRouted += notRouted;
    sum.lastEventMs = Math.max(sum.lastEventMs, lastEventMs);
  }

  /** In the order of the names' first use; null, if any, last. */
  counts(): FunctionCount[] {
    return this.#other === null ? [...this.#counts.values()] : [...this.#counts.values(), this.#other];
  }

  #of(scriptName: string | null): FunctionCount {
    const known = scriptName === null ? undefined : this.#counts.get(scriptName);
    if (known !== undefined) return known;
    if (scriptName === null || !this.#fits(scriptName)) {
      this.#other ??= none(null);
      return this.#other;
    }
    const fresh = none(scriptName);
    this.#counts.set(scriptName, fresh);
    this.#chars += scriptName.length;
    return fresh;
  }

  #fits(name: string): boolean {
    const { names, chars } = this.#bounds;
    return name.length <= SCRIPT_NAME_MAX && this.#counts.size < names && this.#chars + name.length <= chars;
  }
}

/** Adds up counts. Beyond the bounds, the functions with the most events keep their names. */
export function joinCounts(counts: Iterable<FunctionCount>, bounds: TallyBounds): FunctionCount[] {
  const all = new FunctionTally({ names: Number.POSITIVE_INFINITY, chars: Number.POSITIVE_INFINITY });
  for (const count of counts) all.add(count);
  const bounded = new FunctionTally(bounds);
  for (const count of all.counts().sort((a, b) => eventsOf(b) - eventsOf(a))) bounded.add(count);
  return bounded.counts();
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

/** The reverse of {@link countsText}. */
export function parseCounts(text: string): FunctionCount[] {
  const rows = JSON.parse(text) as [string | null, number, number, number, number][];
  return rows.map(([scriptName, routed, notEnabled, notRouted, lastEventMs]) => ({
    scriptName,
    routed,
    notEnabled,
    notRouted,
    lastEventMs,
  }));
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
