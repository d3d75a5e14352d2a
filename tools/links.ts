import { dirname, join } from "node:path/posix";

/** Reads a file by its path from the root; null: there is none. */
type Read = (file: string) => string | null;

const LINK = /\]\((?!\w+:)([^)\s]+)\)/g;
const NAMED_PAGE = /docs\/[\w-]+\.md(?:#[\w-]+)?/g;
const FENCE = /^\s*(?:```|~~~)/;

/** Links whose file or heading does not exist, of pages and of names of pages in code. */
export class Links {
  readonly #anchors = new Map<string, ReadonlySet<string>>();
  readonly #read: Read;

  constructor(read: Read) {
    this.#read = read;
  }

  /** @returns what is wrong with one file, as `line: what`. */
  broken(file: string, text: string): string[] {
    const isPage = file.endsWith(".md");
    return text.split("\n").flatMap((line, i) => {
      const links = isPage ? [...line.matchAll(LINK)].map(([, link = ""]) => link) : (line.match(NAMED_PAGE) ?? []);
      return links.filter((link) => !this.#leads(file, isPage, link)).map((link) => `${i + 1}: no ${link}`);
    });
  }

  #leads(file: string, isPage: boolean, link: string): boolean {
    const [path = "", anchor] = link.split("#");
    const to = path === "" ? file : isPage ? join(dirname(file), path) : path;
    const text = this.#read(to);
    return text !== null && (anchor === undefined || !to.endsWith(".md") || this.#anchorsOf(to, text).has(anchor));
  }

  #anchorsOf(page: string, text: string): ReadonlySet<string> {
    const known = this.#anchors.get(page) ?? anchorsIn(text);
    this.#anchors.set(page, known);
    return known;
  }
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
