import type { FC } from "hono/jsx";

/**
 * Characters that steer terminals, break lines, or turn the order of what stands around them, and such as nobody sees: shown as what they are instead of doing
 * it. Joiners and selectors of variants, of which emoji and whole scripts are made, are left alone.
 */
export const STEERING =
  /(?!\t|\n|\u034f|[\u180b-\u180d]|\u180f|\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;

/** A text of somebody else's as it may be shown: steering characters stand there as their codes (`␛` for escape, `<U+202E>`). */
export function visible(text: string): string {
  return text.toWellFormed().replace(STEERING, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** A text of somebody else's that is copied as JSON, or as code: steering characters stand there escaped, so that it still says the same. */
export function escaped(text: string): string {
  return text.replace(STEERING, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Somebody else's text: of a record, a name, a store. @param max characters that are shown; the rest is counted. */
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
