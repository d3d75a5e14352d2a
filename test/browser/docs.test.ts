/** The API reference at /docs: its way back, its contents, its search, and it without a script. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { complaints, violations } from "./browser.ts";
import { theWorld } from "./shared.ts";

const world = theWorld();
const OPEN = "main details[open]";
const CLOSED_MAX = 5;
const SHOWN = "main section > section:not([hidden])";

async function docsPage(options: object = {}): Promise<Page> {
  const page = await (await world().stage.profile({ viewport: { width: 1280, height: 800 }, ...options })).newPage();
  await page.goto("/docs");
  return page;
}

describe("the API reference", () => {
  it("is short until an entry is opened, and its search shows the entries that have all words", async () => {
    const page = await docsPage();
    const said = complaints(page);
    await page.reload();
    const all = await page.locator(SHOWN).count();
    expect(all).toBeGreaterThan(80);
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(12_000);
    await page.keyboard.press("/");
    await page.keyboard.type("replay destination_conf");
    const found = await page.locator(SHOWN).count();
    expect(found).toBeGreaterThan(0);
    expect(found).toBeLessThan(all / 2);
    expect(await page.getByRole("status").textContent()).toBe(`${found} found`);
    await page.getByRole("searchbox").fill("qwertyuiop");
    expect([await page.locator(SHOWN).count(), await page.getByRole("heading", { level: 2 }).count()]).toEqual([0, 0]);
    // A link to what the search hides ends the search.
    await page.getByRole("link", { name: "Set aside", exact: true }).click();
    expect(await page.getByRole("heading", { name: "Set aside", level: 2 }).isVisible()).toBe(true);
    expect(await page.getByRole("region", { name: "Set aside", exact: true }).count()).toBe(1);
    expect(await page.getByRole("searchbox").inputValue()).toBe("");
    expect([await page.locator(SHOWN).count(), await page.locator(OPEN).count()]).toEqual([all, 0]);
    await page.getByRole("link", { name: "Create a job", exact: true }).click();
    await page.locator("#postLogshipJobs details[open]").waitFor();
    expect(await page.locator(OPEN).count()).toBe(1);
    await page.getByRole("link", { name: "Back to the dashboard" }).click();
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    expect(said).toEqual([]);
    await page.context().close();
  });

  it("shows without a script what a link names, and offers no search", async () => {
    const page = await docsPage({ javaScriptEnabled: false });
    expect(await page.getByRole("searchbox").count()).toBe(0);
    const text = page.locator("#postLogshipJobs figure").first();
    expect(await text.isVisible()).toBe(false);
    await page.getByRole("link", { name: "Create a job", exact: true }).click();
    expect(await text.isVisible()).toBe(true);
    await page.context().close();
  });

  it.each([
    [360, "light"],
    [1440, "light"],
    [1440, "dark"],
  ] as const)("has no violations at %d, %s, closed or open", async (width, colorScheme) => {
    const page = await docsPage({ viewport: { width, height: 900 }, colorScheme });
    // Those that differ most: with a body, a list, and of a schema.
    for (const id of ["postLogshipJobs", "getLogshipJobs", "schema-OutputOptions"])
      await page.locator(`#${id} summary`).click();
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    // Of the closed ones, which have the same markup, axe looks at a few.
    await page.evaluate((most) => {
      const closed = document.querySelectorAll("main section > section:has(> details:not([open]))");
      for (const each of [...closed].slice(most)) {
        document.querySelector(`nav a[href="#${each.id}"]`)?.remove();
        each.remove();
      }
    }, CLOSED_MAX);
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });
});
