import type { JobsSnapshot } from "../control/job-config.ts";
import type { ConfigSnapshot } from "../control/plane.ts";
import { within } from "../platform.ts";

/** How long the control plane may take to say whether anything has changed, in ms. */
const ANSWER_MS = 5_000;

/**
 * The last good configuration of this isolate. Each batch asks whether it has changed: a small call. Only if the control plane does not answer
 * is the last one used as it is; what it misses is noticed further on: a log refuses an append built on a job that has changed, and the ledger
 * refuses to count messages that were routed by an older state than it knows.
 */
export class JobsCache {
  #snapshot: JobsSnapshot | null = null;

  /**
   * @returns the jobs as they are now, or as they last were; null if they have never been read: then nothing may be routed.
   */
  async refresh(control: { configSince(state: string): Promise<ConfigSnapshot> }): Promise<JobsSnapshot | null> {
    try {
      const snapshot = await within(ANSWER_MS, control.configSince(this.#snapshot?.state ?? ""), null);
      if (snapshot?.jobs) this.#snapshot = snapshot;
      if (snapshot === null) {
        console.warn({ message: "the control plane did not answer in time; the last good configuration is used" });
      }
    } catch (error) {
      console.warn({ message: "the control plane failed; the last good configuration is used", error: String(error) });
    }
    return this.#snapshot;
  }

  /** Takes what somebody else knows better. */
  learn(snapshot: JobsSnapshot): void {
    this.#snapshot = snapshot;
  }
}
