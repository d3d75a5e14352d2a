import type { OpenDestination, Terms } from "../../ship/destinations/destination.ts";
import type { Failure } from "../../ship/destinations/failure.ts";
import type { Plans } from "./plans.ts";
import type { Piece, ReplayRow } from "./rows.ts";

/** Pieces that are claimed with one write. */
const CLAIM = 16;

/** This many failures in a row end a run: the objects are not the cause. */
const FAILURES_MAX = 4;

/**
 * One run over the plan of a replay: some objects, from where the last run stopped, and from the
 * first again after the last. An object that fails stays in the plan, and the run goes on after it:
 * one that always fails holds up no other.
 */
export class Run {
  readonly row: ReplayRow;
  readonly seq: number;
  readonly source: OpenDestination;
  readonly target: OpenDestination;
  readonly terms: Terms;
  /** What requests to the target leave out, as its kind has found out; 0: nothing. */
  leaveOut: number;
  readonly inFlight = new Set<number>();
  /** Why it has to wait; null: it does not. */
  error: Failure | null = null;
  readonly #plans: Plans;
  readonly #untilMs: number;
  #left: number;
  #failuresInRow = 0;
  #queue: Piece[] = [];
  /** Up to here, pieces are claimed. */
  #claimed: number;
  #isOver = false;

  constructor(
    row: ReplayRow,
    source: OpenDestination,
    target: { open: OpenDestination; terms: Terms },
    plans: Plans,
    { objects, untilMs }: { objects: number; untilMs: number },
  ) {
    this.row = row;
    this.seq = row.seq;
    this.source = source;
    this.target = target.open;
    this.terms = target.terms;
    this.leaveOut = row.unconditional;
    this.#plans = plans;
    this.#left = objects;
    this.#untilMs = untilMs;
    this.#claimed = row.cursor;
  }

  /**
   * The next object to copy, which counts as under way from here on; null: this run has no more.
   * Belongs into a transaction of its caller.
   */
  next(nowMs: number): Piece | null {
    if (this.#left <= 0 || this.#failuresInRow >= FAILURES_MAX || nowMs >= this.#untilMs) return null;
    const row = this.#plans.row(this.seq);
    if (row === null || row.ended_ms !== null) return null;
    if (this.#queue.length === 0) {
      this.#queue = this.#plans.pieces.list(this.seq, this.#claimed, Math.min(CLAIM, this.#left));
      const last = this.#queue.at(-1);
      this.#isOver = last === undefined;
      if (last === undefined) return null;
      const tried = Math.min(this.#claimed, ...[...this.inFlight].map((number) => number - 1));
      this.#plans.claim(this.seq, tried, last.number);
      this.#claimed = last.number;
    }
    const piece = this.#queue.shift() ?? null;
    if (piece !== null) {
      this.inFlight.add(piece.number);
      this.#left -= 1;
    }
    return piece;
  }

  /** An object came to some end: the stores answer. */
  went(): void {
    this.#failuresInRow = 0;
  }

  failed(error: Failure): void {
    this.#failuresInRow += 1;
    this.error = error;
  }

  /**
   * Nothing is under way, and the next run goes on from here. Belongs into a transaction of its
   * caller.
   */
  leave(): void {
    const tried = this.#isOver ? 0 : (this.#queue[0]?.number ?? this.#claimed + 1) - 1;
    this.#plans.claim(this.seq, tried, tried);
  }
}
