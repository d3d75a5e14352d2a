import type { FC } from "hono/jsx";
import { STEERING, visible } from "./record-summary.ts";

export { STEERING, visible };

/** Untrusted JSON or code, safe to copy: steering characters become `\uXXXX` escapes. */
export function escaped(text: string): string {
  return text.replace(STEERING, unicodeEscapes);
}

/** `\uXXXX` for each UTF-16 unit. */
export function unicodeEscapes(text: string): string {
  return text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Untrusted text: of a record, a name, a store. @param max characters shown; the rest is counted.
 */
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
