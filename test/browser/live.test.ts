import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { complaints, Stage, violations } from "./browser.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.set();
});
afterAll(() => stage?.[Symbol.asyncDispose]());

/** Sends events over the API, as a function does. */
async function send(events: readonly object[]): Promise<void> {
  const answer = await fetch(
    `${stage.shipper.url}/client/v4/accounts/local/logship/datasets/functions_trace_events/events`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${stage.shipper.token}`, "content-type": "application/json" },
      body: JSON.stringify(events),
    },
  );
  expect(answer.status).toBe(202);
}

const event = (outcome: string, more: object = {}) => ({
  EventTimestampMs: Date.now(),
  Outcome: outcome,
  ScriptName: "shop",
  ...more,
});

async function watching(): Promise<Page> {
  const page = await stage.signedIn();
  await page.goto("/live");
  await page.getByText("Connected. Records appear").waitFor();
  return page;
}

const figure = async (page: Page, name: string): Promise<number> =>
  Number((await page.locator(`#live-${name}`).textContent())?.replaceAll(",", ""));
const seen = (page: Page, least: number) =>
  page.waitForFunction(
    (wanted) => Number(document.getElementById("live-seen")?.textContent?.replaceAll(",", "")) >= wanted,
    least,
  );
const rows = (page: Page) => page.locator("#live-rows tr:not([hidden])");

it("draws 200 events a second, or says which it dropped", async () => {
  const page = await watching();
  const said = complaints(page);
  // Rows per drawing step: few enough for one frame, and more than one.
  await page.evaluate(() => {
    const drawn: number[] = [];
    const list = document.getElementById("live-rows") as HTMLElement;
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) if (addedNodes.length > 0) drawn.push(addedNodes.length);
    }).observe(list, { childList: true });
    Object.assign(window, { drawn });
  });
  const began = Date.now();
  for (let n = 0; n < 50; n++) {
    await send(Array.from({ length: 20 }, (_, i) => event(i % 5 === 0 ? "exception" : "ok")));
    await page.waitForTimeout(Math.max(0, began + (n + 1) * 100 - Date.now()));
  }
  await seen(page, 1_000);
  const [shown, dropped] = [await figure(page, "shown"), await figure(page, "dropped")];
  expect([await figure(page, "seen"), shown + dropped]).toEqual([1_000, 1_000]);
  await page.waitForFunction(
    (n) => document.querySelectorAll("#live-rows button").length === n,
    Math.min(1_000, shown),
  );
  const stated = await page.getByText(/^.?[\d,]+ skipped \(too fast\)$/).allTextContents();
  expect(stated.reduce((sum, text) => sum + Number(text.replace(/\D/g, "")), 0)).toBe(dropped);
  const drawn = await page.evaluate(() => (window as unknown as { drawn: number[] }).drawn);
  expect(Math.max(...drawn)).toBeLessThanOrEqual(62);
  expect(drawn.length).toBeLessThan(shown / 2);
  expect(said).toEqual([]);
  await page.context().close();
});

it("shows a record in full, by keyboard alone, with nothing in it obeyed", async () => {
  const page = await watching();
  const said = complaints(page);
  const evil = '\u001b[31m\u202e<img src=x onerror="window.hit=1"><script>window.hit=1</script>';
  await send([
    event("ok"),
    event(evil, { ScriptName: `a${evil}`, Logs: [{ Level: evil, Message: [evil], TimestampMs: 1 }] }),
  ]);
  await seen(page, 2);
  await rows(page).nth(1).waitFor();
  expect(await page.evaluate(() => (window as { hit?: number }).hit)).toBeUndefined();
  expect(await page.locator("#live-rows img, #live-rows script").count()).toBe(0);
  const text = await page.locator("#live-rows").textContent();
  expect([text?.includes("\u001b"), text?.includes("\u202e")]).toEqual([false, false]);
  await page.getByRole("searchbox", { name: "Search the list" }).focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Record" });
  await dialog.waitFor();
  expect(await dialog.textContent()).toContain('"ScriptName": "a\\u001b[31m<U+202E><img src=x');
  const faults = await violations(page);
  expect(faults.map(({ id }) => id)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  expect(await dialog.textContent()).toContain('"ScriptName": "shop"');
  expect(said).toEqual([]);
  await page.context().close();
});

it("pauses, searches, and filters", async () => {
  const [page, other] = [await watching(), await watching()];
  const said = complaints(page);
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("Space");
  await page.getByText("Paused: no records are sent.").waitFor();
  await send([event("missed"), event("missed")]);
  // What the first page received, the second one received too.
  await seen(other, 2);
  await other.context().close();
  expect(await figure(page, "seen")).toBe(0);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("2 missed while paused").waitFor();

  await send([event("ok"), event("exception"), event("ok", { ScriptName: "needle" })]);
  await seen(page, 3);
  await page.getByRole("searchbox").fill("NEEDLE");
  await page.getByText("1 of 3 records match.").waitFor();
  expect(
    await rows(page)
      .filter({ has: page.getByRole("button") })
      .count(),
  ).toBe(1);
  await page.getByRole("searchbox").fill("");

  await page.locator("#live-what summary").click();
  await page.getByRole("textbox", { name: "Filter" }).fill('{"where":{"key":"Outcome","operator":"eq"}}');
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText(/bad predicate: where: value/).waitFor();
  await page
    .getByRole("textbox", { name: "Filter" })
    .fill('{"where":{"key":"Outcome","operator":"eq","value":"exception"}}');
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("matching records").waitFor();
  expect(await rows(page).count()).toBe(0);
  await send([event("ok"), event("exception"), event("ok")]);
  await seen(page, 6);
  expect([await figure(page, "shown"), await figure(page, "filtered")]).toEqual([4, 2]);
  expect(await rows(page).count()).toBe(1);
  expect(said).toEqual([]);
  await page.context().close();
});

it("comes back by itself, and says when it cannot", async () => {
  const page = await watching();
  // However long the restart takes: the pauses between attempts grow to half a minute.
  await page.evaluate(() => {
    const real = window.setTimeout.bind(window);
    Object.assign(window, { setTimeout: (run: () => void, ms = 0): number => real(run, Math.min(ms, 1_000)) });
  });
  await stage.shipper.kill();
  await page.getByText("Disconnected").waitFor();
  await stage.shipper.restart();
  await page.getByText("Connected. Records appear").waitFor({ timeout: 60_000 });
  await page.getByText(/Disconnected for \d+ s: records of that time are missing/).waitFor();
  await send([event("ok")]);
  await seen(page, 1);
  await page.context().clearCookies();
  await stage.shipper.crashAndRestart();
  await page.getByText("Signed out.").waitFor({ timeout: 60_000 });
  await page.context().close();
});
