/**
 * `npm run screenshots`: makes the pictures of docs/images, of a shipper with a shop's data, in
 * light and dark. Needs Chromium, as the tests in a browser do. `-- <name>…` makes only these.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { Stage } from "../test/browser/browser.ts";
import { HostileStore } from "../test/e2e/hostile-store.ts";
import { ROOT } from "./paths.ts";
import { shrink } from "./pictures/png.ts";
import { type Showcase, send, showcase } from "./pictures/showcase.ts";

const FOLDER = process.env.SCREENSHOTS ?? join(ROOT, "docs/images");

/** In CSS pixels; what is longer is cut. */
const WIDTH = 1440;
const HEIGHT_MAX = 1_100;

interface Shot {
  name: string;
  /** Goes to the page and waits until it shows what the picture is of. */
  show(page: Page): Promise<unknown>;
  heightMax?: number;
}

function shots(stage: Stage, { all }: Showcase): Shot[] {
  return [
    { name: "overview", show: (page) => page.goto("/") },
    { name: "create", show: create, heightMax: 1_500 },
    { name: "job", show: (page) => page.goto(`/jobs/${all}`), heightMax: 1_430 },
    { name: "search", show: search, heightMax: 640 },
    { name: "live", show: (page) => live(page, stage), heightMax: 720 },
  ];
}

/** What failed in the last minutes, and one record of it. */
async function search(page: Page): Promise<void> {
  await page.goto("/search?function=checkout&outcome=failed&last=15m");
  await page.locator("[data-end]").waitFor();
  await page.locator("details.hit > summary").nth(2).click();
}

/** Records as they arrive. */
async function live(page: Page, stage: Stage): Promise<void> {
  await page.goto("/live");
  // The page's socket has to be open before anything is sent.
  await page.waitForTimeout(1_500);
  for (let i = 0; i < 3; i++) {
    await send(stage.shipper, 18, Date.now());
    await page.waitForTimeout(2_500);
  }
  await page.waitForTimeout(2_000);
}

/** The form of a new job, with a filter in it. */
async function create(page: Page): Promise<void> {
  await page.goto("/jobs/new");
  await page.getByLabel("Name", { exact: true }).fill("urgent");
  await page.getByLabel("Path", { exact: true }).fill("urgent/{DATE}");
  const filter = page.locator("#filter textarea").first();
  await filter.evaluate((area) => {
    for (const details of document.querySelectorAll("details")) details.open = details.contains(area);
  });
  await filter.fill(
    '{"where":{"or":[{"key":"Outcome","operator":"!eq","value":"ok"},{"and":[{"key":"ScriptName","operator":"in","value":["checkout","cart-api"]},{"key":"Event.Response.Status","operator":"geq","value":500}]}]}}',
  );
  await page.getByRole("button", { name: /use this json/i }).click();
  await page.waitForLoadState();
}

async function take(page: Page, { name, heightMax = HEIGHT_MAX }: Shot, scheme: string): Promise<void> {
  // As high as the page, so that the navigation beside it is as well.
  await page.setViewportSize({ width: WIDTH, height: 700 });
  const height = await page.evaluate(() => {
    const last = [...document.querySelectorAll("main > *")].at(-1);
    return Math.ceil((last?.getBoundingClientRect().bottom ?? 700) + window.scrollY + 24);
  });
  await page.setViewportSize({ width: WIDTH, height: Math.min(Math.max(height, 480), heightMax) });
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
const page = await stage.signedIn({ viewport: { width: WIDTH, height: HEIGHT_MAX }, reducedMotion: "reduce" });
const only = process.argv.slice(2);
for (const shot of shots(stage, shown)) {
  if (only.length > 0 && !only.includes(shot.name)) continue;
  await page.setViewportSize({ width: WIDTH, height: HEIGHT_MAX });
  await shot.show(page);
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await take(page, shot, scheme);
  }
}
