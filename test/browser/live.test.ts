import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { jobInto } from "../e2e/shipper.ts";
import { complaints, violations } from "./browser.ts";
import { ownStage } from "./shared.ts";

const stage = ownStage();
beforeAll(async () => {
  // What waits in the log of a job is searched.
  await stage().shipper.api.createJob(jobInto("shop"));
});

/** Sends events over the API, as a function does. */
const send = (events: readonly object[]) => stage().shipper.api.postEvents(events);

const event = (outcome: string, more: object = {}) => ({
  EventTimestampMs: Date.now(),
  Outcome: outcome,
  ScriptName: "shop",
  ...more,
});

async function watching(): Promise<Page> {
  const page = await stage().signedIn();
  const older = page.waitForResponse(/\/live\/recent/);
  await page.goto("/live");
  await page.getByText("Connected", { exact: true }).waitFor();
  await (await older).finished();
  return page;
}

const figure = async (page: Page, name: string): Promise<number> =>
  Number((await page.locator(`#live-${name}`).textContent())?.replaceAll(",", ""));
const seen = (page: Page, least: number) =>
  page.waitForFunction(
    (wanted) => Number(document.getElementById("live-seen")?.textContent?.replaceAll(",", "")) >= wanted,
    least,
  );
const rows = (page: Page) => page.locator("#live-rows button");

it("draws 200 events a second, or says which it dropped", async () => {
  const page = await watching();
  const said = complaints(page);
  // Records per drawing step: few enough for one frame, and more than one.
  await page.evaluate(() => {
    const drawn: number[] = [];
    const list = document.getElementById("live-rows") as HTMLElement;
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) {
        const records = [...addedNodes].filter((row) => !(row as HTMLElement).classList.contains("live-gap"));
        if (records.length > 0) drawn.push(records.length);
      }
    }).observe(list, { childList: true });
    Object.assign(window, { drawn });
  });
  const began = Date.now();
  for (let n = 0; n < 50; n++) {
    await send(
      Array.from({ length: 20 }, (_, i) => event(i % 5 === 0 ? "exception" : "ok", { ScriptName: `shop ${i % 2}` })),
    );
    await page.waitForTimeout(Math.max(0, began + (n + 1) * 100 - Date.now()));
  }
  await seen(page, 1_000);
  const [shown, dropped] = [await figure(page, "shown"), await figure(page, "dropped")];
  expect([await figure(page, "seen"), shown + dropped]).toEqual([1_000, 1_000]);
  const listed = () =>
    page.evaluate(() => {
      const counts = [...document.querySelectorAll("#live-rows button .live-count")];
      return counts.reduce((sum, { textContent }) => sum + Number(textContent?.replace(/\D/g, "") || 1), 0);
    });
  await expect.poll(listed, { timeout: 20_000 }).toBe(Math.min(1_000, shown));
  // In the list: the sum stands above it as well.
  const stated = await page.locator("#live-rows .live-gap", { hasText: "skipped (too fast)" }).allTextContents();
  expect(stated.reduce((sum, text) => sum + Number(text.replace(/\D/g, "")), 0)).toBe(dropped);
  const drawn = await page.evaluate(() => (window as unknown as { drawn: number[] }).drawn);
  expect(Math.max(...drawn)).toBeLessThanOrEqual(62);
  expect(drawn.length).toBeLessThan(shown / 2);
  expect(said).toEqual([]);
  await page.context().close();
});

it("shows a record in full, by keyboard alone, with nothing in it obeyed", async () => {
  const page = await watching();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const said = complaints(page);
  const evil = '\u001b[31m\u202e<img src=x onerror="window.hit=1"><script>window.hit=1</script>';
  const request = { RayID: "8f", Request: { Method: "POST", URL: `https://shop.example/'${evil}` } };
  await send([
    event("ok", { ScriptName: "other" }),
    event(evil, {
      ScriptName: `a${evil}`,
      EventType: "fetch",
      Event: request,
      Logs: [{ Level: evil, Message: [evil], TimestampMs: 1 }],
    }),
  ]);
  await rows(page).filter({ hasText: "other" }).waitFor();
  expect(await page.evaluate(() => (window as { hit?: number }).hit)).toBeUndefined();
  expect(await page.locator("#live-rows img, #live-rows script").count()).toBe(0);
  const text = await page.locator("#live-rows").textContent();
  expect([text?.includes("\u001b"), text?.includes("\u202e")]).toEqual([false, false]);
  await page.keyboard.press("j");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Record" });
  await dialog.getByText("a␛[31m<U+202E><img src=x").first().waitFor();
  expect(await dialog.locator("#live-json").textContent()).toContain('"ScriptName": "a\\u001b[31m\\u202e<img src=x');
  expect((await violations(page)).map(({ id }) => id)).toEqual([]);
  const copied = async (as: string) => {
    const button = dialog.locator(`#live-copy-${as}`);
    await button.click();
    await button.getByText("Copied").waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  expect(JSON.parse(await copied("json"))).toMatchObject({ Outcome: evil, Event: request });
  expect(await copied("curl")).toMatch(/^curl --globoff -X POST 'https:\/\/shop\.example\/'\\''%1B\[31m%/);
  await page.keyboard.press("j");
  await dialog.getByText("other").first().waitFor();
  // A value that is clicked becomes a condition.
  await dialog.getByRole("button", { name: "Filter against ScriptName" }).click();
  await page.waitForURL(/filter=.*%21eq/);
  await dialog.waitFor({ state: "hidden" });
  await page.locator("#live-what input[value=ScriptName]").waitFor({ state: "attached" });
  expect(await rows(page).filter({ hasText: "other" }).count()).toBe(0);
  expect(await rows(page).count()).toBeGreaterThan(0);
  expect(said).toEqual([]);
  await page.context().close();
});

it("keeps what arrives during a pause, and what a filter hides", async () => {
  const page = await watching();
  const said = complaints(page);
  await page.getByRole("button", { name: "Clear list" }).click();
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("Space");
  const alike = Array.from({ length: 3 }, () => event("exception", { ScriptName: "paused" }));
  await send([...alike, event("ok", { ScriptName: "paused" })]);
  await page.getByText("Paused: 4 waiting").waitFor();
  expect(await rows(page).count()).toBe(0);
  await page.keyboard.press("Space");
  const line = rows(page).filter({ hasText: "paused" });
  await line.first().waitFor();
  expect(await line.allInnerTexts()).toEqual([
    expect.stringMatching(/ok[\s\S]*paused/),
    expect.stringMatching(/exception[\s\S]*paused[\s\S]*× 3/),
  ]);

  await page.keyboard.press("/");
  await page.keyboard.type("PAUSED");
  await page.getByRole("checkbox", { name: "Errors only" }).check();
  await page.waitForURL(/\/live\?text=PAUSED&errors=1$/);
  await expect.poll(() => line.count()).toBe(1);
  await page.getByRole("checkbox", { name: "Errors only" }).uncheck();
  await expect.poll(() => line.count()).toBe(2);

  await page.locator("#live-what > summary").click();
  await page.getByRole("button", { name: "Add a condition" }).click();
  await page.getByLabel("Field of condition 1").fill("Nonsense");
  await page.getByRole("button", { name: "Apply conditions" }).click();
  await page
    .getByText(/unknown field "Nonsense"/)
    .first()
    .waitFor();
  await page.getByLabel("Field of condition 1").fill("Outcome");
  await page.getByLabel("Value of condition 1").fill("ok");
  await page.getByRole("button", { name: "Apply conditions" }).click();
  await page.waitForURL(/filter=.*Outcome/);
  await expect.poll(() => line.count()).toBe(1);
  expect((await violations(page)).map(({ id }) => id)).toEqual([]);
  // A link shows the same, with what was there.
  await page.goto(page.url());
  await line.first().waitFor();
  expect(await line.count()).toBe(1);
  expect(said).toEqual([]);
  await page.context().close();
});

it("shows nothing again that an earlier socket brought", async () => {
  const page = await stage().signedIn();
  await page.addInitScript(() => {
    const sockets: WebSocket[] = [];
    const Real = WebSocket;
    class Kept extends Real {
      constructor(url: string) {
        super(url);
        sockets.push(this);
      }
    }
    Object.assign(window, { WebSocket: Kept, loseSocket: () => sockets.at(-1)?.close() });
  });
  await page.goto("/live");
  await page.getByText("Connected", { exact: true }).waitFor();
  await send([event("canceled")]);
  await seen(page, 1);
  await page.evaluate(() => {
    // It is back before the queue delivers the record.
    const real = window.setTimeout.bind(window);
    Object.assign(window, { setTimeout: (run: () => void, ms = 0): number => real(run, Math.min(ms, 10)) });
    (window as unknown as { loseSocket(): void }).loseSocket();
  });
  await page.getByText(/Disconnected for \d+ s: records of that time may be missing/).waitFor();
  // The new socket gets it when it is counted.
  await seen(page, 2);
  expect(await rows(page).filter({ hasText: "canceled" }).count()).toBe(1);
  expect(await rows(page).filter({ hasText: "canceled" }).filter({ hasText: "×" }).count()).toBe(0);
  await page.context().close();
});

it("comes back by itself, and says when it cannot", async () => {
  const page = await watching();
  // However long the restart takes: the pauses between attempts grow to half a minute.
  await page.evaluate(() => {
    const real = window.setTimeout.bind(window);
    Object.assign(window, { setTimeout: (run: () => void, ms = 0): number => real(run, Math.min(ms, 1_000)) });
  });
  await stage().shipper.kill();
  await page.getByText("Disconnected").waitFor();
  await stage().shipper.restart();
  await page.getByText("Connected", { exact: true }).waitFor({ timeout: 60_000 });
  await page.getByText(/Disconnected for \d+ s: records of that time may be missing/).waitFor();
  await send([event("ok")]);
  await seen(page, 1);
  await page.context().clearCookies();
  await stage().shipper.crashAndRestart();
  await page.getByText("Signed out.").waitFor({ timeout: 60_000 });
  await page.context().close();
});
