import { expect, it } from "vitest";
import destinations from "../../../docs/destinations.md?raw";
import receivers from "../../../docs/receivers.md?raw";
import { FORMS, KINDS } from "../../../src/ship/destinations/kinds.ts";

const rowsOf = (text: string): string[] => text.split("\n").filter((line) => line.startsWith("| "));

const shown = (bytes: number): string => (bytes < 1e6 ? `${bytes / 1e3} kB` : `${bytes / 1e6} MB`);

it("the table of destinations has each kind, with the limits that it has", () => {
  const rows = rowsOf(destinations);
  for (const scheme of KINDS.flatMap(({ schemes }) => schemes))
    expect([scheme, rows.some((row) => row.includes(`\`${scheme}://`))]).toEqual([scheme, true]);
  const kinds = FORMS.filter(({ group }) => group === "receiver");
  const brief = rowsOf(receivers).slice(1, kinds.length + 1);
  for (const { name, start, terms } of kinds) {
    const { limits } = terms;
    if (limits === null) continue;
    const [count, size] = [limits.records.toLocaleString("en"), shown(limits.bytes)];
    const path = start === "https:///log/v1?format=cloudflare" ? "/log/v1" : (/\/raw$/.exec(start)?.[0] ?? "");
    const own = rows.filter((row) => row.includes(`\`${start.split("/")[0]}//`) && row.includes(path));
    expect([name, own.some((row) => row.includes(`| ${count} records, ${size}`))]).toEqual([name, true]);
    expect([name, brief.some((row) => row.includes(`| ${count}, ${size} |`))]).toEqual([name, true]);
  }
});
