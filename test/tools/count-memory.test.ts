/** What the groups of a count hold. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { ValueCounts } from "../../src/operate/search/count/facets.ts";
import { Groups } from "../../src/operate/search/count/groups.ts";
import { planCount } from "../../src/operate/search/count/plan.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heldBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

it("keeps the values that it groups by, and not the texts that they are parts of", () => {
  const made = planCount({ by: ["path"], facets: ["path"] }, 1_000);
  if (!made.ok) throw new Error("no plan");
  const { plan } = made;
  const groups = new Groups(plan.shape);
  const facet = new ValueCounts(1_000_000);
  const before = heldBytes();
  for (let i = 0; i < 2_000; i++) {
    const URL = `https://shop.example/checkout/of-customer/${i}?x=${String(i).repeat(4_000)}`;
    const record = JSON.parse(JSON.stringify({ Event: { Request: { URL } } }));
    groups.add(plan.keyOf(record, 1), plan.valuesOf(record));
    for (const value of plan.facets.flatMap(({ valuesOf }) => valuesOf(record))) facet.add(value);
  }
  expect(heldBytes() - before).toBeLessThan(8_000_000);
  expect(groups.answer(null, false).rows).toHaveLength(2_000);
  expect(facet.answer("path", null).values).toHaveLength(2_000);
});
