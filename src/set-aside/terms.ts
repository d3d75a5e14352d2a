import type { AsideTerms } from "../account/set-aside-messages.ts";
import { getsAgain, type JobConfig, type JobsSnapshot, type OptOut, type Window, wasIn } from "../job/config.ts";
import { readJobConfig, readSnapshot } from "../job/snapshot.ts";

/**
 * What was in force when a message was taken in that is sent again. Windows that ended fifteen days ago may be forgotten; what was noted when it was set
 * aside puts them back, for the one moment that matters.
 */
export class Terms {
  readonly #terms: AsideTerms | null;
  readonly #takenInMs: number;
  readonly #nowMs: number;
  /** By what stands in their place. */
  readonly #originals = new WeakMap<JobConfig, JobConfig>();

  /** @param terms null: nothing was noted; the windows as they are have to do. */
  constructor(terms: AsideTerms | null, takenInMs: number, nowMs: number) {
    this.#terms = terms;
    this.#takenInMs = takenInMs;
    this.#nowMs = nowMs;
  }

  /** @throws if it is no configuration. */
  snapshotOf(answer: unknown): JobsSnapshot {
    const snapshot = readSnapshot(answer);
    if (snapshot === null) throw new Error("the answer is no configuration");
    const jobs = snapshot.jobs.filter((job) => getsAgain(job, this.#nowMs)).map((job) => this.#withWindow(job));
    return { ...snapshot, jobs, optOuts: this.#optOuts(snapshot) };
  }

  /** The same of one job. What is no configuration is left as it is. */
  jobOf(answer: unknown): unknown {
    const job = readJobConfig(answer);
    return job === null ? answer : this.#withWindow(job);
  }

  /** The job as its owner made it: its log gets no other. */
  original(job: JobConfig): JobConfig {
    return this.#originals.get(job) ?? job;
  }

  /** Jobs that were enabled then, and did not get it now. */
  gone({ jobs }: JobsSnapshot, taken: ReadonlySet<number>): number[] {
    const there = new Set(jobs.filter((job) => !job.discard && getsAgain(job, this.#nowMs)).map(({ id }) => id));
    return (this.#terms?.jobs ?? []).filter((id) => !taken.has(id) && !there.has(id));
  }

  #withWindow(job: JobConfig): JobConfig {
    if (job.discard || wasIn(job, this.#takenInMs) || this.#terms?.jobs.includes(job.id) !== true) return job;
    const adjusted = { ...job, windows: [this.#moment(), ...job.windows] };
    this.#originals.set(adjusted, job);
    return adjusted;
  }

  #optOuts({ optOuts }: JobsSnapshot): OptOut[] {
    const off = new Set(this.#terms?.off ?? []);
    const known = optOuts.map((optOut) =>
      off.delete(optOut.scriptName) ? { ...optOut, windows: [this.#moment(), ...optOut.windows] } : optOut,
    );
    return [...known, ...[...off].map((scriptName) => ({ scriptName, windows: [this.#moment()] }))];
  }

  #moment(): Window {
    return { fromMs: this.#takenInMs, untilMs: this.#takenInMs };
  }
}
