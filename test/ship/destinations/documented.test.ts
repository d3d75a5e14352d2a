import { expect, it } from "vitest";
import destinations from "../../../docs/destinations.md?raw";
import receivers from "../../../docs/receivers.md?raw";
import { FORMS, KINDS } from "../../../src/ship/destinations/kinds.ts";

const rowsOf = (text: string): string[] => text.split("\n").filter((line) => line.startsWith("| "));

const shown = (bytes: number): string => (bytes < 1e6 ? `${bytes / 1e3} kB` : `${bytes / 1e6} MB`);

it("each kind has its string on one of the pages", () => {
  const strings = [...rowsOf(destinations), ...receivers.split("\n").filter((line) => /^[a-z]+:\/\//.test(line))];
  for (const scheme of KINDS.flatMap(({ schemes }) => schemes))
    expect([scheme, strings.some((line) => line.includes(`${scheme}://`))]).toEqual([scheme, true]);
});

it("each receiver has a row with the limits that it has", () => {
  const rows = rowsOf(receivers).map((row) => row.replace(/\[(.*?)\]\(.*?\)/, "$1"));
  for (const { name, terms } of FORMS.filter(({ group }) => group === "receiver")) {
    if (terms.limits === null) continue;
    const cell = `| ${terms.limits.records.toLocaleString("en")}, ${shown(terms.limits.bytes)} |`;
    const own = rows.filter((row) => row.startsWith(`| ${name} |`));
    expect([name, own.map((row) => row.includes(cell))]).toEqual([name, [true]]);
  }
});
