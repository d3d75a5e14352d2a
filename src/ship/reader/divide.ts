import { constants, inflateRawSync } from "node:zlib";
import { concat, isObject, parsedJson } from "../../base/bytes.ts";
import { deflateFragment } from "../../base/deflate.ts";
import { FRAGMENT_MAX_RAW_BYTES } from "../../base/limits.ts";
import type { Encoder } from "../../formats/object/encoder.ts";
import { encoderOf } from "../../formats/object/encoders.ts";
import { contentOf, memberHead } from "../../formats/object/gzip.ts";
import { NDJSON } from "../../formats/output/format.ts";
import type { Leftover, Origin } from "../destinations/destination.ts";
import type { Chunks } from "./chunks.ts";
import { type CutInto, fixObject } from "./cut.ts";
import { type BatchRow, DOUBT, type ObjectRow, templateElsewhere } from "./reader-rows.ts";

/**
 * An object that goes on as several: a receiver takes less in one request than a store in one
 * object, or has taken only some of its records. Each of them has a number, bytes and an id of its
 * own from then on, so each has its own progress. Of NDJSON alone: nothing else can be taken apart.
 * What is here belongs into a transaction of its caller.
 */

/**
 * Whether an object can be taken apart: a line a record, without a text around them. Of one that
 * has more lines, some are there, and no part would know how many of its own.
 */
export function isDivisible(object: ObjectRow, into: CutInto): boolean {
  return areLines(object) && countLines(object, into) === object.records;
}

/** Whether it is NDJSON without a text around its records: at least, nothing says otherwise. */
export function areLines({ content_type, head }: ObjectRow): boolean {
  return content_type === encoderOf(NDJSON).contentType && head.byteLength === EMPTY_HEAD_BYTES;
}

/** The fields of the first record of an object; null: it is no NDJSON of records. */
export function fieldsOf(object: ObjectRow, chunks: Chunks): ReadonlySet<string> | null {
  const first = areLines(object) ? linesOf(object, { chunks }).next().value : undefined;
  const record = first === undefined ? null : parsedJson(new TextDecoder().decode(first));
  return isObject(record) ? new Set(Object.keys(record)) : null;
}

/** The lines of an object that is NDJSON. */
export function countLines(object: ObjectRow, into: CutInto): number {
  let lines = 0;
  for (const _line of linesOf(object, into)) lines += 1;
  return lines;
}

const EMPTY_HEAD_BYTES = memberHead(new Uint8Array()).length;

/** Objects of at most so many records and bytes before compression take the place of one. */
export function divide(
  object: ObjectRow,
  most: { records: number; bytes: number },
  nowMs: number,
  into: CutInto,
): void {
  let part: Part | null = null;
  const end = (): void => {
    if (part !== null) inherit(object, part, nowMs, into);
    part = null;
  };
  const places = placesOf(object);
  for (const line of linesOf(object, into)) {
    const bytes = line.length;
    if (part !== null && (part.records >= most.records || part.rawBytes + bytes > most.bytes)) end();
    part ??= new Part(object, into);
    part.add(line, next(places));
  }
  end();
  drop(object, into);
}

/** So many reasons get an object each; a receiver may give another one with every record. */
const REASONS_MAX = 16;

/** What became of the records of an object. */
export interface Taken {
  /** Records that the destination has. */
  delivered: number;
  /** Numbers of the objects that wait, of those that are set aside and why. */
  waiting: number[];
  aside: { number: number; records: number; words: string }[];
}

/**
 * What a destination has left of an object becomes objects of its own: one that waits, and one for
 * each reason for which records are refused. The object keeps the rest; if there is none, it is
 * gone.
 * @returns what the caller counts, and marks.
 */
export function takeApart(object: ObjectRow, left: Leftover, nowMs: number, into: CutInto): Taken {
  const again = new Set(left.again);
  const refused = new Map(left.refused.map(({ record, words }) => [record, words]));
  const waiting = new Part(object, into);
  const aside = new Map<string, Part>();
  /** Of all further reasons; its words begin with the first of them. */
  let others: { words: string; part: Part } | null = null;
  let whole: Part | null = left.unnamed === null ? null : new Part(object, into);
  let number = 0;
  const places = placesOf(object);
  for (const line of linesOf(object, into)) {
    const place = next(places);
    const words = refused.get(number);
    if (words !== undefined) {
      let part = aside.get(words);
      if (part === undefined && aside.size < REASONS_MAX) {
        part = new Part(object, into);
        aside.set(words, part);
      }
      others ??= part === undefined ? { words: `${words}; and others`, part: new Part(object, into) } : null;
      (part ?? others?.part)?.add(line, place);
    } else if (again.has(number)) waiting.add(line, place);
    // Which of the others were refused is unknown: all of them are kept.
    else whole?.add(line, place);
    number += 1;
  }
  const reasons = [...aside].map(([words, part]) => ({ words, part }));
  if (others !== null) reasons.push(others);
  const parts = reasons.map(({ words, part }) => ({ words, part, records: part.records }));
  if (whole !== null && whole.records > 0 && left.unnamed !== null) {
    const { words, records } = left.unnamed;
    parts.push({ words, part: whole, records: Math.min(records, whole.records) });
  } else whole = null;
  const kept = parts.reduce((sum, { records }) => sum + records, waiting.records);
  const taken: Taken = { delivered: object.records - kept, waiting: [], aside: [] };
  const shares = waiting.records > 0 ? [waiting] : [];
  const doubtful = left.mayBeThere ? DOUBT.unanswered : object.doubtful;
  for (const part of shares) taken.waiting.push(inherit({ ...object, doubtful }, part, nowMs, into));
  for (const { part, words, records } of parts) {
    const { records: lines } = part;
    const number = inherit(object, part, nowMs, into);
    if (records < lines)
      into.sql.run`UPDATE object SET records = ${records}, doubtful = ${DOUBT.partly} WHERE number = ${number}`;
    taken.aside.push({ number, records, words });
  }
  if (taken.delivered <= 0) drop(object, into);
  else into.sql.run`UPDATE object SET records = ${taken.delivered} WHERE number = ${object.number}`;
  return taken;
}

/**
 * An object of records of another. What is known of that one holds for it: it may be there, and is
 * of its day. @returns its number.
 */
function inherit(object: ObjectRow, part: Part, nowMs: number, into: CutInto): number {
  const { far, attempts, doubtful, target, elsewhere, failing_ms, passes, error } = object;
  const number = part.fix(nowMs);
  const origin = JSON.stringify(part.origin);
  // A part may be sound, and fail by chance, where a destination does so often: it has tries of its
  // own, of which the failure of the whole was one.
  const tried = failing_ms === null ? { attempts, since: null } : { attempts: 1, since: nowMs };
  into.sql.run`
    UPDATE object SET far = ${far}, attempts = ${tried.attempts}, failing_ms = ${tried.since},
      error = ${error}, passes = ${passes}, doubtful = ${doubtful}, origin = ${origin}, target = ${target},
      elsewhere = ${elsewhere} WHERE number = ${number}`;
  const template = templateElsewhere(object);
  if (template !== undefined) {
    const name = into.sql.only<string>`SELECT name FROM object WHERE number = ${number}`;
    into.sql.run`UPDATE object SET key = ${into.state.keyOf(object, name, template)} WHERE number = ${number}`;
  }
  return number;
}

/** Where a record was first: the name of its object, and its number there. */
type FirstPlace = readonly [name: string, number: number];

/** Of an object's records, in order, where each was first. */
function* placesOf({ name, origin }: ObjectRow): Generator<FirstPlace, never> {
  const runs: Origin = origin === null ? [] : JSON.parse(origin);
  for (const [first, from, count] of runs) for (let n = 0; n < count; n++) yield [first, from + n];
  for (let n = 0; ; n++) yield [name, n];
}

function next(places: Generator<FirstPlace, never>): FirstPlace {
  return places.next().value;
}

function drop(object: ObjectRow, { sql, chunks }: CutInto): void {
  chunks.drop(object.batch);
  sql.run`DELETE FROM object WHERE number = ${object.number}`;
}

/** The records of an object, in UTF-8, each with its line's end. One row of chunks is in memory. */
function* linesOf(object: ObjectRow, { chunks }: Pick<CutInto, "chunks">): Generator<Uint8Array<ArrayBuffer>> {
  let rows: Uint8Array[] = [];
  const lines = function* (): Generator<Uint8Array<ArrayBuffer>> {
    const packed = concat(rows);
    rows = [];
    if (packed.length === 0) return;
    const text = inflateRawSync(packed, { finishFlush: constants.Z_SYNC_FLUSH });
    for (let from = 0; from < text.length; ) {
      const at = text.indexOf(10, from);
      const end = at === -1 ? text.length : at + 1;
      yield new Uint8Array(text.subarray(from, end));
      from = end;
    }
  };
  for (const { raw_bytes, body } of chunks.of(object.batch)) {
    // A fragment that is too large for one row goes on in rows without bytes of their own.
    if (raw_bytes > 0) yield* lines();
    rows.push(new Uint8Array(body));
  }
  yield* lines();
}

/** An object in the making, of lines of another. */
class Part {
  readonly #into: CutInto;
  readonly #batch: BatchRow;
  readonly #of: ObjectRow;
  readonly #encoder: Encoder = encoderOf(NDJSON);
  readonly #origin: [name: string, from: number, count: number][] = [];
  #lines: Uint8Array[] = [];
  #bytes = 0;

  constructor(object: ObjectRow, into: CutInto) {
    this.#into = into;
    this.#of = object;
    const { day, part, first_event_ms, last_event_ms, oldest_taken_ms } = object;
    // Its id comes with its first record: of most parts there is none.
    this.#batch = {
      ...{ day, part, first_event_ms, last_event_ms, oldest_taken_ms },
      ...{ id: 0, records: 0, raw_bytes: 0, small_bytes: 0, next_chunk: 0, opened_ms: 0 },
    };
  }

  get records(): number {
    return this.#batch.records;
  }

  get rawBytes(): number {
    return this.#batch.raw_bytes;
  }

  /** Where its records were first. */
  get origin(): Origin {
    return this.#origin;
  }

  add(line: Uint8Array, [name, number]: FirstPlace): void {
    const last = this.#origin.at(-1);
    if (last !== undefined && last[0] === name && last[1] + last[2] === number) last[2] += 1;
    else this.#origin.push([name, number, 1]);
    if (this.records === 0) this.#batch.id = this.#into.state.nextBatch();
    if (this.#lines.length > 0 && this.#bytes + line.length > FRAGMENT_MAX_RAW_BYTES) this.#store();
    this.#lines.push(line);
    this.#bytes += line.length;
    this.#batch.records += 1;
    this.#batch.raw_bytes += line.length;
  }

  /** @returns the number of the object, which waits. */
  fix(nowMs: number): number {
    this.#store();
    return fixObject(this.#batch, this.#encoder, this.#of.reason, nowMs, this.#into);
  }

  #store(): void {
    if (this.#lines.length === 0) return;
    const raw = concat(this.#lines);
    const { day, first_event_ms, last_event_ms, oldest_taken_ms } = this.#batch;
    const fragment = {
      ...contentOf(raw),
      ...{ day, deflated: true, records: this.#lines.length, body: deflateFragment(raw) },
      ...{ firstEventMs: first_event_ms, lastEventMs: last_event_ms, oldestTakenMs: oldest_taken_ms },
    };
    this.#into.chunks.add(this.#batch, [fragment], this.#encoder);
    this.#lines = [];
    this.#bytes = 0;
  }
}
