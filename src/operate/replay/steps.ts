import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import { jobReplayPage, nodeWith } from "../../ship/reader/all-readers.ts";
import type { ReaderBindings } from "../../ship/reader/job-nodes.ts";
import type { ReplayPage } from "../../ship/reader/replayed.ts";
import { type CopyOutcome, copyObject } from "./copy.ts";
import { type Ends, INTERNAL, LOG_IS_GONE } from "./ends.ts";
import { type Receiving, sendParts } from "./parts.ts";
import type { Plans } from "./plans.ts";
import { keyOf, type Piece, type ReplayRow } from "./rows.ts";
import type { Run } from "./run.ts";

/** How long a part of the service may take for one answer, in ms. */
export const PART_MS = 10_000;

/** Objects that are planned with one call of a reader. */
const PLAN_PAGE = 500;

/**
 * Part of the replays: the steps of each, page by page and then object by object. Each step can be
 * repeated, wherever it broke off. Public for the tests, which break every one.
 */
export class Steps {
  readonly ctx: DurableObjectState;
  readonly #env: ReaderBindings;
  readonly #plans: Plans;
  readonly #ends: Ends;
  /** Overridden by tests. */
  planPageSize = PLAN_PAGE;

  constructor(ctx: DurableObjectState, env: ReaderBindings, plans: Plans, ends: Ends) {
    this.ctx = ctx;
    this.#env = env;
    this.#plans = plans;
    this.#ends = ends;
  }

  /**
   * Takes the next page of objects into the plan. @returns false if there is nothing to plan for.
   */
  async planPage(row: ReplayRow): Promise<boolean> {
    const { seq, job, since_ms: sinceMs, until_ms: untilMs, asked_ms: askedMs } = row;
    const after = this.#plans.row(seq)?.plan_next ?? null;
    if (after === null) return false;
    const asked = { sinceMs, untilMs, askedMs };
    const page: ReplayPage = await answered(
      `the log of job ${job}`,
      PART_MS,
      jobReplayPage(this.#env, job, asked, after, this.planPageSize),
    );
    return this.#change(() => {
      const now = this.#plans.row(seq);
      // It was cancelled meanwhile.
      if (now === null || now.ended_ms !== null || now.plan_next !== after) return false;
      this.#plans.pieces.plan(seq, page.sources, page.next);
      return true;
    });
  }

  /** One attempt for one object, and what follows from it. */
  async attempt(run: Run, piece: Piece): Promise<void> {
    try {
      const outcome = await this.copyOne(run, piece);
      const learned = outcome.kind === "delivered" ? outcome.leaveOut : undefined;
      // Copies that began together have learned the same.
      if (learned !== undefined && learned !== run.leaveOut) {
        this.#change(() => this.#plans.setLeftOut(run.seq, learned));
        run.leaveOut = learned;
      }
      await this.settle(run, piece, outcome);
    } catch (error) {
      const { id, job } = run.row;
      log.error("a copy broke", { replay: id, job, object: piece.number, error: errorText(error) });
      this.#change(() => this.#plans.pieces.failed(run.seq, piece.number, true));
      run.failed(INTERNAL);
    }
  }

  copyOne(run: Run, piece: Piece): Promise<CopyOutcome> {
    const { source, target, leaveOut, row, terms, seq } = run;
    if (!terms.isReadable) {
      const progress: Receiving["progress"] = (records, refused) =>
        this.#change(() => this.#plans.pieces.sent(seq, piece.number, records, refused));
      return sendParts(piece, keyOf(row, piece), source, { target, ...terms, progress });
    }
    return copyObject(piece, keyOf(row, piece), source, { store: target, leaveOut });
  }

  /** What follows from an attempt. The log lists a copy before the plan drops it. */
  async settle(run: Run, piece: Piece, outcome: CopyOutcome): Promise<void> {
    const { seq, row } = run;
    const { number } = piece;
    switch (outcome.kind) {
      case "delivered": {
        const told = await this.tell(row, piece, outcome.verified);
        if (told === "gone") return this.#ends.end(row, "failed", LOG_IS_GONE);
        this.finish(seq, piece);
        run.went();
        return;
      }
      case "key_taken": {
        const { firstEventMs, lastEventMs, key } = piece;
        const segment = nodeWith(this.#env, row.job, number);
        const name = await answered(
          `the log of job ${row.job}`,
          PART_MS,
          segment.replayName(firstEventMs, lastEventMs, key),
        );
        if (name === null) return this.#ends.end(row, "failed", LOG_IS_GONE);
        this.#change(() => this.#plans.pieces.rename(seq, number, name));
        // Once is chance; twice is a fault of the store.
        if (piece.attempts === 0) return run.went();
        const words = "the store says that another object stands under a new key";
        return run.failed({ kind: "busy", words, retryAfterS: null, cause: "key_taken" });
      }
      case "damaged":
        // A proxy may have cut it short: it counts when it is read a second time.
        if (piece.attempts === 0) this.#change(() => this.#plans.pieces.failed(seq, number, false));
        else this.#problem(run, piece, "damaged", outcome.words);
        return run.went();
      case "missing":
        this.#problem(run, piece, "missing", outcome.words);
        return run.went();
      case "refused":
        this.#problem(run, piece, "failed", `its copy is refused: ${outcome.words}`);
        return run.went();
      case "failed":
        this.#change(() => this.#plans.pieces.failed(seq, number, outcome.doubtful));
        return run.failed(outcome.error);
    }
  }

  /** Has the job's reader list and count a copy that is written. */
  tell(row: ReplayRow, piece: Piece, verified: boolean): Promise<"counted" | "known" | "gone"> {
    const { number, attempts } = piece;
    const segment = nodeWith(this.#env, row.job, number);
    const { doubtful: _doubtful, sent: _sent, refused: _refused, refusedWords: _words, ...source } = piece;
    const copy = {
      ...source,
      replay: row.id,
      key: keyOf(row, piece),
      attempts: attempts + 1,
      verified,
      elsewhere: row.elsewhere,
      place: row.place,
    };
    return answered(`the log of job ${row.job}`, PART_MS, segment.replayed(copy));
  }

  /** The last step of an object. */
  finish(seq: number, piece: Piece): void {
    this.#change(() => this.#plans.pieces.done(seq, piece));
  }

  #problem({ seq, row }: Run, piece: Piece, kind: "missing" | "damaged" | "failed", why: string): void {
    this.#change(() => this.#plans.pieces.problem(seq, piece, kind, why));
    log.warn("an object was not shipped again", { replay: row.id, job: row.job, object: piece.number, kind, why });
  }

  #change<T>(change: () => T): T {
    return this.ctx.storage.transactionSync(change);
  }
}
