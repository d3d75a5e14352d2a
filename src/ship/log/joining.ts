import { errorText, log } from "../../base/logger.ts";
import { answered, platform } from "../../base/platform.ts";
import type { JobsSnapshot } from "../job/config.ts";
import { isUnchanged, readSnapshot } from "../job/snapshot.ts";
import { SHARD_NOT_READY } from "./append-types.ts";
import type { JobsCopy } from "./jobs-copy.ts";

/** How often a shard asks the control plane whether its configuration is in force, in ms. */
const JOIN_EVERY_MS = 300_000;

/** Deadline of that question, in ms. Then it goes on with its copy. */
export const JOIN_MS = 5_000;

export interface Joins {
  env: Pick<Env, "CONTROL">;
  jobs: JobsCopy;
  shard(): number;
  /** Takes a configuration that is in force. */
  take(snapshot: JobsSnapshot): void;
  waitUntil(promise: Promise<unknown>): void;
}

/** Asks the control plane which configuration is in force: a shard decides by a copy of it. */
export class Joining {
  readonly #of: Joins;
  /** When this instance last asked, in ms since the epoch. */
  #askedMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  constructor(of: Joins) {
    this.#of = of;
  }

  /**
   * Resolves when the shard may decide: it has a configuration, and has asked whether that is in
   * force, or got no answer in time.
   * @param state of the caller's configuration.
   * @throws if it has none.
   */
  async ready(state = ""): Promise<void> {
    const { jobs, shard, waitUntil } = this.#of;
    const own = jobs.state();
    const isNewer = state !== "" && state !== own && (jobs.isLater(state) || !jobs.isOfSameHistory(state));
    const isFirst = this.#askedMs === Number.NEGATIVE_INFINITY;
    if (own === "" || isFirst || isNewer || Math.abs(platform.now() - this.#askedMs) >= JOIN_EVERY_MS) {
      const joining = this.join().catch((error: unknown) => {
        log.warn("the control plane does not answer", { durable_object: "TraceLog", error: errorText(error) });
      });
      if (isFirst || own === "") await joining;
      else waitUntil(joining);
    }
    if (jobs.state() === "") throw new Error(`${SHARD_NOT_READY}: log ${shard()} has no configuration yet`);
  }

  /** Asks what is in force, once at a time. @throws if it does not answer. */
  join(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const { env, jobs, shard, take } = this.#of;
    this.#askedMs = platform.now();
    const own = jobs.state();
    const asked = env.CONTROL.getByName("control").join(shard(), own) as Promise<unknown>;
    const answer = await answered("the control plane", JOIN_MS, asked);
    if (isUnchanged(answer, own)) return;
    if (readSnapshot(answer) === null) throw new Error("its answer is not a configuration");
    const snapshot = answer as JobsSnapshot;
    const isOlder = jobs.isOfSameHistory(snapshot.state) && !jobs.isLater(snapshot.state);
    if (!isOlder) take(snapshot);
  }
}
