import type { TakenId } from "../storage/id-memory.ts";
import { isBeyond, type Split } from "../storage/splits.ts";

/** A split, and the size of the shard when it was made, in bytes. */
export interface OwnSplit extends Split {
  bytes: number;
}

/** The splits of one shard, in the order in which they were made. */
export class OwnSplits {
  readonly #sql: SqlStorage;
  /** null: not read yet. */
  #splits: readonly OwnSplit[] | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  all(): readonly OwnSplit[] {
    this.#splits ??= this.#sql
      .exec<{ bit: number; fromMs: number; bytes: number }>(
        "SELECT bit, from_ms AS fromMs, bytes FROM split ORDER BY bit",
      )
      .toArray();
    return this.#splits;
  }

  /** Whether another shard takes any of these messages. */
  takeAny(messages: readonly TakenId[]): boolean {
    return this.all().some((split) => messages.some((message) => isBeyond(message, split)));
  }

  /** To be called last in a transaction. */
  add({ bit, fromMs, bytes }: OwnSplit): void {
    this.#splits = null;
    this.#sql.exec("INSERT INTO split (bit, from_ms, bytes) VALUES (?, ?, ?)", bit, fromMs, bytes);
  }
}
