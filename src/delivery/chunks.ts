import { concat } from "../bytes.ts";
import { ROW_MAX_BYTES, TAIL_MAX_BYTES } from "../limits.ts";
import type { Content, Encoder, Fragment } from "../object/encoder.ts";
import { joinContents } from "../object/gzip.ts";
import { joinWords } from "../sketch/sketch.ts";
import { first as firstRow, insert, only, update } from "../storage/sql.ts";
import { type BatchRow, type ChunkRow, chunkId, chunkRange } from "./rows.ts";

/**
 * The bytes of batches, and of the objects they become. Read in the order of their ids, the chunks
 * of a batch are its fragments with seams between them: every chunk but the first begins with a
 * seam. Every method is synchronous; what writes belongs into a transaction of its caller.
 */
export class Chunks {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Appends fragments to a batch; neighbours of one form share a row up to its size. Changes the
   * batch's `next_chunk` and `small_bytes`, which the caller saves.
   */
  add(batch: BatchRow, fragments: readonly Fragment[], encoder: Encoder): void {
    const { seam, sizes } = encoder;
    let row: Fragment[] = [];
    let bytes = 0;
    const write = (): void => {
      const deflated = row[0]?.deflated ?? false;
      const bodies: Uint8Array[] = [];
      const contents: Content[] = [];
      for (const fragment of row) {
        if (batch.next_chunk > 0 || bodies.length > 0) {
          bodies.push(deflated ? seam.finished : seam.raw);
          contents.push(seam.content);
        }
        bodies.push(fragment.body);
        contents.push(fragment);
      }
      const body = concat(bodies);
      const content = joinContents(contents);
      const words = joinedWords(
        row.map(({ hashes = null }) => hashes),
        body,
      );
      this.#insert(batch, deflated, content, body, words);
    };
    for (const fragment of fragments) {
      const size =
        fragment.body.length +
        (fragment.deflated ? seam.finished : seam.raw).length +
        (fragment.hashes?.byteLength ?? 0);
      const fits = bytes + size <= (fragment.deflated ? ROW_MAX_BYTES : sizes.rawRowBytes);
      if (row.length > 0 && (!fits || row[0]?.deflated !== fragment.deflated)) {
        write();
        row = [];
        bytes = 0;
      }
      row.push(fragment);
      bytes += size;
    }
    if (row.length > 0) write();
  }

  /**
   * Finishes together what waited raw, in the place of the first; what is too large for a row then,
   * behind all others. Changes the batch's `small_bytes` and `next_chunk`, which the caller saves.
   */
  compact(batch: BatchRow, encoder: Encoder): void {
    if (batch.small_bytes === 0) return;
    let group: ChunkRow[] = [];
    let bytes = 0;
    const write = (): void => {
      const [first, ...others] = group;
      if (first === undefined) return;
      const { rawBytes, crc } = joinContents(group.map(({ raw_bytes, crc }) => ({ rawBytes: raw_bytes, crc })));
      const body = encoder.finish(concat(group.map(({ body }) => new Uint8Array(body))));
      const words = joinedWords(group.map(wordsOf), body);
      if (body.length > ROW_MAX_BYTES) {
        for (const { id } of group) this.#sql.exec("DELETE FROM chunk WHERE id = ?", id);
        this.#insert(batch, true, { rawBytes, crc }, body, words);
        return;
      }
      const row = { deflated: 1, raw_bytes: rawBytes, crc, body: body.buffer, words: words?.buffer ?? null };
      update(this.#sql, "chunk", row, "id = ?", first.id);
      for (const { id } of others) this.#sql.exec("DELETE FROM chunk WHERE id = ?", id);
    };
    const small = this.#sql.exec<ChunkRow>(
      "SELECT * FROM chunk WHERE id >= ? AND id < ? AND deflated = 0 ORDER BY id",
      ...chunkRange(batch.id),
    );
    for (const chunk of small.toArray()) {
      // One append may bring megabytes of small fragments; the result must fit a row.
      if (bytes + chunk.raw_bytes > encoder.sizes.bytes) {
        write();
        group = [];
        bytes = 0;
      }
      group.push(chunk);
      bytes += chunk.raw_bytes;
    }
    write();
    batch.small_bytes = 0;
  }

  /**
   * Puts what the row of an object does not hold of its end behind the chunks of its batch.
   * @returns the rest, in a buffer of its own.
   */
  addTail(batch: BatchRow, tail: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const before = Math.max(0, tail.length - TAIL_MAX_BYTES);
    if (before === 0) return tail;
    this.#insert(batch, true, { rawBytes: 0, crc: 0 }, tail.slice(0, before), null);
    return tail.slice(before);
  }

  /**
   * The chunks of a batch in order, each read when it is asked for. Its buffer belongs to the
   * caller. Valid across awaits once the batch is cut.
   */
  *of(batchId: number): Generator<ChunkRow> {
    const [first, end] = chunkRange(batchId);
    for (let next = first; ; ) {
      const query = "SELECT * FROM chunk WHERE id >= ? AND id < ? ORDER BY id LIMIT 1";
      const chunk = firstRow<ChunkRow>(this.#sql, query, next, end);
      if (chunk === null) return;
      next = chunk.id + 1;
      yield chunk;
    }
  }

  /** What the chunks of a batch are, and the bytes of those that wait raw. */
  *outline(batchId: number): Generator<Pick<ChunkRow, "id" | "raw_bytes" | "crc"> & { raw: Uint8Array | null }> {
    const rows = this.#sql.exec<Pick<ChunkRow, "id" | "raw_bytes" | "crc"> & { body: ArrayBuffer | null }>(
      "SELECT id, raw_bytes, crc, iif(deflated = 1, NULL, body) AS body FROM chunk WHERE id >= ? AND id < ? ORDER BY id",
      ...chunkRange(batchId),
    );
    for (const { body, ...row } of rows) yield { ...row, raw: body === null ? null : new Uint8Array(body) };
  }

  /** null: there is no such chunk any more. */
  body(id: number): Uint8Array | null {
    const row = firstRow<Pick<ChunkRow, "body">>(this.#sql, "SELECT body FROM chunk WHERE id = ?", id);
    return row && new Uint8Array(row.body);
  }

  /** How many bytes the chunks of a batch take. Reads their lengths alone. */
  storedBytes(batchId: number): number {
    const query = "SELECT coalesce(sum(length(body)), 0) FROM chunk WHERE id >= ? AND id < ?";
    return only(this.#sql, query, ...chunkRange(batchId));
  }

  /**
   * The hashes of the words in a batch, chunk by chunk; null, if those of any chunk are unknown: it
   * gets no sketch. What goes on with another chunk, or ends an object, has none of its own.
   */
  *words(batchId: number): Generator<Uint32Array | null> {
    const [first, end] = chunkRange(batchId);
    for (let next = first; ; ) {
      const query = "SELECT id, words FROM chunk WHERE id >= ? AND id < ? AND raw_bytes > 0 ORDER BY id LIMIT 1";
      const row = firstRow<Pick<ChunkRow, "id" | "words">>(this.#sql, query, next, end);
      if (row === null) return;
      next = row.id + 1;
      yield wordsOf(row);
    }
  }

  drop(batchId: number): void {
    this.#sql.exec("DELETE FROM chunk WHERE id >= ? AND id < ?", ...chunkRange(batchId));
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
    words: Uint32Array<ArrayBuffer> | null,
  ): void {
    for (let from = 0; from === 0 || from < body.length; from += ROW_MAX_BYTES) {
      const id = chunkId(batch.id, batch.next_chunk);
      batch.next_chunk += 1;
      const row = body.length <= ROW_MAX_BYTES ? body.buffer : body.slice(from, from + ROW_MAX_BYTES).buffer;
      const facts = from === 0 ? { raw_bytes: rawBytes, crc } : { raw_bytes: 0, crc: 0 };
      const hashes = words?.buffer ?? null;
      insert(this.#sql, "INSERT INTO chunk", { id, deflated: deflated ? 1 : 0, ...facts, body: row, words: hashes });
      // The database has its copy. Left to the garbage collector, the rows of many appends would
      // pile up.
      row.transfer(0);
    }
    if (!deflated) batch.small_bytes += rawBytes;
  }
}

/**
 * The hashes of the words in all parts; null: those of one of them are unknown, or a row does not
 * hold them beside its body.
 */
function joinedWords(parts: readonly (Uint32Array | null)[], body: Uint8Array): Uint32Array<ArrayBuffer> | null {
  const known = parts.filter((words) => words !== null);
  if (known.length < parts.length) return null;
  return joinWords(known, (ROW_MAX_BYTES - body.length) / Uint32Array.BYTES_PER_ELEMENT);
}

function wordsOf({ words }: Pick<ChunkRow, "words">): Uint32Array | null {
  return words === null ? null : new Uint32Array(words);
}
