import { dirname, join } from "node:path/posix";

const LINK = /\]\((?!\w+:)([^)\s]+)\)/g;
const NAMED_PAGE = /docs\/[\w-]+\.md(?:#[\w-]+)?/g;
const FENCE = /^\s*(?:```|~~~)/;

/**
 * Links of a page, and names of pages in code, whose file or heading does not exist.
 * @param read a file by its path from the root; null: there is none.
 * @returns what is wrong, as `line: what`.
 */
export function brokenLinks(file: string, text: string, read: (file: string) => string | null): string[] {
  const isPage = file.endsWith(".md");
  const leads = (link: string): boolean => {
    const [path = "", anchor] = link.split("#");
    const to = path === "" ? file : isPage ? join(dirname(file), path) : path;
    const found = path === "" ? text : read(to);
    return found !== null && (anchor === undefined || !to.endsWith(".md") || anchorsIn(found).has(anchor));
  };
  return text.split("\n").flatMap((line, i) => {
    const links = isPage ? [...line.matchAll(LINK)].map(([, link = ""]) => link) : (line.match(NAMED_PAGE) ?? []);
    return links.filter((link) => !leads(link)).map((link) => `${i + 1}: no ${link}`);
  });
}

/** As GitHub makes them: a heading that comes again gets a number. */
function anchorsIn(text: string): ReadonlySet<string> {
  const anchors = new Set([...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = ""]) => id));
  const seen = new Map<string, number>();
  let isFenced = false;
  for (const line of text.split("\n")) {
    if (FENCE.test(line)) isFenced = !isFenced;
    const [, heading] = isFenced ? [] : (/^#+\s+(.*)$/.exec(line) ?? []);
    if (heading === undefined) continue;
    const shown = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .trim()
      .toLowerCase();
    const slug = shown.replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    anchors.add(before === 0 ? slug : `${slug}-${before}`);
  }
  return anchors;
}
