import { utf8Length } from "../../base/bytes.ts";

const SPACE = /[\t\n\r ]*/y;
// Unrolled, so that no text makes it backtrack.
const STRING = String.raw`"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[^"\\\u0000-\u001f]*)*"`;
const VALUE = String.raw`[{[]|${STRING}|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null`;

/** The tokens of JSON (RFC 8259) that may come next, by what came before. */
const NEXT = {
  value: new RegExp(VALUE, "y"),
  "value or ]": new RegExp(`${VALUE}|\\]`, "y"),
  name: new RegExp(STRING, "y"),
  "name or }": new RegExp(`${STRING}|\\}`, "y"),
  colon: /:/y,
  "after {": /[,}]/y,
  "after [": /[,\]]/y,
  object: /\{/y,
  end: /(?!)/y,
} as const;

/**
 * Why a text is not JSON, without any of it: it may hold a secret.
 * @param text that `JSON.parse` refuses.
 * @param mark bytes before the text that are not in it, as those of a byte order mark.
 * @param areMany objects may follow an object.
 */
export function whyNotJson(text: string, mark = 0, areMany = false): string {
  const at = jsonFaultAt(text, areMany);
  const before = text.slice(0, at);
  const column = [...before.slice(before.lastIndexOf("\n") + 1)].length + 1;
  const place = `line ${before.split("\n").length}, column ${column} (byte ${mark + utf8Length(before)})`;
  if (before.trim() === "" && at === text.length) return "it is empty";
  return at === text.length ? `it ends too early, at ${place}` : `${place} has what JSON does not allow there`;
}

/**
 * Where a text stops being JSON. The runtime's own messages name the position of some faults only.
 * @param text that `JSON.parse` refuses.
 * @returns the position, from 0 in UTF-16 code units, of the first token that is not allowed there;
 *   the text's length if the text ends too early.
 */
export function jsonFaultAt(text: string, areMany = false): number {
  const open: ("{" | "[")[] = [];
  let next: keyof typeof NEXT = "value";
  for (let at = 0; ; ) {
    at = endOf(SPACE, text, at) ?? at;
    const end = endOf(NEXT[next], text, at);
    if (end === null) return at;
    const token = text[at];
    at = end;
    if (token === "{" || token === "[") {
      open.push(token);
      next = token === "{" ? "name or }" : "value or ]";
    } else if (token === ",") next = open.at(-1) === "{" ? "name" : "value";
    else if (token === ":") next = "value";
    else if (token === '"' && next.startsWith("name")) next = "colon";
    else {
      if (token === "}" || token === "]") open.pop();
      if (open.length === 0) next = areMany && token === "}" ? "object" : "end";
      else next = `after ${open.at(-1) as "{" | "["}`;
    }
  }
}

/** Where a sticky pattern that matches at a position ends; null: it does not match. */
function endOf(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}
