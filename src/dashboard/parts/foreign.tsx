import type { FC } from "hono/jsx";
import { STEERING, visible } from "./record-summary.ts";

export { STEERING, visible };

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
