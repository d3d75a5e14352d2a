/**
 * `npm run bench`: what the shipper costs, in CPU time, money and memory. Not part of the tests:
 * nothing here passes or fails.
 *
 *     npm run bench                      readable, on the terminal
 *     npm run bench -- --json            one JSON document on stdout, and nothing else
 *     npm run bench -- --only=cpu        or costs, growth, kinds, memory, mixes, search; repeatable
 *     npm run bench -- --quick           fewer rounds: to see that it works
 */
import { parseArgs } from "node:util";
import { FULL, measure, PARTS, type Part, QUICK } from "./measure.ts";
import { report } from "./report.ts";

function partsOf(only: readonly string[] | undefined): ReadonlySet<Part> {
  if (only === undefined) return new Set(PARTS);
  const parts = PARTS.filter((part) => only.includes(part));
  const unknown = only.filter((name) => !PARTS.some((part) => part === name));
  if (unknown.length > 0) throw new Error(`--only=${unknown[0]}: there are ${PARTS.join(", ")}`);
  return new Set(parts);
}

// A signal alone would leave the runtime's processes behind; the exit handlers end them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

const { values } = parseArgs({
  options: { json: { type: "boolean" }, quick: { type: "boolean" }, only: { type: "string", multiple: true } },
});
const results = await measure(partsOf(values.only), values.quick ? QUICK : FULL, (line) => console.error(line));
console.log(values.json ? JSON.stringify(results, null, 2) : report(results));
