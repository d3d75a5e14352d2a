/** Tokens of JSON (RFC 8259), each with the white space before it. The string is unrolled so that no text makes it backtrack. */
const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings must not have them
  /[\t\n\r ]*([{}[\]:,]|"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[^"\\\u0000-\u001f]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
const SPACE = /[\t\n\r ]*/y;

/** What may come next: a value, a property's name, `:`, or what follows a value; after `{` and `[` also their end. */
type Next = "value" | "first value" | "name" | "first name" | "colon" | "more";

/**
 * Where a text stops being JSON. The runtime's own messages say it for some faults only, and differ from version to version.
 * @param text that `JSON.parse` refuses.
 * @returns the position, from 0 in UTF-16 code units, of the first token that cannot stand there; the text's length if it ends too early.
 */
export function jsonFaultAt(text: string): number {
  const open: ("{" | "[")[] = [];
  let next: Next | null = "value";
  for (let at = 0; ; ) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[1];
    if (token === undefined) return afterSpace(text, at);
    next = step(next, token, open);
    if (next === null) return afterSpace(text, at);
    at = TOKEN.lastIndex;
  }
}

function afterSpace(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.exec(text);
  return SPACE.lastIndex;
}

/** @returns what may follow the token, or null if it cannot stand here. */
function step(next: Next, token: string, open: ("{" | "[")[]): Next | null {
  const inside = open.at(-1);
  switch (token) {
    case "{":
    case "[":
      if (next !== "value" && next !== "first value") return null;
      open.push(token);
      return token === "{" ? "first name" : "first value";
    case "}":
      return inside === "{" && (next === "more" || next === "first name") ? close(open) : null;
    case "]":
      return inside === "[" && (next === "more" || next === "first value") ? close(open) : null;
    case ":":
      return next === "colon" ? "value" : null;
    case ",":
      if (next !== "more" || inside === undefined) return null;
      return inside === "{" ? "name" : "value";
  }
  if (next === "value" || next === "first value") return "more";
  return (next === "name" || next === "first name") && token.startsWith('"') ? "colon" : null;
}

function close(open: ("{" | "[")[]): Next {
  open.pop();
  return "more";
}
