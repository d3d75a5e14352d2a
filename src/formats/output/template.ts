import { concat, decodeStrict, encodeUtf8 } from "../../base/bytes.ts";

/**
 * A piece of a record: text that is written as it is, or the field whose value is written there.
 */
export type TemplatePart = { readonly text: string } | { readonly field: string };

/**
 * A compiled template (no two texts in a row, none empty), or why it is none: what, and at which
 * offset in UTF-16 code units.
 */
export type Template = { ok: true; parts: TemplatePart[] } | { ok: false; why: string };

/**
 * Compiles a `record_template`: Go's text/template cut down to `{{ .Field }}`, `{{ "constant" }}`
 * or a constant in backquotes, and `{{/* comment *\/}}`, all of them with Go's trim markers (`{{- `
 * and ` -}}`). What is accepted means what it means in Go; everything else is refused.
 * @see https://pkg.go.dev/text/template#hdr-Text_and_spaces
 */
export function compileTemplate(source: string): Template {
  const parts: TemplatePart[] = [];
  let at = 0;
  let trimsText = false;
  for (;;) {
    const open = source.indexOf("{{", at);
    let text = source.slice(at, open === -1 ? source.length : open);
    if (trimsText) text = text.replace(LEADING_SPACE, "");
    if (open === -1) {
      addText(parts, text);
      return { ok: true, parts };
    }
    // In Go, too, a minus sign alone is no trim marker: it takes the space behind it.
    const trimsBefore = matchAt(TRIM_MARKER, source, open + 2) !== null;
    addText(parts, trimsBefore ? trimEnd(text) : text);
    const inside = open + (trimsBefore ? 4 : 2);
    const action = source.startsWith("/*", inside) ? readComment(source, inside) : readAction(source, inside);
    if (!action.ok) return { ok: false, why: `offset ${action.offset}: ${action.why}` };
    if (action.part !== null && "text" in action.part) addText(parts, action.part.text);
    else if (action.part !== null) parts.push(action.part);
    at = action.end;
    trimsText = action.trimsAfter;
  }
}

type Action = { ok: true; part: TemplatePart | null; end: number; trimsAfter: boolean } | Refusal;

interface Refusal {
  ok: false;
  offset: number;
  why: string;
}

const ONLY = 'only {{ .Field }}, {{ "constant" }} and {{/* comment */}} are';

const LEADING_SPACE = /^[ \t\r\n]+/;
const TRIM_MARKER = /-[ \t\r\n]/y;
const SPACE = /[ \t\r\n]*/y;
/** The end of an action; the group is a trim marker, which needs a space before it. */
const CLOSE = /[ \t\r\n]*(?:[ \t\r\n](-))?\}\}/y;
const COMMENT_CLOSE = /(?:[ \t\r\n](-))?\}\}/y;
const FIELD = /\.(?![0-9])([\p{L}\p{Nd}_]+)/uy;
const QUOTED = /"((?:[^"\\\n]|\\[^\n])*)"/uy;
const RAW = /`([^`]*)`/y;
const WORD = /[\p{L}\p{Nd}_]+/uy;
const NUMBER = /[+-]?\.?[0-9]/y;

/** @param at behind the opening braces and the trim marker. */
function readComment(source: string, at: number): Action {
  const end = source.indexOf("*/", at + 2);
  if (end === -1) return refusal(at, "the comment is not closed");
  const close = matchAt(COMMENT_CLOSE, source, end + 2);
  if (close === null) return refusal(end + 2, 'a comment ends at the closing braces: "*/}}" or "*/ -}}"');
  return { ok: true, part: null, end: end + 2 + close[0].length, trimsAfter: close[1] !== undefined };
}

/** @param open behind the opening braces and the trim marker. */
function readAction(source: string, open: number): Action {
  if (matchAt(CLOSE, source, open) !== null) return refusal(open, `an empty action is not supported, ${ONLY}`);
  const at = open + (matchAt(SPACE, source, open)?.[0].length ?? 0);
  const operand = readOperand(source, at);
  if (!operand.ok) return operand;
  const close = matchAt(CLOSE, source, operand.end);
  if (close === null) return refusedRest(source, operand.end);
  return {
    ok: true,
    part: operand.part,
    end: operand.end + close[0].length,
    trimsAfter: close[1] !== undefined,
  };
}

function readOperand(source: string, at: number): { ok: true; part: TemplatePart; end: number } | Refusal {
  const field = matchAt(FIELD, source, at);
  if (field !== null) return { ok: true, part: { field: field[1] ?? "" }, end: at + field[0].length };
  const raw = matchAt(RAW, source, at);
  // Go drops carriage returns from raw strings.
  if (raw !== null) return { ok: true, part: { text: (raw[1] ?? "").replaceAll("\r", "") }, end: at + raw[0].length };
  const quoted = matchAt(QUOTED, source, at);
  if (quoted === null) return refusedOperand(source, at);
  const constant = unquote(quoted[1] ?? "", at + 1);
  return constant.ok ? { ok: true, part: { text: constant.text }, end: at + quoted[0].length } : constant;
}

const KEYWORDS: ReadonlySet<string> = new Set(
  "block break continue define else end false if nil range template true with".split(" "),
);

/** Names what stands where a field or a constant should. */
function refusedOperand(source: string, at: number): Refusal {
  const word = matchAt(WORD, source, at)?.[0];
  const unsupported = (what: string) => refusal(at, `${what} is not supported, ${ONLY}`);
  if (matchAt(NUMBER, source, at) !== null) return unsupported("a number");
  if (word !== undefined && KEYWORDS.has(word)) return unsupported(JSON.stringify(word));
  if (word !== undefined) return unsupported(`the function ${excerpt(word, 0)}`);
  switch (source.charAt(at)) {
    case "":
      return refusal(at, "the action is not closed");
    case '"':
    case "`":
      return refusal(at, "the constant is not closed");
    case ".":
      return unsupported('"." without the name of a field');
    case "$":
      return unsupported("a variable");
    case "'":
      return unsupported("a character constant");
    case "(":
      return unsupported("a parenthesis");
    case "|":
      return unsupported("a pipeline");
    case "/":
      return refusal(at, 'a comment begins at the opening braces: "{{/*" or "{{- /*"');
    default:
      return refusal(at, `unexpected ${excerpt(source, at)}`);
  }
}

/** Names what stands where an action should end. @param end behind its field or constant. */
function refusedRest(source: string, end: number): Refusal {
  const at = end + (matchAt(SPACE, source, end)?.[0].length ?? 0);
  if (at === source.length) return refusal(at, "the action is not closed");
  if (source[at] === "|") return refusal(at, `a pipeline is not supported, ${ONLY}`);
  if (source[at] === "." && at === end) return refusal(at, `a field of a field is not supported, ${ONLY}`);
  return refusal(at, `an action is one field or one constant: unexpected ${excerpt(source, at)}`);
}

/** An escape sequence of Go's interpreted strings. https://go.dev/ref/spec#String_literals */
const ESCAPE =
  /\\(?:(?<simple>[abfnrtv\\"])|x(?<hex>[0-9a-fA-F]{2})|(?<octal>[0-7]{3})|u(?<short>[0-9a-fA-F]{4})|U(?<long>[0-9a-fA-F]{8}))/y;

const SIMPLE_ESCAPES: { readonly [letter: string]: string } = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
};

/**
 * What an interpreted string stands for. `\xNN` and `\NNN` are bytes, so the text is put together
 * in UTF-8.
 * @param body between the quotes. @param offset of the body in the template.
 */
function unquote(body: string, offset: number): { ok: true; text: string } | Refusal {
  if (!body.includes("\\")) return { ok: true, text: body };
  const bytes: Uint8Array[] = [];
  for (let at = 0; at < body.length; ) {
    const slash = body.indexOf("\\", at);
    const end = slash === -1 ? body.length : slash;
    bytes.push(encodeUtf8(body.slice(at, end)));
    if (slash === -1) break;
    const sequence = matchAt(ESCAPE, body, slash);
    const value = sequence === null ? null : escapedBytes(sequence.groups ?? {});
    if (sequence === null || value === null)
      return refusal(offset + slash, `${excerpt(body, slash)} begins no escape sequence of Go's strings`);
    bytes.push(value);
    at = slash + sequence[0].length;
  }
  try {
    return { ok: true, text: decodeStrict(concat(bytes)) };
  } catch {
    return refusal(offset, "the bytes of the constant are not valid UTF-8");
  }
}

/**
 * @returns null for a byte beyond 255, and for what is no Unicode character: surrogates, and all
 *   beyond U+10FFFF.
 */
function escapedBytes(groups: { readonly [name: string]: string | undefined }): Uint8Array | null {
  const { simple, hex, octal } = groups;
  if (simple !== undefined) return encodeUtf8(SIMPLE_ESCAPES[simple] ?? "");
  if (hex !== undefined) return Uint8Array.of(Number.parseInt(hex, 16));
  if (octal !== undefined) {
    const byte = Number.parseInt(octal, 8);
    return byte > 0xff ? null : Uint8Array.of(byte);
  }
  const code = Number.parseInt(groups.short ?? groups.long ?? "", 16);
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? null : encodeUtf8(String.fromCodePoint(code));
}

function addText(parts: TemplatePart[], text: string): void {
  if (text === "") return;
  const last = parts.at(-1);
  if (last !== undefined && "text" in last) parts[parts.length - 1] = { text: last.text + text };
  else parts.push({ text });
}

/**
 * By hand: an expression that looks for space before an end takes quadratic time where there is
 * much space and no end.
 */
function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && " \t\r\n".includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}

/** A few characters of the template, quoted, never half of one. */
function excerpt(text: string, at: number): string {
  return JSON.stringify(
    Array.from(text.slice(at, at + 24))
      .slice(0, 12)
      .join(""),
  );
}

function refusal(offset: number, why: string): Refusal {
  return { ok: false, offset, why };
}
