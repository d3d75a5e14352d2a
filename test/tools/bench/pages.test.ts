/** Dollars in docs/compare.md and docs/costs.md are those of the model, at the prices in force. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LOG_PRICES, PRICE_NAMES, PRICES, VENDOR } from "../../../src/base/prices.ts";
import { counted } from "../../../tools/bench/counted.ts";
import {
  comparedTable,
  forecastTable,
  millionDollars,
  OTHERS,
  splitTable,
  sumTable,
} from "../../../tools/bench/tables.ts";
import { ROOT } from "../../../tools/paths.ts";

const page = (name: string): string => readFileSync(join(ROOT, "docs", name), "utf8");

it.each([
  ["compare.md", "what a month costs", comparedTable],
  ["compare.md", "how the sum comes about", sumTable],
  ["costs.md", "the forecast", forecastTable],
  ["costs.md", "the split", splitTable],
] as const)("%s has the table of %s", (name, _table, make) => {
  expect(page(name)).toContain(`\n\n${make()}\n\n`);
});

it("costs.md has the price of events that are POSTed one by one", () => {
  expect(page("costs.md")).toContain(`a million events cost $${millionDollars(counted(100, 0, 1)).toFixed(2)}: `);
});

it("compare.md names the source of each price", () => {
  const sources = PRICE_NAMES.map((name): string => PRICES[name].source);
  for (const source of new Set([...sources, VENDOR.source, LOG_PRICES.takenIn.source]))
    expect(page("compare.md")).toContain(`<${source}>`);
});

// By hand, from the vendor's pages, for 259.2 million events.
it.each([
  ["Logpush", OTHERS.logpush(100), (259.2 - 10) * 0.05],
  ["Pipelines", OTHERS.pipelines(100), 249.2 * 0.05 + (259.2 * 0.8 - 50) * (0.04 + 0.06)],
  ["Workers Logs", OTHERS.logs(100), (259.2 * 4.84 - 50) * 0.25 + ((259.2 * 4.84 * 7) / 30 - 12) * 0.1],
] as const)("%s costs what its page says", (_name, dollars, byHand) => {
  expect(dollars).toBeCloseTo(byHand, 6);
});

it("what is included is taken off, not more", () => {
  expect([OTHERS.logpush(1), OTHERS.pipelines(1), OTHERS.logs(1)]).toEqual([0, 0, 0]);
});
