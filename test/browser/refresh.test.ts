import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { complaints, Stage } from "./browser.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.set();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** How often a page has asked for its parts again, by now. */
function looks(page: Page): () => Promise<number> {
  let asked = 0;
  page.on("request", (request) => {
    if (request.headers()["x-logship-refresh"] !== undefined) asked += 1;
  });
  // What the page has sent before this is answered was noted before.
  return async () => {
    await page.evaluate(() => document.title);
    return asked;
  };
}

it("looks again every fifteen seconds while somebody is there, and once a minute after that", async () => {
  const page = await stage.signedIn();
  await page.clock.install();
  await page.goto("/jobs");
  const said = complaints(page);
  const asked = looks(page);
  // It goes on once it has put the parts in their places: what is asked for after them is answered after that.
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
