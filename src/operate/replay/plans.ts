import { REPLAY_MEMORY_MS, REPLAYS_MAX, REPLAYS_UNDER_WAY_MAX } from "../../base/limits.ts";
import { Tables, verbatim } from "../../base/storage/sql.ts";
import { Pieces } from "./pieces.ts";
import type { ReplayAsk, ReplayBegun, ReplayStatus, ReplayTrouble } from "./replay-status.ts";
import { left, type ReplayRow, viewOf } from "./rows.ts";

const UNDER_WAY = verbatim("state IN ('running', 'waiting')");

/**
 * The replays: what was asked for, and how each is. What each has to ship, and what became of that,
 * is in its {@link Pieces}. Every method that changes anything belongs into a transaction of its
 * caller.
 */
export class Plans extends Tables {
  readonly pieces: Pieces;

  constructor(sql: SqlStorage) {
    super(sql);
    this.pieces = new Pieces(sql);
  }

  begin(id: string, ask: ReplayAsk): ReplayBegun {
    const { job, sinceMs, untilMs, askedMs, source, target, path, place, planned, modified, after } = ask;
    const elsewhere = target?.elsewhere ?? null;
    const shown = target?.shown ?? null;
    const same = this.sql.first<{ id: string }>`
      SELECT id FROM replay WHERE ${UNDER_WAY} AND job = ${job} AND since_ms = ${sinceMs}
        AND until_ms = ${untilMs} AND shown IS ${shown}`;
    if (same !== null) return { kind: "same", id: same.id };
    if (after !== undefined && (this.list(job)[0]?.id ?? null) !== after) return { kind: "others" };
    if (planned.objects > 0 && this.underWay().length >= REPLAYS_UNDER_WAY_MAX) return { kind: "full" };
    const nothing = planned.objects === 0;
    // The highest that is there may be gone in a moment, while its run goes on.
    const seq = this.sql.only<number>`UPDATE counter SET last_seq = last_seq + 1 RETURNING last_seq`;
    this.sql.insert("replay", {
      ...{ seq, id, job, sinceMs, untilMs, askedMs, shown, path, place, modified, elsewhere },
      ...{ plannedObjects: planned.objects, plannedRecords: planned.records, plannedBytes: planned.bytes },
      ...(nothing
        ? { state: "done", endedMs: askedMs, source: null, target: null, planNext: null }
        : { state: "running", endedMs: null, source, target: target?.sealed ?? null, planNext: 0 }),
    });
    this.#forgetMore();
    return { kind: "begun", replay: viewOf(this.sql.one<ReplayRow>`SELECT * FROM replay WHERE id = ${id}`) };
  }

  underWay(): ReplayRow[] {
    return this.sql.all<ReplayRow>`SELECT * FROM replay WHERE ${UNDER_WAY} ORDER BY seq`;
  }

  /**
   * Those that something is left to do for: those under way, and those that were cancelled while
   * objects may have been on their way.
   */
  unfinished(): ReplayRow[] {
    return this.sql.all<ReplayRow>`SELECT * FROM replay WHERE source IS NOT NULL ORDER BY seq`;
  }

  row(seq: number): ReplayRow | null {
    return this.sql.first`SELECT * FROM replay WHERE seq = ${seq}`;
  }

  find(job: number, id: string): ReplayRow | null {
    return this.sql.first`SELECT * FROM replay WHERE id = ${id} AND job = ${job}`;
  }

  /** Those of a job, newest first. */
  list(job: number): ReplayStatus[] {
    const found = this.sql.all<ReplayRow>`SELECT * FROM replay WHERE job = ${job} ORDER BY seq DESC`;
    return found.map(viewOf);
  }

  troubles(): ReplayTrouble[] {
    return this.underWay().flatMap((row): ReplayTrouble[] => {
      const { id, job, failing_since_ms: sinceMs, error } = row;
      return sinceMs === null || error === null
        ? []
        : [{ id, job, sinceMs, error, objectsLeft: left(viewOf(row)).objects }];
    });
  }

  /** Pieces above `tried` and up to `claimed` may be under way from here on; nothing else is. */
  claim(seq: number, tried: number, claimed: number): void {
    this.sql.run`UPDATE replay SET cursor = ${tried}, claimed = ${claimed} WHERE seq = ${seq}`;
  }

  /** What requests to the target leave out. */
  setLeftOut(seq: number, leaveOut: number): void {
    this.sql.run`UPDATE replay SET unconditional = ${leaveOut} WHERE seq = ${seq}`;
  }

  /** A run in which nothing failed is over. */
  wentWell(seq: number): void {
    this.sql.run`
      UPDATE replay SET state = 'running', failures = 0, failing_since_ms = NULL, error = NULL, resume_ms = 0
      WHERE seq = ${seq} AND ${UNDER_WAY} AND (failures > 0 OR state = 'waiting')`;
  }

  /** Of one that is over: what is left of it is looked at no earlier. */
  postpone(seq: number, resumeMs: number): void {
    this.sql.run`UPDATE replay SET resume_ms = ${resumeMs} WHERE seq = ${seq}`;
  }

  /** Nothing is tried before `resumeMs`. */
  wait(seq: number, error: string, resumeMs: number, nowMs: number): void {
    this.sql.run`
      UPDATE replay SET state = 'waiting', failures = failures + 1,
        failing_since_ms = coalesce(failing_since_ms, ${nowMs}), error = ${error}, resume_ms = ${resumeMs}
      WHERE seq = ${seq} AND ${UNDER_WAY}`;
  }

  /** What may have been the reason of an error was changed. */
  retryNow(seq: number, modified: number): void {
    this.sql.run`UPDATE replay SET resume_ms = 0, modified = ${modified} WHERE seq = ${seq}`;
  }

  /**
   * Ends a replay. Pieces that may have been under way stay, to be looked at; those that were never
   * begun are dropped.
   * @returns false if it is over already.
   */
  end(seq: number, state: "done" | "cancelled" | "failed", error: string | null, nowMs: number): boolean {
    const changed = this.sql.run`
      UPDATE replay SET state = ${state}, ended_ms = ${nowMs}, error = ${error}, failing_since_ms = NULL,
        resume_ms = 0 WHERE seq = ${seq} AND ${UNDER_WAY}`;
    if (changed === 0) return false;
    this.pieces.dropUnbegun(seq);
    this.close(seq);
    return true;
  }

  /** Forgets the destinations of a replay that is over, if nothing is left to look at. */
  close(seq: number): void {
    this.sql.run`
      UPDATE replay SET source = NULL, target = NULL
      WHERE seq = ${seq} AND source IS NOT NULL AND NOT (${UNDER_WAY}) AND NOT EXISTS (SELECT 1 FROM piece
      WHERE replay = seq)`;
  }

  /** Ends the replays of a job, and forgets those of which nothing is left to look at. */
  forgetJob(job: number, nowMs: number): void {
    for (const { seq } of this.sql.all<{ seq: number }>`SELECT seq FROM replay WHERE job = ${job}`) {
      this.end(seq, "cancelled", null, nowMs);
      if (this.row(seq)?.source === null) this.#forget(seq);
    }
  }

  /** Jobs that there are replays of. */
  jobs(): number[] {
    return this.sql.all<{ job: number }>`SELECT DISTINCT job FROM replay`.map(({ job }) => job);
  }

  /**
   * Forgets what ended long ago, and ends what should have ended by then. @returns those that it
   * ended.
   */
  sweep(nowMs: number): ReplayRow[] {
    const old = nowMs - REPLAY_MEMORY_MS;
    const stale = this.underWay().filter(({ asked_ms }) => asked_ms < old);
    for (const { seq, error } of stale) {
      const why = `not done within ${REPLAY_MEMORY_MS / 86_400_000} days; what is left was given up`;
      this.end(seq, "failed", error === null ? why : `${why}; at last: ${error}`, nowMs);
    }
    const gone = this.sql.all<{ seq: number }>`SELECT seq FROM replay WHERE ended_ms < ${old}`;
    for (const { seq } of gone) this.#forget(seq);
    return stale;
  }

  /** The oldest that are over go, if there are too many. */
  #forgetMore(): void {
    const more = this.sql.all<{ seq: number }>`
      SELECT seq FROM replay WHERE source IS NULL ORDER BY seq DESC LIMIT -1 OFFSET ${REPLAYS_MAX}`;
    for (const { seq } of more) this.#forget(seq);
  }

  #forget(seq: number): void {
    this.pieces.forget(seq);
    this.sql.run`DELETE FROM replay WHERE seq = ${seq}`;
  }
}
