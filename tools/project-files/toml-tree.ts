/** Tables and pairs of a TOML text with their positions, inline tables included. */
import { parseDocument } from "@decimalturn/toml-patch";
import type { List, Source } from "./lists.ts";
import type { Range } from "./text.ts";

/**
 * A node of the library's syntax tree, of whose types it exports none. Lines count from 1, columns
 * from 0.
 */
interface TreeNode {
  type: string;
  loc: { start: Point; end: Point };
  key: TreeNode;
  item: TreeNode;
  items: TreeNode[];
  value: TreeNode & string[];
}

interface Point {
  line: number;
  column: number;
}

/** `key = value`. */
export interface Pair extends Range {
  /** From the root of the document. */
  readonly path: readonly string[];
  /** The part of the path before this pair's own key. */
  readonly base: readonly string[];
  readonly value: Range & { readonly type: string };
  /** The items of an array, or the pairs of an inline table. */
  readonly list: List | null;
  /** The inline table around it; null: it has lines of its own. */
  readonly parent: Pair | null;
}

/** The lines above the first header, or those of one `[table]` or `[[table]]`. */
export interface Block {
  readonly kind: "root" | "table" | "array";
  readonly path: readonly string[];
  /** From bracket to bracket. */
  readonly header: Range;
  readonly pairs: readonly Pair[];
}

export interface Tree {
  readonly source: Source;
  /** In their order, the root first. */
  readonly blocks: readonly Block[];
  /** All pairs, those of inline tables after their own. Tables in arrays are not entered. */
  readonly pairs: readonly Pair[];
}

/** @param text valid TOML without a byte order mark. */
export function readTree(text: string): Tree {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const offset = ({ line, column }: Point): number => (starts[line - 1] ?? text.length) + column;
  const range = ({ loc }: TreeNode): Range => ({ start: offset(loc.start), end: offset(loc.end) });

  const comments: Range[] = [];
  const pairs: Pair[] = [];

  const readPair = (node: TreeNode, base: readonly string[], parent: Pair | null): Pair => {
    const { value } = node;
    const hasItems = value.type === "InlineArray" || value.type === "InlineTable";
    // The library's item may include the space after it.
    const list = hasItems
      ? {
          inner: { start: range(value).start + 1, end: range(value).end - 1 },
          items: value.items.map(({ item }) => range(item)),
        }
      : null;
    const path = [...base, ...node.key.value];
    const pair: Pair = { ...range(node), path, base, value: { ...range(value), type: value.type }, list, parent };
    pairs.push(pair);
    if (value.type === "InlineTable") for (const { item } of value.items) readPair(item, path, pair);
    return pair;
  };
  const collectComments = (node: TreeNode): void => {
    if (node.type === "Comment") comments.push(range(node));
    for (const part of [node.value, node.item, ...(node.items ?? [])]) {
      if (part !== undefined && part !== null && typeof part === "object" && "type" in part) collectComments(part);
    }
  };

  const root: Pair[] = [];
  const blocks: Block[] = [{ kind: "root", path: [], header: { start: 0, end: 0 }, pairs: root }];
  // The declarations name the node types by an enum that the package does not export.
  for (const node of parseDocument(text).cst as unknown as TreeNode[]) {
    collectComments(node);
    if (node.type === "KeyValue") root.push(readPair(node, [], null));
    if (node.type !== "Table" && node.type !== "TableArray") continue;
    const path = node.key.item.value;
    const own = node.items.filter(({ type }) => type === "KeyValue").map((each) => readPair(each, path, null));
    blocks.push({ kind: node.type === "Table" ? "table" : "array", path, header: range(node.key), pairs: own });
  }
  comments.sort((a, b) => a.start - b.start);
  return { source: { text, comments }, blocks, pairs };
}

export function isPath(path: readonly string[], other: readonly string[]): boolean {
  return path.length === other.length && startsWith(path, other);
}

export function startsWith(path: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((part, index) => path[index] === part);
}

/** A key as it is written: bare where it may be. */
export function writtenKey(path: readonly string[]): string {
  return path.map((part) => (/^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part))).join(".");
}
