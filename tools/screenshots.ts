/**
 * Makes the pictures of docs/images anew: of a shipper with a shop's data, in light and dark. Needs Chromium, as the tests in a browser do.
 * `npm run screenshots`
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { Stage } from "../test/browser/browser.ts";
import { HostileStore } from "../test/e2e/hostile-store.ts";
import { ROOT } from "./paths.ts";
import { shrink } from "./pictures/png.ts";
import { type Showcase, send, showcase } from "./pictures/showcase.ts";
import { until } from "./until.ts";

const FOLDER = process.env.SCREENSHOTS ?? join(ROOT, "docs/images");

/** Of a picture, in CSS pixels; what is longer is cut. */
const WIDE = 1440;
const NARROW = 360;
const HEIGHT_MAX = 1_100;

interface Shot {
  name: string;
  /** Goes to where the picture is taken. */
  show(page: Page): Promise<unknown>;
  width?: number;
  heightMax?: number;
}

function shots(stage: Stage, { all }: Showcase, draft: string): Shot[] {
  return [
    { name: "overview", show: (page) => page.goto("/") },
    { name: "overview-narrow", show: (page) => page.goto("/"), width: NARROW, heightMax: 1_400 },
    { name: "create-destination", show: (page) => page.goto(`${draft}/destination`) },
    { name: "create-records", show: (page) => page.goto(`${draft}/records`), heightMax: 1_500 },
    { name: "create-preview", show: (page) => preview(page, stage, `${draft}/preview`) },
    { name: "job", show: (page) => page.goto(`/jobs/${all}`), heightMax: 1_430 },
    { name: "functions", show: (page) => page.goto("/functions") },
    { name: "live", show: (page) => live(page, stage), heightMax: 1_000 },
  ];
}

/** Of events that are held in memory, for a moment: so some are sent. */
async function preview(page: Page, stage: Stage, path: string): Promise<void> {
  await send(stage.shipper, 200, Date.now());
  await until({
    what: "recent events",
    withinMs: 30_000,
    look: async () => {
      await page.goto(path);
      return page.getByText("would be shipped").count();
    },
    enough: (found) => found > 0,
  });
}

/** Waits for records to come. */
async function live(page: Page, stage: Stage): Promise<void> {
  await page.goto("/live");
  // The page's socket is open before anything is sent.
  await page.waitForTimeout(1_500);
  for (let i = 0; i < 3; i++) {
    await send(stage.shipper, 18, Date.now());
    await page.waitForTimeout(2_500);
  }
  await page.waitForTimeout(2_000);
}

/** A draft of a job, with everything entered up to its preview. @returns where it is. */
async function draftOf(page: Page): Promise<string> {
  await page.goto("/jobs/new");
  await page.getByRole("button", { name: /local bucket/ }).click();
  await page.waitForURL("**/destination");
  await page.getByLabel("Path", { exact: true }).fill("urgent/{DATE}");
  const next = async (step: string): Promise<void> => {
    await page.locator("main button.primary").first().click();
    await page.waitForURL(`**/${step}`);
  };
  await next("records");
  await page
    .locator("main textarea")
    .first()
    .evaluate((area) => {
      for (const details of document.querySelectorAll("details")) details.open = details.contains(area);
    });
  await page
    .locator("main textarea")
    .first()
    .fill(
      '{"where":{"or":[{"key":"Outcome","operator":"!eq","value":"ok"},{"and":[{"key":"ScriptName","operator":"in","value":["checkout","cart-api"]},{"key":"Event.Response.Status","operator":"geq","value":500}]}]}}',
    );
  await page.getByRole("button", { name: /use this json/i }).click();
  await page.waitForLoadState();
  const draft = new URL(page.url()).pathname.replace(/\/[^/]+$/, "");
  await next("output");
  await next("preview");
  return draft;
}

async function take(page: Page, { name, width = WIDE, heightMax = HEIGHT_MAX }: Shot, scheme: string): Promise<void> {
  // As high as what is on the page, so that the navigation beside it is, too.
  await page.setViewportSize({ width, height: 700 });
  const height = await page.evaluate(() => {
    const last = [...document.querySelectorAll("main > *")].at(-1);
    return Math.ceil((last?.getBoundingClientRect().bottom ?? 700) + window.scrollY + 24);
  });
  await page.setViewportSize({ width, height: Math.min(Math.max(height, 480), heightMax) });
  await page.evaluate(() => window.scrollTo(0, 0));
  const path = join(FOLDER, `${name}-${scheme}.png`);
  const picture = shrink(await page.screenshot({ animations: "disabled", caret: "hide" }));
  writeFileSync(path, picture);
  console.log(`${path}: ${Math.round(picture.length / 1_000)} kB`);
}

mkdirSync(FOLDER, { recursive: true });
await using store = await HostileStore.start();
await using stage = await Stage.set();
const shown = await showcase(stage.shipper, store);
const page = await stage.signedIn({ viewport: { width: WIDE, height: HEIGHT_MAX }, reducedMotion: "reduce" });
const draft = await draftOf(page);
const only = process.argv.slice(2);
for (const shot of shots(stage, shown, draft)) {
  if (only.length > 0 && !only.includes(shot.name)) continue;
  await page.setViewportSize({ width: shot.width ?? WIDE, height: HEIGHT_MAX });
  await shot.show(page);
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await take(page, shot, scheme);
  }
}
