import { accountLedger } from "../account/ledger.ts";
import { configureChain } from "../delivery/chain.ts";
import { isBehind, type JobsSnapshot } from "../job/config.ts";
import { isState, isVersion } from "../job/snapshot.ts";
import { errorText, log } from "../log.ts";
import { answered, platform, settled, within } from "../platform.ts";
import { Alarm } from "../storage/alarm.ts";
import { type ControlState, configOf } from "./control-state.ts";

/** How long until a change that was not confirmed is brought to the logs and the ledger again, in ms. */
const AGAIN_MS = 10_000;

/** How often a change is given a higher version because a log or the ledger knows a newer one. */
const OVERTAKE_TRIES = 3;

/** Logs that a change is brought to side by side. */
const LOGS_AT_ONCE = 8;

/** How long is waited for confirmation, in ms. What comes late is no harm: to bring the same again changes nothing. */
export const PATIENCE = {
  /** For one log, or the ledger. */
  oneMs: 10_000,
  /** For all of them, before whoever made the change is told that it is not in force yet; it is brought to the rest all the same. */
  allMs: 15_000,
};

/**
 * Part of the control plane: makes a change, and brings it to where it counts. A log refuses appends that were built before what it has confirmed,
 * and the ledger refuses to count (and so to let be acknowledged) what was routed before.
 */
export class Rollout {
  readonly #ctx: DurableObjectState;
  readonly #env: Pick<Env, "LOG" | "ACCOUNT">;
  readonly #state: ControlState;
  readonly #patience: Readonly<typeof PATIENCE>;
  readonly #alarm: Alarm;
  /** Passes over logs and ledger that are under way in this instance. */
  #underWay = 0;

  constructor(
    ctx: DurableObjectState,
    env: Pick<Env, "LOG" | "ACCOUNT">,
    state: ControlState,
    patience: Readonly<typeof PATIENCE>,
  ) {
    this.#ctx = ctx;
    this.#alarm = new Alarm(ctx.storage);
    this.#env = env;
    this.#state = state;
    this.#patience = patience;
  }

  /** Learns when the alarm is set for. To be called before anything else. */
  async begin(): Promise<void> {
    await this.#alarm.load();
  }

  /** Makes a change in one transaction; if it takes a version, an alarm is set with it, in case this object does not live to bring it anywhere. */
  change<T>(change: () => T): T {
    return this.#alarm.transaction(() => {
      const before = this.#state.state();
      const result = change();
      if (this.#state.state() !== before) this.#arm();
      return result;
    });
  }

  /** Gives everything a version above that state's: it has what this storage, which was restored to an earlier time, has not. */
  overtake(state: JobsSnapshot["state"]): void {
    this.change(() => this.#state.overtake(versionIn(state), [], platform.now()));
  }

  /** What the alarm is for: brings what was not confirmed. Beside a pass that is under way it only looks again later. */
  async resume(): Promise<void> {
    this.#alarm.cleared();
    if (this.#underWay > 0) {
      this.#arm();
      return;
    }
    const waiting = this.#state.unconfirmed();
    const { kept_version, opt_out_version } = this.#state.control();
    if (waiting.length > 0 || kept_version < opt_out_version) await this.bring(waiting);
  }

  /**
   * Brings these jobs, as they are now, to their logs, and everything to the ledger. What is not confirmed, the alarm brings again.
   * @returns the jobs that were confirmed; none if it took too long, though it goes on.
   */
  async bring(ids: readonly number[]): Promise<ReadonlySet<number>> {
    this.#underWay += 1;
    const pass = this.#pass(ids).finally(() => {
      this.#underWay -= 1;
    });
    this.#ctx.waitUntil(pass);
    const confirmed = await within(this.#patience.allMs, pass, null);
    if (confirmed !== null) return confirmed;
    this.#again(ids, `no end within ${this.#patience.allMs} ms`);
    return new Set();
  }

  async #pass(ids: readonly number[]): Promise<ReadonlySet<number>> {
    let waiting = ids;
    for (let tries = 0; ; tries++) {
      try {
        const result = await this.#bringOnce(waiting);
        if (result.aheadVersion === null) {
          if (result.failure !== null) this.#again(waiting, result.failure);
          return result.confirmed;
        }
        if (tries >= OVERTAKE_TRIES) throw new Error(`log or ledger are ahead: ${result.aheadVersion}`);
        const { aheadVersion } = result;
        const behind = waiting;
        this.change(() => this.#state.overtake(aheadVersion, behind, platform.now()));
        waiting = this.#state.unconfirmed();
      } catch (error) {
        this.#again(waiting, error);
        return new Set();
      }
    }
  }

  /** @throws if the ledger does not confirm; logs that do not are the `failure`. */
  async #bringOnce(ids: readonly number[]): Promise<{
    confirmed: ReadonlySet<number>;
    failure: unknown;
    /** At least as new as anything here, and known elsewhere for something else: no change would count before it is overtaken. */
    aheadVersion: number | null;
  }> {
    const rows = ids.map((id) => this.#state.row(id)).filter((row) => row !== null);
    const jobs = rows.map(configOf);
    const brought = await settled(jobs, LOGS_AT_ONCE, (job) => {
      const isIts = (version: unknown): version is number => isVersion(version) && version >= job.version;
      return this.#answered("the log", configureChain(this.#env.LOG, job), isIts);
    });
    const snapshot = this.#state.snapshot();
    const isKept = (state: unknown): state is string =>
      isState(state) && (state === snapshot.state || isBehind(snapshot.state, state));
    const kept = await this.#answered("the ledger", accountLedger(this.#env.ACCOUNT).keepJobs(snapshot), isKept);
    const newest = brought.map((result) => (result.status === "fulfilled" ? result.value : 0));
    const ahead =
      jobs.some(({ id }, i) => (newest[i] ?? 0) > this.#state.versionOf(id)) || isBehind(this.#state.state(), kept);
    const confirmed = ahead ? [] : jobs.filter((_, i) => brought[i]?.status === "fulfilled");
    if (!ahead) {
      this.#ctx.storage.transactionSync(() => this.#state.confirm(confirmed, versionIn(snapshot.state)));
    }
    const failed = brought.find((result) => result.status === "rejected");
    return {
      confirmed: new Set(confirmed.map(({ id }) => id)),
      failure: failed?.reason ?? null,
      aheadVersion: ahead ? Math.max(versionIn(kept), ...newest) : null,
    };
  }

  #again(jobs: readonly number[], error: unknown): void {
    log.error("a change was not confirmed", { durable_object: "ControlPlane", jobs, error: errorText(error) });
    this.#arm();
  }

  /** Sets the alarm, if it is not set for earlier: changes that go well do not postpone what is left of one that did not. */
  #arm(): void {
    const now = platform.now();
    this.#alarm.set(now + AGAIN_MS, now);
  }

  /** @throws if there is no answer in time, or none that can be: what is compared with garbage is never behind, and would count as confirmed. */
  async #answered<T>(who: string, answer: Promise<unknown>, isAnswer: (value: unknown) => value is T): Promise<T> {
    const value = await answered(who, this.#patience.oneMs, answer);
    if (!isAnswer(value)) throw new Error(`${who}: an answer that says nothing`);
    return value;
  }
}

function versionIn(state: JobsSnapshot["state"]): number {
  return Number(state.split(".")[1]);
}
