/** The lines of docs/reading.md. Pure. */

/** @returns the first block of code below each heading, by the heading's text. */
export function blocksOf(page: string): Map<string, string> {
  const blocks = new Map<string, string>();
  let heading = "";
  let open: string[] | null = null;
  for (const line of page.split("\n")) {
    if (open !== null) {
      if (line !== "```") open.push(line);
      else {
        if (!blocks.has(heading)) blocks.set(heading, open.join("\n"));
        open = null;
      }
    } else if (line.startsWith("```")) open = [];
    else heading = /^#{2,3} (.*)$/.exec(line)?.[1] ?? heading;
  }
  return blocks;
}

/** A line that reads CSV, for tabs: the comma in quotes is `\t`, the folder `tab`. */
export function forTabs(block: string): string {
  const [before, after, ...more] = block.split(/(?<=["']),(?=["'])/);
  if (before === undefined || after === undefined || more.length > 0) throw new Error("not one delimiter");
  return `${before}\\t${after}`.replaceAll("csv/2*/", "tab/2*/");
}
