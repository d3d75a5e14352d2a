/** The histogram of a search and the values beside it: how they come, lead on, and are stopped. */
import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { until } from "../../tools/until.ts";
import { jobInto } from "../e2e/shipper.ts";
import { complaints, violations } from "./browser.ts";
import { ownStage } from "./shared.ts";

const stage = ownStage();

const RECORDS = 240;

beforeAll(async () => {
  const { api } = stage().shipper;
  const { id } = await api.createJob(jobInto("shop"));
  const now = Date.now();
  await api.postEvents(Array.from({ length: RECORDS }, (_, i) => event(i, now - 600_000 + i * 2_000)));
  await until({
    what: "all to be received",
    withinMs: 60_000,
    look: () => api.jobLedger(id),
    enough: ({ received }) => received === RECORDS,
  });
});

/** One of four is of another Worker, one of eight fails; eight minutes in all. */
function event(i: number, at: number): object {
  const fails = i % 8 === 0;
  return {
    scriptName: i % 4 === 0 ? "payments" : "checkout",
    outcome: fails ? "exception" : "ok",
    eventTimestamp: at,
    event: { request: { url: `https://shop.example/${i}`, method: "GET" }, response: { status: fails ? 500 : 200 } },
    logs: [{ level: "log", message: [{ customer: 4_700 + (i % 3) }], timestamp: at }],
  };
}

/** The number of records that the page has counted, when it has. */
async function counted(page: Page): Promise<number> {
  await page.locator("#figures .total:not(:has(.quiet))").waitFor();
  return Number((await page.locator("#figures .total strong").innerText()).replaceAll(",", ""));
}

/** By bar of the chart, from its table. */
async function barsOf(page: Page): Promise<number[]> {
  const cells = await page
    .locator("#figures table tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent?.replaceAll(",", "")))),
    );
  return cells.map((row) => row.reduce((sum, each) => sum + each, 0));
}

/** The place of a bar on the screen. */
async function bar(page: Page, at: number, of: number): Promise<{ x: number; y: number }> {
  const box = await page.locator("#figures svg").first().boundingBox();
  if (box === null) throw new Error("there is no chart");
  return { x: box.x + ((at + 0.5) / of) * box.width, y: box.y + box.height / 2 };
}

const valuesOf = async (page: Page, name: string) =>
  Object.fromEntries(
    await page
      .locator(".facet", { has: page.getByRole("heading", { name }) })
      .locator("li")
      .evaluateAll((items) =>
        items.map((item) => [item.children[0]?.textContent, Number(item.querySelector(".figures")?.textContent)]),
      ),
  );

it("counts all records, not those on the page, after its hits and with one request", async () => {
  const page = await stage().signedIn();
  const said = complaints(page);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(`${request.resourceType()} ${new URL(request.url()).pathname}`));
  await page.goto("/search?last=15m");
  expect(await counted(page)).toBe(RECORDS);
  expect(await page.locator("details.record").count()).toBe(100);
  expect(asked.filter((each) => !each.startsWith("script"))).toEqual(["document /search", "fetch /search/counts"]);
  const bars = await barsOf(page);
  expect(bars.length).toBeGreaterThanOrEqual(60);
  expect(bars.reduce((sum, each) => sum + each, 0)).toBe(RECORDS);
  expect(await valuesOf(page, "worker")).toEqual({ checkout: 180, payments: 60 });
  expect(await valuesOf(page, "outcome")).toEqual({ ok: 210, exception: 30 });
  expect(await page.locator("#figures .legend").innerText()).toMatch(/ok 210.*failed 30.*other 0/s);
  await page.getByText("240 records").first().waitFor();
  // The label of the end stands below the end.
  const [label, drawing] = await Promise.all([
    page.locator("#figures .ends span").last().boundingBox(),
    page.locator("#figures svg").first().boundingBox(),
  ]);
  const right = (box: typeof label) => (box?.x ?? 0) + (box?.width ?? 0);
  expect(Math.abs(right(label) - right(drawing))).toBeLessThan(2);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    expect((await violations(page, {})).map(({ id }) => id)).toEqual([]);
  }
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  expect(said).toEqual([]);
  await page.context().close();
});

it("leads to the time of bars that are chosen, with the mouse and by keys; and to that of one", async () => {
  const page = await stage().signedIn();
  await page.goto("/search?last=15m&q=status:200");
  // At one time, whenever it is shown again.
  await page.getByRole("link", { name: "Link to this search" }).click();
  await page.waitForURL(/last=own/);
  const whole = page.url();
  const isNarrower = (url: URL) => url.href !== whole;
  expect(await counted(page)).toBe(210);
  const bars = await barsOf(page);
  const sum = (from: number, to: number) => bars.slice(from, to + 1).reduce((all, each) => all + each, 0);
  const [from, to] = [bars.findIndex((each) => each > 0) + 3, bars.findLastIndex((each) => each > 0) - 3];
  const [a, b] = [await bar(page, to, bars.length), await bar(page, from, bars.length)];
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move(b.x, b.y, { steps: 5 });
  expect(await page.locator("#figures .said").innerText()).toMatch(/^[\d-]+ [\d:]+ to [\d-]+ [\d:]+ UTC\./);
  await page.mouse.up();
  await page.waitForURL(isNarrower);
  expect(new URL(page.url()).searchParams.get("q")).toBe("status:200");
  expect(await counted(page)).toBe(sum(from, to));

  await page.goBack();
  await counted(page);
  await page.locator("#figures figure").focus();
  for (let at = bars.length; at > to; at--) await page.keyboard.press("ArrowLeft");
  for (let at = to; at > from; at--) await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Enter");
  await page.waitForURL(isNarrower);
  expect(await counted(page)).toBe(sum(from, to));

  await page.goBack();
  await counted(page);
  const one = await bar(page, from, bars.length);
  await page.mouse.click(one.x, one.y);
  await page.waitForURL(isNarrower);
  expect(await counted(page)).toBe(bars[from]);
  await page.context().close();
});

it("narrows a search to a value and to the others, and counts values of what is pinned", async () => {
  const page = await stage().signedIn();
  await page.goto("/search?last=15m");
  await page.locator("#facets").getByRole("link", { name: "payments", exact: true }).click();
  expect(await counted(page)).toBe(60);
  expect(await page.inputValue("#field-q")).toBe("worker:payments");
  await page.locator("#facets").getByRole("link", { name: "not status 500" }).click();
  await page.waitForURL(/-status/);
  expect(await counted(page)).toBe(30);
  expect(await page.inputValue("#field-q")).toBe("worker:payments -status:500");

  await page.locator("details.record summary").first().click();
  await page.locator("details.record[open]").getByRole("button", { name: "pin Fields.customer" }).click();
  await page.waitForURL(/pins=Fields.customer/);
  await counted(page);
  expect(await valuesOf(page, "Fields.customer")).toEqual({ 4700: 10, 4701: 10, 4702: 10 });
  expect((await violations(page)).map(({ id }) => id)).toEqual([]);
  // A new search keeps it; so does the page of its address.
  await page.getByLabel("Search for").fill("");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => !url.searchParams.has("q"));
  expect(await counted(page)).toBe(RECORDS);
  await page.locator("#facets").getByRole("link", { name: "4702", exact: true }).click();
  await page.waitForURL(/q=Fields.customer/);
  expect(await counted(page)).toBe(80);
  await page.getByRole("link", { name: "Unpin Fields.customer" }).click();
  await page.waitForURL((url) => !url.searchParams.has("pins"));
  expect(await counted(page)).toBe(80);
  expect(await page.getByRole("heading", { name: "Fields.customer" }).count()).toBe(0);
  await page.context().close();
});

it("goes on by itself from answer to answer until it is stopped, and again by a click", async () => {
  const page = await stage().signedIn();
  // The first answer ends as one that was not all: with what it counted, and the way on.
  let rest = 0;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  await page.route("**/search/counts*", async (route) => {
    if (route.request().method() === "POST") {
      rest += 1;
      await held;
      await route.fallback().catch(() => {});
      return;
    }
    const answer = await route.fetch();
    const html = await answer.text();
    const csrf = /name="csrf" value="([^"]*)"/.exec(html)?.[1] ?? "";
    const fields = { csrf, ...Object.fromEntries(new URL(route.request().url()).searchParams) };
    const form = Object.entries(fields).map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`);
    const way = `<form method="post" action="/search/counts" data-go="auto">${form.join("")}<button>Go on counting</button></form>`;
    await route.fulfill({
      response: answer,
      body: html.replace(/(<p class="total">.*?)<\/p>/gs, `$1<span class="quiet"> so far</span></p>${way}`),
    });
  });
  await page.goto("/search?last=15m");
  const stop = page.getByRole("button", { name: "Stop counting" });
  await page.getByText("so far").waitFor();
  await stop.click();
  await stop.waitFor({ state: "hidden" });
  expect(rest).toBe(1);
  const on = page.getByRole("button", { name: "Go on counting" });
  await on.click();
  await stop.waitFor();
  release();
  expect(await counted(page)).toBe(RECORDS);
  expect(rest).toBe(2);
  expect(await on.count()).toBe(0);
  expect(await page.locator("[data-said]").innerText()).toBe("240 records");
  await page.context().close();
});

it("counts on a click alone where that takes long, and where its answer broke off", async () => {
  const page = await stage().signedIn();
  let asked = 0;
  await page.route("**/search/counts*", async (route) => {
    asked += 1;
    if (asked === 1) return route.abort();
    if (new URL(route.request().url()).searchParams.has("all")) return route.fallback();
    const href = `${route.request().url()}&all=1`.replaceAll("&", "&amp;");
    const body = `<div id="figures"><a href="${href}" data-go="asked">Count all: about 1.2 GB, 20 s</a></div><!--piece-->`;
    return route.fulfill({ contentType: "text/html", body });
  });
  await page.goto("/search?last=15m");
  await page.locator('#figures [data-go="asked"]').click();
  await page.getByRole("link", { name: "Count all: about 1.2 GB, 20 s" }).click();
  expect(await counted(page)).toBe(RECORDS);
  expect(asked).toBe(3);
  await page.context().close();
});

it("counts without scripts on a page of its own, where bars and values are links", async () => {
  const context = await stage().profile({ javaScriptEnabled: false });
  await context.addCookies(await (await stage().signedIn()).context().cookies());
  const page = await context.newPage();
  await page.goto("/search?last=15m");
  expect(await page.locator("details.record").count()).toBe(100);
  await page.getByRole("link", { name: "Count all records" }).click();
  expect(await counted(page)).toBe(RECORDS);
  await page.locator("#facets").getByRole("link", { name: "payments", exact: true }).click();
  await page.locator("[data-end]").waitFor();
  expect(await page.locator("details.record").count()).toBe(60);
  await page.locator("details.record summary").first().click();
  await page.locator("details.record[open]").getByRole("button", { name: "pin Fields.customer" }).click();
  await page.getByRole("link", { name: "Count all records" }).click();
  expect(await valuesOf(page, "Fields.customer")).toEqual({ 4700: 20, 4701: 20, 4702: 20 });
  await page.context().close();
});
