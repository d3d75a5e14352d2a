import type { FC } from "hono/jsx";

/** Characters that steer terminals, or turn the order of what stands around them: shown as what they are instead of doing it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** A text of somebody else's as it may be shown: steering characters stand there as their codes (`␛` for escape, `<U+202E>`). */
export function visible(text: string): string {
  return text.toWellFormed().replace(STEERING, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** A text of somebody else's that is copied as JSON, or as code: steering characters stand there escaped, so that it still says the same. */
export function escaped(text: string): string {
  return text.replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
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
