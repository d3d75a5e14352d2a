/** Which findings a receiver is told of. Pure. */
import { parsedJson } from "../../base/bytes.ts";
import type { Finding } from "../status/finding.ts";
import { MORE } from "./incidents.ts";

/** Workers and searches of a receiver, each at most. */
export const ROUTES_MAX = 50;

/** It is told of findings about these, and of no others. */
export interface Routes {
  /** Names; `*` stands for any characters. */
  workers?: string[] | undefined;
  /** Ids. */
  searches?: number[] | undefined;
}

/** @param stored JSON; null: of everything, as where an earlier release answers. */
export function readRoutes(stored: string | null | undefined): Routes | null {
  return stored ? (parsedJson(stored) as Routes) : null;
}

/**
 * What counts others may count one of these.
 * @param routes null: everything.
 */
export function isRouted(routes: Routes | null, { kind, subject }: Pick<Finding, "kind" | "subject">): boolean {
  if (routes === null || kind === MORE) return true;
  const { workers = [], searches = [] } = routes;
  if (kind === "functions_more") return workers.length > 0;
  if (subject.type === "search") return searches.includes(subject.id);
  return subject.type === "function" && workers.some((pattern) => matches(pattern, subject.name));
}

/** Each piece at its first place is enough: the next ones have the most room then. */
function matches(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  const within = name.slice(first.length, name.length - last.length);
  let at = 0;
  for (const piece of rest) {
    const found = within.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return true;
}
