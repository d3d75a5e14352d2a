import type { RunOnly } from "axe-core";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { complaints, violations } from "./browser.ts";
import { NOTHING } from "./places.ts";
import { holdStill, PAGE_PATTERNS, placesOf, theWorld, unfold, visit, visitPage } from "./world.ts";

const world = theWorld();
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const COLOURS = ["color-contrast", "link-in-text-block"];
const SCHEMES = ["light", "dark"] as const;
const WIDE = 1440;
const WIDTHS = [360, WIDE] as const;
/**
 * Widths of a wide screen at 200 % zoom, and of the narrowest one with the navigation at the side:
 * tables have the least room there.
 */
const TIGHT = [720, 960] as const;

let page: Page;
let said: string[];
beforeAll(async () => {
  page = await world().stage.signedIn();
  await holdStill(page);
  said = complaints(page);
});

/** A line for each page that is wider than its window. */
async function sideways(where: string, width: number): Promise<string[]> {
  await page.setViewportSize({ width, height: 900 });
  const wider = await page.evaluate(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= window.innerWidth) return null;
    const wide = [...document.querySelectorAll("main *, .banner *")].filter(
      (each) => each.getBoundingClientRect().right > window.innerWidth + 1 && each.closest(".scroll, pre") === null,
    );
    return `${root.scrollWidth} px: ${wide
      .slice(-3)
      .map((each) => each.outerHTML.slice(0, 160))
      .join(" | ")}`;
  });
  return wider === null ? [] : [`${where} at ${width}: scrolls sideways, ${wider}`];
}

/**
 * The violations that axe reports for the current page, and a line if it is wider than its window.
 */
async function faults(where: string): Promise<string[]> {
  const found: string[] = [];
  await unfold(page);
  for (const width of TIGHT) found.push(...(await sideways(where, width)));
  for (const width of WIDTHS) {
    found.push(...(await sideways(where, width)));
    // The dark scheme changes only colours, and no colour depends on the width.
    for (const scheme of width === WIDE ? SCHEMES : SCHEMES.slice(0, 1)) {
      // With reduced motion no colour is measured in the middle of a transition.
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      const runOnly: RunOnly = scheme === "light" ? { type: "tag", values: RULES } : { type: "rule", values: COLOURS };
      for (const { id, help, nodes } of await violations(page, runOnly))
        found.push(
          `${where} at ${width}, ${scheme}: ${id}: ${help}: ${nodes
            .slice(0, 3)
            .map(({ html }) => html.slice(0, 200))
            .join(" | ")}`,
        );
    }
  }
  return found;
}

describe("nothing is wrong for whoever does not see it, or sees little, on a phone or a wide screen", () => {
  it.for(PAGE_PATTERNS)("%s", async (pattern) => {
    said.length = 0;
    for (const path of placesOf(pattern, world())) {
      await visitPage(page, path);
      expect(await faults(path)).toEqual([]);
    }
    expect(said).toEqual([]);
  });

  it.for(NOTHING)("%s, where nothing is", async (path) => {
    expect(await visit(page, path)).toBe(404);
    expect(await faults(path)).toEqual([]);
  });

  it("the page for signing in", async () => {
    const signedIn = page;
    page = await (await world().stage.profile()).newPage();
    try {
      await visitPage(page, "/sign-in");
      expect(await faults("/sign-in")).toEqual([]);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").or(page.getByRole("status")).first().waitFor();
      expect(await faults("/sign-in with a fault")).toEqual([]);
    } finally {
      await page.context().close();
      page = signedIn;
    }
  });
});
