// An opened record of /live: its values, copies of it, and filters that they suggest.
// @ts-check
import { curlOf, leavesOf } from "../parts/record-filter.ts";
import { STEERING, visible } from "../parts/record-summary.ts";
import { element } from "./live-list.client.js";

/** @typedef {import("./live-link.client.js").Arrived} Arrived */
/** @typedef {NonNullable<ReturnType<typeof leavesOf>[number]["condition"]>} Condition */

/** Of a value in the table, in UTF-16 units. */
const VALUE_SHOWN = 2000;

/** The record as JSON, with characters that steer terminals as escapes. */
function jsonOf(/** @type {Arrived} */ { record }) {
  const escaped = (/** @type {string} */ text) =>
    text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return JSON.stringify(record, null, 2).replace(STEERING, escaped);
}

/**
 * Fills the dialog.
 * @param {(condition: Condition, isAgainst: boolean) => void} narrow filters for a value.
 */
export function showRecord(
  /** @type {Record<"values" | "json" | "curl" | "large" | "copyCurl", HTMLElement>} */ ui,
  /** @type {Arrived} */ arrived,
  /** @type {boolean} */ canFilterSource,
  narrow,
) {
  const { record, source = "", tooLarge } = arrived;
  ui.large.textContent =
    tooLarge === undefined
      ? ""
      : `Too large to show in full: ${tooLarge.toLocaleString("en")} bytes. These are its short fields; jobs ship all of it.`;
  const leaves = leavesOf(record);
  if (source !== "") {
    /** @type {Condition | null} */
    const condition = canFilterSource ? { key: "Source", operator: "eq", value: source } : null;
    leaves.unshift({ path: "Source", text: source, condition });
  }
  ui.values.replaceChildren(
    ...leaves.map(({ path, text, condition }) => {
      const [name, cut] = [visible(path.slice(0, 200)), text.length - VALUE_SHOWN];
      const isStack = /^ExceptionStacks\[|^LogErrors\[\d+\]\.stack$/.test(path);
      const value = element("bdi", isStack ? "foreign mono" : "foreign", visible(text.slice(0, VALUE_SHOWN)));
      if (cut > 0) value.append(element("span", "quiet", ` … and ${cut.toLocaleString("en")} more characters`));
      const heading = element("th", "", name);
      heading.scope = "row";
      const filters = element("td");
      for (const [label, words, isAgainst] of /** @type {const} */ ([
        ["=", "Filter for", false],
        ["≠", "Filter against", true],
      ])) {
        if (condition === null) break;
        const button = element("button", "small", label);
        button.type = "button";
        button.setAttribute("aria-label", `${words} ${name}`);
        button.title = `${words} this value`;
        button.addEventListener("click", () => narrow(condition, isAgainst));
        filters.append(button);
      }
      return element("tr", "", heading, element("td", "", value), filters);
    }),
  );
  ui.json.textContent = visible(jsonOf(arrived));
  const curl = curlOf(record);
  ui.curl.textContent = curl;
  ui.copyCurl.hidden = curl === null;
}
