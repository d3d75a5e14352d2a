/**
 * The built shop in a real Chromium: what a visitor sees, with script and without, and which
 * records that makes.
 */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFailed } from "vitest";
import { complaints, launch } from "../browser/browser.ts";
import { log, thrown } from "../support/expected-records.ts";
import { asked, browserError, fetched, held, inReact, ordered, rendered, restocked, watched } from "./shop-records.ts";
import { Watch } from "./watch.ts";
import { theWorld, type World } from "./world.ts";

const REVIEW = "I have never had a better Sencha.";

let world: World;
let watch: Watch;
let browser: Browser;

beforeAll(async () => {
  world = theWorld();
  browser = await launch();
  watch = await Watch.begin(world, "browser");
});
afterAll(() => browser?.close());

async function profile(options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: world.shop, ...options });
  context.setDefaultTimeout(15_000);
  return context;
}

const at = (path: string): string => world.shop + path;

/** Clicks a control's button on the page of all kinds. @returns the text of its row. */
async function click(page: Page, name: string, says: RegExp): Promise<string> {
  const button = page.getByRole("button", { name, exact: true });
  const output = page.getByRole("row").filter({ has: button }).getByRole("status");
  await button.click();
  await output.filter({ hasText: says }).waitFor();
  return (await output.textContent()) ?? "";
}

/** The id of an order in the shop's text. */
function orderIn(text: string): string {
  return /^Order ([0-9a-f-]{36}) is on its way\.$/.exec(text)?.[1] ?? `no order in: ${text}`;
}

it("complains about nothing on any of its pages", async () => {
  const context = await profile();
  const page = await context.newPage();
  const said = complaints(page);
  for (const path of ["/", "/about", "/teas/sencha", "/kinds"]) {
    await page.goto(path, { waitUntil: "networkidle" });
    // Wait for the script: buttons work only then.
    expect(await page.getByRole("heading", { level: 1 }).count()).toBe(1);
  }
  expect(said).toEqual([]);
  await context.close();
  watch.expect(
    rendered(at("/"), 200, "listTeas"),
    rendered(at("/teas/sencha"), 200, "readTea", "readReviews"),
    rendered(at("/kinds"), 200),
  );
});

it("is all there without script", async () => {
  const context = await profile({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto("/");
  await page.getByRole("link", { name: "Sencha" }).click();
  await page.getByRole("heading", { level: 1, name: "Sencha" }).waitFor();
  await page.getByRole("listitem").filter({ hasText: REVIEW }).waitFor();
  await page.goto("/about");
  await page.getByText(world.address).waitFor();
  await page.goto("/kinds");
  await page.getByRole("heading", { level: 1, name: "Every kind of trace event" }).waitFor();
  await context.close();
  watch.expect(
    rendered(at("/"), 200, "listTeas"),
    rendered(at("/teas/sencha"), 200, "readTea", "readReviews"),
    rendered(at("/kinds"), 200),
  );
});

it("changes pages and places an order without loading anew, the reviews following", async () => {
  const context = await profile();
  const page = await context.newPage();
  const said = complaints(page);
  await page.goto("/", { waitUntil: "networkidle" });
  await page.evaluate(() => Object.assign(window, { mark: "of the first page" }));
  await page.getByRole("link", { name: "Sencha" }).click();
  await page.getByRole("listitem").filter({ hasText: REVIEW }).waitFor();
  await page.getByLabel("Packets").selectOption("2");
  await page.getByLabel("To").selectOption("home");
  await page.getByRole("button", { name: "Order", exact: true }).click();
  const answer = page.getByRole("status");
  await answer.filter({ hasText: "is on its way." }).waitFor();
  const id = orderIn((await answer.textContent()) ?? "");
  expect(await page.evaluate(() => (window as { mark?: string }).mark)).toBe("of the first page");
  expect(said).toEqual([]);
  await context.close();
  watch.expect(
    rendered(at("/"), 200, "listTeas"),
    asked(world.shop, "readTea", { argument: true }),
    asked(world.shop, "readReviews", { argument: true }),
    ...ordered(world.shop, { id, tea: "sencha", packets: 2, to: "home" }),
  );
  // Before the next order: one batch may hold several.
  await watch.arrived();
});

it("makes every kind of event happen that takes a button", async () => {
  const context = await profile();
  const page = await context.newPage();
  const said = complaints(page);
  await page.goto("/kinds", { waitUntil: "networkidle" });
  watch.expect(rendered(at("/kinds"), 200));

  const id = orderIn(await click(page, "Order a packet", /^Order .+ is on its way\.$/));
  watch.expect(...ordered(world.shop, { id, tea: "assam", packets: 1, to: "home" }));
  await watch.arrived();

  const moon = orderIn(await click(page, "Order to the moon", /^Order .+ is on its way\.$/));
  watch.expect(...ordered(world.shop, { id: moon, tea: "assam", packets: 1, to: "the moon" }));

  await click(page, "Hold a packet", /\S/);
  watch.expect(...held(world.shop));
  await click(page, "Restock", /\S/);
  watch.expect(...restocked(world.shop, "assam"));

  await click(page, "Subscribe", /\S/);
  watch.expect(
    asked(world.shop, "subscribe", {
      logs: [log("info", "signed up; the mail goes out after the answer")],
      exceptions: [thrown("Error", "the mail server is full")],
    }),
  );

  await page.getByRole("button", { name: "Watch the stock", exact: true }).click();
  const stop = page.getByRole("button", { name: "Stop watching", exact: true });
  await page
    .getByRole("row")
    .filter({ has: stop })
    .getByRole("status")
    .filter({ hasText: /^\d+ packets$/ })
    .waitFor();
  await stop.click();
  await page.getByRole("button", { name: "Watch the stock", exact: true }).waitFor();
  watch.expect(...watched(at("/stock/assam"), ["how many?"], 1_000));
  expect(said).toEqual([]);

  const reported = page.waitForResponse(at("/browser-errors"));
  await page.getByRole("button", { name: "Break the browser", exact: true }).click();
  expect((await reported).status()).toBe(202);
  watch.expect(...browserError(world.shop, "/kinds", "Error", "the button gave up"));
  expect(said).toEqual(["the button gave up"]);

  // The server has rendered the rest of the page; the browser tries once more.
  const tried = page.waitForResponse(at("/browser-errors"));
  await page.goto("/trouble/component", { waitUntil: "networkidle" });
  expect((await tried).status()).toBe(202);
  watch.expect(
    fetched(at("/trouble/component"), 200, { Logs: [inReact("the component gave up")] }),
    ...browserError(world.shop, "/trouble/component", "Error", "the component gave up"),
  );
  await context.close();
});

it("leaves a record of each of these exactly once, nothing else, and ledgers that balance", async () => {
  onTestFailed(() => console.log(world.said()));
  expect(await watch.end()).toEqual([]);
});
