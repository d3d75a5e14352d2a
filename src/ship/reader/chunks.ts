import { concat, free } from "../../base/bytes.ts";
import { ROW_MAX_BYTES, TAIL_MAX_BYTES } from "../../base/limits.ts";
import { clause, Tables } from "../../base/storage/sql.ts";
import type { Content, Encoder, Fragment } from "../../formats/object/encoder.ts";
import { joinContents } from "../../formats/object/gzip.ts";
import { IDENTITY_HEAD_BYTES } from "../../formats/sketch/identities.ts";
import { joinWords } from "../../formats/sketch/sketch.ts";
import { type BatchRow, type ChunkRow, chunkId, chunkRange } from "./reader-rows.ts";

/**
 * The bytes of batches, and of the objects they become. Read in the order of their ids, the chunks
 * of a batch are its fragments with seams between them: every chunk but the first begins with a
 * seam. Every method is synchronous; what writes belongs into a transaction of its caller.
 */
export class Chunks extends Tables {
  /**
   * Appends fragments to a batch; those of one form share a row up to its size. Changes the batch's
   * `next_chunk` and `small_bytes`, which the caller saves.
   * @param isLast the batch is cut next: what is raw is finished before it is written. If some
   *   waits raw already, {@link Chunks.compact} finishes all of it together.
   */
  add(batch: BatchRow, fragments: readonly Fragment[], encoder: Encoder, isLast = false): void {
    const { seam, sizes } = encoder;
    const raw = fragments.filter(({ deflated }) => !deflated);
    const finished = fragments.filter(({ deflated }) => deflated);
    const write = (row: readonly Bytes[], deflated: boolean): void => {
      const { body, ...content } = joined(row, encoder, deflated, batch.next_chunk === 0);
      this.#insert(batch, deflated, content, body, ofSearch(row, body));
    };
    // The longer seam of the two.
    const sizeOf = ({ body, hashes, identities }: Bytes): number =>
      body.length + seam.finished.length + (hashes?.byteLength ?? 0) + (identities?.length ?? 0);
    const isFinished = isLast && batch.small_bytes === 0;
    const all = isFinished ? withFinished(finished, raw, encoder) : finished;
    for (const row of grouped(all, sizeOf, ROW_MAX_BYTES)) write(row, true);
    if (!isFinished) for (const row of grouped(raw, sizeOf, sizes.rawRowBytes)) write(row, false);
  }

  /**
   * Finishes together what waited raw, in the place of the first; what is too large for a row then,
   * behind all others. Changes the batch's `small_bytes` and `next_chunk`, which the caller saves.
   */
  compact(batch: BatchRow, encoder: Encoder): void {
    if (batch.small_bytes === 0) return;
    const small = this.sql.all<ChunkRow>`SELECT * FROM chunk WHERE ${isOf(batch.id)} AND deflated = 0 ORDER BY id`;
    // One append may bring megabytes of small fragments; the result must fit a row.
    for (const group of grouped(small, ({ raw_bytes }) => raw_bytes, encoder.sizes.bytes)) {
      const [first, ...others] = group;
      const { rawBytes, crc } = joinContents(group.map(({ raw_bytes, crc }) => ({ rawBytes: raw_bytes, crc })));
      const body = encoder.finish(concat(group.map(({ body }) => new Uint8Array(body))));
      const beside = ofSearch(group.map(besideOf), body);
      for (const { id } of others) this.sql.run`DELETE FROM chunk WHERE id = ${id}`;
      if (body.length > ROW_MAX_BYTES) {
        this.sql.run`DELETE FROM chunk WHERE id = ${first.id}`;
        this.#insert(batch, true, { rawBytes, crc }, body, beside);
      } else {
        const row = { deflated: 1, raw_bytes: rawBytes, crc, body: body.buffer, ...columnsOf(beside) };
        this.sql.update("chunk", first.id, row);
      }
    }
    batch.small_bytes = 0;
  }

  /**
   * Puts what the row of an object does not hold of its end behind the chunks of its batch.
   * @returns the rest, in a buffer of its own.
   */
  addTail(batch: BatchRow, tail: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const before = Math.max(0, tail.length - TAIL_MAX_BYTES);
    if (before === 0) return tail;
    this.#insert(batch, true, { rawBytes: 0, crc: 0 }, tail.slice(0, before), {});
    return tail.slice(before);
  }

  /**
   * The chunks of a batch in order, each read when it is asked for, without what searches ask
   * of it. Its buffer belongs to the caller. Valid across awaits once the batch is cut.
   */
  *of(batchId: number): Generator<ChunkBody> {
    const [first, end] = chunkRange(batchId);
    for (let next = first; ; ) {
      const chunk = this.sql.first<ChunkBody>`
        SELECT id, deflated, raw_bytes, crc, body FROM chunk WHERE id >= ${next} AND id < ${end} ORDER BY id LIMIT 1`;
      if (chunk === null) return;
      next = chunk.id + 1;
      yield chunk;
    }
  }

  /** What the chunks of a batch are, and the bytes of those that wait raw. */
  *outline(batchId: number): Generator<Pick<ChunkRow, "id" | "raw_bytes" | "crc"> & { raw: Uint8Array | null }> {
    const rows = this.sql.each<Pick<ChunkRow, "id" | "raw_bytes" | "crc"> & { body: ArrayBuffer | null }>`
      SELECT id, raw_bytes, crc, iif(deflated = 1, NULL, body) AS body FROM chunk
      WHERE ${isOf(batchId)} ORDER BY id`;
    for (const { body, ...row } of rows) yield { ...row, raw: body === null ? null : new Uint8Array(body) };
  }

  /** null: there is no such chunk any more. */
  body(id: number): Uint8Array | null {
    const row = this.sql.first<Pick<ChunkRow, "body">>`SELECT body FROM chunk WHERE id = ${id}`;
    return row && new Uint8Array(row.body);
  }

  /** How many bytes the chunks of a batch take. Reads their lengths alone. */
  storedBytes(batchId: number): number {
    return this.sql.only`SELECT coalesce(sum(length(body)), 0) FROM chunk WHERE ${isOf(batchId)}`;
  }

  /**
   * Lists of the words in a batch, chunk by chunk; null, if those of any chunk are unknown: it gets
   * no sketch. What goes on with another chunk, or ends an object, has none of its own.
   */
  *words(batchId: number): Generator<Uint32Array | null> {
    const [first, end] = chunkRange(batchId);
    for (let next = first; ; ) {
      const row = this.sql.first<Pick<ChunkRow, "id" | "words">>`
        SELECT id, words FROM chunk WHERE id >= ${next} AND id < ${end} AND raw_bytes > 0 ORDER BY id LIMIT 1`;
      if (row === null) return;
      next = row.id + 1;
      yield wordsOf(row);
    }
  }

  /** Which records the lines of a batch are; null, if that is unknown of any of them. */
  identities(batchId: number): Uint8Array<ArrayBuffer> | null {
    const rows = this.sql.all<Pick<ChunkRow, "identities">>`
      SELECT identities FROM chunk WHERE ${isOf(batchId)} AND raw_bytes > 0 ORDER BY id`;
    const known = rows.flatMap(({ identities }) => (identities === null ? [] : [new Uint8Array(identities)]));
    return known.length < rows.length || known.length === 0 ? null : concat(known);
  }

  /** What {@link identities} has, without reading it: its size, in bytes, and its first ones. */
  identified(batchId: number): { bytes: number; head: Uint8Array } | null {
    const { bytes, head, unknown } = this.sql.one<{ bytes: number; head: ArrayBuffer | null; unknown: number }>`
      SELECT coalesce(sum(length(identities)), 0) AS bytes, min(substr(identities, 1, ${IDENTITY_HEAD_BYTES})) AS head,
        count(*) - count(identities) AS unknown FROM chunk WHERE ${isOf(batchId)} AND raw_bytes > 0`;
    return head === null || unknown > 0 ? null : { bytes, head: new Uint8Array(head) };
  }

  drop(batchId: number): void {
    this.sql.run`DELETE FROM chunk WHERE ${isOf(batchId)}`;
  }

  /**
   * Writes a row; several, where one fragment is too large for one: then the first has the facts
   * about all of them.
   * @param body in a buffer of its own, which is given away.
   */
  #insert(
    batch: BatchRow,
    deflated: boolean,
    { rawBytes, crc }: Content,
    body: Uint8Array<ArrayBuffer>,
    beside: Beside,
  ): void {
    for (let from = 0; from === 0 || from < body.length; from += ROW_MAX_BYTES) {
      const id = chunkId(batch.id, batch.next_chunk);
      batch.next_chunk += 1;
      const row = body.length <= ROW_MAX_BYTES ? body.buffer : body.slice(from, from + ROW_MAX_BYTES).buffer;
      const facts = from === 0 ? { raw_bytes: rawBytes, crc } : { raw_bytes: 0, crc: 0 };
      const columns = columnsOf(from === 0 ? beside : {});
      this.sql.insert("chunk", { id, deflated: deflated ? 1 : 0, ...facts, body: row, ...columns });
      // The database has its copy. Left to the garbage collector, the rows of many appends would
      // pile up.
      row.transfer(0);
    }
    if (!deflated) batch.small_bytes += rawBytes;
  }
}

/** Chunks of a batch. */
function isOf(batchId: number) {
  const [first, end] = chunkRange(batchId);
  return clause`id >= ${first} AND id < ${end}`;
}

/** What a chunk takes of a fragment. */
type Bytes = Content & Pick<Fragment, "body"> & Beside;

/** A chunk without that. */
type ChunkBody = Omit<ChunkRow, keyof ReturnType<typeof columnsOf>>;

/** What searches ask of it. */
type Beside = Pick<Fragment, "hashes" | "identities">;

/** Neighbours, as many as have this size together; what is larger is by itself. */
function* grouped<T>(all: Iterable<T>, sizeOf: (one: T) => number, most: number): Generator<[T, ...T[]]> {
  let group: [T, ...T[]] | null = null;
  let size = 0;
  for (const one of all) {
    size += sizeOf(one);
    if (group !== null && size <= most) {
      group.push(one);
      continue;
    }
    if (group !== null) yield group;
    group = [one];
    size = sizeOf(one);
  }
  if (group !== null) yield group;
}

/** Fragments of one form as one, with seams between them, and before it unless it comes first. */
function joined(
  row: readonly Bytes[],
  { seam }: Encoder,
  deflated: boolean,
  isFirst: boolean,
): Content & { body: Uint8Array<ArrayBuffer> } {
  const before = { ...seam.content, body: deflated ? seam.finished : seam.raw };
  const parts = row.flatMap((each) => [before, each]).slice(isFirst ? 1 : 0);
  return { ...joinContents(parts), body: concat(parts.map(({ body }) => body)) };
}

/** What is finished, then what is raw, finished together. */
function* withFinished(finished: readonly Bytes[], raw: readonly Bytes[], encoder: Encoder): Generator<Bytes> {
  yield* finished;
  const sizeOf = ({ rawBytes }: Bytes): number => rawBytes + encoder.seam.content.rawBytes;
  for (const group of grouped(raw, sizeOf, encoder.sizes.bytes)) {
    const whole = joined(group, encoder, false, true);
    const body = encoder.finish(whole.body);
    free(whole.body);
    yield { ...whole, body, ...ofSearch(group, body) };
  }
}

/**
 * What searches ask of all parts together: what is unknown of one of them is, and what a row does
 * not hold beside its body.
 */
function ofSearch(parts: readonly Beside[], body: Uint8Array): Beside {
  const known = parts.flatMap(({ identities }) => identities ?? []);
  const bytes = known.reduce((sum, { length }) => sum + length, 0);
  const isKnown = known.length === parts.length && body.length + bytes <= ROW_MAX_BYTES;
  const room = ROW_MAX_BYTES - body.length - (isKnown ? bytes : 0);
  const words = parts.flatMap(({ hashes }) => (hashes === undefined ? [] : [hashes]));
  const hashes = words.length < parts.length ? null : joinWords(words, room / Uint32Array.BYTES_PER_ELEMENT);
  return { ...(hashes !== null && { hashes }), ...(isKnown && { identities: concat(known) }) };
}

function besideOf({ words, identities }: ChunkRow): Beside {
  return {
    ...(words !== null && { hashes: new Uint32Array(words) }),
    ...(identities !== null && { identities: new Uint8Array(identities) }),
  };
}

function columnsOf({ hashes, identities }: Beside): Pick<ChunkRow, "words" | "identities"> {
  return { words: hashes?.buffer ?? null, identities: identities?.buffer ?? null };
}

function wordsOf({ words }: Pick<ChunkRow, "words">): Uint32Array | null {
  return words === null ? null : new Uint32Array(words);
}
