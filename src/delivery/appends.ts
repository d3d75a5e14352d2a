import type { Append, AppendResult } from "../object/append.ts";
import { hasOwnRow, IdMemory, rememberedMs, type TakenId } from "../storage/id-memory.ts";
import type { Batches } from "./batches.ts";
import type { LogState } from "./log-state.ts";
import { beforeUntilMs, handedOn, type OwnSplits } from "./own-splits.ts";
import { PinnedIds } from "./pinned-ids.ts";
import type { LogRow } from "./rows.ts";

/**
 * What a log takes in, and what it knows of that: each message once. Every method that changes
 * anything belongs into a transaction of its caller.
 */
export class Appends {
  readonly #state: LogState;
  readonly #batches: Batches;
  readonly #splits: OwnSplits;
  readonly #ids: IdMemory;
  readonly #pinned: PinnedIds;

  constructor(sql: SqlStorage, state: LogState, batches: Batches, splits: OwnSplits) {
    this.#state = state;
    this.#batches = batches;
    this.#splits = splits;
    this.#ids = new IdMemory(sql);
    this.#pinned = new PinnedIds(sql, this.#ids);
  }

  /**
   * Which of these messages it holds, and which it may have held, and has forgotten.
   * @param row the log's own.
   */
  holds(messages: readonly TakenId[], row: LogRow): { ids: string[]; forgotten: string[] } {
    return { ids: [...this.#pinned.known(messages)], forgotten: this.#forgotten(messages, row) };
  }

  /** Pins the messages that it holds. @returns ids that it may have held, and has forgotten. */
  pinHeld(messages: readonly TakenId[], row: LogRow): string[] {
    this.#pinned.pinHeld(messages);
    return this.#forgotten(messages, row);
  }

  /** What was taken in at this time or later, in ms since the epoch, it has not taken. */
  takenUntilMs(): number {
    return this.#ids.newestMs();
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
    const following = this.#splits.following(row);
    if (handedOn(messages, following).length > 0) return { kind: "known", ids: known, ...following };
    const unsure = again === undefined || again.isKept ? [] : this.#forgotten(messages, row, following);
    if (unsure.some((id) => !known.includes(id))) return { kind: "forgotten" };
    if (following.sealed) return { kind: "full", ids: known, ...following };
    if (known.length > 0) return { kind: "known", ids: known, ...following };
    if (!hasRoom) {
      this.#state.seal(nowMs, Math.max(this.takenUntilMs(), beforeUntilMs(row, nowMs)));
      return { kind: "full", ids: [], ...this.#splits.following(this.#state.row()) };
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

  /** What can never have been here is not forgotten. */
  #forgotten(messages: readonly TakenId[], row: LogRow, following = this.#splits.following(row)): string[] {
    const { takenUntilMs = Number.POSITIVE_INFINITY } = following;
    const elsewhere = new Set(handedOn(messages, following));
    const own = messages.filter(
      (message) => !elsewhere.has(message) && (hasOwnRow(message) || rememberedMs(message) < takenUntilMs),
    );
    return this.#pinned.forgotten(own, row.swept_ms);
  }
}
