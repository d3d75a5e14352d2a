import type { JobConfig } from "../control/job-config.ts";
import type { ConfigSnapshot } from "../control/plane.ts";
import { within } from "../platform.ts";

/** How long the control plane may take to say whether anything has changed, in ms. */
const ANSWER_MS = 5_000;

/**
 * The last good configuration of this isolate. Each batch asks whether it has changed: a small call. Only if the control plane does not answer
 * is the last one used as it is; an append built on a job that has changed is still refused by its log, which then says what the job is now.
 */
export class JobsCache {
  #state = "";
  #jobs: JobConfig[] | null = null;

  /**
   * @returns the jobs as they are now, or as they last were; null if they have never been read: then nothing may be routed.
   */
  async refresh(control: { configSince(state: string): Promise<ConfigSnapshot> }): Promise<JobConfig[] | null> {
    try {
      const snapshot = await within(ANSWER_MS, control.configSince(this.#state), null);
      if (snapshot?.jobs) {
        this.#state = snapshot.state;
        this.#jobs = snapshot.jobs;
      }
      if (snapshot === null)
        console.warn({ message: "the control plane did not answer in time; the last good configuration is used" });
    } catch (error) {
      console.warn({ message: "the control plane failed; the last good configuration is used", error: String(error) });
    }
    return this.#jobs;
  }
}
