import { WorkerEntrypoint } from "cloudflare:workers";

/** RPC methods of the shop. Each call is an invocation, with its own trace event. */
export class Prices extends WorkerEntrypoint {
  /** @returns the price in coins. */
  quote(item: string, event: string): number {
    console.log("price asked", { item, event });
    return item.length * 7;
  }
}
