import {
  everyJob,
  type JobConfig,
  type JobsSnapshot,
  type OptOut,
  type UnreadableJob,
  type Window,
  wasIn,
} from "../job/config.ts";
import { readJobConfig, readSnapshot } from "../job/snapshot.ts";
import type { InForceAtIntake } from "../trace-log/set-aside-messages.ts";

/**
 * Jobs and opt-outs as they were in force when a message was taken in. Windows that ended fifteen
 * days ago may be forgotten. The ledger's note restores them, for the moment of intake alone.
 */
export class InForce {
  readonly #noted: InForceAtIntake | null;
  readonly #takenInMs: number;
  readonly #gets: (job: UnreadableJob) => boolean;
  /** Jobs by their copies with a restored window. */
  readonly #originals = new WeakMap<UnreadableJob, UnreadableJob>();

  /**
   * @param noted null: nothing was noted; only the windows known now are used.
   * @param gets whether a job may get the message at all.
   */
  constructor(noted: InForceAtIntake | null, takenInMs: number, gets: (job: UnreadableJob) => boolean) {
    this.#noted = noted;
    this.#takenInMs = takenInMs;
    this.#gets = gets;
  }

  /** @throws if the answer is not a configuration. */
  snapshotOf(answer: unknown): JobsSnapshot {
    const snapshot = readSnapshot(answer);
    if (snapshot === null) throw new Error("the answer is not a configuration");
    const again = <J extends UnreadableJob>(jobs: readonly J[]): J[] =>
      jobs.filter((job) => this.#gets(job)).map((job) => this.#withWindow(job));
    return {
      ...snapshot,
      jobs: again(snapshot.jobs),
      ...(snapshot.unreadable && { unreadable: again(snapshot.unreadable) }),
      optOuts: this.#optOuts(snapshot),
    };
  }

  /** The same of one job. Anything but a configuration is returned as it is. */
  jobOf(answer: unknown): unknown {
    const job = readJobConfig(answer);
    return job === null ? answer : this.#withWindow(job);
  }

  /** The stored configuration, which the log knows. */
  original(job: JobConfig): JobConfig {
    return (this.#originals.get(job) as JobConfig | undefined) ?? job;
  }

  /** Jobs that were enabled then, and do not get the message now. */
  gone(jobs: JobsSnapshot, taken: ReadonlySet<number>): number[] {
    const there = new Set(
      everyJob(jobs)
        .filter((job) => !job.discard && this.#gets(job))
        .map(({ id }) => id),
    );
    return (this.#noted?.jobs ?? []).filter((id) => !taken.has(id) && !there.has(id));
  }

  #withWindow<J extends UnreadableJob>(job: J): J {
    if (job.discard || wasIn(job, this.#takenInMs) || this.#noted?.jobs.includes(job.id) !== true) return job;
    const adjusted = { ...job, windows: [this.#moment(), ...job.windows] };
    this.#originals.set(adjusted, job);
    return adjusted;
  }

  #optOuts({ optOuts }: JobsSnapshot): OptOut[] {
    const off = new Set(this.#noted?.off ?? []);
    const known = optOuts.map((optOut) =>
      off.delete(optOut.scriptName) ? { ...optOut, windows: [this.#moment(), ...optOut.windows] } : optOut,
    );
    return [...known, ...[...off].map((scriptName) => ({ scriptName, windows: [this.#moment()] }))];
  }

  #moment(): Window {
    return { fromMs: this.#takenInMs, untilMs: this.#takenInMs };
  }
}
