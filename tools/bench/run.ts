/**
 * `npm run bench`: what the shipper costs, in CPU time, money and memory, for docs/costs.md. Not
 * part of the tests: of all this, the gate alone passes or fails.
 */
import "../../test/schedule/hooks.ts";
import { command, onlyOptions, UsageFault } from "../command.ts";

/** What is measured without options. */
const PARTS = ["cpu", "declined", "costs", "memory"];

const USAGE = `usage: npm run bench [-- options]

What the shipper costs, in CPU time, money and memory.

  --only <part>        ${PARTS.join(", ")}; again for several
  --quick              fewer rounds: to see that it works
  --gate               instead of all that: CPU time beside gzip, compared with the ratios in
                       tools/bench/gate-figures.json. Exit code 1 if one is slower
  --keep               with --gate: keeps the ratios of this run there
  --peers              instead of all that: logship beside other shippers, the same records with
                       the same work. Programs are found on the PATH, or given:
  --bento <path>       this one
  --fluent-bit <path>  this one`;

// A signal alone would leave the processes behind; the exit handlers end them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const show = (parts: readonly string[]): void => void process.stdout.write(`${parts.join("\n\n")}\n`);

const OPTIONS = {
  only: { type: "string", multiple: true, default: PARTS },
  quick: { type: "boolean", default: false },
  gate: { type: "boolean", default: false },
  keep: { type: "boolean", default: false },
  peers: { type: "boolean", default: false },
  bento: { type: "string" },
  "fluent-bit": { type: "string" },
} as const;

// What is loaded here imports src, which the hooks make loadable.
await command(USAGE, OPTIONS, async ({ values, positionals }) => {
  const { quick, gate, keep, peers, only } = values;
  onlyOptions(positionals);
  const unknown = only.find((name) => !PARTS.includes(name));
  if (unknown !== undefined) throw new UsageFault(`--only=${unknown}: there are ${PARTS.join(", ")}`);
  if (keep && !gate) throw new UsageFault("--keep goes with --gate");
  if (gate && (quick || peers)) throw new UsageFault("--gate measures its own rounds, and nothing else");
  if (gate) {
    const { FIGURES, measureRatios, runGate } = await import("./gate.ts");
    return runGate({ measure: () => measureRatios(say), file: FIGURES, keeps: keep, now: new Date(), show });
  }
  if (peers) {
    // Its types are of another world.
    const { reportPeers } = await import(new URL("./peers/peers.ts", import.meta.url).href);
    show(await reportPeers(quick, { bento: values.bento, "fluent-bit": values["fluent-bit"] }, say));
    return 0;
  }
  const { reportCpu } = await import("./cpu.ts");
  const { reportDeclined } = await import("./declined.ts");
  const { reportCosts } = await import("./costs.ts");
  const { FULL_MEMORY, QUICK_MEMORY, reportMemory } = await import("./memory/measure.ts");
  if (only.includes("cpu")) show(await reportCpu(quick, say));
  if (only.includes("declined")) show(reportDeclined(quick));
  if (only.includes("costs")) show(await reportCosts(quick, say));
  if (only.includes("memory")) show(await reportMemory(quick ? QUICK_MEMORY : FULL_MEMORY, say));
  return 0;
});
