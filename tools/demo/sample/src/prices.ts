import { WorkerEntrypoint } from "cloudflare:workers";

/** What other functions may ask the shop, by RPC. Each call is an invocation, and a trace event, of its own. */
export class Prices extends WorkerEntrypoint {
  /** @returns the price in coins. */
  quote(item: string, event: string): number {
    console.log("price asked", { item, event });
    return item.length * 7;
  }
}
