import { fromHex, toHex } from "../bytes.ts";
import { getsAgain, type OptOut, type Window, wasIn } from "../job/config.ts";
import { ID_MEMORY_MS } from "../limits.ts";
import type { IdMemory, TakenId } from "../storage/id-memory.ts";
import { headerOf, takenOf } from "./aside-header.ts";
import type { FunctionHours } from "./function-hours.ts";
import type { HealthHours } from "./health-hours.ts";
import { countsOf, type MessageCount } from "./outcome.ts";

export interface SetAsideMessage {
  /** The id it is remembered by: the envelope's, or a hash of an unreadable message. */
  taken: TakenId;
  /** The id in the header of an unreadable message: it may be noted as coming again under it. */
  noted?: TakenId;
  /** The ids of its further parts. */
  alsoNoted?: readonly TakenId[];
  queue: string;
  why: string;
  /** Why its records cannot be read; absent: they can. */
  unreadable?: string;
  events: number;
  message: ArrayBuffer;
}

/** A message that was set aside, without its content. */
export interface AsideEntry {
  id: number;
  atMs: number;
  /** null: its header is unreadable or cannot be trusted. */
  takenInMs: number | null;
  queue: string;
  why: string;
  events: number;
  /** Its size, with the records that it refers to. */
  bytes: number;
  /** Why its records could not be read when it was set aside; null: they could. */
  unreadable: string | null;
  /**
   * Jobs that were enabled when it was taken in, and whose logs may have forgotten whether they
   * hold it.
   */
  forgotten: number[];
}

/** What was in force when a message was taken in. */
export interface InForceAtIntake {
  /** Jobs that were enabled. */
  jobs: number[];
  /** Functions whose logging was off. */
  off: string[];
  /** Jobs whose logs remember for good whether they hold it. */
  kept: number[];
}

/** With its content. */
export interface AsideMessage extends AsideEntry {
  message: ArrayBuffer;
  /** null: unknown, as it was set aside too late. */
  terms: InForceAtIntake | null;
}

/** A question to the logs: whether they hold this message. */
export interface AsideToAsk {
  id: number;
  taken: TakenId;
  /** No copy can reach a log through the queue any more, so the answer is final. */
  final: boolean;
}

/** The logs' answers. */
export interface AsideAsked extends AsideToAsk {
  /** Jobs whose logs now remember for good whether they hold it. */
  kept: readonly number[];
  /** Every log has answered. */
  all: boolean;
}

/**
 * When the logs are asked for the last time, in ms after intake. The queue deletes messages after
 * fourteen days, and a log forgets ids after fifteen. Half a day is left for clock differences, and
 * for a message that reached the queue late.
 */
export const LAST_ASK_AFTER_MS = ID_MEMORY_MS - 43_200_000;

/**
 * How often they are asked until then, in ms: the first copy of a repeated request is forgotten
 * earlier.
 */
const ASK_EVERY_MS = 86_400_000;

interface Row {
  [column: string]: SqlStorageValue;
  id: number;
  at_ms: number;
  queue: string;
  why: string;
  events: number;
  unreadable: string | null;
  bytes: number;
  header: ArrayBuffer;
  jobs: string | null;
  off: string | null;
  kept: string;
}

const COLUMNS = "id, at_ms, queue, why, events, unreadable, bytes, header, jobs, off, kept";

/**
 * The messages that the ledger stores, and how they count. To be changed only in a transaction of
 * the caller.
 */
export class AsideMessages {
  readonly #sql: SqlStorage;
  readonly #ids: IdMemory;
  readonly #functions: FunctionHours;
  readonly #health: HealthHours;

  /**
   * @param ids of counted messages. @param functions the counts by function. @param health
   *   likewise.
   */
  constructor(sql: SqlStorage, ids: IdMemory, functions: FunctionHours, health: HealthHours) {
    this.#sql = sql;
    this.#ids = ids;
    this.#functions = functions;
    this.#health = health;
  }

  /** Stores a message whole, under a new id, and counts it. */
  keep(
    { taken, queue, why, unreadable, events, message }: Omit<SetAsideMessage, "noted" | "alsoNoted">,
    nowMs: number,
  ): void {
    const { next_aside: id } = this.#sql.exec<{ next_aside: number }>("SELECT next_aside FROM account").one();
    this.#sql.exec(
      `UPDATE account SET next_aside = next_aside + 1, aside_messages = aside_messages + 1, processed = processed + ?, set_aside = set_aside + ?
         WHERE id = 1`,
      events,
      events,
    );
    this.#sql.exec(
      "INSERT INTO set_aside (id, at_ms, queue, why, events, message) VALUES (?, ?, ?, ?, ?, ?)",
      id,
      nowMs,
      queue,
      why,
      events,
      message,
    );
    this.#sql.exec(
      "INSERT INTO aside_note (id, header, bytes, counted_as, unreadable, ask_ms, taken_ms) VALUES (?, ?, ?, ?, ?, ?, ?)",
      id,
      headerOf(message, taken),
      message.byteLength,
      fromHex(taken.id).buffer,
      unreadable ?? null,
      nowMs,
      unreadable === undefined ? taken.takenInMs : null,
    );
    // The time of intake of an unreadable message is unknown.
    if (unreadable === undefined) this.#noteInForce(id, taken.takenInMs, nowMs);
  }

  count(): number {
    return this.#sql.exec<{ total: number }>("SELECT aside_messages AS total FROM account").one().total;
  }

  /** The oldest first. */
  list(offset: number, limit: number, nowMs: number): AsideEntry[] {
    const gettingAgain = this.#gettingAgain(nowMs);
    return this.#sql
      .exec<Row>(
        `SELECT ${COLUMNS} FROM aside_note JOIN set_aside USING (id) ORDER BY id LIMIT ? OFFSET ?`,
        limit,
        offset,
      )
      .toArray()
      .map((row) => entryOf(row, gettingAgain, nowMs));
  }

  get(id: number, nowMs: number): AsideMessage | null {
    const row = this.#sql
      .exec<Row & { message: ArrayBuffer }>(
        `SELECT ${COLUMNS}, message FROM aside_note JOIN set_aside USING (id) WHERE id = ?`,
        id,
      )
      .toArray()[0];
    if (row === undefined) return null;
    return { ...entryOf(row, this.#gettingAgain(nowMs), nowMs), message: row.message, terms: inForceOf(row) };
  }

  /**
   * Deletes a message that all its jobs have, and counts its events.
   * @param parts of the message.
   * @returns false: it is not set aside (any more).
   */
  countSent(id: number, parts: readonly MessageCount[], nowMs: number): boolean {
    const removed = this.#remove(id);
    if (removed === null) return false;
    // An unreadable message was counted under a hash. Now that it can be read, another copy may be
    // counted under its id already.
    const known = this.#ids.known(parts);
    const isOwn = (part: MessageCount): boolean => removed.countedAs === part.id;
    const counted = parts.filter((part) => isOwn(part) || !known.has(part.id));
    this.#ids.remember(parts.filter((part) => !known.has(part.id)));
    const sum = (of: (part: MessageCount) => number): number => counted.reduce((total, part) => total + of(part), 0);
    this.#sql.exec(
      `UPDATE account SET aside_messages = aside_messages - 1, processed = processed - ? + ?, set_aside = set_aside - ?, routed = routed + ?,
         not_enabled = not_enabled + ?, not_routed = not_routed + ?, health = ? WHERE id = 1`,
      removed.events,
      sum(({ events }) => events),
      removed.events,
      sum(({ routed }) => routed),
      sum(({ notEnabled }) => notEnabled),
      sum(({ notRouted }) => notRouted),
      this.#health.add(counted, nowMs),
    );
    this.#functions.add(countsOf(counted, nowMs), nowMs);
    return true;
  }

  /**
   * Deletes a message, and counts its events as discarded. @returns how many; null: it is not set
   * aside (any more).
   */
  countDiscarded(id: number): number | null {
    const removed = this.#remove(id);
    if (removed === null) return null;
    this.#sql.exec(
      "UPDATE account SET aside_messages = aside_messages - 1, set_aside = set_aside - ?, discarded = discarded + ? WHERE id = 1",
      removed.events,
      removed.events,
    );
    return removed.events;
  }

  /**
   * @returns how many events it counted as, and under which id; null: it is not set aside (any
   *   more).
   */
  #remove(id: number): { events: number; countedAs: string } | null {
    const row = this.#sql
      .exec<{ events: number; counted_as: ArrayBuffer }>(
        "SELECT events, counted_as FROM aside_note JOIN set_aside USING (id) WHERE id = ?",
        id,
      )
      .toArray()[0];
    if (row === undefined) return null;
    this.#sql.exec("DELETE FROM set_aside WHERE id = ?", id);
    this.#sql.exec("DELETE FROM aside_note WHERE id = ?", id);
    return { events: row.events, countedAs: toHex(new Uint8Array(row.counted_as)) };
  }

  /** When the oldest was set aside, in ms since the epoch; null: there is none. */
  oldestMs(): number | null {
    const first = this.#sql.exec<{ at_ms: number }>("SELECT at_ms FROM set_aside ORDER BY id LIMIT 1").toArray()[0];
    return first?.at_ms ?? null;
  }

  /**
   * The earliest time of intake, in ms since the epoch; 0 if that of any is unknown; null: nothing
   * is set aside.
   */
  oldestTakenMs(): number | null {
    // NULL comes first.
    const first = this.#sql
      .exec<{ taken_ms: number | null }>("SELECT taken_ms FROM aside_note ORDER BY taken_ms LIMIT 1")
      .toArray()[0];
    return first === undefined ? null : (first.taken_ms ?? 0);
  }

  /**
   * Messages that the logs are to be asked for now, `limit` at most. Notes what was in force where
   * that is missing.
   */
  toAsk(limit: number, nowMs: number): AsideToAsk[] {
    const due = this.#sql
      .exec<{ id: number; at_ms: number; header: ArrayBuffer; jobs: string | null }>(
        `SELECT id, at_ms, header, jobs FROM aside_note INDEXED BY aside_note_to_ask JOIN set_aside USING (id)
           WHERE ask_ms IS NOT NULL AND ask_ms <= ? ORDER BY ask_ms LIMIT ?`,
        nowMs,
        limit,
      )
      .toArray();
    return due.flatMap(({ id, at_ms, header, jobs }): AsideToAsk[] => {
      const head = takenOf(header);
      if (head === null) {
        // Newer code may be able to read it while the logs still remember.
        this.#askAt(id, nowMs - at_ms < ID_MEMORY_MS ? nowMs + ASK_EVERY_MS : null);
        return [];
      }
      const { takenInMs } = head;
      if (jobs === null) this.#noteInForce(id, takenInMs, nowMs);
      const final = nowMs - takenInMs >= LAST_ASK_AFTER_MS;
      return [{ id, taken: head, final }];
    });
  }

  /** Stores the logs' answers. */
  asked(answers: readonly AsideAsked[], nowMs: number): void {
    for (const { id, taken, final, kept, all } of answers) {
      if (final) {
        const row = this.#sql.exec<{ kept: string }>("SELECT kept FROM aside_note WHERE id = ?", id).toArray()[0];
        const before = JSON.parse(row?.kept ?? "[]") as number[];
        const now = JSON.stringify([...new Set([...before, ...kept])].sort((a, b) => a - b));
        this.#sql.exec("UPDATE aside_note SET kept = ? WHERE id = ? AND kept <> ?", now, id, now);
      }
      // A log that did not answer is asked again on the next run, but not before the others: it may
      // never answer.
      const again = all ? Math.min(nowMs + ASK_EVERY_MS, taken.takenInMs + LAST_ASK_AFTER_MS) : nowMs;
      this.#askAt(id, final && all ? null : again);
    }
  }

  #askAt(id: number, timeMs: number | null): void {
    this.#sql.exec("UPDATE aside_note SET ask_ms = ? WHERE id = ?", timeMs, id);
  }

  /** Jobs that a message may be sent to again: only their logs matter. */
  #gettingAgain(nowMs: number): ReadonlySet<number> {
    const jobs = this.#sql
      .exec<{ id: number; deletedMs: number | null }>(
        "SELECT id, json_extract(config, '$.deletedMs') AS deletedMs FROM job",
      )
      .toArray();
    return new Set(jobs.filter((job) => getsAgain(job, nowMs)).map(({ id }) => id));
  }

  /**
   * By the windows known now; skipped for a message so old that windows of its time may be
   * forgotten.
   */
  #noteInForce(id: number, takenInMs: number, nowMs: number): void {
    if (nowMs - takenInMs >= ID_MEMORY_MS) return;
    const jobs = this.#sql
      .exec<{ id: number; windows: string }>(
        "SELECT id, json_extract(config, '$.windows') AS windows FROM job ORDER BY id",
      )
      .toArray()
      .filter(({ windows }) => wasIn({ windows: JSON.parse(windows) as Window[] }, takenInMs));
    const { functions } = this.#sql.exec<{ functions: string }>("SELECT functions FROM opt_outs").one();
    const off = (JSON.parse(functions) as OptOut[]).filter((optOut) => wasIn(optOut, takenInMs));
    this.#sql.exec(
      "UPDATE aside_note SET jobs = ?, off = ? WHERE id = ?",
      JSON.stringify(jobs.map((job) => job.id)),
      JSON.stringify(off.map(({ scriptName }) => scriptName)),
      id,
    );
  }
}

function inForceOf({ jobs, off, kept }: Row): InForceAtIntake | null {
  if (jobs === null || off === null) return null;
  return { jobs: JSON.parse(jobs), off: JSON.parse(off), kept: JSON.parse(kept) } as InForceAtIntake;
}

function entryOf(row: Row, gettingAgain: ReadonlySet<number>, nowMs: number): AsideEntry {
  const taken = row.unreadable === null ? takenOf(row.header) : null;
  const noted = inForceOf(row);
  const isOld = taken !== null && nowMs - taken.takenInMs >= ID_MEMORY_MS;
  return {
    id: row.id,
    atMs: row.at_ms,
    takenInMs: taken?.takenInMs ?? null,
    queue: row.queue,
    why: row.why,
    events: row.events,
    bytes: row.bytes,
    unreadable: row.unreadable,
    forgotten:
      isOld && noted !== null ? noted.jobs.filter((job) => gettingAgain.has(job) && !noted.kept.includes(job)) : [],
  };
}
