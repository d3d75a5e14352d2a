import { REPLAY_PROBLEMS_MAX } from "../../base/limits.ts";
import { clause, columns, Tables, verbatim } from "../../base/storage/sql.ts";
import type { ReplaySource } from "../../ship/reader/replayed.ts";
import type { Refused } from "./parts.ts";
import type { Problem, ProblemKind } from "./replay-status.ts";
import type { Piece } from "./rows.ts";

const PIECE = columns(
  ...["number", "key", "day", "part", "name", "bytes", "rawBytes", "records", "sha256", "md5", "contentType"],
  ...["firstEventMs", "lastEventMs", "attempts", "doubtful", "sent", "refused", "refusedWords"],
);

/**
 * What replays have to ship, object by object, and its outcome. Every method that changes anything
 * belongs into a transaction of its caller. Counts change with their piece: planned is always the
 * sum of done, missing, damaged, failed and what is left.
 */
export class Pieces extends Tables {
  /**
   * Takes a page into the plan. @param next from where the next one is asked for; null: this is the
   * last.
   */
  plan(seq: number, sources: readonly ReplaySource[], next: number | null): void {
    for (const source of sources) this.sql.insert("piece", { replay: seq, ...source });
    this.sql.run`UPDATE replay SET plan_next = ${next} WHERE seq = ${seq}`;
    if (next !== null) return;
    // The plan is what there is: since the count, readers may have forgotten old objects.
    this.sql.run`
      UPDATE replay SET (planned_objects, planned_records, planned_bytes) = (SELECT count(*),
        coalesce(sum(records), 0), coalesce(sum(bytes), 0) FROM piece WHERE replay = ${seq}) WHERE seq = ${seq}`;
  }

  /** Pieces above a number, in order. */
  list(seq: number, above: number, limit: number): Piece[] {
    return this.sql.all<Omit<Piece, "doubtful"> & { doubtful: number }>`
      SELECT ${PIECE} FROM piece WHERE replay = ${seq} AND number > ${above} ORDER BY number LIMIT ${limit}`.map(
      (row) => ({ ...row, doubtful: row.doubtful !== 0 }),
    );
  }

  /** A copy is written, and its reader lists it. @returns false if the piece has ended before. */
  done(seq: number, piece: Piece): boolean {
    return this.#end(seq, piece, "done");
  }

  /** A piece ends as a problem. Of very many, only the first are remembered one by one. */
  problem(seq: number, piece: Piece, kind: ProblemKind, why: string): void {
    if (!this.#end(seq, piece, kind)) return;
    const { number, key } = piece;
    const { n } = this.sql.one<{ n: number }>`SELECT count(*) AS n FROM problem WHERE replay = ${seq}`;
    if (n >= REPLAY_PROBLEMS_MAX) return;
    this.sql.run`
      INSERT OR IGNORE INTO problem (replay, number, kind, key, why)
      VALUES (${seq}, ${number}, ${kind}, ${key}, ${why})`;
  }

  rename(seq: number, number: number, name: string): void {
    this.sql.run`
      UPDATE piece SET name = ${name}, doubtful = 0, attempts = attempts + 1
      WHERE replay = ${seq} AND number = ${number}`;
  }

  /** It is to be tried again. @param doubtful its copy may be there. */
  failed(seq: number, number: number, doubtful: boolean): void {
    this.sql.run`
      UPDATE piece SET attempts = attempts + 1, doubtful = max(doubtful, ${doubtful ? 1 : 0})
      WHERE replay = ${seq} AND number = ${number}`;
  }

  /** A receiver has been through the first so many of its records, and refused some of them. */
  sent(seq: number, number: number, records: number, refused: Refused): void {
    this.sql.run`
      UPDATE piece SET sent = ${records}, refused = ${refused.records}, refused_words = ${refused.words}
      WHERE replay = ${seq} AND number = ${number}`;
  }

  /** Drops a piece that was never begun. */
  drop(seq: number, number: number): void {
    this.sql.run`DELETE FROM piece WHERE replay = ${seq} AND number = ${number}`;
  }

  /**
   * Of a replay that has just ended: what may be there in part stays, what was never begun goes.
   */
  dropUnbegun(seq: number): void {
    this.sql.run`
      DELETE FROM piece WHERE replay = ${seq} AND doubtful = 0 AND sent = 0 AND NOT EXISTS (SELECT 1
      FROM replay WHERE seq = piece.replay AND piece.number > cursor AND piece.number <= claimed)`;
  }

  /** The problems that are remembered. */
  problems(seq: number): Problem[] {
    return this.sql.all`
      SELECT number, key, kind, why FROM problem WHERE replay = ${seq} ORDER BY number`;
  }

  /** Forgets all of a replay's pieces and problems. */
  forget(seq: number): void {
    this.sql.run`DELETE FROM piece WHERE replay = ${seq}`;
    this.sql.run`DELETE FROM problem WHERE replay = ${seq}`;
  }

  #end(seq: number, { number, records, bytes }: Piece, how: "done" | ProblemKind): boolean {
    if (this.sql.run`DELETE FROM piece WHERE replay = ${seq} AND number = ${number}` === 0) return false;
    const more = ([of, by]: [string, number]) => clause`${verbatim(`${how}_${of} = ${how}_${of} +`)} ${by}`;
    this.sql.run`
      UPDATE replay SET ${more(["objects", 1])}, ${more(["records", records])}, ${more(["bytes", bytes])}
      WHERE seq = ${seq}`;
    return true;
  }
}
