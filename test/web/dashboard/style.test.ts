import { expect, it } from "vitest";
import { BASE } from "../../../src/web/dashboard/style/base.ts";
import { CHARTS } from "../../../src/web/dashboard/style/charts.ts";
import { FORMS } from "../../../src/web/dashboard/style/forms.ts";
import { LIVE } from "../../../src/web/dashboard/style/live.ts";
import { OPS } from "../../../src/web/dashboard/style/ops.ts";
import { OVERVIEW } from "../../../src/web/dashboard/style/overview.ts";
import { PARTS } from "../../../src/web/dashboard/style/parts.ts";
import { SEARCH } from "../../../src/web/dashboard/style/search.ts";
import { SHIPPING } from "../../../src/web/dashboard/style/shipping.ts";
import { STYLE } from "../../../src/web/dashboard/style/style.ts";
import { TOKENS } from "../../../src/web/dashboard/style/tokens.ts";

const SHEETS = { BASE, CHARTS, FORMS, LIVE, OPS, OVERVIEW, PARTS, SEARCH, SHIPPING, TOKENS };

/** The selectors of a sheet. */
function selectorsOf(sheet: string): string[] {
  const lines = sheet.replaceAll(/\/\*[\s\S]*?\*\//g, "").matchAll(/(?:^|[{}])\s*([^@{}]+)(?=\{)/g);
  return [...lines].flatMap(([, selectors = ""]) => selectors.split(",")).map((each) => each.trim());
}

it("no part of the style sheet says anew what another one says: all of it is on every page", () => {
  expect(Object.values(SHEETS).reduce((sum, sheet) => sum + sheet.length, 0)).toBe(STYLE.length);
  const of = new Map<string, string[]>();
  for (const [name, sheet] of Object.entries(SHEETS))
    for (const selector of new Set(selectorsOf(sheet))) of.set(selector, [...(of.get(selector) ?? []), name]);
  expect(of.get(".panel")).toEqual(["PARTS"]);
  expect([...of].filter(([, names]) => names.length > 1)).toEqual([]);
});
