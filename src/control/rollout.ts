import { configureChain } from "../delivery/chain.ts";
import { platform, settled, within } from "../platform.ts";
import { type ControlState, configOf } from "./control-state.ts";
import { isOlderState, type JobsSnapshot } from "./job-config.ts";
import { accountLedger } from "./ledger.ts";

/** How long until a change that was not confirmed is brought to the logs and the ledger again, in ms. */
const AGAIN_MS = 10_000;

/** How often a change is given a higher version because a log or the ledger knows a newer one. */
const OVERTAKE_TRIES = 3;

/** Logs that a change is brought to side by side. */
const LOGS_AT_ONCE = 8;

/** How long a log or the ledger may take to confirm, in ms. One that comes late is no harm: to bring the same again changes nothing. */
const CONFIRM_MS = 10_000;

/**
 * Part of the control plane: makes a change, and brings it to where it counts. A log refuses appends that were built before what it has confirmed,
 * and the ledger refuses to count (and so to let be acknowledged) what was routed before.
 */
export class Rollout {
  readonly #storage: DurableObjectStorage;
  readonly #env: Pick<Env, "LOG" | "ACCOUNT">;
  readonly #state: ControlState;

  constructor(storage: DurableObjectStorage, env: Pick<Env, "LOG" | "ACCOUNT">, state: ControlState) {
    this.#storage = storage;
    this.#env = env;
    this.#state = state;
  }

  /** Makes a change in one transaction; if it takes a version, an alarm is set with it, in case this object does not live to bring it anywhere. */
  change<T>(change: () => T): T {
    return this.#storage.transactionSync(() => {
      const before = this.#state.state();
      const result = change();
      if (this.#state.state() !== before) this.#storage.setAlarm(platform.now() + AGAIN_MS);
      return result;
    });
  }

  /** Gives everything a version above that state's: what is known elsewhere is newer than this storage, which was restored to an earlier time. */
  overtake(state: JobsSnapshot["state"]): void {
    this.change(() => this.#state.overtake(versionIn(state), [], platform.now()));
  }

  /** What the alarm is for: brings what was not confirmed. */
  async resume(): Promise<void> {
    const waiting = this.#state.unconfirmed();
    const { kept_version, opt_out_version } = this.#state.control();
    if (waiting.length > 0 || kept_version < opt_out_version) await this.bring(waiting);
  }

  /**
   * Brings these jobs, as they are now, to their logs, and everything to the ledger. What is not confirmed, the alarm brings again.
   * @returns the jobs that were confirmed.
   */
  async bring(ids: readonly number[]): Promise<ReadonlySet<number>> {
    let waiting = ids;
    for (let tries = 0; ; tries++) {
      try {
        const result = await this.#bringOnce(waiting);
        if (result.aheadVersion === null) {
          if (result.failure !== null) await this.#again(waiting, result.failure);
          return result.confirmed;
        }
        if (tries >= OVERTAKE_TRIES) throw new Error(`log or ledger are ahead: ${result.aheadVersion}`);
        const { aheadVersion } = result;
        const behind = waiting;
        this.change(() => this.#state.overtake(aheadVersion, behind, platform.now()));
        waiting = this.#state.unconfirmed();
      } catch (error) {
        await this.#again(waiting, error);
        return new Set();
      }
    }
  }

  /** @throws if the ledger does not confirm; logs that do not are the `failure`. */
  async #bringOnce(ids: readonly number[]): Promise<{
    confirmed: ReadonlySet<number>;
    failure: unknown;
    /** Newer than anything here: no change would count before it is overtaken. */
    aheadVersion: number | null;
  }> {
    const rows = ids.map((id) => this.#state.row(id)).filter((row) => row !== null);
    const jobs = rows.map(configOf);
    const brought = await settled(jobs, LOGS_AT_ONCE, (job) => answered(configureChain(this.#env.LOG, job)));
    const snapshot = this.#state.snapshot();
    const kept = await answered(accountLedger(this.#env.ACCOUNT).keepJobs(snapshot));
    const newest = brought.map((result) => (result.status === "fulfilled" ? result.value : 0));
    const ahead =
      jobs.some(({ id }, i) => (newest[i] ?? 0) > this.#state.versionOf(id)) || isOlderState(this.#state.state(), kept);
    const confirmed = ahead ? [] : jobs.filter((_, i) => brought[i]?.status === "fulfilled");
    if (!ahead) {
      this.#storage.transactionSync(() => this.#state.confirm(confirmed, versionIn(snapshot.state)));
    }
    const failed = brought.find((result) => result.status === "rejected");
    return {
      confirmed: new Set(confirmed.map(({ id }) => id)),
      failure: failed?.reason ?? null,
      aheadVersion: ahead ? Math.max(versionIn(kept), ...newest) : null,
    };
  }

  async #again(jobs: readonly number[], error: unknown): Promise<void> {
    console.error({ message: "a change was not confirmed", jobs, error: String(error) });
    await this.#storage.setAlarm(platform.now() + AGAIN_MS);
  }
}

function versionIn(state: JobsSnapshot["state"]): number {
  return Number(state.split(".")[1]);
}

/** @throws if there is no answer in time. */
async function answered<T extends string | number>(answer: Promise<T>): Promise<T> {
  const value = await within(CONFIRM_MS, answer, null);
  if (value === null) throw new Error(`no answer within ${CONFIRM_MS} ms`);
  return value;
}
