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
/** For what the server is asked. */
const SOON = { timeout: 20_000 };
const rows = (page: Page) => page.locator("#live-rows button");

it("draws 200 events a second, or says which it dropped", async () => {
  const page = await watching();
  const said = complaints(page);
  // Records and elements per drawing step: few enough for one frame, and more than one.
  await page.evaluate(() => {
    const [drawn, made]: number[][] = [[], []];
    const list = document.getElementById("live-rows") as HTMLElement;
    new MutationObserver((changes) => {
      const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof Element);
      made?.push(added.reduce((sum, node) => sum + 1 + node.querySelectorAll("*").length, 0));
      for (const { addedNodes, target } of changes) {
        if (target !== list) continue;
        const records = [...addedNodes].filter((row) => !(row as HTMLElement).classList.contains("live-gap"));
        if (records.length > 0) drawn?.push(records.length);
      }
    }).observe(list, { childList: true, subtree: true });
    Object.assign(window, { drawn, made });
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
      const counts = [...document.querySelectorAll("#live-rows button")].map((row) => row.querySelector(".live-count"));
      return counts.reduce((sum, count) => sum + Number(count?.textContent?.replace(/\D/g, "") || 1), 0);
    });
  await expect.poll(listed, { timeout: 20_000 }).toBe(Math.min(1_000, shown));
  // In the list: the sum stands above it as well.
  const stated = await page.locator("#live-rows .live-gap", { hasText: "skipped (too fast)" }).allTextContents();
  expect(stated.reduce((sum, text) => sum + Number(text.replace(/\D/g, "")), 0)).toBe(dropped);
  const { drawn, made } = await page.evaluate(() => {
    const { drawn, made } = window as unknown as Record<"drawn" | "made", number[]>;
    return { drawn, made };
  });
  expect(Math.max(...drawn)).toBeLessThanOrEqual(62);
  expect(drawn.length).toBeLessThan(shown / 2);
  expect(Math.max(...made)).toBeLessThan(62 * 25);
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
  expect(await dialog.locator("#opened-json").textContent()).toContain('"ScriptName": "a\\u001b[31m\\u202e<img src=x');
  expect((await violations(page)).map(({ id }) => id)).toEqual([]);
  const copied = async (as: string) => {
    const button = dialog.locator(`[data-copy=opened-${as}]`);
    await button.click();
    await button.getByText("Copied").waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  };
  expect(JSON.parse(await copied("json"))).toMatchObject({ Outcome: evil, Event: request });
  expect(await copied("curl")).toMatch(/^curl --globoff -X POST 'https:\/\/shop\.example\/'\\''%1B\[31m%/);
  await page.keyboard.press("j");
  const worker = dialog.locator(".facts div", { hasText: "Worker" });
  await worker.getByText("other").waitFor();
  // The list is beside it, and the address has it: what is shipped opens from there.
  expect(await rows(page).first().isVisible()).toBe(true);
  await page.waitForURL(/\/live#function=other&.*since=/);
  const address = page.url();
  await page.goto("/");
  await page.goto(address);
  await worker.getByText("other").waitFor({ timeout: 20_000 });
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await page.waitForURL(/\/live$/);
  await rows(page).filter({ hasText: "other" }).first().click();
  // A value that is clicked becomes a condition.
  await worker.getByRole("link", { name: "not ScriptName" }).click();
  await page.waitForURL(/filter=.*%21eq/);
  await dialog.waitFor({ state: "hidden" });
  await page.locator("#live-what input[value=ScriptName]").waitFor({ state: "attached" });
  await expect.poll(() => rows(page).filter({ hasText: "other" }).count(), SOON).toBe(0);
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
  await page.getByLabel("Outcome", { exact: true }).selectOption("failed");
  await page.waitForURL(/\/live\?q=PAUSED&outcome=failed$/);
  await expect.poll(() => line.count()).toBe(1);
  await page.getByLabel("Outcome", { exact: true }).selectOption("any outcome");
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

it("takes a query as it is typed, and hides and brings back what the list has", async () => {
  const page = await watching();
  const said = complaints(page);
  const search = page.getByLabel("Search for");
  await page.getByRole("button", { name: "Clear list" }).click();
  const fetched = (path: string, Status: number) => ({
    EventType: "fetch",
    Event: { Request: { Method: "GET", URL: `https://shop.example${path}` }, Response: { Status } },
  });
  const hostile = '"a" (\u202e<img src=x onerror="window.hit=1">';
  await send([
    event("ok", { ScriptName: "typed 1", ...fetched("/checkout/pay", 502) }),
    event("ok", { ScriptName: "typed 2", ...fetched("/checkout", 200) }),
    event("ok", { ScriptName: "typed 3", Logs: [{ Level: "error", Message: [hostile], TimestampMs: 1 }] }),
  ]);
  const shown = () =>
    rows(page)
      .filter({ hasText: "typed" })
      .evaluateAll((all) => all.map(({ textContent }) => /typed \d/.exec(textContent ?? "")?.[0]).sort());
  const lists = (...names: number[]) => expect.poll(shown, SOON).toEqual(names.map((n) => `typed ${n}`));
  await lists(1, 2, 3);
  await search.pressSequentially("status:5xx OR path:/checkout");
  await lists(1, 2);
  // What arrives while a query is in force is judged by it, and later by the next one.
  await send([
    event("ok", { ScriptName: "typed 4", ...fetched("/checkout", 200) }),
    event("ok", { ScriptName: "typed 5" }),
  ]);
  await lists(1, 2, 4);
  await search.fill("worker:typed* -path:*");
  await lists(3);
  await page.waitForURL(/\/live\?q=worker%3Atyped\*\+-path%3A\*$/);
  // Half a query changes nothing. Its fault has its place, and what was pasted can be a phrase.
  await search.fill(hostile);
  const faults = page.locator("#live-faults");
  await faults.getByText("character 5: this bracket is not closed").waitFor();
  expect(await faults.locator("mark").textContent()).toContain("(<U+202E><img src=x");
  expect((await violations(page)).map(({ id }) => id)).toEqual([]);
  await lists(3);
  expect(await page.evaluate(() => (window as { hit?: number }).hit)).toBeUndefined();
  await faults.getByRole("link", { name: "as a phrase" }).click();
  await lists(3);
  expect(await search.inputValue()).toBe(`"${hostile.replaceAll('"', '\\"')}"`);
  await expect.poll(() => faults.textContent(), SOON).toBe("");
  await search.fill('typed -worker:"typed 5"');
  await lists(1, 2, 3, 4);
  // To a search with the same words, and back.
  await search.fill("worker:typed* status:502");
  await lists(1);
  await page.getByRole("link", { name: "Search the last hour" }).click();
  await page.waitForURL(/\/search\?last=1h&q=worker%3Atyped\*\+status%3A502$/);
  await page.getByRole("link", { name: "Watch live" }).click();
  await page.waitForURL(/\/live\?q=worker%3Atyped\*\+status%3A502$/);
  await lists(1);
  expect(said).toEqual([]);
  await page.context().close();
});

it("judges a list that is larger than what is asked at once, and what comes meanwhile", async () => {
  const page = await watching();
  const said = complaints(page);
  const asked: number[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/live/judge")) asked.push(request.postData()?.length ?? 0);
  });
  const filler = "x".repeat(5_000);
  const some = (n: number) =>
    Array.from({ length: 20 }, (_, i) =>
      event(i % 2 === 0 ? "exception" : "ok", {
        ScriptName: `bulk ${n} ${i}`,
        Logs: [{ Level: "log", Message: [filler], TimestampMs: 1 }],
      }),
    );
  const before = await figure(page, "seen");
  for (let n = 0; n < 6; n++) await send(some(n));
  await seen(page, before + 120);
  const bulk = () => rows(page).filter({ hasText: "bulk" }).count();
  await expect.poll(bulk, SOON).toBe(120);
  await page.getByLabel("Search for").fill("bulk outcome:exception");
  await expect.poll(bulk, SOON).toBe(60);
  expect(asked.length).toBeGreaterThan(1);
  for (const units of asked) expect(units).toBeLessThan(512 * 1024);
  await page.getByLabel("Search for").fill("");
  await expect.poll(bulk, SOON).toBe(120);
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
