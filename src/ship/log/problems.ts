import { cut, utf8Length } from "../../base/bytes.ts";
import { Tables } from "../../base/storage/sql.ts";
import { sameAs } from "../../formats/errors/fingerprint.ts";
import { eventMs } from "../../formats/record/record.ts";
import { fairly } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import type { CountedPart } from "./counted.ts";
import { SCRIPT_NAME_MAX } from "./function-counts.ts";
import { type ErrorCount, OTHER } from "./function-health.ts";
import { keyOf, textOnce } from "./health-keys.ts";

/** Problems that a shard knows; beyond, the least recently seen go, dealt {@link fairly}. */
export const PROBLEMS_MAX = 1_000;

/** Rows that they are packed into, and how many one holds: 1.8 MB at most, as one has 6 kB. */
const ROWS = 4;
const OF_ROW_MAX = 300;

/** Problems that are gathered between two writes of rows: in the row that each append writes. */
const GATHERED_MAX = 400;

/** Largest text that is gathered before it becomes rows, in bytes. */
const GATHERED_BYTES = 150_000;

/** How often they become rows, in ms. */
const ROWS_EVERY_MS = 300_000;

/** Versions of a problem that are known: it is in one alone, or in several. */
const VERSIONS_KEPT = 2;

/** The step of the schema since which problems have these ids: a change of masks adds one. */
const IDS_STEP = 4;

/** Steps of a new shard are applied within so long, in ms. */
const AT_ONCE_MS = 60_000;

/** Longest id of one, in UTF-16 code units: the platform's are UUIDs. */
const VERSION_MAX = 40;

/** Errors of one cause, as a shard counts them: of one function, by one sender. */
export interface Counted extends ErrorCount {
  scriptName: string;
  /** Who sent the events; "": it is unknown. */
  source: Source;
  /** Times of intake of the first and of the latest, in ms since the epoch. */
  bornMs: number;
  seenMs: number;
  /** Ids of the deployed versions that had it, at most two; without those that are unknown. */
  versions: readonly string[];
}

/** The same of all shards. */
export interface Problem extends Counted {
  /** Its own, and those of others that count with it: see {@link sameAs}. */
  ids: readonly string[];
  /** Problems are known since then, in ms since the epoch; 0: as long as the log has records. */
  knownSinceMs: number;
}

export interface ProblemList<T = Problem> {
  /** In no order. */
  problems: readonly T[];
  /** Problems that there was no room for, and records with errors that are in none of them. */
  dropped: number;
  others: number;
  /** As of {@link Problem}, of the latest shard; absent: an earlier release does not say. */
  knownSinceMs?: number;
}

/** A problem as it is gathered: where a row has its texts, without them. */
type Seen = Omit<Counted, "name" | "message" | "frame" | "scriptName"> & Partial<Counted>;
type ById = Map<string, Seen>;

interface Row {
  each: ById;
  dropped: number;
  others: number;
}

interface Gathered {
  /** The time, in {@link ROWS_EVERY_MS}, that they are of. */
  slot: number;
  others: number;
  each: ById;
}

/** Nothing is gathered. */
const NOTHING = '{"slot":0,"others":0,"each":[]}';

/**
 * The problems of a shard. As health, they are gathered in a column of its own row, and become rows
 * every five minutes: four at most. A record with an error is in one problem, or in `others`.
 */
export class Problems extends Tables {
  /** As stored; null: it is not read yet. */
  #gathered: Gathered | null = null;
  /** Ids that rows have; likewise. */
  #known: ReadonlySet<string> | null = null;
  /** Whether the last messages had one that was not known here. */
  hasNew = false;

  /** Forgets what is held in memory: a transaction has failed. */
  load(): void {
    this.#gathered = null;
    this.#known = null;
  }

  /**
   * Adds messages. To be called in the transaction in which they are counted.
   * @returns what to write into `state.problems` in that transaction; null: it stays as it is.
   */
  add(messages: readonly CountedPart[], nowMs: number): string | null {
    this.hasNew = false;
    const before = this.#gatheredNow();
    const slot = Math.floor(nowMs / ROWS_EVERY_MS);
    const isDue = before.slot !== slot && (before.each.size > 0 || before.others > 0);
    const found = messages.flatMap(({ functions, takenInMs, source = "" }) =>
      functions.flatMap(({ scriptName, version, health }) => {
        const seenMs = Math.min(takenInMs, nowMs);
        const versions = version === undefined ? [] : [cut(version, VERSION_MAX)];
        const of = { scriptName, source, versions, bornMs: seenMs, seenMs };
        return (health?.errors ?? []).map((error) => ({ ...error, ...of }));
      }),
    );
    if (!isDue && found.length === 0) return null;
    if (isDue) this.#toRows(before);
    const isBegun = before.slot === slot;
    const each: ById = new Map(isBegun ? before.each : []);
    let others = isBegun ? before.others : 0;
    for (const { scriptName, ...one } of found) {
      // A release before this one told no id.
      const isNamed = (one.id ?? OTHER) !== OTHER && scriptName !== null && scriptName.length <= SCRIPT_NAME_MAX;
      if (isNamed) put(each, { ...one, scriptName });
      else others += one.count;
    }
    const kept = newest([...each.values()], GATHERED_MAX);
    for (const [id, one] of each)
      if (!kept.has(one)) {
        each.delete(id);
        others += one.count;
      }
    this.#gathered = { slot, others, each };
    this.#known ??= idsIn(this.#rows());
    const known = this.#known;
    for (const { id } of kept) this.hasNew ||= !known.has(id) && !(isBegun && before.each.has(id));
    for (const one of kept) if (one.scriptName !== undefined && known.has(one.id)) each.set(one.id, withoutTexts(one));
    const text = `{"slot":${slot},"others":${others},"each":[${[...each.values()].map(textOnce).join()}]}`;
    if (utf8Length(text) <= GATHERED_BYTES) return text;
    this.#toRows(this.#gathered);
    this.#gathered = null;
    return NOTHING;
  }

  /** @param scriptName those of this function; absent: all. */
  list(scriptName?: string): ProblemList<Counted> {
    const rows = this.#rows();
    const gathered = this.#gatheredNow();
    for (const one of gathered.each.values()) put(rowOf(rows, one.id).each, one);
    const all = [...rows.values()];
    const isAsked = (one: Seen): one is Counted =>
      one.scriptName !== undefined && one.scriptName === (scriptName ?? one.scriptName);
    return {
      problems: all.flatMap(({ each }) => [...each.values()].filter(isAsked)),
      dropped: all.reduce((sum, row) => sum + row.dropped, 0),
      others: all.reduce((sum, row) => sum + row.others, gathered.others),
      knownSinceMs: this.sql.only`
        SELECT iif(max(applied_ms) > min(applied_ms) + ${AT_ONCE_MS}, max(applied_ms), 0) FROM schema_step
        WHERE id IN (1, ${IDS_STEP})`,
    };
  }

  /** Forgets those of a function; how many records they were stays. */
  forget(scriptName: string): void {
    this.#toRows(this.#gatheredNow(), scriptName);
    this.#gathered = null;
    this.sql.run`UPDATE state SET problems = NULL WHERE id = 1`;
  }

  /** Adds to the rows, and writes those that change. @param gone a function that is forgotten. */
  #toRows(gathered: Gathered, gone?: string): void {
    const rows = this.#rows();
    const changed = new Set<Row>();
    for (const one of gathered.each.values()) {
      const row = rowOf(rows, one.id);
      put(row.each, one);
      changed.add(row);
    }
    if (gathered.others > 0) {
      const row = rowOf(rows, "0");
      row.others += gathered.others;
      changed.add(row);
    }
    const all = [...rows.values()];
    const kept = newest(
      all.flatMap(({ each }) => [...newest([...each.values()], OF_ROW_MAX)]),
      PROBLEMS_MAX,
    );
    for (const row of all)
      for (const [id, one] of row.each) {
        const isForgotten = gone !== undefined && one.scriptName === gone;
        if (kept.has(one) && !isForgotten) continue;
        row.each.delete(id);
        row.others += one.count;
        row.dropped += Number(!isForgotten);
        changed.add(row);
      }
    for (const [id, row] of rows)
      if (changed.has(row)) this.sql.replace("problem", { id, ...row, each: JSON.stringify([...row.each.values()]) });
    this.#known = idsIn(rows);
  }

  #rows(): Map<number, Row> {
    const rows = this.sql.all<Omit<Row, "each"> & { id: number; each: string }>`
      SELECT id, each, dropped, others FROM problem`;
    return new Map(rows.map(({ id, each, ...counts }) => [id, { each: byId(JSON.parse(each)), ...counts }]));
  }

  #gatheredNow(): Gathered {
    if (this.#gathered === null) {
      const text = this.sql.only<string | null>`SELECT problems FROM state`;
      const stored = JSON.parse(text ?? NOTHING) as Gathered & { each: never };
      this.#gathered = { ...stored, each: byId(stored.each) };
    }
    return this.#gathered;
  }
}

function byId(all: readonly Seen[]): ById {
  return new Map(all.map((one) => [one.id, one]));
}

function idsIn(rows: ReadonlyMap<number, Row>): ReadonlySet<string> {
  return new Set([...rows.values()].flatMap(({ each }) => [...each.keys()]));
}

/** The row of a problem is that of its id. */
function rowOf(rows: Map<number, Row>, id: string): Row {
  const n = Number.parseInt(id.charAt(0), 16) % ROWS;
  const row = rows.get(n) ?? { each: new Map(), dropped: 0, others: 0 };
  rows.set(n, row);
  return row;
}

/** Of too many, those that were seen last. */
function newest<T extends Seen>(all: readonly T[], max: number): ReadonlySet<T> {
  const latest = all.length <= max ? all : [...all].sort((a, b) => b.seenMs - a.seenMs);
  return new Set(fairly(latest, max, ({ source }) => source));
}

function put<T extends Seen>(into: Map<string, T>, one: T): void {
  const before = into.get(one.id);
  into.set(one.id, before === undefined ? one : added(before, one));
}

function added<T extends Seen>(a: T, b: T): T {
  const first = eventMs(b.firstMs) < eventMs(a.firstMs) ? b : a;
  const last = eventMs(b.lastMs) >= eventMs(a.lastMs) ? b : a;
  return {
    ...{ ...b, ...a, count: a.count + b.count },
    ...{ firstMs: first.firstMs, firstRay: first.firstRay, lastMs: last.lastMs, lastRay: last.lastRay },
    ...{ bornMs: Math.min(a.bornMs, b.bornMs), seenMs: Math.max(a.seenMs, b.seenMs) },
    versions: [...new Set([...a.versions, ...b.versions])].slice(0, VERSIONS_KEPT),
  };
}

function withoutTexts({ name: _name, message: _message, frame: _frame, scriptName: _scriptName, ...rest }: Seen): Seen {
  return rest;
}

/** The lists of all shards as one, and with each problem its kin without a frame. */
export function joinedProblems(lists: readonly ProblemList<Counted>[]): ProblemList {
  const each = new Map<string, Counted>();
  for (const { problems } of lists) for (const problem of problems) put(each, problem);
  const knownSinceMs = Math.max(0, ...lists.map((list) => list.knownSinceMs ?? 0));
  const same = sameAs([...each.values()].map((one) => ({ ...one, functionKey: keyOf({ ...one, version: "" }) })));
  const joined = [...Map.groupBy(each.values(), ({ id }) => same.get(id) ?? id)].map(([id, kin]): Problem => {
    const own = kin.find((one) => one.id === id) as Counted;
    const others = kin.filter((one) => one !== own);
    return { ...others.reduce(added, own), ids: [id, ...others.map((one) => one.id)], knownSinceMs };
  });
  const all = joined.sort((a, b) => b.seenMs - a.seenMs);
  const kept = newest(all, PROBLEMS_MAX);
  const more = all.filter((one) => !kept.has(one));
  return {
    problems: [...kept],
    dropped: lists.reduce((sum, { dropped }) => sum + dropped, more.length),
    others: [...lists.map(({ others }) => others), ...more.map(({ count }) => count)].reduce((sum, n) => sum + n, 0),
  };
}
