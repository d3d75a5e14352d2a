import type { Message, Part } from "./message.ts";

/**
 * The lines of each part, with their extra fields. @param lines as many as the parts have records.
 */
export function linesOfParts({
  parts,
  lines,
  extras,
}: Pick<Message, "parts" | "lines" | "extras">): { part: Part; lines: string[]; extras?: string[] }[] {
  let at = 0;
  return parts.map((part) => {
    const from = at;
    at += part.records;
    const own = (of: string[]): string[] => (parts.length === 1 ? of : of.slice(from, at));
    return { part, lines: own(lines), ...(extras && { extras: own(extras) }) };
  });
}
