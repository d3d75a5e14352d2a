import { CLOCK_AHEAD_MAX_MS } from "../limits.ts";
import type { TakenId } from "../storage/id-memory.ts";
import { isBeyond, type Split } from "../storage/splits.ts";
import { type Following, placeOf } from "./nodes.ts";
import type { LogRow } from "./rows.ts";

/** Clocks of the machines of consumers and logs, in ms: far more than they differ. */
const SKEW_MS = 600_000;

/** The splits of a node's shard: those that it made, and those of the segments before it. */
export class OwnSplits {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** In the order in which they were made. */
  all(): Split[] {
    return this.#sql
      .exec<{ bit: number; from_ms: number }>("SELECT bit, from_ms FROM split ORDER BY bit")
      .toArray()
      .map(({ bit, from_ms }) => ({ bit, fromMs: from_ms }));
  }

  /** Belongs into a transaction. */
  add(splits: readonly Split[]): void {
    for (const { bit, fromMs } of splits)
      this.#sql.exec(
        "INSERT INTO split (bit, from_ms) VALUES (?, ?) ON CONFLICT DO UPDATE SET from_ms = min(from_ms, excluded.from_ms)",
        bit,
        fromMs,
      );
  }

  /** @param row null: the node has no job, and so nothing. */
  following(row: LogRow | null): Following {
    if (row === null) return { sealed: false };
    const { sealed_ms, taken_until_ms } = row;
    if (sealed_ms === null) return { sealed: false, splits: this.all() };
    return { sealed: true, splits: this.all(), takenUntilMs: taken_until_ms ?? latestIntakeMs(sealed_ms) };
  }
}

/** Those messages that are another shard's, by the splits of this one. */
export function handedOn<M extends TakenId>(messages: readonly M[], { splits = [] }: Following): M[] {
  return splits.length === 0 ? [] : messages.filter((message) => splits.some((split) => isBeyond(message, split)));
}

/**
 * What was taken in then or later, in ms, is in no segment of the shard before this one.
 */
export function beforeUntilMs({ segment: node, before_until_ms }: LogRow, nowMs: number): number {
  return placeOf(node).segment === 0 ? 0 : (before_until_ms ?? latestIntakeMs(nowMs));
}

/** No message that a log has at this time, in ms, was taken in at the returned one or later. */
export function latestIntakeMs(nowMs: number): number {
  return nowMs + CLOCK_AHEAD_MAX_MS + SKEW_MS;
}
