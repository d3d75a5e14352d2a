import { platform } from "../../base/platform.ts";
import type { Lane, Objects } from "./objects.ts";
import type { ObjectRow, ReaderRow } from "./reader-rows.ts";
import type { ReaderState } from "./reader-state.ts";

/** Uploads of one reader that run side by side; each holds one row of its object in memory. */
const UPLOADS_AT_ONCE = 4;

/**
 * After a failure, one upload is tried at a time, and keeps the others waiting for at most this
 * long, in ms.
 */
const PROBE_PATIENCE_MS = 15_000;

/** Uploads that are under way are looked at again after this long, in ms. */
export const LOOK_AGAIN_MS = 15_000;

/**
 * Of this many uploads, one is of a far-away day first; the others are of about today, as long as
 * any waits. So a backfill of thousands of days delays what happens now by little, and is never
 * held up for good.
 */
const FAR_ONE_OF = 4;

/** Uploads of far-away days that run side by side: one place is left for what happens now. */
const FAR_AT_ONCE = UPLOADS_AT_ONCE - 1;

/**
 * Which objects of a reader are uploaded when: some side by side while all is well, one at a time
 * after a failure, until one succeeds; and beside them, one at a time, those that go elsewhere.
 */
export class Uploads {
  readonly #state: ReaderState;
  readonly #objects: Objects;
  readonly #attempt: (object: ObjectRow) => Promise<void>;
  /**
   * Numbers of the objects whose uploads by this instance are under way. Lost in a crash, as they
   * are.
   */
  readonly #underWay = new Set<number>();
  /** Those of them that are of far-away days. */
  readonly #farUnderWay = new Set<number>();
  /** The one of them that goes elsewhere: one at a time, beside the others. */
  #elsewhere: number | null = null;
  /** When this instance last began an upload, in ms since the epoch. */
  #lastStartMs = 0;
  /** Uploads that this instance has begun. */
  #begun = 0;
  readonly #runs = new Set<Promise<unknown>>();

  /** @param attempt one attempt for one object, and what follows from it. */
  constructor(state: ReaderState, objects: Objects, attempt: (object: ObjectRow) => Promise<void>) {
    this.#state = state;
    this.#objects = objects;
    this.#attempt = attempt;
  }

  /** Numbers of the objects that are under way. */
  get underWay(): ReadonlySet<number> {
    return this.#underWay;
  }

  /** The upload of this object has ended. */
  ended(number: number): void {
    this.#underWay.delete(number);
    this.#farUnderWay.delete(number);
    if (this.#elsewhere === number) this.#elsewhere = null;
  }

  /** When there is something to do, in ms since the epoch; Infinity: there is nothing. */
  nextMs(row: ReaderRow, nowMs: number): number {
    const own = Math.max(this.#objects.nextAttemptMs(this.#underWay, this.#lanes()), this.#freeMs(row));
    // What the job's own destination fails on does not hold it up.
    const elsewhere =
      this.#elsewhere === null ? this.#objects.nextAttemptMs(this.#underWay, ["elsewhere"]) : Number.POSITIVE_INFINITY;
    const attempt = Math.min(own, elsewhere);
    return this.#underWay.size > 0 ? Math.min(attempt, nowMs + LOOK_AGAIN_MS) : attempt;
  }

  /** Uploads every object that is due. */
  async run(): Promise<void> {
    const run = Promise.all([this.#runOwn(), this.#runElsewhere()]);
    this.#runs.add(run);
    try {
      await run;
    } finally {
      this.#runs.delete(run);
    }
  }

  /** Resolves when all that is under way now has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#runs);
  }

  async #runElsewhere(): Promise<void> {
    const tried = new Set<number>();
    while (this.#elsewhere === null && this.#state.hasJob()) {
      const due = this.#objects.due(platform.now(), tried.size + 1, "elsewhere");
      const object = due.find(({ number }) => !tried.has(number));
      if (object === undefined) return;
      tried.add(object.number);
      this.#elsewhere = object.number;
      this.#underWay.add(object.number);
      try {
        await this.#attempt(object);
      } finally {
        this.ended(object.number);
      }
    }
  }

  async #runOwn(): Promise<void> {
    const tried = new Set<number>();
    const work = async (): Promise<void> => {
      for (;;) {
        const object = this.#claim(tried);
        if (object === null) return;
        tried.add(object.number);
        this.#lastStartMs = platform.now();
        this.#begun += 1;
        this.#underWay.add(object.number);
        if (object.far === 1) this.#farUnderWay.add(object.number);
        try {
          await this.#attempt(object);
        } finally {
          this.ended(object.number);
        }
        // Only a waiting object could be claimed again; a list of all that were uploaded would make
        // each claim slower than the last.
        if (this.#objects.object(object.number)?.state !== "waiting") tried.delete(object.number);
      }
    };
    while (this.#claim(tried) !== null) {
      const failing = (this.#state.row()?.failures ?? 0) > 0;
      await Promise.all(Array.from({ length: failing ? 1 : UPLOADS_AT_ONCE }, work));
      if (failing && (this.#state.row()?.failures ?? 0) > 0) break;
    }
  }

  /**
   * From when another upload may begin, in ms since the epoch; Infinity: when one of those under
   * way ends.
   */
  #freeMs(row: Pick<ReaderRow, "failures" | "resume_ms">): number {
    const own = this.#underWay.size - (this.#elsewhere === null ? 0 : 1);
    if (own >= UPLOADS_AT_ONCE) return Number.POSITIVE_INFINITY;
    if (row.failures === 0) return 0;
    // After a failure one at a time; one that hangs does not hold up the others for long.
    return Math.max(row.resume_ms, own > 0 ? this.#lastStartMs + PROBE_PATIENCE_MS : 0);
  }

  #claim(tried: ReadonlySet<number>): ObjectRow | null {
    const row = this.#state.row();
    const now = platform.now();
    if (row === null || now < this.#freeMs(row)) return null;
    for (const lane of this.#lanes()) {
      const object = this.#objects
        .due(now, tried.size + this.#underWay.size + 1, lane)
        .find(({ number }) => !tried.has(number) && !this.#underWay.has(number));
      if (object !== undefined) return object;
    }
    return null;
  }

  /** The lanes from which an upload may begin, the one whose turn it is first. */
  #lanes(): Lane[] {
    if (this.#farUnderWay.size >= FAR_AT_ONCE) return ["near"];
    return this.#begun % FAR_ONE_OF === FAR_ONE_OF - 1 ? ["far", "near"] : ["near", "far"];
  }
}
