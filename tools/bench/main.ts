/** The parts of `npm run bench`, and how each is run. */
import { parseArgs } from "node:util";
import { reportCosts } from "./costs.ts";
import { reportCpu } from "./cpu.ts";
import { FULL_MEMORY, QUICK_MEMORY, reportMemory } from "./memory/measure.ts";
import { reportProfile } from "./profile.ts";
import { markdown, text } from "./table.ts";

/** What is measured without options. */
const PARTS = ["cpu", "costs", "memory"] as const;

const USAGE = `npm run bench [-- options]

What the shipper costs, in CPU time, money and memory.

  --only=<part>      ${PARTS.join(", ")}; repeatable
  --markdown         the tables of docs/costs.md
  --quick            fewer rounds: to see that it works

  --profile          instead of all that: which functions and folders take the CPU time of intake
                     and pipeline, under V8's sampling profiler

  --peers            instead of all that: logship beside other shippers, the same records with the
                     same work. Programs are found on the PATH, or given:
                     --bento=<path> --fluent-bit=<path>
  --records=<n>      records of a round of --peers, a multiple of 1,000`;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      ...{ help: { type: "boolean" }, quick: { type: "boolean", default: false } },
      ...{ markdown: { type: "boolean" }, profile: { type: "boolean" } },
      only: { type: "string", multiple: true, default: [...PARTS] },
    },
  });
  const { quick, only } = values;
  const table = values.markdown ? markdown : text;
  const show = (parts: readonly string[]): void => void process.stdout.write(`${parts.join("\n\n")}\n`);
  if (values.help) return show([USAGE]);
  const cpu = quick ? { records: 3_000, rounds: 5, warmUpRounds: 2 } : { records: 20_000, rounds: 21, warmUpRounds: 5 };
  if (values.profile) return show(await silently(() => reportProfile({ ...cpu, rounds: 10 }, table, say)));
  const unknown = only.find((name) => !PARTS.some((part) => part === name));
  if (unknown !== undefined) throw new Error(`--only=${unknown}: there are ${PARTS.join(", ")}`);
  const costs = { seconds: 300, cpuSeconds: Number.POSITIVE_INFINITY };
  if (only.includes("cpu")) show(await silently(() => reportCpu(cpu, table, say)));
  if (only.includes("costs")) show(await reportCosts(costs, quick, table, say));
  if (only.includes("memory")) show(await reportMemory(quick ? QUICK_MEMORY : FULL_MEMORY, table, say));
}

/** Without the lines that the shipper logs. */
async function silently<T>(act: () => Promise<T>): Promise<T> {
  const { info, warn, error } = console;
  Object.assign(console, { info: () => {}, warn: () => {}, error: () => {} });
  try {
    return await act();
  } finally {
    Object.assign(console, { info, warn, error });
  }
}
