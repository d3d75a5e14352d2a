/**
 * Makes every function of a bundle note that it was passed; one that is a mere expression belongs
 * to the lines around it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { relative, resolve } from "node:path";
import { parseSync } from "@swc/core";

/** A function of the source. */
export interface SourceFunction {
  /** Relative to the repository. */
  file: string;
  line: number;
  column: number;
}

/** Answers with the numbers of the functions that were passed since the last request. */
export const WALKED_PATH = "/walked";

/** A first token, which is where the file begins. */
const FIRST = "0;";

/** Found by its tail: how esbuild exports the entry. */
const ENTRY = "index_default as default";

const PRELUDE = "const __passed = new Set(); const __pass = (i) => { __passed.add(i); };\n";

const READER = `
var __read = { ...index_default, fetch(request, env, ctx) {
  if (new URL(request.url).pathname !== "${WALKED_PATH}") return index_default.fetch(request, env, ctx);
  const passed = [...__passed];
  __passed.clear();
  return Response.json(passed);
} };
`;

interface Node {
  type?: string;
  span?: { start: number };
  [key: string]: unknown;
}

/** Positions of a function: of its body, and of what the source map knows it by. */
interface Found {
  body: number;
  from: number;
}

/**
 * Rewrites a bundle that has a source map beside it.
 * @param root of the repository.
 * @returns its functions by their number; null: not of the repository's own source.
 */
export function instrument(script: string, root: string): (SourceFunction | null)[] {
  const text = readFileSync(script, "utf8");
  if (!text.includes(ENTRY)) throw new Error(`${script} does not export an entry as it is known here`);
  // Positions count on from file to file, in bytes.
  const bytes = Buffer.from(text);
  const parsed = parseSync(`${FIRST}${text}`, { syntax: "ecmascript", target: "es2024" }) as unknown as Node;
  const [first] = parsed.body as [Node];
  const base = startOf(first) + FIRST.length;
  const found: Found[] = [];
  collect(parsed, base, found);
  found.sort((a, b) => a.body - b.body);
  const pieces: string[] = [];
  let at = 0;
  for (const [i, { body }] of found.entries()) {
    pieces.push(bytes.toString("utf8", at, body + 1), ` __pass(${i});`);
    at = body + 1;
  }
  pieces.push(bytes.toString("utf8", at));
  const rewritten = pieces.join("").replace(ENTRY, "__read as default");
  writeFileSync(script, PRELUDE + rewritten.replace("\nexport {", `${READER}\nexport {`));
  const origin = originOf(script, bytes, root);
  return found.map(({ from }) => origin(from));
}

function collect(value: unknown, base: number, found: Found[]): void {
  if (Array.isArray(value)) for (const each of value) collect(each, base, found);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  const node = value as Node;
  const body = bodyOf(node);
  if (Array.isArray(body?.stmts)) found.push({ body: startOf(body) - base, from: startOf(node) - base });
  for (const each of Object.values(node)) collect(each, base, found);
}

function startOf({ span }: Node): number {
  if (span === undefined) throw new Error("a function has no place");
  return span.start;
}

/** null: it is no function, or one without a body. */
function bodyOf(node: Node): Node | null {
  switch (node.type) {
    case "ClassMethod":
    case "PrivateMethod":
      return ((node.function as Node).body as Node | null) ?? null;
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
    case "Constructor":
    case "MethodProperty":
    case "GetterProperty":
    case "SetterProperty":
      return (node.body as Node | null) ?? null;
    default:
      return null;
  }
}

/** @returns where in the source is what begins at this byte of the bundle. */
function originOf(script: string, bytes: Buffer, root: string): (at: number) => SourceFunction | null {
  const map = new SourceMap(JSON.parse(readFileSync(`${script}.map`, "utf8")));
  const places = new Map<string, SourceFunction>();
  const lines = [0];
  for (let at = bytes.indexOf("\n"); at !== -1; at = bytes.indexOf("\n", at + 1)) lines.push(at + 1);
  return (at) => {
    let [line, end] = [0, lines.length];
    while (end - line > 1) {
      const middle = (line + end) >> 1;
      if ((lines[middle] as number) <= at) line = middle;
      else end = middle;
    }
    const entry = map.findEntry(line, bytes.toString("utf8", lines[line], at).length);
    if (!("originalSource" in entry)) return null;
    const file = relative(root, resolve(script, "..", entry.originalSource));
    if (!file.startsWith("src/")) return null;
    const { originalLine, originalColumn } = entry;
    const key = `${file}:${originalLine}:${originalColumn}`;
    const known = places.get(key) ?? { file, line: originalLine + 1, column: originalColumn + 1 };
    places.set(key, known);
    return known;
  };
}
