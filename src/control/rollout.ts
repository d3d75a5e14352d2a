import { configureChain } from "../delivery/chain.ts";
import { isBehind, type JobsSnapshot } from "../job/config.ts";
import { isState, isVersion } from "../job/snapshot.ts";
import { errorText, log } from "../log.ts";
import { answered, platform, settled, within } from "../platform.ts";
import { Alarm } from "../storage/alarm.ts";
import { LogShards } from "../trace-log/log-shards.ts";
import { type ControlState, configOf } from "./control-state.ts";

/** When a change that was not confirmed is sent to the logs and the ledger again, in ms. */
const AGAIN_MS = 10_000;

/** How often a change gets a higher version because a log or the ledger knows a newer one. */
const OVERTAKE_TRIES = 3;

/** Logs that a change is sent to in parallel. */
const LOGS_AT_ONCE = 8;

/**
 * Deadlines of confirmation, in ms. A late effect does no harm: sending the same again changes
 * nothing.
 */
export const PATIENCE = {
  /** For one log, or the ledger. */
  oneMs: 10_000,
  /**
   * For all of them. After that the answer is "not in force yet", and sending goes on: a change is
   * answered within five seconds, whatever hangs.
   */
  allMs: 4_000,
};

/**
 * Part of the control plane: makes a change, and sends it to logs and ledger. A log refuses appends
 * built before what it has confirmed; the ledger refuses to count what was routed before, and what
 * is not counted is not acknowledged.
 */
export class Rollout {
  readonly #ctx: DurableObjectState;
  readonly #env: Pick<Env, "READERS" | "TRACE_LOG">;
  readonly #state: ControlState;
  readonly #patience: Readonly<typeof PATIENCE>;
  readonly #alarm: Alarm;
  /** Passes over logs and ledger under way in this instance. */
  #underWay = 0;

  constructor(
    ctx: DurableObjectState,
    env: Pick<Env, "READERS" | "TRACE_LOG">,
    state: ControlState,
    patience: Readonly<typeof PATIENCE>,
  ) {
    this.#ctx = ctx;
    this.#alarm = new Alarm(ctx.storage);
    this.#env = env;
    this.#state = state;
    this.#patience = patience;
  }

  /** Loads the time of the alarm. Call it first. */
  async begin(): Promise<void> {
    await this.#alarm.load();
  }

  /**
   * Makes a change in one transaction. If it takes a version, the alarm is set with it, in case
   * this object dies before sending it.
   */
  change<T>(change: () => T): T {
    return this.#alarm.transaction(() => {
      const before = this.#state.state();
      const result = change();
      if (this.#state.state() !== before) this.#arm();
      return result;
    });
  }

  /**
   * Gives everything a version above that state's, which this storage lost when it was restored to
   * an earlier time.
   */
  overtake(state: JobsSnapshot["state"]): void {
    this.change(() => this.#state.overtake(versionIn(state), [], platform.now()));
  }

  /** Sends what was not confirmed. While a pass is under way it only sets the alarm again. */
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
   * Sends these jobs, as they are now, to their logs, and everything to the ledger. The alarm sends
   * again what is not confirmed.
   * @returns the confirmed jobs; none after the deadline, though the pass goes on.
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
    /**
     * Known elsewhere, for another change, and at least as new as ours: no change counts before it
     * is overtaken.
     */
    aheadVersion: number | null;
  }> {
    const rows = ids.map((id) => this.#state.row(id)).filter((row) => row !== null);
    const jobs = rows.map(configOf);
    const brought = await settled(jobs, LOGS_AT_ONCE, (job) => {
      const isIts = (version: unknown): version is number => isVersion(version) && version >= job.version;
      return this.#answered("the log", configureChain(this.#env.READERS, job), isIts);
    });
    const snapshot = this.#state.snapshot();
    const isKept = (state: unknown): state is string =>
      isState(state) && (state === snapshot.state || isBehind(snapshot.state, state));
    const areKept = (states: unknown): states is string[] => Array.isArray(states) && states.every(isKept);
    const kept = await this.#answered("the ledger", new LogShards(this.#env.TRACE_LOG).keepJobs(snapshot), areKept);
    const newest = brought.map((result) => (result.status === "fulfilled" ? result.value : 0));
    const ahead =
      jobs.some(({ id }, i) => (newest[i] ?? 0) > this.#state.versionOf(id)) ||
      kept.some((state) => isBehind(this.#state.state(), state));
    const confirmed = ahead ? [] : jobs.filter((_, i) => brought[i]?.status === "fulfilled");
    if (!ahead) {
      this.#ctx.storage.transactionSync(() => this.#state.confirm(confirmed, versionIn(snapshot.state)));
    }
    const failed = brought.find((result) => result.status === "rejected");
    return {
      confirmed: new Set(confirmed.map(({ id }) => id)),
      failure: failed?.reason ?? null,
      aheadVersion: ahead ? Math.max(...kept.map(versionIn), ...newest) : null,
    };
  }

  #again(jobs: readonly number[], error: unknown): void {
    log.error("a change was not confirmed", { durable_object: "ControlPlane", jobs, error: errorText(error) });
    this.#arm();
  }

  /**
   * Sets the alarm, unless it is set for earlier: later changes do not postpone an unconfirmed one.
   */
  #arm(): void {
    const now = platform.now();
    this.#alarm.set(now + AGAIN_MS, now);
  }

  /**
   * @throws without an answer in time, or with a malformed one: compared with garbage, nothing is
   *   behind and all would count as confirmed.
   */
  async #answered<T>(who: string, answer: Promise<unknown>, isAnswer: (value: unknown) => value is T): Promise<T> {
    const value = await answered(who, this.#patience.oneMs, answer);
    if (!isAnswer(value)) throw new Error(`${who}: malformed answer`);
    return value;
  }
}

function versionIn(state: JobsSnapshot["state"]): number {
  return Number(state.split(".")[1]);
}
