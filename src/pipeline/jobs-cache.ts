import { isBehind, type JobsSnapshot } from "../job/config.ts";
import { readSnapshot } from "../job/snapshot.ts";
import { errorText, log } from "../log.ts";
import { answered } from "../platform.ts";

/** How long the control plane may take to say whether anything has changed, in ms. */
const ANSWER_MS = 5_000;

/**
 * The last good configuration of this isolate. Each batch asks whether it has changed: a small call. Only if the control plane does not answer, or
 * what it answers is no configuration, is the last one used as it is; what it misses is noticed further on: a log refuses an append built on a job
 * that has changed, and the ledger refuses to count messages that were routed by an older state than it knows.
 */
export class JobsCache {
  #snapshot: JobsSnapshot | null = null;

  /**
   * @returns the jobs as they are now, or as they last were; null if they have never been read: then nothing may be routed.
   */
  async refresh(control: { configSince(state: string): Promise<unknown> }): Promise<JobsSnapshot | null> {
    const asked = this.#snapshot?.state ?? "";
    try {
      const answer = await answered("the control plane", ANSWER_MS, control.configSince(asked));
      if (!isUnchanged(answer, asked) && !this.#take(answer)) throw new Error("its answer is no configuration");
    } catch (error) {
      log.warn("the control plane failed; the last good configuration is used", { error: errorText(error) });
    }
    return this.#snapshot;
  }

  /** Takes what somebody else knows better, if it is a configuration. */
  learn(newer: unknown): void {
    this.#take(newer);
  }

  /**
   * One that is behind what has been learned meanwhile is as good as none: its answer was on the way when the other came.
   * @returns whether it is a configuration.
   */
  #take(value: unknown): boolean {
    const snapshot = readSnapshot(value);
    if (snapshot === null) return false;
    if (this.#snapshot === null || !isBehind(snapshot.state, this.#snapshot.state)) this.#snapshot = snapshot;
    return true;
  }
}

/** Nothing has changed since the state that was asked for. Who knew none is never told so. */
function isUnchanged(answer: unknown, asked: string): boolean {
  if (asked === "" || typeof answer !== "object" || answer === null) return false;
  const { state, jobs } = answer as { state?: unknown; jobs?: unknown };
  return jobs === null && state === asked;
}
