import { WorkerEntrypoint } from "cloudflare:workers";
import { findTea, isOrderable, PACKETS_MAX } from "../shop/teas.ts";
import { report } from "./report.ts";

/**
 * Prices for other Workers, over a service binding with `"entrypoint": "Prices"`. Each call is an
 * invocation of its own.
 */
export class Prices extends WorkerEntrypoint<Env> {
  /**
   * @returns coins.
   * @throws RangeError for an unknown tea or a wrong number of packets. Cloudflare counts a call
   *   that throws as ok, so it is reported.
   */
  quote(id: string, packets: number): number {
    console.log("price asked", { tea: id, packets });
    try {
      return coinsOf(id, packets);
    } catch (error) {
      report("Prices.quote", error);
      throw error;
    }
  }
}

function coinsOf(id: string, packets: number): number {
  const tea = findTea(id);
  if (tea === undefined) throw new RangeError(`there is no tea ${id}`);
  if (!isOrderable(packets)) throw new RangeError(`packets: 1 to ${PACKETS_MAX}`);
  return tea.coins * packets;
}
