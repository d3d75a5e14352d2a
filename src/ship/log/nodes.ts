/**
 * The readers of a job: for each shard of the log a chain of segments, of which only the last one
 * reads. A node is one of them, a durable object of its own, and has one number: those of shard 0
 * are 0, 1, 2 …, those of shard 1 begin at {@link SEGMENTS_MAX}.
 */
export interface Place {
  shard: number;
  segment: number;
}

/** Segments of one chain: eight terabytes. */
export const SEGMENTS_MAX = 1_000;

/** Objects of a later node have numbers above all those of the earlier ones. */
export const NUMBERS_PER_NODE = 1_000_000_000;

/** @throws if a chain had more segments than may be. */
export function nodeOf(shard: number, segment: number): number {
  if (segment >= SEGMENTS_MAX) throw new Error("a job has too many segments");
  return shard * SEGMENTS_MAX + segment;
}

export function placeOf(node: number): Place {
  return { shard: Math.floor(node / SEGMENTS_MAX), segment: node % SEGMENTS_MAX };
}

/** Which of its job's nodes has cut the object of this number. */
export function nodeOfNumber(number: number): number {
  return Math.floor(number / NUMBERS_PER_NODE);
}

/** Name of the durable object that is a node of a job. */
export function nodeName(jobId: number, node: number): string {
  const { shard, segment } = placeOf(node);
  return `job ${jobId} log ${shard}${segment === 0 ? "" : ` segment ${segment}`}`;
}

/** What a node says of the one that follows it. */
export interface Following {
  /** It reads no more: another segment follows. */
  sealed: boolean;
}
