import type { FC } from "hono/jsx";
import { count } from "../../../base/words.ts";
import { escaped, STEERING, unicodeEscapes, visible } from "./record-summary.ts";

export { escaped, STEERING, unicodeEscapes, visible };

/**
 * Untrusted text: of a record, a name, a store. @param max characters shown; the rest is counted.
 */
export const Foreign: FC<{ text: string; max?: number }> = ({ text, max = 2_000 }) => {
  const shown = text.length > max ? text.slice(0, max) : text;
  return (
    <bdi class="foreign">
      {visible(shown)}
      {text.length > max && <span class="quiet"> … and {count(text.length - max)} more characters</span>}
    </bdi>
  );
};
