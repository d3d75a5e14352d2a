import { WorkerEntrypoint } from "cloudflare:workers";
import { findTea } from "../shop/teas.ts";
import { report } from "./report.ts";

/** What other functions may ask the shop, over a service binding with `"entrypoint": "Prices"`. Each call is an invocation of its own. */
export class Prices extends WorkerEntrypoint<Env> {
  /**
   * @returns coins.
   * @throws RangeError for what is no tea. For the platform a call that throws has gone well, so it is reported.
   */
  quote(id: string, packets: number): number {
    console.log("price asked", { tea: id, packets });
    const tea = findTea(id);
    if (tea !== undefined) return tea.coins * packets;
    const error = new RangeError(`there is no tea ${id}`);
    report("Prices.quote", error);
    throw error;
  }
}
