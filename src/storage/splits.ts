import { rememberedMs, type TakenId } from "./id-memory.ts";

/**
 * A durable object of which one is not enough hands half of its messages on to another, its child:
 * those whose hash has this bit, taken in at `fromMs` (ms since the epoch) or later. What was taken
 * in before stays, so that a redelivery meets the object that remembers it; a repeated request
 * counts by the time of its first copy.
 *
 * The object decides alone, and only about what cannot have come yet: `fromMs` lies after its own
 * now, and after all that it has taken. From that transaction on it refuses what is its child's. So
 * a message has one place that takes it, whatever its callers know: a caller that has not heard of
 * the split asks the parent first, and is told.
 */
export interface Split {
  readonly bit: number;
  readonly fromMs: number;
}

/**
 * Splits by shard, each list in the order in which they were made. They are facts: a list only ever
 * grows, and nothing in it changes, so that it may be kept for as long as one likes.
 */
export type Splits = ReadonlyMap<number, readonly Split[]>;

/** The one that there is from the beginning. */
export const ROOT = 0;

/** Of a hash: 256 shards at most. */
const BITS = 8;

/** The shard that takes half of this one's messages at a split by this bit. */
export function childOf(shard: number, bit: number): number {
  return shard + 2 ** bit;
}

/**
 * The shard of a message, as far as these splits are known; if others were made, that shard says
 * so. A keyed id stays with the root: its copies share no time.
 */
export function homeOf(message: TakenId, splits: Splits, from: number = ROOT): number {
  if (message.keyed) return ROOT;
  const split = splits.get(from)?.find((each) => isBeyond(message, each));
  return split === undefined ? from : homeOf(message, splits, childOf(from, split.bit));
}

/** Whether a message of the shard is its child's since this split. */
export function isBeyond(message: TakenId, { bit, fromMs }: Split): boolean {
  return !message.keyed && rememberedMs(message) >= fromMs && ((hashOf(message.id) >> bit) & 1) === 1;
}

/** The bit by which a shard splits next; null: it is as small as it gets. */
export function nextBit(shard: number, splits: readonly Split[]): number | null {
  const bit = splits.at(-1)?.bit ?? Math.floor(Math.log2(shard || 0.5));
  return bit + 1 < BITS ? bit + 1 : null;
}

/** Digits that choose neither a shard of the outbox (the last two) nor of the blobs (the first). */
function hashOf(id: string): number {
  return Number.parseInt(id.slice(2, 4), 16);
}
