/**
 * `npm run check:words`: comments, texts and pages use plain words, end by column 100, and name
 * and link to only what there is.
 * Prints each violation as `file:line: what`, and exits with 1 if there is any.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { brokenLinks } from "./links.ts";
import { ROOT } from "./paths.ts";

const COLUMNS = 100;

/** A component is "it"; a person is "you" in docs, "the user" or "the caller" in comments. */
const WORDS = /\b(?:nobody|whoever|whomever|somebody|everybody|he|him|his|himself|for\s+ever)\b/gi;

/** Words that people read otherwise, in pages and in texts that are shown; and what they read. */
const SHOWN: readonly (readonly [RegExp, string])[] = [
  [/\bsome (?:\d|ten\b|dozens?\b)/gi, "about"],
  [/\bfrom (?!(?:now|then|there) )\S+ on(?=[.,;:)]|$)/gi, "from"],
  [/\bthe platform\b/gi, "Cloudflare"],
  [/\bthe shipper\b/gi, "logship"],
];
/** The same in pages only: in code these are names. */
const IN_PAGES: typeof SHOWN = [
  ...SHOWN,
  [/\bparked\b/gi, "delivery paused"],
  [/(?<!server |\*)\bfunctions?\b/gi, "Worker"],
];
const PROSE_PAGE = /^(?:docs\/|examples\/|(?!CHANGELOG)[A-Z]+\.md$)/;
/** No prose, in a page: code, addresses and tags; in code: comments, SQL's too, and log lines. */
const NO_PROSE = /`[^`]*`|\]\([^)]*\)|<[^>]*>/g;
const NOT_SHOWN = /^\s*(?:\/\/|\{?\/\*|\*).*|\s\/\/\s.*|\s--\s.*|\blog\.\w+\(.*/g;

const CHECKED = /^(?:[A-Z]+\.md|(?:src|test|tools|docs|examples)\/.*\.(?:ts|tsx|js|mjs|md))$/;
const EXEMPT = [
  /\.gen\.(?:d\.)?ts$/,
  /^test\/(?:fixtures|tools\/project-files\/fixtures)\//,
  /^examples\/[^/]+\/worker-configuration\.d\.ts$/,
  /^tools\/check-words\.ts$/,
];

/** Lines that may hold one of the words, by a part of the line. */
const ALLOWED: readonly { part: string; why: string }[] = [
  { part: "nobody came for it", why: "a line that the sample shops log" },
];

/** A file of this project. What `npm run` commands write, and files of a user's project, are not. */
const NAMED = /(?<![\w./<{-])(?:src|test|tools|docs)\/[\w./-]*\w\.(?:tsx?|js|css|md|jsonc)\b/g;

/** The same without its folder, in a page. */
const NAMED_BARE = /(?<=`)(?:[\w<>*./-]*\/)?([\w-]+\.(?:tsx?|css))(?=`)/g;

const LISTED = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
}).split("\n");
const BASENAMES = new Set(LISTED.map((file) => basename(file)));

const COMMENT = /^\s*(?:\/\/|\{?\/\*|\*(?:\s|\/|$))/;
/** Titles of tests are compared between versions, and samples hold any text: comments only. */
const COMMENTS_ONLY = /^test\//;
/** Cannot be wrapped: a directive for a tool, a row of a table, one code span, one word. */
const UNBREAKABLE = /biome-ignore|@ts-expect-error|^\s*\* \||^[\s*/]*`[^`]*`\W*$|^\W*\S+$/;

const [, GLOSSARY = ""] = readFileSync(join(ROOT, "docs/architecture.md"), "utf8").split("\n## Words\n");

/** Names that the glossary replaced: what its table has in the last column. */
const REPLACED = [...GLOSSARY.matchAll(/^\| .*\| (`.*`) \|$/gm)].flatMap(([, names = ""]) =>
  [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
);
const REPLACED_NAME = new RegExp(`\\b(?:${REPLACED.join("|")})\\b`, "g");

/** @returns the words in it that people read otherwise. */
function unlike(file: string, line: string, isFenced: boolean): string[] {
  const isPage = file.endsWith(".md");
  if (isPage ? isFenced || !PROSE_PAGE.test(file) : !/^(?:src|tools(?!\/bench))\//.test(file)) return [];
  const prose = line.replace(isPage ? NO_PROSE : NOT_SHOWN, "");
  return (isPage ? IN_PAGES : SHOWN).flatMap(([pattern, plain]) =>
    [...prose.matchAll(pattern)].map(([words]) => `"${words}": ${plain}`),
  );
}

/** @returns what is wrong with the lines of one file, as `line: what`. */
export function violations(file: string, text: string): string[] {
  const isPage = file.endsWith(".md");
  let isFenced = false;
  return text.split("\n").flatMap((line, i) => {
    if (isPage && /^\s*(?:```|~~~)/.test(line)) isFenced = !isFenced;
    const isAllowed = ALLOWED.some(({ part }) => line.includes(part));
    const words = !COMMENTS_ONLY.test(file) || COMMENT.test(line) ? line : (line.split(/\s\/\/\s/)[1] ?? "");
    const found = isAllowed ? [] : [...words.matchAll(WORDS)].map(([word]) => `"${word}"`);
    if (file.startsWith("src/"))
      for (const [name] of line.matchAll(REPLACED_NAME)) found.push(`${name}: docs/architecture.md has another word`);
    const names = !file.startsWith("examples/") && (isPage || COMMENT.test(line)) ? line.matchAll(NAMED) : [];
    for (const [name] of names) if (!existsSync(join(ROOT, name))) found.push(`there is no ${name}`);
    const bare = isPage && !file.startsWith("examples/") ? line.matchAll(NAMED_BARE) : [];
    for (const [, name = ""] of bare) if (!BASENAMES.has(name)) found.push(`there is no ${name}`);
    if (!isAllowed) found.push(...unlike(file, line, isFenced));
    const isText = isPage ? !isFenced && !/^\s*(?:\||<|```|~~~|!\[)/.test(line) : COMMENT.test(line);
    const columns = [...line].length;
    if (isText && columns > COLUMNS && !UNBREAKABLE.test(line)) found.push(`${columns} columns`);
    return found.map((what) => `${i + 1}: ${what}`);
  });
}

if (process.argv[1] === import.meta.filename) {
  const files = LISTED.filter((file) => CHECKED.test(file) && !EXEMPT.some((each) => each.test(file)));
  const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");
  const linked = (file: string): string | null =>
    existsSync(join(ROOT, file)) ? (file.endsWith(".md") ? read(file) : "") : null;
  const found = [
    ...files.flatMap((file) => violations(file, read(file)).map((each) => `${file}:${each}`)),
    ...[...files, ...LISTED.filter((file) => file.endsWith(".jsonc") && !file.startsWith("test/"))].flatMap((file) =>
      brokenLinks(file, read(file), linked).map((each) => `${file}:${each}`),
    ),
  ];
  for (const each of found) console.log(each);
  console.log(`${files.length} files: ${found.length} violations`);
  process.exitCode = found.length > 0 ? 1 : 0;
}
