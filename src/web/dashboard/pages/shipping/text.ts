import { parsedJson } from "../../../../base/bytes.ts";
import { unicodeEscapes } from "../../parts/foreign.tsx";

/*
 * Text in form fields must come back unchanged, although an input drops line breaks, a textarea
 * rewrites them, and neither shows control characters.
 */

/** Invisible characters, direction controls and lone surrogates; not joiners, which emoji need. */
const ODD = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

function coded(text: string): string {
  return text.replace(ODD, unicodeEscapes);
}

const SHORT: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const LONG: Readonly<Record<string, string>> = { "\\": "\\", n: "\n", r: "\r", t: "\t" };

/** Text on one line: `\n`, `\r`, `\t`, `\\`, and `\u0000` for invisible characters. */
export function escaped(text: string): string {
  return coded(text.replace(/[\\\n\r\t]/g, (character) => SHORT[character] ?? character));
}

/** The inverse of {@link escaped}. A backslash before any other character stands for itself. */
export function unescaped(shown: string): string {
  return shown.replace(/\\(?:([nrt\\])|u([0-9a-fA-F]{4}))/g, (all, short?: string, code?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return LONG[short ?? ""] ?? all;
  });
}

/** A JSON string, with invisible characters escaped. */
export function quoted(text: string): string {
  return coded(JSON.stringify(text));
}

/** Text as it is, or as a JSON string if it would not show as it is. */
export function plain(text: string): string {
  const isPlain = !text.startsWith('"') && text.trim() === text && coded(text) === text;
  return isPlain ? text : quoted(text);
}

/** The inverse of {@link plain}. An unclosed quote stands for itself. */
export function unquoted(shown: string): string {
  if (!shown.startsWith('"')) return shown;
  const text = parsedJson(shown);
  return typeof text === "string" ? text : shown;
}

/** Forms send line breaks as CR LF. */
export function lines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** Whether an untouched field that showed `was` may have sent `sent`. @param several a textarea. */
export function mayBe(sent: string, was: string, several: boolean): boolean {
  const shown = (text: string) => lines(text.toWellFormed().replaceAll("\u0000", "\ufffd"));
  if (several) return shown(sent) === shown(was);
  return shown(sent).replaceAll("\n", "") === shown(was).replaceAll("\n", "");
}
