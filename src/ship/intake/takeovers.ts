import type { Platform } from "../../base/platform.ts";
import { takesOver } from "../job/build.ts";
import { wasIn } from "../job/config.ts";
import { JobsCache } from "../job/jobs-cache.ts";
import type { PackingContext } from "./packing.ts";

/** How often an isolate asks for the jobs while it packs large messages, in ms. */
const ASK_MS = 60_000;

interface TakeoversWay {
  env: Pick<Env, "CONTROL">;
  waitUntil(promise: Promise<void>): void;
  platform: Pick<Platform, "now">;
}

/**
 * Whether an enabled job's objects take large messages over as they are, so that these are
 * compressed once. It is a matter of cost alone: either form of a message is shipped by any job.
 * Plain data, as all invocations of an isolate share it.
 */
export class Takeovers {
  readonly #jobs = new JobsCache();
  /** Until an answer says so, no. */
  #isWanted = false;
  /** Until then it does not ask, in ms since the epoch. */
  #quietUntilMs = 0;

  /** @returns tells it at once, by the last answer; it asks in the background. */
  by({ env, waitUntil, platform }: TakeoversWay): NonNullable<PackingContext["forTakeover"]> {
    return () => {
      const nowMs = platform.now();
      // A clock that was set back keeps it quiet no longer.
      if (nowMs >= this.#quietUntilMs || this.#quietUntilMs > nowMs + ASK_MS) {
        this.#quietUntilMs = nowMs + ASK_MS;
        waitUntil(this.#ask(env, nowMs));
      }
      return this.#isWanted;
    };
  }

  /** Never throws. */
  async #ask({ CONTROL }: TakeoversWay["env"], nowMs: number): Promise<void> {
    const configSince = async (state: string) => CONTROL.getByName("control").configSince(state);
    const known = await this.#jobs.refresh({ configSince });
    this.#isWanted = known?.jobs.some((job) => takesOver(job) && wasIn(job, nowMs)) ?? false;
  }
}

/** Of this isolate, for all ways of intake. */
export const isolateTakeovers = new Takeovers();
