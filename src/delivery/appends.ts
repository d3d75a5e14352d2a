import type { Append, AppendResult } from "../object/append.ts";
import { IdMemory, type TakenId } from "../storage/id-memory.ts";
import type { Batches } from "./batches.ts";
import { KeptIds } from "./kept-ids.ts";
import type { LogState } from "./log-state.ts";

/** What a log takes in, and what it knows of that: each message once. Every method that changes anything belongs into a transaction of its caller. */
export class Appends {
  readonly #state: LogState;
  readonly #batches: Batches;
  readonly #ids: IdMemory;
  readonly #kept: KeptIds;

  constructor(sql: SqlStorage, state: LogState, batches: Batches) {
    this.#state = state;
    this.#batches = batches;
    this.#ids = new IdMemory(sql);
    this.#kept = new KeptIds(sql, this.#ids);
  }

  /** Which of these messages it holds. */
  known(messages: readonly TakenId[]): string[] {
    return [...this.#kept.known(messages)];
  }

  /** Remembers for good which of these messages it holds. @returns those of which it cannot tell, as it has forgotten what was taken in with them. */
  keepHeld(messages: readonly TakenId[]): string[] {
    return this.#kept.keepHeld(messages, this.#state.requireRow().swept_ms);
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
    // What the queue delivers is never older than this memory; only what is sent again needs the other.
    const known = [...(again === undefined ? this.#ids : this.#kept).known(messages)];
    const unsure = again === undefined || again.isKept ? [] : this.#kept.forgotten(messages, row.swept_ms);
    if (unsure.some((id) => !known.includes(id))) return { kind: "forgotten" };
    if (row.sealed_ms !== null) return { kind: "full", ids: known };
    if (known.length > 0) return { kind: "known", ids: known };
    if (!hasRoom) {
      this.#state.seal(nowMs);
      return { kind: "full", ids: [] };
    }
    this.#ids.remember(messages);
    if (again !== undefined) this.#kept.keep(messages);
    const opened = this.#batches.put(fragments, nowMs);
    this.#state.count(messages, queueDoneMs, opened, nowMs);
    return { kind: "taken" };
  }

  /** Forgets ids that no queue delivers any more. */
  sweep(nowMs: number): void {
    this.#ids.sweep(nowMs);
  }
}
