import type { Page } from "playwright-core";
import { expect } from "vitest";
import { PATTERNS } from "./pages-there-are.ts";
import { FILES, PLACES } from "./places.ts";
import type { World } from "./shared.ts";

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

/** Waits until a page that counts by itself has counted: until then, parts of it are replaced. */
export async function whenCounted(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const stop = document.querySelector<HTMLElement>(".counts [data-stop]");
    const isCounting = document.querySelector('#figures [data-go="auto"]') !== null;
    return document.querySelector(".counts") === null || (stop?.hidden !== false && !isCounting);
  });
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
