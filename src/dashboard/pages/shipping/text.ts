/*
 * Texts in fields. A field of one line loses line breaks, one of several has its own idea of them, and nobody sees a control character in either; what an
 * owner wrote has to come back as it was all the same.
 */

/** What is not seen, or turns the order of what stands around it; joiners, of which emoji are made, are left alone. Halves of surrogate pairs are among it. */
const ODD = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

function coded(text: string): string {
  return text.replace(ODD, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

const SHORT: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const LONG: Readonly<Record<string, string>> = { "\\": "\\", n: "\n", r: "\r", t: "\t" };

/** A text in one line: `\n`, `\r`, `\t`, `\\`, and `\u0000` for what is not seen. */
export function escaped(text: string): string {
  return coded(text.replace(/[\\\n\r\t]/g, (character) => SHORT[character] ?? character));
}

/** The text that {@link escaped} shows like this. A backslash before anything else is one. */
export function unescaped(shown: string): string {
  return shown.replace(/\\(?:([nrt\\])|u([0-9a-fA-F]{4}))/g, (all, short?: string, code?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    return LONG[short ?? ""] ?? all;
  });
}

/** A text as JSON has it, in quotes, and with nothing in it that is not seen. */
export function quoted(text: string): string {
  return coded(JSON.stringify(text));
}

/** A text as it is, or in quotes where it would not be seen as it is. */
export function plain(text: string): string {
  const isPlain = !text.startsWith('"') && text.trim() === text && coded(text) === text;
  return isPlain ? text : quoted(text);
}

/** The text that {@link plain} shows like this. A quote that does not end stands for itself. */
export function unquoted(shown: string): string {
  if (!shown.startsWith('"')) return shown;
  try {
    const text: unknown = JSON.parse(shown);
    return typeof text === "string" ? text : shown;
  } catch {
    return shown;
  }
}

/** Line breaks as one kind of them, which a form sends as two characters. */
export function lines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** Whether a field that was filled with one text, and not touched, may have sent the other. @param several it has several lines. */
export function mayBe(sent: string, was: string, several: boolean): boolean {
  const shown = (text: string) => lines(text.toWellFormed().replaceAll("\u0000", "\ufffd"));
  if (several) return shown(sent) === shown(was);
  return shown(sent).replaceAll("\n", "") === shown(was).replaceAll("\n", "");
}
