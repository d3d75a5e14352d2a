import { clause, verbatim } from "../../base/storage/sql.ts";
import { encoderOf } from "../../formats/object/encoders.ts";
import { markOf } from "../../formats/sketch/group.ts";
import { fieldsIn } from "../../formats/sketch/identities.ts";
import type { Objects } from "./objects.ts";
import { ReaderPart } from "./reader-part.ts";
import type { BatchRow, ObjectRow } from "./reader-rows.ts";
import type { ReaderState } from "./reader-state.ts";

/** An object, or what will become one, with records of a time that a search asks for. */
export interface Searchable {
  /** Of its node; it stays when the object gets another number, and when it is cut. */
  batch: number;
  /** null: it is not cut yet. */
  number: number | null;
  /** `held`: its bytes are here. `elsewhere`: they went elsewhere than the job's others. */
  state: "delivered" | "held" | "elsewhere";
  key: string;
  /** As its sketch has it; "": it is not cut. */
  mark: string;
  contentType: string;
  /** As stored; of what is not cut, as it waits. */
  bytes: number;
  rawBytes: number;
  records: number;
  /** UTC days since the epoch. */
  day: number;
  firstMs: number;
  lastMs: number;
  /**
   * Of what is held: how many bytes tell which records it has, and what is written of each, as
   * `writtenFields`. null: it is not known, or the sketch of its object does.
   */
  identified: { bytes: number; fields: number } | null;
}

/** Where a page of searchable objects begins, and in which order they come. */
export interface SearchSpan {
  /** In ms since the epoch: events from the first, before the second. */
  sinceMs: number;
  untilMs: number;
  order: "newest" | "oldest";
  limit: number;
  /** Batches that are not asked for any more. */
  without: readonly number[];
}

type Asked = Pick<SearchSpan, "sinceMs" | "untilMs" | "without">;

const isAsked = (id: string, { sinceMs, untilMs, without }: Asked) => clause`
  first_event_ms < ${untilMs} AND last_event_ms >= ${sinceMs}
  AND ${verbatim(id)} NOT IN (SELECT value FROM json_each(${JSON.stringify(without)}))`;

const IS_SEARCHED = verbatim("state <> 'discarded' AND replay IS NULL");

const NAMES = [
  ...(["batch", "number", "state", "key", "sha256", "content_type", "bytes", "raw_bytes", "records"] as const),
  ...(["day", "first_event_ms", "last_event_ms", "elsewhere"] as const),
] as const;

const COLUMNS = verbatim(NAMES.join());

type Row = Pick<ObjectRow, (typeof NAMES)[number]>;

/**
 * What of a reader has records of some time: by the time of events, those that wait for their cut
 * included. Copies that replays wrote are left out: their records are those of other objects. An
 * index by time would cost a row with each object; one look at all of them costs less.
 */
export class SearchableObjects extends ReaderPart {
  readonly #objects: Objects;

  constructor(sql: SqlStorage, state: ReaderState, objects: Objects) {
    super(sql, state);
    this.#objects = objects;
  }

  /** @returns at most `limit`, by their last event (`oldest`: first); and whether that is all. */
  list(span: SearchSpan): { objects: Searchable[]; isAll: boolean } {
    const { order, limit } = span;
    const by = verbatim(order === "newest" ? "last_event_ms DESC" : "first_event_ms");
    const cut = this.sql.all<Row>`
      SELECT ${COLUMNS} FROM object WHERE ${IS_SEARCHED} AND ${isAsked("batch", span)}
      ORDER BY ${by}, batch LIMIT ${limit + 1}`;
    const open = this.sql.all<BatchRow>`
      SELECT * FROM batch WHERE ${isAsked("id", span)} ORDER BY ${by}, id LIMIT ${limit + 1}`;
    const sign = order === "newest" ? -1 : 1;
    const time = order === "newest" ? "lastMs" : "firstMs";
    const objects = [...cut.map((row) => this.#ofRow(row)), ...this.#ofOpen(open)].sort(
      (a, b) => sign * (a[time] - b[time]) || a.batch - b.batch,
    );
    return { objects: objects.slice(0, limit), isAll: objects.length <= limit };
  }

  /** How many {@link list} has without a limit. */
  count(span: Asked): number {
    return this.sql.only`
      SELECT (SELECT count(*) FROM object WHERE ${IS_SEARCHED} AND ${isAsked("batch", span)}) + (SELECT count(*)
      FROM batch WHERE ${isAsked("id", span)})`;
  }

  /** What has become of a batch; null: it is gone, or holds nothing that is searched. */
  find(batch: number): Searchable | null {
    const row = this.sql.first<Row>`SELECT ${COLUMNS} FROM object WHERE batch = ${batch} AND ${IS_SEARCHED}`;
    if (row !== null) return this.#ofRow(row);
    return this.#ofOpen(this.#openBatch(batch))[0] ?? null;
  }

  /**
   * The bytes of a batch that the reader holds, as a whole object, cut or not; null: it holds none.
   * What comes to an open batch meanwhile is not part of them.
   */
  pieces(batch: number): Iterable<Uint8Array> | null {
    const [open] = this.#openBatch(batch);
    if (open !== undefined) return this.#openPieces(open);
    const [cut] = this.sql.all<ObjectRow>`
      SELECT * FROM object WHERE batch = ${batch} AND state IN ('waiting', 'set_aside')`;
    return cut === undefined ? null : this.#objects.pieces(cut);
  }

  #openBatch(id: number): BatchRow[] {
    return this.sql.all<BatchRow>`SELECT * FROM batch WHERE id = ${id}`;
  }

  #ofOpen(batches: readonly BatchRow[]): Searchable[] {
    if (batches.length === 0) return [];
    const { contentType } = encoderOf(this.state.readableJob().output);
    return batches.map((batch) => ({
      batch: batch.id,
      number: null,
      state: "held",
      key: "",
      mark: "",
      contentType,
      bytes: this.chunks.storedBytes(batch.id),
      rawBytes: batch.raw_bytes,
      records: batch.records,
      day: batch.day,
      firstMs: batch.first_event_ms,
      lastMs: batch.last_event_ms,
      identified: this.#identified(batch.id),
    }));
  }

  #ofRow(row: Row): Searchable {
    const isHeld = row.state !== "delivered";
    return { ...ofRow(row), identified: isHeld ? this.#identified(row.batch) : null };
  }

  #identified(batch: number): Searchable["identified"] {
    const known = this.chunks.identified(batch);
    const fields = known && fieldsIn(known.head);
    return known === null || fields === null ? null : { bytes: known.bytes, fields };
  }

  /** Which records a batch has that the reader holds, cut or not; null: it is not known. */
  identities(batch: number): Uint8Array<ArrayBuffer> | null {
    return this.chunks.identities(batch);
  }

  /**
   * An object of what the batch has now. What waits raw is read at once: later, it may have been
   * finished together with its neighbours. What is finished stays as it is.
   */
  #openPieces({ id }: BatchRow): Iterable<Uint8Array> {
    const encoder = encoderOf(this.state.readableJob().output);
    const parts = [...this.chunks.outline(id)];
    const chunks = this.chunks;
    return (function* () {
      const assembly = encoder.assemble();
      yield assembly.head.bytes;
      for (const { id: chunk, raw_bytes: rawBytes, crc, raw } of parts) {
        const bytes = raw === null ? chunks.body(chunk) : encoder.finish(raw);
        // It was delivered meanwhile: the reader asks again.
        if (bytes === null) return;
        // Before the reader has the buffer.
        assembly.add(bytes, { rawBytes, crc });
        yield bytes;
      }
      yield assembly.end().bytes;
    })();
  }
}

function ofRow(row: Row): Omit<Searchable, "identified"> {
  return {
    batch: row.batch,
    number: row.number,
    state: row.state !== "delivered" ? "held" : row.elsewhere === null ? "delivered" : "elsewhere",
    key: row.key,
    mark: markOf(row),
    contentType: row.content_type,
    bytes: row.bytes,
    rawBytes: row.raw_bytes,
    records: row.records,
    day: row.day,
    firstMs: row.first_event_ms,
    lastMs: row.last_event_ms,
  };
}
