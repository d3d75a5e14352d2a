import { PRICES, type PriceName } from "../prices.ts";
import type { Amount } from "./types.ts";

/** Of each object, as docs/costs.md counts; a row for each sixteen is progress. */
const PER_OBJECT: readonly (readonly [PriceName, number])[] = [
  ["storeClassA", 1],
  ["storeClassB", 1],
  ["rowsWritten", 6 + 1 / 16],
  ["objectRequests", 2],
];

/** What a replay costs at list prices, in US dollars: its requests and rows, without traffic. */
export function replayDollars({ objects }: Pick<Amount, "objects">): number {
  const each = PER_OBJECT.reduce((sum, [price, units]) => sum + (units * PRICES[price].dollars) / 1e6, 0);
  return objects * each;
}
