/**
 * The shipper's RPC entrypoint, as far as it is used from outside. The platform's tools write its type into `Env` only where the shipper's own project is at
 * hand; this is what a function elsewhere copies.
 */
export interface ShipperRpc {
  /**
   * @param events one event or an array of them: trace items as `tail()` gives them, or records.
   * @returns once the shipper's queue has all of them.
   * @throws TypeError that names every fault: nothing was taken then.
   */
  ship(events: unknown, options?: { idempotencyKey?: string }): Promise<{ accepted: number; unknownKeys: string[] }>;
}
