import { expect, it } from "vitest";
import { minified } from "../../../src/web/css/minified.ts";
import BASE from "../../../src/web/dashboard/style/base.css";
import CHARTS from "../../../src/web/dashboard/style/charts.css";
import FORMS from "../../../src/web/dashboard/style/forms.css";
import LIVE from "../../../src/web/dashboard/style/live.css";
import OPS from "../../../src/web/dashboard/style/ops.css";
import OVERVIEW from "../../../src/web/dashboard/style/overview.css";
import PARTS from "../../../src/web/dashboard/style/parts.css";
import SEARCH from "../../../src/web/dashboard/style/search.css";
import SHIPPING from "../../../src/web/dashboard/style/shipping.css";
import { STYLE } from "../../../src/web/dashboard/style/style.ts";
import TOKENS from "../../../src/web/dashboard/style/tokens.css";

const SHEETS = { BASE, CHARTS, FORMS, LIVE, OPS, OVERVIEW, PARTS, SEARCH, SHIPPING, TOKENS };

/** The selectors of a sheet. */
function selectorsOf(sheet: string): string[] {
  const lines = sheet.replaceAll(/\/\*[\s\S]*?\*\//g, "").matchAll(/(?:^|[{}])\s*([^@{}]+)(?=\{)/g);
  return [...lines].flatMap(([, selectors = ""]) => selectors.split(",")).map((each) => each.trim());
}

it("no part of the style sheet says anew what another one says: all of it is on every page", () => {
  expect(Object.values(SHEETS).reduce((sum, sheet) => sum + minified(sheet).length, 0)).toBe(STYLE.length);
  const of = new Map<string, string[]>();
  for (const [name, sheet] of Object.entries(SHEETS))
    for (const selector of new Set(selectorsOf(sheet))) of.set(selector, [...(of.get(selector) ?? []), name]);
  expect(of.get(".panel")).toEqual(["PARTS"]);
  expect([...of].filter(([, names]) => names.length > 1)).toEqual([]);
});
