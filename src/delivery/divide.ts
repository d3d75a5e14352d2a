import { constants, inflateRawSync } from "node:zlib";
import { concat } from "../bytes.ts";
import type { Leftover } from "../destinations/destination.ts";
import { FRAGMENT_MAX_RAW_BYTES } from "../limits.ts";
import type { Encoder } from "../object/encoder.ts";
import { encoderOf } from "../object/encoders.ts";
import { deflateFragment } from "../object/fragment.ts";
import { contentOf, memberHead } from "../object/gzip.ts";
import { NDJSON } from "../output/format.ts";
import { type CutInto, fixObject } from "./cut.ts";
import type { BatchRow, ObjectRow } from "./rows.ts";

/**
 * An object that goes on as several: a receiver takes less in one request than a store in one
 * object, or has taken only some of its records. Each of them has a number, bytes and an id of its
 * own from then on, so each has its own progress. Of NDJSON alone: nothing else can be taken apart.
 * What is here belongs into a transaction of its caller.
 */

/** Whether an object can be taken apart: lines, without a text around them. */
export function isDivisible({ content_type, head }: ObjectRow): boolean {
  return content_type === encoderOf(NDJSON).contentType && head.byteLength === EMPTY_HEAD_BYTES;
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
    if (part !== null) inherit(object, part.fix(nowMs), into);
    part = null;
  };
  for (const line of linesOf(object, into)) {
    const bytes = line.length;
    if (part !== null && (part.records >= most.records || part.rawBytes + bytes > most.bytes)) end();
    part ??= new Part(object, into);
    part.add(line);
  }
  end();
  drop(object, into);
}

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
  let whole: Part | null = left.unnamed === null ? null : new Part(object, into);
  let number = 0;
  for (const line of linesOf(object, into)) {
    const words = refused.get(number);
    if (words !== undefined) {
      const part = aside.get(words) ?? new Part(object, into);
      aside.set(words, part);
      part.add(line);
    } else if (again.has(number)) waiting.add(line);
    // Which of the others were refused is unknown: all of them are kept.
    else whole?.add(line);
    number += 1;
  }
  const parts = [...aside].map(([words, part]) => ({ words, part, records: part.records }));
  if (whole !== null && whole.records > 0 && left.unnamed !== null) {
    const { words, records } = left.unnamed;
    parts.push({ words, part: whole, records: Math.min(records, whole.records) });
  } else whole = null;
  const kept = parts.reduce((sum, { records }) => sum + records, waiting.records);
  const taken: Taken = { delivered: object.records - kept, waiting: [], aside: [] };
  const shares = waiting.records > 0 ? [waiting] : [];
  const doubtful = left.mayBeThere ? 1 : object.doubtful;
  for (const part of shares) taken.waiting.push(inherit({ ...object, doubtful }, part.fix(nowMs), into));
  for (const { part, words, records } of parts) {
    const number = inherit(object, part.fix(nowMs), into);
    into.sql.exec("UPDATE object SET records = ? WHERE number = ?", records, number);
    taken.aside.push({ number, records, words });
  }
  if (taken.delivered <= 0) drop(object, into);
  else into.sql.exec("UPDATE object SET records = ? WHERE number = ?", taken.delivered, object.number);
  return taken;
}

/** What is known of an object holds for what comes of it: it may be there, and is of its day. */
function inherit({ far, attempts, doubtful }: ObjectRow, number: number, { sql }: CutInto): number {
  sql.exec("UPDATE object SET far = ?, attempts = ?, doubtful = ? WHERE number = ?", far, attempts, doubtful, number);
  return number;
}

function drop(object: ObjectRow, { sql, chunks }: CutInto): void {
  chunks.drop(object.batch);
  sql.exec("DELETE FROM object WHERE number = ?", object.number);
}

/** The records of an object, in UTF-8, each with its line's end. One row of chunks is in memory. */
function* linesOf(object: ObjectRow, { chunks }: CutInto): Generator<Uint8Array<ArrayBuffer>> {
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

  add(line: Uint8Array): void {
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
