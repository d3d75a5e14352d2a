/** The comparison as text: pure. */
import { count, table } from "../table.ts";
import { verdict } from "./check.ts";
import { PEER_WORKS, type PeerWork } from "./input.ts";
import type { PeerResult, PeersResult } from "./measure.ts";

const TITLES: { readonly [work in PeerWork]: string } = {
  everything: "EVERYTHING, as gzipped NDJSON",
  filtered: "FILTERED: nine records of ten, 7 of 13 fields",
};

export function peersReport({ records, rounds, inputBytes, machine, results, without }: PeersResult): string {
  const parts = [
    `BESIDE OTHER SHIPPERS: ${count(records)} records (${megabytes(inputBytes)} MB), medians of ${rounds} rounds, ${machine}`,
  ];
  for (const work of Object.keys(PEER_WORKS) as PeerWork[]) {
    const rows = results.filter((result) => result.work === work).map(row);
    if (rows.length > 0) parts.push(`${TITLES[work]}\n\n${table(HEADS, rows)}`);
  }
  parts.push(
    "CPU: of the shipper's processes, from the first request to a second after the last object. logship's is that of the\nlocal runtime, with its proxy, its queue and its storage; the others' is all that they are.",
    "Compared: the id of each record, how often it is there, and all its values; the order of keys is ignored.",
    ["Durable when it has answered:", ...durability(results)].join("\n  "),
  );
  if (without.length > 0) parts.push(["Left out:", ...without].join("\n  "));
  const { example } = results.find(({ checked }) => checked.example !== null)?.checked ?? { example: null };
  if (example !== null) parts.push(`A record that differs:\n  ${example.expected}\n  ${example.found}`);
  return parts.join("\n\n");
}

const HEADS = [
  ...["", "records/CPU s", "× logship", "CPU s", "answered, s", "stored, s", "stored, MB", "objects", "records"],
  "durable",
];

function row(result: PeerResult): string[] {
  const { title, version, recordsPerCpuSecond, ratio, cpuS, answeredS, storedS, storedBytes, objects } = result;
  return [
    ...[`${title} ${version}`, count(recordsPerCpuSecond.median), ratio.median.toFixed(2), cpuS.toFixed(2)],
    ...[answeredS.toFixed(1), storedS.toFixed(1), megabytes(storedBytes), count(objects)],
    ...[verdict(result.checked), result.durable.what],
  ];
}

function durability(results: readonly PeerResult[]): string[] {
  const lines = results.map(({ title, durable: { what, more, source } }) => `${title}: ${what}; ${more}: ${source}`);
  return [...new Set(lines)];
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
