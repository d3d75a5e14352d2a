import type { TakenId } from "../storage/id-memory.ts";
import { isBeyond, type Split } from "../storage/splits.ts";

/** A split, and the size of the shard when it was made, in bytes. */
export interface OwnSplit extends Split {
  bytes: number;
}

/**
 * The answer to a caller that does not know of all splits of this shard: nothing was done. Other
 * shards have messages, too, or these.
 */
export interface Stale {
  /** All of this shard. */
  splits: readonly Split[];
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

  /** What all shards are asked, or told. @param known as in {@link TraceLog}. */
  told<T>(known: number | undefined, answer: () => T): T {
    return this.all().length > (known ?? 0) ? this.stale(known) : answer();
  }

  /** A {@link Stale}, whatever the types say. @throws if the caller has never heard of splits. */
  stale(known: number | undefined): never {
    if (known === undefined) throw new Error("this ledger has several shards, of which only newer code knows");
    const stale: Stale = { splits: this.all() };
    return stale as never;
  }

  /** To be called last in a transaction. */
  add({ bit, fromMs, bytes }: OwnSplit): void {
    this.#splits = null;
    this.#sql.exec("INSERT INTO split (bit, from_ms, bytes) VALUES (?, ?, ?)", bit, fromMs, bytes);
  }
}
