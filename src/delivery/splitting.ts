import type { JobConfig } from "../job/config.ts";
import { SHARD_LOAD, SPLIT_AHEAD_MS } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { answered, platform } from "../platform.ts";
import { childOf, nextBit } from "../storage/splits.ts";
import { Load } from "./load.ts";
import type { LogState } from "./log-state.ts";
import { nodeOf, placeOf } from "./nodes.ts";
import { beforeUntilMs, type OwnSplits } from "./own-splits.ts";

/** After a child did not answer, the next try waits this long, in ms. */
const AGAIN_MS = 60_000;

/** What it needs of the log that it is part of. */
export interface SplittingHost {
  /** Gives another node the job. @returns the version in force there. */
  configure(job: JobConfig, node: number): Promise<number>;
  /** What was taken in then or later, in ms since the epoch, the log has not taken. */
  takenUntilMs(): number;
  transaction(change: () => void): void;
}

/**
 * Part of a log: it hands half of its messages on to a child when it has more to do than one
 * durable object should. First the child gets the job, then the split is stored: before that, no
 * message can reach the child; from then on, every change of the job does. docs/delivery.md
 */
export class Splitting {
  readonly #state: LogState;
  readonly #splits: OwnSplits;
  readonly #host: SplittingHost;
  /** In memory: an instance that has just begun waits some minutes longer. */
  readonly load = new Load();
  /** Overridden by tests. */
  limits = SHARD_LOAD;
  /** How long the child may take to answer, in ms. Overridden by tests, which do not wait. */
  childMs = 5_000;
  /** The split that is under way in this instance. Public for the tests, which wait for it. */
  running: Promise<void> | null = null;
  #nextTryMs = 0;

  constructor(state: LogState, splits: OwnSplits, host: SplittingHost) {
    this.#state = state;
    this.#splits = splits;
    this.#host = host;
  }

  /**
   * Begins a split, if one is due. @returns its end, for `waitUntil`; it never rejects. null: none
   * is due, or it is under way.
   */
  begin(nowMs: number): Promise<void> | null {
    if (this.running !== null || nowMs < this.#nextTryMs || this.#bit() === null) return null;
    // What was taken in before the last split took effect is no measure of what is to come.
    if (!this.load.exceeds(this.limits, this.#splits.all().at(-1)?.fromMs ?? 0)) return null;
    this.running = this.split().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  /** Hands half of the messages on. Public for the tests. */
  async split(): Promise<void> {
    const bit = this.#bit();
    if (bit === null) return;
    const job = this.#state.requireJob();
    const { shard } = placeOf(this.#state.requireRow().segment);
    const child = childOf(shard, bit);
    const about = { job: job.id, shard, child };
    try {
      const version = await answered(`shard ${child}`, this.childMs, this.#host.configure(job, nodeOf(child, 0)));
      // The child is to have what every message is judged by here.
      const isSame = (): boolean => version === job.version && this.#state.job()?.version === version;
      this.#host.transaction(() => {
        if (!isSame() || this.#bit() !== bit) return;
        const nowMs = platform.now();
        const before = beforeUntilMs(this.#state.requireRow(), nowMs);
        const fromMs = Math.max(nowMs + SPLIT_AHEAD_MS, this.#host.takenUntilMs(), before);
        this.#splits.add([{ bit, fromMs }]);
        log.info("a shard of a log hands half on", { ...about, from: new Date(fromMs).toISOString() });
      });
    } catch (error) {
      this.#nextTryMs = platform.now() + AGAIN_MS;
      log.warn("a shard of a log could not hand anything on", { ...about, error: errorText(error) });
    }
  }

  /** By which it would split; null: it does not. */
  #bit(): number | null {
    const row = this.#state.row();
    if (row === null || row.sealed_ms !== null || this.#state.requireJob().deletedMs !== null) return null;
    return nextBit(placeOf(row.segment).shard, this.#splits.all());
  }
}
