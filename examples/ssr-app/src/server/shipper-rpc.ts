/**
 * The public part of the shipper's RPC entrypoint. `wrangler types` writes its type into `Env` only
 * beside the shipper's own project; elsewhere, copy this file.
 */
export interface ShipperRpc {
  /**
   * @param events one event or an array of them: trace items as `tail()` gives them, or records.
   * @returns once the shipper's queue has all of them.
   * @throws TypeError that names every fault; then nothing was taken.
   */
  ship(
    events: unknown,
    options?: { idempotencyKey?: string },
  ): Promise<{
    accepted: number;
    unknownKeys: string[];
    /** Times that can only be in another unit than milliseconds. */
    oddTimes?: string[];
  }>;
}
