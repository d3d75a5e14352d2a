import { REPLAY_PROBLEMS_MAX } from "../../base/limits.ts";
import { change, insert, select } from "../../base/storage/sql.ts";
import type { ReplaySource } from "../../ship/reader/replayed.ts";
import type { Piece } from "./rows.ts";
import type { Problem, ProblemKind } from "./types.ts";

const PIECE = `number, key, day, part, name, bytes, raw_bytes AS rawBytes, records, sha256, md5, content_type AS contentType,
  first_event_ms AS firstEventMs, last_event_ms AS lastEventMs, attempts, doubtful, sent`;

/**
 * What replays have to ship, object by object, and its outcome. Every method that changes anything
 * belongs into a transaction of its caller. Counts change with their piece: planned is always the
 * sum of done, missing, damaged, failed and what is left.
 */
export class Pieces {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Takes a page into the plan. @param next from where the next one is asked for; null: this is the
   * last.
   */
  plan(seq: number, sources: readonly ReplaySource[], next: number | null): void {
    for (const { rawBytes, contentType, firstEventMs, lastEventMs, ...source } of sources) {
      const times = { first_event_ms: firstEventMs, last_event_ms: lastEventMs };
      insert(this.#sql, "INSERT INTO piece", {
        ...{ replay: seq, ...source, raw_bytes: rawBytes, content_type: contentType, ...times },
      });
    }
    this.#sql.exec("UPDATE replay SET plan_next = ? WHERE seq = ?", next, seq);
    if (next !== null) return;
    // The plan is what there is: since the count, readers may have forgotten old objects.
    this.#sql.exec(
      `UPDATE replay SET (planned_objects, planned_records, planned_bytes) =
         (SELECT count(*), coalesce(sum(records), 0), coalesce(sum(bytes), 0) FROM piece WHERE replay = ?) WHERE seq = ?`,
      seq,
      seq,
    );
  }

  /** Pieces above a number, in order. */
  list(seq: number, above: number, limit: number): Piece[] {
    return select<Omit<Piece, "doubtful"> & { doubtful: number }>(
      this.#sql,
      `SELECT ${PIECE} FROM piece WHERE replay = ? AND number > ? ORDER BY number LIMIT ?`,
      [seq, above, limit],
    ).map((row) => ({ ...row, doubtful: row.doubtful !== 0 }));
  }

  /** A copy is written, and its reader lists it. @returns false if the piece has ended before. */
  done(seq: number, piece: Piece): boolean {
    return this.#end(seq, piece, "done");
  }

  /** A piece ends as a problem. Of very many, only the first are remembered one by one. */
  problem(seq: number, piece: Piece, kind: ProblemKind, why: string): void {
    if (!this.#end(seq, piece, kind)) return;
    const { number, key } = piece;
    const { n } = this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM problem WHERE replay = ?", seq).one();
    if (n >= REPLAY_PROBLEMS_MAX) return;
    insert(this.#sql, "INSERT OR IGNORE INTO problem", { replay: seq, number, kind, key, why });
  }

  rename(seq: number, number: number, name: string): void {
    change(
      this.#sql,
      "UPDATE piece SET name = ?, doubtful = 0, attempts = attempts + 1 WHERE replay = ? AND number = ?",
      [name, seq, number],
    );
  }

  /** It is to be tried again. @param doubtful its copy may be there. */
  failed(seq: number, number: number, doubtful: boolean): void {
    change(
      this.#sql,
      "UPDATE piece SET attempts = attempts + 1, doubtful = max(doubtful, ?) WHERE replay = ? AND number = ?",
      [doubtful ? 1 : 0, seq, number],
    );
  }

  /** A receiver has been through the first so many of its records. */
  sent(seq: number, number: number, records: number): void {
    this.#sql.exec("UPDATE piece SET sent = ? WHERE replay = ? AND number = ?", records, seq, number);
  }

  /** Drops a piece that was never begun. */
  drop(seq: number, number: number): void {
    this.#sql.exec("DELETE FROM piece WHERE replay = ? AND number = ?", seq, number);
  }

  /**
   * Of a replay that has just ended: what may have been under way stays, what was never begun goes.
   */
  dropUnbegun(seq: number): void {
    this.#sql.exec(
      `DELETE FROM piece WHERE replay = ? AND doubtful = 0 AND NOT EXISTS (
         SELECT 1 FROM replay WHERE seq = piece.replay AND piece.number > cursor AND piece.number <= claimed)`,
      seq,
    );
  }

  /** The problems that are remembered. */
  problems(seq: number): Problem[] {
    return select<{ number: number; key: string; kind: ProblemKind; why: string }>(
      this.#sql,
      "SELECT number, key, kind, why FROM problem WHERE replay = ? ORDER BY number",
      [seq],
    );
  }

  /** Forgets all of a replay's pieces and problems. */
  forget(seq: number): void {
    this.#sql.exec("DELETE FROM piece WHERE replay = ?", seq);
    this.#sql.exec("DELETE FROM problem WHERE replay = ?", seq);
  }

  #end(seq: number, { number, records, bytes }: Piece, how: "done" | ProblemKind): boolean {
    const gone = this.#sql.exec("DELETE FROM piece WHERE replay = ? AND number = ?", seq, number);
    if (gone.rowsWritten === 0) return false;
    change(
      this.#sql,
      `UPDATE replay SET ${how}_objects = ${how}_objects + 1, ${how}_records = ${how}_records + ?, ${how}_bytes = ${how}_bytes + ?
       WHERE seq = ?`,
      [records, bytes, seq],
    );
    return true;
  }
}
