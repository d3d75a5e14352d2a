import type { FC } from "hono/jsx";

/**
 * Control, line-breaking, direction and invisible characters. Joiners and variation selectors are
 * left out: emoji and some scripts need them.
 */
export const STEERING =
  /(?!\t|\n|\u034f|[\u180b-\u180d]|\u180f|\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

/** Untrusted text, safe to show: steering characters become visible codes (`␛`, `<U+202E>`). */
export function visible(text: string): string {
  return text.toWellFormed().replace(STEERING, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** Untrusted JSON or code, safe to copy: steering characters become `\uXXXX` escapes. */
export function escaped(text: string): string {
  return text.replace(STEERING, unicodeEscapes);
}

/** `\uXXXX` for each UTF-16 unit. */
export function unicodeEscapes(text: string): string {
  return text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Untrusted text: of a record, a name, a store. @param max characters shown; the rest is counted. */
export const Foreign: FC<{ text: string; max?: number }> = ({ text, max = 2_000 }) => {
  const shown = text.length > max ? text.slice(0, max) : text;
  return (
    <bdi class="foreign">
      {visible(shown)}
      {text.length > max && (
        <span class="quiet"> … and {(text.length - max).toLocaleString("en")} more characters</span>
      )}
    </bdi>
  );
};
