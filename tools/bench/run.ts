/**
 * `npm run bench`: what the shipper costs, in CPU time, money and memory, for docs/costs.md. Not
 * part of the tests: nothing here passes or fails.
 */
import "../../test/schedule/hooks.ts";
import { argumentsOf } from "../command.ts";

/** What is measured without options. */
const PARTS = ["cpu", "costs", "memory"];

const USAGE = `usage: npm run bench [-- options]

What the shipper costs, in CPU time, money and memory.

  --only <part>        ${PARTS.join(", ")}; again for several
  --quick              fewer rounds: to see that it works
  --peers              instead of all that: logship beside other shippers, the same records with
                       the same work. Programs are found on the PATH, or given:
  --bento <path>       this one
  --fluent-bit <path>  this one`;

// A signal alone would leave the processes behind; the exit handlers end them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

const { values } = argumentsOf(
  USAGE,
  {
    ...{ quick: { type: "boolean", default: false }, peers: { type: "boolean" } },
    ...{ bento: { type: "string" }, "fluent-bit": { type: "string" } },
    only: { type: "string", multiple: true, default: PARTS },
  },
  false,
);
const { quick, only } = values;
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const show = (parts: readonly string[]): void => void process.stdout.write(`${parts.join("\n\n")}\n`);

const unknown = only.find((name) => !PARTS.includes(name));
if (unknown !== undefined) throw new Error(`--only=${unknown}: there are ${PARTS.join(", ")}`);
// What these load imports src, which the hooks make loadable.
if (values.peers) {
  // Its types are of another world.
  const { reportPeers } = await import(new URL("./peers/peers.ts", import.meta.url).href);
  show(await reportPeers(quick, { bento: values.bento, "fluent-bit": values["fluent-bit"] }, say));
} else {
  const { reportCpu } = await import("./cpu.ts");
  const { reportCosts } = await import("./costs.ts");
  const { FULL_MEMORY, QUICK_MEMORY, reportMemory } = await import("./memory/measure.ts");
  if (only.includes("cpu")) show(await reportCpu(quick, say));
  if (only.includes("costs")) show(await reportCosts(quick, say));
  if (only.includes("memory")) show(await reportMemory(quick ? QUICK_MEMORY : FULL_MEMORY, say));
}
