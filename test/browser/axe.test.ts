import type { RunOptions } from "axe-core";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { complaints, violations } from "./browser.ts";
import { NOTHING } from "./places.ts";
import { theWorld } from "./shared.ts";
import { holdStill, PAGE_PATTERNS, placesOf, unfold, visit, visitPage, whenCounted } from "./world.ts";

const world = theWorld();
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const COLOURS = ["color-contrast", "link-in-text-block"];
/**
 * What axe looks for, how wide and in which scheme. The dark scheme changes only colours, no colour
 * depends on the width, and to measure colours takes as long as all other rules.
 */
const LOOKS: readonly { width: number; colorScheme: "light" | "dark"; options: RunOptions }[] = [
  {
    width: 360,
    colorScheme: "light",
    options: {
      runOnly: { type: "tag", values: RULES },
      rules: Object.fromEntries(COLOURS.map((rule) => [rule, { enabled: false }])),
    },
  },
  { width: 1440, colorScheme: "light", options: { runOnly: { type: "tag", values: RULES } } },
  { width: 1440, colorScheme: "dark", options: { runOnly: { type: "rule", values: COLOURS } } },
];

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

/** So many records at each end of a page are looked at: those between have the same markup. */
const RECORDS_MAX = 6;

/** Takes the other records away, of which a page may have a hundred. */
async function shorten(): Promise<void> {
  await page.evaluate((most) => {
    for (const each of [...document.querySelectorAll(".records > li")].slice(most, -most)) each.remove();
  }, RECORDS_MAX);
}

/**
 * The violations that axe reports for the current page, and a line if it is wider than its window.
 */
async function faults(where: string): Promise<string[]> {
  const found: string[] = [];
  await unfold(page);
  await shorten();
  for (const width of TIGHT) found.push(...(await sideways(where, width)));
  for (const { width, colorScheme, options } of LOOKS) {
    found.push(...(await sideways(where, width)));
    // With reduced motion no colour is measured in the middle of a transition.
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const { id, help, nodes } of await violations(page, options))
      found.push(
        `${where} at ${width}, ${colorScheme}: ${id}: ${help}: ${nodes
          .slice(0, 3)
          .map(({ html }) => html.slice(0, 200))
          .join(" | ")}`,
      );
  }
  return found;
}

describe("nothing is wrong for whoever does not see it, or sees little, on a phone or a wide screen", () => {
  it.for(PAGE_PATTERNS)("%s", async (pattern) => {
    said.length = 0;
    for (const path of placesOf(pattern, world())) {
      await visitPage(page, path);
      await whenCounted(page);
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
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByRole("alert").or(page.getByRole("status")).first().waitFor();
      expect(await faults("/sign-in with a fault")).toEqual([]);
    } finally {
      await page.context().close();
      page = signedIn;
    }
  });
});
