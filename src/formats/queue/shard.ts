/** Most shards of the log: their number must fit four bits of a part's flags. */
export const SHARDS_MAX = 64;

/** Whether the log can have so many shards. */
export function isShards(number: number): boolean {
  return Number.isInteger(number) && number >= 1 && number <= SHARDS_MAX && (number & (number - 1)) === 0;
}

/**
 * The shard of the log that a part belongs to, forever: every copy carries the number of shards
 * that intake had, so another setting moves nothing.
 * @param id 32 hex digits.
 */
export function shardOf({ id, shards }: { id: string; shards: number }): number {
  return Number.parseInt(id.slice(2, 4), 16) % shards;
}
