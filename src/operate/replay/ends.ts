import { errorText, log } from "../../base/logger.ts";
import { platform } from "../../base/platform.ts";
import type { Alarm } from "../../base/storage/alarm.ts";
import type { Failure } from "../../ship/destinations/failure.ts";
import { waitAfter } from "../../ship/reader/disposition.ts";
import type { Plans } from "./plans.ts";
import { waitingWords } from "./replay-text.ts";
import { type ReplayRow, viewOf } from "./rows.ts";

/** When something that is under way, or that broke, is looked at again, in ms. */
export const LOOK_AGAIN_MS = 15_000;

export const UNSURE = "it was on its way when the replay ended, and its store does not tell whether it is there";

export const LOG_IS_GONE = "the job's log is gone";

/** A failure of this service. */
export const INTERNAL: Failure = { kind: "busy", words: "internal error", retryAfterS: null, cause: "internal" };

/** Part of the replays: how each of them ends or has to wait, and its log line. */
export class Ends {
  readonly #plans: Plans;
  readonly #alarm: Alarm;
  readonly #arm: () => void;

  /** @param arm sets the alarm for what comes next. Called within a transaction. */
  constructor(plans: Plans, alarm: Alarm, arm: () => void) {
    this.#plans = plans;
    this.#alarm = alarm;
    this.#arm = arm;
  }

  /** A replay that is over stays as it is. */
  end(row: ReplayRow, state: "done" | "cancelled" | "failed", error: string | null): void {
    const { seq, id, job } = row;
    const ended = this.#alarm.transaction(() => {
      const changed = this.#plans.end(seq, state, error, platform.now());
      this.#arm();
      return changed;
    });
    const after = this.#plans.row(seq);
    if (!ended || after === null) return;
    const { done, missing, damaged, failed } = viewOf(after);
    const counts = { objects: done.objects, records: done.records, bytes: done.bytes };
    const others = { missing: missing.objects, damaged: damaged.objects, failed: failed.objects };
    log.info("a replay ended", { replay: id, job, state, ...counts, ...others });
  }

  /** It is tried again later, if it is not over. */
  wait(row: ReplayRow, error: Failure): void {
    const now = platform.now();
    const { delayMs } = waitAfter(error, row.failures + 1, platform.random());
    this.#alarm.transaction(() => this.#plans.wait(row.seq, waitingWords(error), now + delayMs, now));
    log.warn("a replay waits", { replay: row.id, job: row.job, why: error.words, ms: delayMs });
  }

  /** Something broke that is neither a store nor an object. */
  broke(row: ReplayRow, error: unknown): void {
    log.error("a replay broke", { replay: row.id, job: row.job, error: errorText(error) });
    if (row.ended_ms !== null) {
      this.#alarm.transaction(() => this.#plans.postpone(row.seq, platform.now() + LOOK_AGAIN_MS));
      return;
    }
    this.wait(row, { ...INTERNAL, words: "a part of the service does not answer" });
  }

  /** Of a replay that is over: what is left of it cannot be looked at. */
  giveUp({ seq, id, job }: ReplayRow, why: string): void {
    log.warn("a replay was given up", { replay: id, job, why });
    this.#alarm.transaction(() => {
      for (const piece of this.#plans.pieces.list(seq, 0, Number.MAX_SAFE_INTEGER))
        this.#plans.pieces.problem(seq, piece, "failed", `${UNSURE}: ${why}`);
      this.#plans.close(seq);
    });
  }
}
