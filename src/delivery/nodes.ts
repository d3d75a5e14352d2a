import type { Split } from "../storage/splits.ts";

/**
 * A job's log is a tree of shards, each a chain of segments. A node is one segment of one shard, a
 * durable object of its own, and has one number: those of shard 0 are 0, 1, 2 …, those of shard 1
 * begin at {@link SEGMENTS_MAX}.
 */
export interface Place {
  shard: number;
  segment: number;
}

/** Segments of one shard: eight terabytes. */
export const SEGMENTS_MAX = 1_000;

/** Objects of a later node have numbers above all those of the earlier ones. */
export const NUMBERS_PER_NODE = 1_000_000_000;

/** @throws if a shard had more segments than may be. */
export function nodeOf(shard: number, segment: number): number {
  if (segment >= SEGMENTS_MAX) throw new Error("a shard has too many segments");
  return shard * SEGMENTS_MAX + segment;
}

export function placeOf(node: number): Place {
  return { shard: Math.floor(node / SEGMENTS_MAX), segment: node % SEGMENTS_MAX };
}

/** Which node of its log has cut the object of this number. */
export function nodeOfNumber(number: number): number {
  return Math.floor(number / NUMBERS_PER_NODE);
}

/** Name of the durable object that is a node of a job's log. */
export function nodeName(jobId: number, node: number): string {
  return `job ${jobId} segment ${node}`;
}

/** What a node says of those that follow it. */
export interface Following {
  /** It takes no more: another segment follows. */
  sealed: boolean;
  /** Of its shard, with those of the segments before; absent: none. */
  splits?: readonly Split[];
  /**
   * Of a sealed node: no segment of its shard up to it holds what was taken in at this time or
   * later, in ms since the epoch; absent: unknown.
   */
  takenUntilMs?: number;
}
