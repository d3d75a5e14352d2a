import { JOBS_REMEMBERED_MAX } from "../limits.ts";
import { hasOwnRow, rememberedMs, type TakenId } from "../storage/id-memory.ts";
import type { Split } from "../storage/splits.ts";
import { type Following, nodeOf, placeOf, SEGMENTS_MAX } from "./nodes.ts";

/** What the segments of a shard hand on to the next one. */
export interface Inherited {
  splits: readonly Split[];
  /** As in {@link Following}; absent: unknown. */
  takenUntilMs?: number;
}

/**
 * What is known of the nodes of one log: which are sealed, and what shards have handed on. All of
 * it stays true, so it may be kept for as long as one likes; what is missing is learnt on the way.
 */
export class KnownLog {
  /** By shard. */
  readonly splits = new Map<number, readonly Split[]>();
  /** Of sealed nodes: from when on what was taken in is not there. In ms; Infinity: unknown. */
  readonly #untilMs = new Map<number, number>();
  /** How much is known: it grows with everything new. */
  facts = 0;

  learn(node: number, { sealed, splits = [], takenUntilMs = Number.POSITIVE_INFINITY }: Following): void {
    const { shard } = placeOf(node);
    const known = this.splits.get(shard) ?? [];
    // A segment that was not told of an earlier one's split may have made it again, later.
    const added = splits.filter(
      ({ bit, fromMs }) => !known.some((split) => split.bit === bit && split.fromMs <= fromMs),
    );
    if (added.length > 0) {
      const others = known.filter(({ bit }) => !added.some((split) => split.bit === bit));
      this.splits.set(
        shard,
        [...others, ...added].sort((a, b) => a.bit - b.bit),
      );
      this.facts += 1;
    }
    if (sealed && !this.#untilMs.has(node)) {
      this.#untilMs.set(node, takenUntilMs);
      this.facts += 1;
    }
  }

  /** Nothing is known any more. */
  forget(): void {
    this.splits.clear();
    this.#untilMs.clear();
    this.facts += 1;
  }

  /** The number of segments of a shard that are sealed, from the first. */
  sealedOf(shard: number): number {
    let segment = 0;
    while (segment < SEGMENTS_MAX && this.#untilMs.has(nodeOf(shard, segment))) segment += 1;
    return segment;
  }

  /** Whether a sealed node may hold a message. */
  mayHold(node: number, message: TakenId): boolean {
    return hasOwnRow(message) || rememberedMs(message) < (this.#untilMs.get(node) ?? Number.POSITIVE_INFINITY);
  }

  /** What a node has to know of the segments before it; undefined: there are none. */
  before(node: number): Inherited | undefined {
    const { shard, segment } = placeOf(node);
    if (segment === 0) return undefined;
    const untilMs = this.#untilMs.get(nodeOf(shard, segment - 1)) ?? Number.POSITIVE_INFINITY;
    return { splits: this.splits.get(shard) ?? [], ...(Number.isFinite(untilMs) && { takenUntilMs: untilMs }) };
  }
}

/** What an isolate remembers of the logs of all jobs. */
export class KnownLogs {
  readonly #logs = new Map<number, KnownLog>();

  of(jobId: number): KnownLog {
    const known = this.#logs.get(jobId) ?? new KnownLog();
    // The one that was asked for last is last: the first one goes.
    this.#logs.delete(jobId);
    this.#logs.set(jobId, known);
    for (const oldest of this.#logs.keys()) if (this.#logs.size > JOBS_REMEMBERED_MAX) this.#logs.delete(oldest);
    return known;
  }
}
