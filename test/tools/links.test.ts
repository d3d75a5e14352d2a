/** Links of pages, and names of pages in code, lead to a file and to a heading of it. */
import { expect, it } from "vitest";
import { brokenLinks } from "../../tools/links.ts";

/** Not written out: this file is checked, too. */
const DOCS = "docs";

const FILES: Record<string, string> = {
  [`${DOCS}/a.md`]: "# Of [this](b.md), `that`\n\n## Twice\n\n## Twice\n\n```\n## Code\n```\n",
  [`${DOCS}/b.md`]: '<a id="own"></a>',
  "src/x.ts": "",
};

const broken = (file: string, text: string): string[] => brokenLinks(file, text, (path) => FILES[path] ?? null);

it.each([
  [
    `${DOCS}/b.md`,
    "# B\n[1](a.md) [2](a.md#of-this-that) [3](a.md#twice-1) [4](#b) [5](../src/x.ts) [6](https://a.example/#no)",
  ],
  ["README.md", `[1](${DOCS}/a.md#twice) [2](${DOCS}/b.md#own)`],
  ["src/x.ts", `// ${DOCS}/a.md#twice, and ${DOCS}/b.md`],
])("%s: that lead somewhere", (file, text) => {
  expect(broken(file, text)).toEqual([]);
});

it.each([
  [`${DOCS}/b.md`, "[1](c.md)", "1: no c.md"],
  [`${DOCS}/b.md`, "\n[1](a.md#twice-2)", "2: no a.md#twice-2"],
  [`${DOCS}/b.md`, "[1](a.md#code)", "1: no a.md#code"],
  [`${DOCS}/b.md`, "[1](#b-1)", "1: no #b-1"],
  ["README.md", "[1](a.md)", "1: no a.md"],
  ["src/x.ts", `// ${DOCS}/a.md#no`, `1: no ${DOCS}/a.md#no`],
])("%s: %s does not", (file, text, said) => {
  expect(broken(file, text)).toEqual([said]);
});
