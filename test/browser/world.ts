import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { HostileStore } from "../e2e/hostile-store.ts";
import { Stage } from "./browser.ts";
import { PATTERNS } from "./pages-there-are.ts";
import { FILES, PLACES } from "./places.ts";
import { type Seeded, seed } from "./seed.ts";

/** A browser, and a shipper with data for every page. */
export interface World {
  stage: Stage;
  store: HostileStore;
  seeded: Seeded;
}

/** One world for the tests of a file. @returns a getter for use in the tests. */
export function theWorld(): () => World {
  let world: World | undefined;
  let store: HostileStore | undefined;
  let stage: Stage | undefined;
  beforeAll(async () => {
    store = await HostileStore.start();
    stage = await Stage.set();
    const seeded = await seed(stage.shipper, store);
    world = { stage, store, seeded: { ...seeded, draft: await beginDraft(stage, seeded.jobs.odd) } };
  });
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });
  return () => {
    if (world === undefined) throw new Error("the world is not there yet");
    return world;
  };
}

/** Copies a job up to the last step of the form. @returns the draft's id. */
async function beginDraft(stage: Stage, job: number): Promise<string> {
  if (!PATTERNS.includes("/jobs/new/:draft/finish")) return "";
  const page = await stage.signedIn();
  await page.evaluate(async (action) => {
    const csrf = document.querySelector<HTMLInputElement>("input[name=csrf]")?.value ?? "";
    location.assign((await fetch(action, { method: "POST", body: new URLSearchParams({ csrf }) })).url);
  }, `/jobs/${job}/duplicate`);
  for (const next of ["destination", "records", "output", "preview", "ownership"]) {
    await page.waitForURL(`**/jobs/new/*/${next}`);
    await page.locator("main button.primary").first().click();
  }
  await page.waitForURL("**/jobs/new/*/finish");
  const id = /new\/([^/]+)\/finish/.exec(page.url())?.[1] ?? "";
  await page.context().close();
  return id;
}

/** The patterns of pages, without those of files. */
export const PAGE_PATTERNS = PATTERNS.filter((pattern) => !FILES.includes(pattern));

/** The addresses of a pattern. */
export function placesOf(pattern: string, { seeded }: World): readonly string[] {
  return PLACES[pattern]?.(seeded) ?? [];
}

/** Opens a page and waits until it is complete. @returns the status. */
export async function visit(page: Page, path: string): Promise<number> {
  const answer = await page.goto(path, { waitUntil: "load" });
  await page.locator("h1").first().waitFor();
  return answer?.status() ?? 0;
}

/** Opens a page that must exist. */
export async function visitPage(page: Page, path: string): Promise<void> {
  expect(await visit(page, path), path).toBe(200);
}

/** Opens every folded section. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
}

/** Stops updates on pages opened from now on, so that no part is replaced during a check. */
export async function holdStill(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const real = window.setTimeout.bind(window);
    const held = (run: () => void, ms = 0): number => (ms >= 1_000 ? 0 : real(run, ms));
    Object.assign(window, { setTimeout: held });
  });
}
