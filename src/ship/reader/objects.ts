import { clause, verbatim } from "../../base/storage/sql.ts";
import { decoderOf } from "../../formats/object/encoders.ts";
import { readTemplate } from "../../formats/object/keys.ts";
import type { Leftover, WriteOutcome } from "../destinations/destination.ts";
import { type CutInto, FAR_SQL } from "./cut.ts";
import { failureWords, withoutOutlook } from "./disposition.ts";
import { areLines, countLines, divide, isDivisible, takeApart } from "./divide.ts";
import { ReaderPart } from "./reader-part.ts";
import { DOUBT, FAR, type ObjectRow, type Target, templateElsewhere } from "./reader-rows.ts";
import type { ReaderState } from "./reader-state.ts";

/**
 * After all that had failed was made due at once, it is not done again for this long, in ms: the
 * longest delay of a retry.
 */
const RELIEVE_AGAIN_MS = 15 * 60_000;

/**
 * `far`: objects of days far from that of their intake, as cut.ts decides. `elsewhere`: those with
 * a destination of their own.
 */
export type Lane = keyof typeof FAR;

/**
 * While so many objects are set aside, what is refused is not taken apart: each record that is
 * found costs several requests.
 */
const ASIDE_MANY = 1_000;

/** The newest objects among which one is looked for that had failed. */
const RECOVERED_AMONG = 2_000;

/** One or two are an outage, which is over; these are chance. */
const RECOVERED_MANY = 3;

/** How long a store that claims to have another object under every key is left alone, in ms. */
const RENUMBER_AGAIN_MS = 60_000;

type Divided = Omit<Extract<WriteOutcome, { kind: "divide" }>, "kind">;

/** What is known after an attempt of whether an object is there. */
function doubtAfter({ doubtful }: ObjectRow, mayBeThere: boolean): number {
  return mayBeThere && doubtful !== DOUBT.partly ? DOUBT.unanswered : doubtful;
}

/**
 * The objects of a reader: key and bytes are fixed, only their state changes. Every method that
 * changes anything belongs into a transaction of its caller.
 */
export class Objects extends ReaderPart {
  /**
   * The first objects of a lane whose next attempt is due, those with the fewest attempts first:
   * one that always fails does not hold up the rest.
   */
  due(nowMs: number, limit: number, lane: Lane): ObjectRow[] {
    return this.sql.all<ObjectRow>`
      SELECT * FROM object INDEXED BY object_by_turn
      WHERE state = 'waiting' AND far = ${FAR[lane]} AND next_attempt_ms <= ${nowMs}
      ORDER BY attempts, number LIMIT ${limit}`;
  }

  /**
   * When the next object of these lanes is to be tried, in ms since the epoch; Infinity: none
   * waits.
   */
  nextAttemptMs(except: ReadonlySet<number>, lanes: readonly Lane[] = ["near", "far"]): number {
    const most = except.size + 1;
    const earliest = (rows: Pick<ObjectRow, "number" | "next_attempt_ms">[]): number =>
      rows.find(({ number }) => !except.has(number))?.next_attempt_ms ?? Number.POSITIVE_INFINITY;
    const places = lanes.map((lane) => FAR[lane]);
    // An object that was never tried is due, and is first in the order of turn of its lane; those
    // that were tried are ordered by time.
    const untried = places.map(
      (far) => this.sql.all<Pick<ObjectRow, "number" | "next_attempt_ms">>`
        SELECT number, next_attempt_ms FROM object INDEXED BY object_by_turn
        WHERE state = 'waiting' AND far = ${far} AND attempts = 0 LIMIT ${most}`,
    );
    const tried = this.sql.all<Pick<ObjectRow, "number" | "next_attempt_ms">>`
      SELECT number, next_attempt_ms FROM object INDEXED BY object_by_time
      WHERE state = 'waiting' AND attempts > 0 AND far BETWEEN ${Math.min(...places)} AND ${Math.max(...places)}
      ORDER BY next_attempt_ms LIMIT ${most}`;
    return Math.min(...untried.map(earliest), earliest(tried));
  }

  object(number: number): ObjectRow | null {
    return this.sql.first`SELECT * FROM object WHERE number = ${number}`;
  }

  /**
   * The bytes of an object, piece by piece, each read when it is asked for. Valid across awaits:
   * what is cut does not change. The buffer of a piece belongs to the caller.
   */
  *pieces(object: ObjectRow): Generator<Uint8Array> {
    // Copies: the row may be read again.
    yield new Uint8Array(object.head.slice(0));
    for (const { body } of this.chunks.of(object.batch)) yield new Uint8Array(body);
    yield new Uint8Array(object.tail.slice(0));
  }

  /**
   * The one change of state that counts an object as delivered.
   * @param place version of the job's destination that has it.
   * @returns false if it was not waiting: it is not counted twice.
   */
  markDelivered(object: ObjectRow, verified: boolean, place: number, nowMs: number): boolean {
    const { failures, relieved_ms, deliveries, parked } = this.state.requireRow();
    const changed = this.sql.run`
      UPDATE object SET state = 'delivered', key = ${object.key}, verified = ${verified ? 1 : 0}, error = NULL, answer = NULL,
        uploaded_ms = ${nowMs}, attempts = attempts + 1, target = NULL, delivery = ${deliveries + 1},
        place = ${place} WHERE number = ${object.number} AND state = 'waiting'`;
    if (changed === 0) return false;
    this.chunks.drop(object.batch);
    if (object.target !== null) {
      this.state.countDeliveredElsewhere(object.records, object.raw_bytes, object.bytes);
      return true;
    }
    this.state.countDelivered(object.records, object.raw_bytes, object.bytes, this.failingWith());
    // The outage is over, and what waits for that is due. One object that fails alone is no outage;
    // some that always fail look like one after each success, so this is done once in a while only.
    // What parked the job did so by mistake, and is not tried as rarely as that any more.
    if (parked === 1 || (failures > 1 && nowMs - relieved_ms >= RELIEVE_AGAIN_MS)) {
      this.state.relieved(nowMs);
      this.sql.run`
        UPDATE object SET next_attempt_ms = ${nowMs}
        WHERE state = 'waiting' AND attempts > 0 AND next_attempt_ms > ${nowMs}`;
    }
    return true;
  }

  /**
   * An object is about to be sent to what cannot tell a repeat. If the last time ended without an
   * answer, this is one, and is counted.
   */
  markSending(object: ObjectRow, state: ReaderState): void {
    const { number, doubtful, records } = object;
    if (doubtful === DOUBT.partly) state.countResent(countLines(object, this.#cutInto()));
    else if (doubtful === DOUBT.unanswered) state.countResent(records);
    else this.sql.run`UPDATE object SET doubtful = 1 WHERE number = ${number} AND state = 'waiting'`;
  }

  /**
   * @param mayBeThere the attempt ended without an answer, or with one that leaves it
   *   open. @returns false if the object was not waiting.
   */
  markFailed(
    object: ObjectRow,
    error: string,
    nextAttemptMs: number,
    nowMs: number,
    mayBeThere: boolean,
    said?: string,
  ): boolean {
    const changed = this.sql.run`
      UPDATE object SET attempts = attempts + 1, next_attempt_ms = ${nextAttemptMs},
        failing_ms = coalesce(failing_ms, ${nowMs}), passes = ${this.state.requireRow().passes},
        doubtful = ${doubtAfter(object, mayBeThere)}, error = ${error}, answer = ${said ?? null}
      WHERE number = ${object.number} AND state = 'waiting'`;
    return changed > 0;
  }

  /** What an object fails on that is to be tried again at its job's destination; null: none is. */
  failingWith(): string | null {
    const failing = this.sql.first<{ error: string | null }>`
      SELECT error FROM object INDEXED BY object_by_time WHERE state = 'waiting' AND attempts > 0
        AND failing_ms IS NOT NULL AND target IS NULL LIMIT 1`;
    return failing?.error ?? null;
  }

  /**
   * Whether so many objects were delivered since then, in ms, that had failed at their job's
   * destination, as none does once. Of the parts of one that was divided, the first try that counts
   * is that of the whole.
   */
  hasRecovered(sinceMs: number): boolean {
    const recovered = this.sql.only<number>`
      SELECT count(*) FROM (SELECT state, failing_ms, uploaded_ms, attempts, origin, elsewhere FROM object
        ORDER BY number DESC LIMIT ${RECOVERED_AMONG}) WHERE state = 'delivered' AND failing_ms IS NOT NULL
        AND uploaded_ms >= ${sinceMs} AND elsewhere IS NULL AND attempts > iif(origin IS NULL, 1, 2)`;
    return recovered >= RECOVERED_MANY;
  }

  /** Whether it can probably be sent in parts: {@link isDivisible} also counts its lines. */
  looksDivisible(object: ObjectRow): boolean {
    return object.records > 1 && object.doubtful !== DOUBT.partly && areLines(object);
  }

  /**
   * A user sets an object aside that waits.
   * @param mayBeThere it is under way: what becomes of that attempt changes nothing any more.
   */
  takeOut(object: ObjectRow, nowMs: number, mayBeThere: boolean): void {
    const words = `put on hold by hand${object.error === null ? "" : `; ${withoutOutlook(object.error)}`}`;
    this.#setAside(object, words, nowMs, mayBeThere, object.answer);
    this.state.countReturned(object.records, words, nowMs);
  }

  /** What has been found out about where an object goes. */
  setTarget({ number }: ObjectRow, target: Target): void {
    this.sql.run`
      UPDATE object SET target = ${JSON.stringify(target)} WHERE number = ${number} AND state = 'waiting'`;
  }

  /**
   * The store refuses this object itself; its bytes stay here, and it holds up no other. If it was
   * sent elsewhere, that ends.
   * @param mayBeThere as of {@link markFailed}. @param said as of a Failure.
   * @returns false if it was not waiting.
   */
  markSetAside(object: ObjectRow, error: string, nowMs: number, mayBeThere = false, said?: string): boolean {
    if (!this.#setAside(object, error, nowMs, mayBeThere, said ?? null)) return false;
    if (object.target !== null) this.state.countReturned(object.records, error, nowMs);
    else this.state.countSetAside(object.records, error, nowMs);
    return true;
  }

  #setAside(object: ObjectRow, error: string, nowMs: number, mayBeThere: boolean, answer: string | null): boolean {
    const changed = this.sql.run`
      UPDATE object SET state = 'set_aside', attempts = attempts + 1, failing_ms = NULL, answer = ${answer},
        doubtful = ${doubtAfter(object, mayBeThere)}, error = ${error}, aside_ms = ${nowMs},
        far = iif(target IS NULL, far, ${FAR_SQL}), elsewhere = iif(target IS NULL, elsewhere, NULL),
        target = NULL WHERE number = ${object.number} AND state = 'waiting'`;
    if (changed > 0 && object.target === null && this.failingWith() === null) this.state.noneFails();
    return changed > 0;
  }

  /**
   * Objects that a receiver takes go in the place of one that it does not. @returns false if it was
   * not waiting, or cannot be taken apart: then it is set aside.
   */
  divide(object: ObjectRow, most: Divided, nowMs: number): boolean {
    if (this.object(object.number)?.state !== "waiting") return false;
    const { passes, aside_objects: aside } = this.state.requireRow();
    const { why, mayBeThere = false, said } = most;
    const isMany = why !== null && aside >= ASIDE_MANY;
    if (isMany || object.records < 2 || !isDivisible(object, this.#cutInto())) {
      const not = isMany ? `not taken apart, as ${aside} objects are on hold` : "it cannot be divided";
      const words = `${why ?? "more than the destination takes in one request"}; ${not}`;
      this.markSetAside(object, failureWords(words, "set_aside"), nowMs, mayBeThere, said);
      return true;
    }
    const records = Math.min(most.records, object.records - 1);
    const tried = { attempts: object.attempts + 1, passes: object.attempts === 0 ? passes : object.passes };
    const failed = why === null ? object : { ...object, ...tried, error: failureWords(why, "retry") };
    const doubtful = doubtAfter(object, mayBeThere);
    divide({ ...failed, doubtful }, { records, bytes: most.bytes }, nowMs, this.#cutInto());
    return true;
  }

  /**
   * An object of which a receiver has taken some records. @returns how many it has, and what waits
   * of it, as objects; null if it was not waiting.
   */
  takeApart(
    object: ObjectRow,
    left: Leftover,
    place: number,
    nowMs: number,
  ): { delivered: number; waiting: ObjectRow[] } | null {
    if (this.object(object.number)?.state !== "waiting") return null;
    if (!isDivisible(object, this.#cutInto())) {
      const words = left.refused[0]?.words ?? left.unnamed?.words ?? left.error?.words ?? "not all of it was taken";
      this.markSetAside(object, `an object is on hold: ${words}`, nowMs, true, left.said);
      return { delivered: 0, waiting: [] };
    }
    const { delivered, waiting, aside } = takeApart(object, left, nowMs, this.#cutInto());
    for (const { number, records, words } of aside) {
      const row = this.object(number);
      if (row !== null)
        this.markSetAside({ ...row, records }, `an object is on hold: ${words}`, nowMs, false, left.said);
    }
    if (delivered > 0) {
      const share = (of: number): number => Math.round((of * delivered) / object.records);
      const taken = { ...object, records: delivered, bytes: share(object.bytes), raw_bytes: share(object.raw_bytes) };
      this.markDelivered(taken, false, place, nowMs);
    }
    return { delivered, waiting: waiting.flatMap((number) => this.object(number) ?? []) };
  }

  #cutInto(): CutInto {
    return { sql: this.sql, state: this.state, chunks: this.chunks };
  }

  /**
   * Another object stands under the key: the same bytes get a new number and with it a new key. At
   * once the first time; later after a delay, as a store may say so of every key. In the list it
   * stands where its number is, by time as well.
   * @returns false if it was not waiting.
   */
  renumber(object: ObjectRow, nowMs: number): boolean {
    const { number, name } = this.state.nextName(
      object.first_event_ms,
      object.last_event_ms,
      decoderOf(object.name).suffix,
    );
    const key = this.state.keyOf(object, name, templateElsewhere(object));
    const changed = this.sql.run`
      UPDATE object SET number = ${number}, name = ${name}, key = ${key}, cut_ms = ${nowMs},
        doubtful = iif(doubtful = ${DOUBT.partly}, doubtful, 0), attempts = attempts + 1, failing_ms = NULL,
        next_attempt_ms = ${object.attempts === 0 ? nowMs : nowMs + RENUMBER_AGAIN_MS}
      WHERE number = ${object.number} AND state = 'waiting'`;
    return changed > 0;
  }

  /**
   * The destination has changed: what is cut and not delivered goes to the new one, and the answers
   * of the old one do not count. What goes elsewhere still does.
   * @param isSame it has other secrets or parameters alone: what may be there, still may.
   */
  readdress(isSame: boolean): void {
    const template = readTemplate(this.state.requireJob().path);
    const waiting = this.sql.all<Pick<ObjectRow, "number" | "day" | "part" | "name" | "first_event_ms">>`
      SELECT number, day, part, name, first_event_ms FROM object WHERE state = 'waiting' AND target IS NULL`;
    for (const object of waiting) {
      this.sql.run`
        UPDATE object SET key = ${this.state.keyOf(object, object.name, template)},
          doubtful = iif(${isSame ? 1 : 0} OR doubtful = ${DOUBT.partly}, doubtful, 0), attempts = 0,
          failing_ms = NULL, next_attempt_ms = 0 WHERE number = ${object.number}`;
    }
    this.state.forgetStore();
  }

  /**
   * Drops what waits, except objects that are under way. @returns the number of records dropped.
   */
  drop(underWay: ReadonlySet<number>): number {
    const waiting = this.sql.all<{ number: number; batch: number; records: number }>`
      SELECT number, batch, records FROM object WHERE state = 'waiting'`.filter(({ number }) => !underWay.has(number));
    for (const { number, batch } of waiting) {
      this.chunks.drop(batch);
      this.sql.run`UPDATE object SET state = 'discarded', target = NULL WHERE number = ${number}`;
    }
    return waiting.reduce((sum, { records }) => sum + records, 0);
  }

  /**
   * How many objects have failed at their job's destination and wait for another try, up to
   * `limit`.
   */
  countFailing(limit: number): number {
    return this.sql.only`
      SELECT count(*) FROM (SELECT 1 FROM object INDEXED BY object_by_time WHERE state = 'waiting'
        AND attempts > 0 AND target IS NULL LIMIT ${limit})`;
  }

  countWaiting(): number {
    return this.sql.only`SELECT count(*) FROM object WHERE state = 'waiting'`;
  }

  /** Objects with a number above `after`, in that order. @param cutMs as in {@link isBeyond}. */
  list(after: number, limit: number, cutMs?: number, span?: EventSpan): ObjectRow[] {
    return this.#beside(">", after, limit, cutMs, span);
  }

  /** Objects with a number below `before`, the newest first. @param cutMs as of {@link list}. */
  listBefore(before: number, limit: number, cutMs?: number, span?: EventSpan): ObjectRow[] {
    return this.#beside("<", before, limit, cutMs, span);
  }

  #beside(side: "<" | ">", number: number, limit: number, cutMs?: number, span?: EventSpan): ObjectRow[] {
    const by = verbatim(side === ">" ? "ASC" : "DESC");
    const order = cutMs === undefined ? clause`number ${by}` : clause`cut_ms ${by}, number ${by}`;
    return this.sql.all<ObjectRow>`
      SELECT * FROM object WHERE ${isBeyond(side, number, cutMs, span)} ORDER BY ${order} LIMIT ${limit}`;
  }

  /** How many objects have a number above `after`. @param cutMs as in {@link isBeyond}. */
  count(after: number, cutMs?: number, span?: EventSpan): number {
    return this.sql.only`SELECT count(*) FROM object WHERE ${isBeyond(">", after, cutMs, span)}`;
  }
}

/** In ms since the epoch: events from the first, before the second. */
export interface EventSpan {
  sinceMs: number;
  untilMs: number;
}

/**
 * Objects on one side of a number; or of a time at which objects are cut, in ms, and then of the
 * number. The order is the same.
 * @param span only those that have events of this time.
 */
function isBeyond(side: "<" | ">", number: number, cutMs?: number, span?: EventSpan) {
  const beside = verbatim(side);
  const beyond =
    cutMs === undefined
      ? clause`number ${beside} ${number}`
      : clause`(cut_ms ${beside} ${cutMs} OR (cut_ms = ${cutMs} AND number ${beside} ${number}))`;
  if (span === undefined) return beyond;
  return clause`${beyond} AND first_event_ms < ${span.untilMs} AND last_event_ms >= ${span.sinceMs}`;
}
