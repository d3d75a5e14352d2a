import type { Append, AppendResult } from "../object/append.ts";
import { IdMemory, type TakenId } from "../storage/id-memory.ts";
import type { Batches } from "./batches.ts";
import type { LogState } from "./log-state.ts";
import { PinnedIds } from "./pinned-ids.ts";

/**
 * What a log takes in, and what it knows of that: each message once. Every method that changes
 * anything belongs into a transaction of its caller.
 */
export class Appends {
  readonly #state: LogState;
  readonly #batches: Batches;
  readonly #ids: IdMemory;
  readonly #pinned: PinnedIds;

  constructor(sql: SqlStorage, state: LogState, batches: Batches) {
    this.#state = state;
    this.#batches = batches;
    this.#ids = new IdMemory(sql);
    this.#pinned = new PinnedIds(sql, this.#ids);
  }

  /** Which of these messages it holds. */
  known(messages: readonly TakenId[]): string[] {
    return [...this.#pinned.known(messages)];
  }

  /**
   * Pins the messages that it holds. @returns ids that are unknown, and old enough to be forgotten.
   */
  pinHeld(messages: readonly TakenId[]): string[] {
    return this.#pinned.pinHeld(messages, this.#state.requireRow().swept_ms);
  }

  /**
   * Takes records, their counts and the ids of their messages, all or nothing.
   * @param hasRoom false: the log has reached its size; it takes no more, now and ever.
   */
  take({ version, messages, fragments, queueDoneMs, again }: Append, hasRoom: boolean, nowMs: number): AppendResult {
    const row = this.#state.row();
    const job = this.#state.job();
    if (row === null || job === null || job.version < version) return { kind: "behind" };
    if (job.version > version) return { kind: "stale", job };
    // What the queue delivers is never older than this memory; only what is sent again needs the
    // other.
    const known = [...(again === undefined ? this.#ids : this.#pinned).known(messages)];
    const unsure = again === undefined || again.isKept ? [] : this.#pinned.forgotten(messages, row.swept_ms);
    if (unsure.some((id) => !known.includes(id))) return { kind: "forgotten" };
    if (row.sealed_ms !== null) return { kind: "full", ids: known };
    if (known.length > 0) return { kind: "known", ids: known };
    if (!hasRoom) {
      this.#state.seal(nowMs);
      return { kind: "full", ids: [] };
    }
    this.#ids.remember(messages);
    if (again !== undefined) this.#pinned.pin(messages);
    const opened = this.#batches.put(fragments, nowMs);
    this.#state.count(messages, queueDoneMs, opened, nowMs);
    return { kind: "taken" };
  }

  /** Forgets ids that no queue delivers any more. */
  sweep(nowMs: number): void {
    this.#ids.sweep(nowMs);
  }
}
