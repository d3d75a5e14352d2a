import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import type { JobsSnapshot } from "./config.ts";
import { isUnchanged, readSnapshot } from "./snapshot.ts";

/** Deadline of the control plane, in ms. */
const ANSWER_MS = 5_000;

/**
 * The last good configuration of this isolate. Each batch asks whether it has changed: a small
 * call. If the control plane fails, the last one is used: the shards of the log decide by their
 * own, and what was prepared for an older job is made anew.
 */
export class JobsCache {
  #snapshot: JobsSnapshot | null = null;

  /** @returns null: never read, so nothing may be routed. */
  async refresh(control: { configSince(state: string): Promise<unknown> }): Promise<JobsSnapshot | null> {
    try {
      await this.current(control);
    } catch (error) {
      log.warn("the control plane failed; the last good configuration is used", { error: errorText(error) });
    }
    return this.#snapshot;
  }

  /**
   * The configuration as it is now. @param ms deadline. @throws if the control plane does not say.
   */
  async current(
    control: { configSince(state: string): Promise<unknown> },
    ms: number = ANSWER_MS,
  ): Promise<JobsSnapshot> {
    // Jobs that could not be read are asked for again: the answer may have been garbled.
    const asked = this.#snapshot === null || this.#snapshot.unreadable !== undefined ? "" : this.#snapshot.state;
    const answer = await answered("the control plane", ms, control.configSince(asked));
    if (!isUnchanged(answer, asked) && !this.#take(answer)) throw new Error("its answer is not a configuration");
    if (this.#snapshot === null) throw new Error("its answer is not a configuration");
    return this.#snapshot;
  }

  /** @returns whether the value is a configuration that can be used. */
  #take(value: unknown): boolean {
    const snapshot = readSnapshot(value);
    if (snapshot === null) return false;
    const unreadable = (snapshot.unreadable ?? []).map(({ id }) => id);
    // A job that was readable before: the last good configuration serves until the answer is, too.
    // What it misses is noticed later, as above.
    if (this.#snapshot?.jobs.some(({ id }) => unreadable.includes(id))) return false;
    if (unreadable.length > 0) log.warn("jobs cannot be read: a newer version wrote them", { jobs: unreadable });
    this.#snapshot = snapshot;
    return true;
  }
}
