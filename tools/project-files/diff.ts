/** The lines in which two texts differ, for people. */
import { plain } from "./text.ts";

const CONTEXT = 2;

/** Characters of a line that are shown. */
const LINE_MAX = 2_000;

interface Line {
  readonly mark: " " | "-" | "+";
  readonly text: string;
  /** In the first text, from 1. */
  readonly number: number;
}

/**
 * Lines with `-` and `+` before them, with two lines around each change. For few changes in a long
 * text.
 */
export function diffLines(before: string, after: string): string[] {
  const lines = compare(before.split("\n"), after.split("\n"));
  const shown: string[] = [];
  let last = -1;
  for (const [index, line] of lines.entries()) {
    const near = lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1);
    if (!near.some(({ mark }) => mark !== " ")) continue;
    if (index !== last + 1 || shown.length === 0) shown.push(`@@ line ${line.number} @@`);
    shown.push(`${line.mark} ${plain(line.text.replace(/\r$/, "").replaceAll("\t", "    "), LINE_MAX)}`.trimEnd());
    last = index;
  }
  return shown;
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const text = before[i];
    if (text !== undefined && text === after[j]) {
      lines.push({ mark: " ", text, number: i + 1 });
      i += 1;
      j += 1;
      continue;
    }
    const { removed, added } = resync(before, after, i, j);
    for (const gone of before.slice(i, i + removed)) lines.push({ mark: "-", text: gone, number: ++i });
    for (const come of after.slice(j, j + added)) lines.push({ mark: "+", text: come, number: i + 1 });
    j += added;
  }
  return lines;
}

/** The fewest lines after which both texts are equal again, for two lines or up to the end. */
function resync(before: readonly string[], after: readonly string[], i: number, j: number) {
  for (let sum = 1; sum <= before.length - i + after.length - j; sum++) {
    for (let removed = Math.max(0, sum - (after.length - j)); removed <= Math.min(sum, before.length - i); removed++) {
      const [a, b] = [i + removed, j + sum - removed];
      if (before[a] === after[b] && before[a + 1] === after[b + 1]) return { removed, added: sum - removed };
    }
  }
  return { removed: before.length - i, added: after.length - j };
}
