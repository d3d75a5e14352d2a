/** What the script of all pages adds to them: Find, sorted tables, readable charts, times. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { complaints, violations } from "./browser.ts";
import { theWorld } from "./shared.ts";

const world = theWorld();

let page: Page;
let said: string[];
beforeAll(async () => {
  page = await world().stage.signedIn({ viewport: { width: 1280, height: 800 } });
  said = complaints(page);
});

describe("Find", () => {
  it("opens a page, a job or a function from the keyboard alone", async () => {
    const dialog = page.getByRole("dialog", { name: "Find" });
    await page.waitForLoadState();
    await page.keyboard.press("/");
    await dialog.waitFor();
    await dialog.getByRole("link", { name: "Audit page" }).waitFor();
    expect(await violations(page)).toEqual([]);
    // The list is still that of nothing typed.
    await page.keyboard.type("audit");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/access/audit");
    await page.keyboard.press("Control+k");
    await page.keyboard.type(world().seeded.functions.plain);
    const found = dialog.getByRole("link", { name: /Worker$/ });
    // The list may come before what was typed is looked at.
    await expect.poll(() => found.count(), { timeout: 30_000 }).toBe(1);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    // It begins anew.
    await page.keyboard.press("/");
    await dialog.getByRole("link", { name: "Overview page" }).waitFor();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/session");
    expect(said).toEqual([]);
  });

  it("leaves the slash to a field, and to pages that have a use for it", async () => {
    await page.goto("/functions");
    await page.getByLabel("Part of the name").click();
    await page.keyboard.type("a/b");
    expect(await page.getByLabel("Part of the name").inputValue()).toBe("a/b");
    await page.goto("/search");
    await page.keyboard.press("/");
    await page.keyboard.type("x");
    expect(await page.getByLabel("Search for").inputValue()).toBe("x");
    expect(await page.locator("dialog.finder").count()).toBe(0);
    await page.keyboard.press("Control+k");
    await page.getByRole("dialog", { name: "Find" }).waitFor();
  });

  it("is a page without scripts, behind the menu of a narrow screen", async () => {
    const plain = await world().stage.profile({ javaScriptEnabled: false, viewport: { width: 360, height: 700 } });
    await plain.addCookies(await page.context().cookies());
    const narrow = await plain.newPage();
    await narrow.goto("/");
    const link = narrow.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Cost" });
    expect(await link.isVisible()).toBe(false);
    await narrow.getByRole("button", { name: "Menu" }).click();
    await link.click();
    await narrow.waitForURL("**/cost");
    await narrow.getByRole("link", { name: "Find", exact: true }).click();
    await narrow.getByRole("searchbox").fill("audit");
    await narrow.getByRole("searchbox").press("Enter");
    await narrow.getByRole("link", { name: "Audit page" }).click();
    await narrow.waitForURL("**/access/audit");
  });
});

describe("a table", () => {
  it("sorts by names and numbers, up and down, and stays so when it refreshes", async () => {
    await page.goto("/jobs");
    const column = (number: number) =>
      page
        .locator(`main table tbody tr > :nth-child(${number})`)
        .evaluateAll((cells) => cells.map((cell) => cell.textContent));
    const names = await column(1);
    await page.getByRole("columnheader", { name: "Job" }).getByRole("button").click();
    const sorted = names.toSorted((a, b) => (a ?? "").toLowerCase().localeCompare((b ?? "").toLowerCase()));
    expect(await column(1)).toEqual(sorted);
    expect(sorted).not.toEqual(names);
    await page.goto("/functions");
    const shipped = page.getByRole("columnheader", { name: "Shipped" });
    await shipped.getByRole("button").click();
    expect(await shipped.getAttribute("aria-sort")).toBe("descending");
    const numbers = (await column(4)).map((text) => Number.parseInt((text ?? "").replaceAll(",", ""), 10));
    expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
    expect(Math.max(...numbers)).toBeGreaterThan(Math.min(...numbers));
    await shipped.getByRole("button").click();
    expect(await shipped.getAttribute("aria-sort")).toBe("ascending");
    expect(await violations(page)).toEqual([]);
  });
});

describe("a chart", () => {
  it("says the values of a bar to the pointer and to the arrow keys", async () => {
    await page.goto(`/jobs/${world().seeded.jobs.delivering}`);
    const chart = page.locator("figure.chart:has(svg)").first();
    await chart.focus();
    await page.keyboard.press("ArrowLeft");
    expect(await chart.locator(".said").textContent()).toMatch(/^\d{4}-\d\d-\d\d \d\d:00 UTC: /);
    // The records were shipped minutes ago: in this hour, or in the one before.
    const withRecords = /UTC: .* [1-9]/;
    if (!withRecords.test((await chart.locator(".said").textContent()) ?? "")) await page.keyboard.press("ArrowLeft");
    const last = await chart.locator(".said").textContent();
    expect(last).toMatch(withRecords);
    await page.keyboard.press("ArrowLeft");
    const before = await chart.locator(".said").textContent();
    expect(before).not.toBe(last);
    await page.keyboard.press("ArrowRight");
    expect(await chart.locator(".said").textContent()).toBe(last);
    const box = await chart.locator("svg").boundingBox();
    if (box === null) throw new Error("the chart is not drawn");
    await page.mouse.move(box.x + 2, box.y + box.height - 2);
    expect(await chart.locator(".said").textContent()).not.toBe(last);
    await page.mouse.move(0, 0);
    expect(await chart.locator(".said").textContent()).toBe("");
  });
});

it("shows times as they are instead of how long ago, until it is asked again", async () => {
  await page.goto("/");
  const time = page.locator("#jobs time[data-ago]").first();
  await page.keyboard.press("t");
  expect(await time.textContent()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  await page.reload();
  expect(await time.textContent()).toMatch(/UTC$/);
  await page.keyboard.press("t");
  expect(await time.textContent()).toMatch(/ago$|just now/);
  expect(said).toEqual([]);
});
