import type { FC } from "hono/jsx";
import { count } from "../../../base/words.ts";
import { escaped, STEERING, unicodeEscapes, visible } from "./record-summary.ts";

export { escaped, STEERING, unicodeEscapes, visible };

/**
 * Untrusted text: of a record, a name, a store. @param max characters shown; the rest is counted.
 * @param as the element that it is all of, with this class.
 */
export const Foreign: FC<{
  text: string;
  max?: number;
  as?: "code" | "li" | "p" | "pre" | "span";
  class?: string;
}> = ({ text, max = 2_000, as: Whole, ...more }) => {
  const shown = (
    <bdi class="foreign">
      {visible(text.slice(0, max))}
      {text.length > max && <span class="quiet"> … and {count(text.length - max)} more characters</span>}
    </bdi>
  );
  return Whole === undefined ? shown : <Whole {...more}>{shown}</Whole>;
};
