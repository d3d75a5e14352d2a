import { errorText, log } from "../../base/logger.ts";
import { answered, platform, settled, within } from "../../base/platform.ts";
import type { Alarm } from "../../base/storage/alarm.ts";
import { isOfSameMark, type JobsSnapshot, versionIn } from "../../ship/job/config.ts";
import { isState } from "../../ship/job/snapshot.ts";
import { traceLog } from "../../ship/log/trace-log.ts";
import type { ControlState } from "./control-state.ts";

/** When a change that was not confirmed is sent to the shards again, in ms. */
const AGAIN_MS = 10_000;

/**
 * How often everything gets a higher version because a shard knows of changes that are lost here.
 */
const OVERTAKE_TRIES = 3;

/** Shards that a change is sent to in parallel. */
const SHARDS_AT_ONCE = 16;

/**
 * Deadlines of confirmation, in ms. A late effect does no harm: sending the same again changes
 * nothing.
 */
export const PATIENCE = {
  /** For one shard. */
  oneMs: 10_000,
  /**
   * For all of them. After that the answer is "not in force yet", and sending goes on: a change is
   * answered within five seconds, whatever hangs.
   */
  allMs: 4_000,
};

/**
 * Part of the control plane: makes a change, and sends it to the shards of the log, which decide by
 * their copies. A change is in force when all shards have it.
 */
export class Rollout {
  readonly #ctx: DurableObjectState;
  readonly #env: Pick<Env, "TRACE_LOG">;
  readonly #state: ControlState;
  readonly #patience: Readonly<typeof PATIENCE>;
  readonly #alarm: Alarm;
  /** Passes over the shards under way in this instance. */
  #underWay = 0;
  /** Shards that had not confirmed the newest state when the last pass ended. */
  #missing: readonly number[] = [];

  constructor(
    ctx: DurableObjectState,
    env: Pick<Env, "TRACE_LOG">,
    { state, alarm, patience }: { state: ControlState; alarm: Alarm; patience: Readonly<typeof PATIENCE> },
  ) {
    this.#ctx = ctx;
    this.#alarm = alarm;
    this.#env = env;
    this.#state = state;
    this.#patience = patience;
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

  /** Sends what was not confirmed. While a pass is under way it only sets the alarm again. */
  async resume(): Promise<void> {
    this.#alarm.cleared();
    if (this.#underWay > 0) this.#arm();
    else if (!this.#state.isConfirmed()) await this.bring();
  }

  /**
   * Sends everything, as it is now, to all shards. The alarm sends again what is not confirmed.
   * @returns shards that have not confirmed it: after the deadline, those that are left, though the
   *   pass goes on.
   */
  async bring(): Promise<readonly number[]> {
    this.#underWay += 1;
    const left = new Set(this.#state.shards());
    const pass = this.#pass(left).finally(() => {
      this.#underWay -= 1;
    });
    this.#ctx.waitUntil(pass);
    const isDone = await within(
      this.#patience.allMs,
      pass.then(() => true),
      false,
    );
    if (!isDone) this.#again([...left], `no end within ${this.#patience.allMs} ms`);
    this.#missing = [...left];
    return this.#missing;
  }

  /** Shards that had not confirmed the newest change when it was last sent. */
  get missing(): readonly number[] {
    return this.#missing;
  }

  /** @param left shards that have not confirmed; emptied as they do. */
  async #pass(left: Set<number>): Promise<void> {
    for (let tries = 0; ; tries++) {
      const snapshot = this.#state.snapshot();
      const failures = await this.#bringOnce(snapshot, left);
      const isNewest = this.#state.state() === snapshot.state;
      if (isNewest && left.size === 0) this.#ctx.storage.transactionSync(() => this.#state.confirm(snapshot.state));
      if (isNewest || tries >= OVERTAKE_TRIES) {
        if (failures.length > 0) this.#again([...left], failures[0]);
        return;
      }
      // A shard has joined, or knew of changes that are lost here.
      for (const shard of this.#state.shards()) left.add(shard);
    }
  }

  /** @param left loses the shards that have confirmed. @returns why others have not. */
  async #bringOnce(snapshot: JobsSnapshot, left: Set<number>): Promise<unknown[]> {
    const has = (state: unknown): state is string =>
      isState(state) && isOfSameMark(state, snapshot.state) && versionIn(state) >= versionIn(snapshot.state);
    const results = await settled([...left], SHARDS_AT_ONCE, async (shard) => {
      const configured = traceLog(this.#env.TRACE_LOG, shard).configure(snapshot);
      const state: unknown = await answered(`log ${shard}`, this.#patience.oneMs, configured as Promise<unknown>);
      if (!has(state)) throw new Error(`log ${shard}: has another configuration`);
      left.delete(shard);
    });
    return results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
  }

  #again(shards: readonly number[], error: unknown): void {
    log.error("a change was not confirmed", { durable_object: "ControlPlane", shards, error: errorText(error) });
    this.#arm();
  }

  /**
   * Sets the alarm, unless it is set for earlier: later changes do not postpone an unconfirmed one.
   */
  #arm(): void {
    const now = platform.now();
    this.#alarm.set(now + AGAIN_MS, now);
  }
}
