import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { complaints } from "./browser.ts";
import { theStage } from "./shared.ts";

const stage = theStage();

/** Counts the requests of a page for its parts. */
function looks(page: Page): () => Promise<number> {
  let asked = 0;
  page.on("request", (request) => {
    if (request.headers()["x-logship-refresh"] !== undefined) asked += 1;
  });
  // Every request that the page sent before this call is counted when it returns.
  return async () => {
    await page.evaluate(() => document.title);
    return asked;
  };
}

it("looks again every fifteen seconds while somebody is there, and once a minute after that", async () => {
  const page = await stage().signedIn();
  await page.clock.install();
  await page.goto("/jobs");
  const said = complaints(page);
  const asked = looks(page);
  // A fetch by the page that is answered after the parts are in place: it is sent after theirs.
  const placed = () => page.evaluate(() => fetch("/jobs").then((answer) => answer.text()));
  const look = async (afterS: number): Promise<void> => {
    const answer = page.waitForResponse((response) => response.request().headers()["x-logship-refresh"] !== undefined);
    await page.clock.runFor(afterS * 1_000);
    await (await answer).finished();
    await placed();
  };
  await look(15);
  await look(15);
  expect(await asked()).toBe(2);
  await page.clock.fastForward(600_000);
  await expect.poll(asked).toBe(3);
  await placed();
  await page.clock.runFor(45_000);
  expect(await asked()).toBe(3);
  await look(15);
  expect(await asked()).toBe(4);
  await page.mouse.move(50, 50);
  await look(15);
  expect(await asked()).toBe(5);
  expect(said).toEqual([]);
});
