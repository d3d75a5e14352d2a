/**
 * `npm run bench`: what the shipper costs, in CPU time, money and memory. Not part of the tests:
 * nothing here passes or fails.
 */
import { parseArgs } from "node:util";
import { FULL, measure, PARTS, type Part, QUICK } from "./measure.ts";
import { binariesOf, FULL_PEERS, measurePeers, PEER_NAMES, peersReport, QUICK_PEERS } from "./peers/measure.ts";
import { FULL_PROFILE, measureProfile, profileReport, QUICK_PROFILE } from "./profile.ts";
import { report } from "./report.ts";

const USAGE = `npm run bench [-- options]

What the shipper costs, in CPU time, money and memory.

  --only=<part>      ${PARTS.join(", ")}; repeatable
  --json             one JSON document on stdout, and nothing else
  --quick            fewer rounds: to see that it works

  --profile          instead of all that: which functions and folders take the CPU time of intake
                     and pipeline, under V8's sampling profiler. It runs in Node, not in the
                     runtime: V8 and zlib are alike there, versions and the rest are not

  --peers            instead of all that: logship beside other shippers, the same records with the
                     same work. Programs are found on the PATH, or given:
                     ${PEER_NAMES.map((name) => `--${name}=<path>`).join(" ")}
  --records=<n>      records of a round of --peers (${FULL_PEERS.records.toLocaleString("en-US")})`;

function partsOf(only: readonly string[] | undefined): ReadonlySet<Part> {
  if (only === undefined) return new Set(PARTS);
  const parts = PARTS.filter((part) => only.includes(part));
  const unknown = only.filter((name) => !PARTS.some((part) => part === name));
  if (unknown.length > 0) throw new Error(`--only=${unknown[0]}: there are ${PARTS.join(", ")}`);
  return new Set(parts);
}

// A signal alone would leave the processes behind; the exit handlers end them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

const { values } = parseArgs({
  options: {
    ...{ help: { type: "boolean" }, json: { type: "boolean" }, quick: { type: "boolean" } },
    ...{ profile: { type: "boolean" }, peers: { type: "boolean" }, records: { type: "string" } },
    ...{ bento: { type: "string" }, "fluent-bit": { type: "string" }, vector: { type: "string" } },
    ...{ otelcol: { type: "string" }, only: { type: "string", multiple: true } },
  },
});
const say = (line: string): void => console.error(line);
const show = <T>(results: T, text: (results: T) => string): void =>
  console.log(values.json ? JSON.stringify(results, null, 2) : text(results));

if (values.help) console.log(USAGE);
else if (values.profile) show(await measureProfile(values.quick ? QUICK_PROFILE : FULL_PROFILE, say), profileReport);
else if (values.peers) {
  const effort = values.quick ? QUICK_PEERS : FULL_PEERS;
  const records = values.records === undefined ? effort.records : Number(values.records);
  if (!Number.isInteger(records) || records < 1_000 || records % 1_000 !== 0)
    throw new Error("--records: a multiple of 1,000");
  show(await measurePeers(binariesOf(values), { ...effort, records }, say), peersReport);
} else show(await measure(partsOf(values.only), values.quick ? QUICK : FULL, say), report);
