import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { until } from "../../tools/until.ts";
import { jobInto } from "../e2e/shipper.ts";
import { complaints, violations } from "./browser.ts";
import { ownStage } from "./shared.ts";

const STACK = ["PaymentError: card declined", "at charge (checkout.js:212:11)", "at fetch (checkout.js:31:9)"];

const stage = ownStage();

beforeAll(async () => {
  const { api } = stage().shipper;
  const { id } = await api.createJob(jobInto("shop"));
  const now = Date.now();
  await api.postEvents(Array.from({ length: 80 }, (_, i) => order(i, now - 10_000 + i * 10)).flat());
  await api.postEvents([...FOUND.map(([name, , logged]) => logging(name, now, logged)), ...DECOYS(now)]);
  await until({
    what: "all to be received",
    withinMs: 60_000,
    look: () => api.jobLedger(id),
    enough: ({ received }) => received === 160 + FOUND.length + DECOYS(now).length,
  });
});

/**
 * A request, and the one to another function that it leads to. One of four fails, with its stack in
 * a log.
 */
function order(i: number, at: number): object[] {
  const fetched = (path: string, status: number) => ({
    request: {
      url: `https://shop.example/${path}`,
      method: "POST",
      headers: { "cf-ray": `${(0x8f14e45f00000n + BigInt(i)).toString(16).padStart(16, "0")}-FRA` },
    },
    response: { status },
  });
  const fails = i % 4 === 0;
  const logs = [{ level: "log", message: [`order of customer ${4_700 + i}`], timestamp: at }];
  if (fails) logs.push({ level: "error", message: [STACK.join("\n    ")], timestamp: at + 80 });
  return [
    {
      scriptName: "checkout",
      outcome: fails ? "exception" : "ok",
      eventTimestamp: at,
      event: fetched("checkout", fails ? 500 : 201),
      wallTime: 90,
      logs,
      exceptions: fails ? [{ name: "PaymentError", message: "card declined", timestamp: at + 81 }] : [],
    },
    { scriptName: "payments", outcome: "ok", eventTimestamp: at + 2, event: fetched("charge", 200), wallTime: 40 },
  ];
}

/** A record of its own for each kind of question. @param logged arguments, or where it was. */
const FOUND: readonly [name: string, typed: string, logged: Logged][] = [
  ["two words", "refused cus_8H2", { message: ["the bank refused", "a refund to cus_8H2"] }],
  ["a phrase", '"partial refund"', { message: ["one partial refund was made"] }],
  ["a level", "level:warn", { level: "warn", message: ["slow"] }],
  ["a field of a logged object", "customer:4711", { message: [{ customer: 4711, plan: "gold" }] }],
  ["a path", "path:/returns/*", { url: "https://shop.example/returns/12?by=mail" }],
  ["a URL", "https://shop.example/find?q=(a)&sort=-price*", { url: "https://shop.example/find?q=(a)&sort=-price*" }],
  [
    "a stack line",
    "    at async refund (file:///srv/refund.js:48:13)",
    { message: ["Error: no\n    at async refund (file:///srv/refund.js:48:13)"] },
  ],
  ["a line of JSON", '{"order":777027,"state":"refused"}', { message: ['{"order":777027,"state":"refused"}'] }],
];

interface Logged {
  level?: string;
  message?: unknown[];
  url?: string;
}

/** Each has a part of what another one is found by. */
const DECOYS = (at: number): object[] =>
  [
    { message: ["the bank refused cus_8H3"] },
    { message: ["a refund, partial"] },
    { message: ["customer 4711", { customer: 47110 }] },
    { url: "https://shop.example/return/12" },
    { url: "https://shop.example/find?q=(a)&sort=price" },
    { message: ["at async refund (file:///srv/refund.js:48:1)"] },
    { message: ['{"order":777027,"state":"paid"}'] },
  ].map((logged: Logged) => logging("decoy", at, logged));

function logging(
  scriptName: string,
  at: number,
  { level = "log", message = [], url = "https://shop.example/" }: Logged,
) {
  const event = { request: { url, method: "GET" }, response: { status: 200 } };
  const logs = message.length === 0 ? [] : [{ level, message, timestamp: at }];
  return { scriptName, outcome: "ok", eventTimestamp: at, event, logs };
}

const FAILING =
  /checkout as sent by "http:Admin token", is failing: 20 of 80 requests \(25 %\) in .*, since \d\d:\d\d UTC/;

/** That a failed request is open, and its exception and its stack are on the screen. */
async function showsTheStack(page: Page): Promise<void> {
  const record = page.locator("details.record[open] .record-details");
  await record.waitFor();
  for (const text of ["PaymentError: card declined", STACK[1] ?? ""]) {
    const box = await record.getByText(text).first().boundingBox();
    expect(box?.y, text).toBeGreaterThan(0);
    expect(box?.y, text).toBeLessThan(page.viewportSize()?.height ?? 0);
  }
}

it("leads from the overview's sentence to the stack of a failed request in two clicks", async () => {
  const page = await stage().signedIn();
  const said = complaints(page);
  let clicks = 0;
  const click = async (what: Locator): Promise<void> => {
    await what.click();
    clicks += 1;
  };
  await click(page.locator("#verdict li", { hasText: FAILING }).getByRole("link", { name: "checkout", exact: true }));
  await click(page.getByRole("link", { name: "first record of error 1" }));
  await showsTheStack(page);
  expect(clicks).toBe(2);
  // A way back, which leaves the list, and one to the same request elsewhere.
  await page.getByRole("button", { name: "Close" }).click();
  expect(await page.locator("details.record[open]").count()).toBe(0);
  await page.locator("details.record > summary").press("Enter");
  await page.getByRole("link", { name: "Same request in other Workers" }).click();
  await page.locator("[data-end]").waitFor();
  expect(await page.locator("details.record summary .record-script").allInnerTexts()).toEqual(["checkout", "payments"]);
  expect(said).toEqual([]);
  await page.context().close();
});

it("leads there by the keyboard alone, in twelve key presses", async () => {
  const page = await stage().signedIn();
  let keys = 0;
  const press = async (key: string): Promise<void> => {
    await page.keyboard.press(key);
    keys += 1;
  };
  /** Skips what stands before the content, and goes on to a link. */
  const follow = async (name: string): Promise<void> => {
    await press("Tab");
    await press("Enter");
    for (;;) {
      await press("Tab");
      const at = await page.evaluate(
        () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent,
      );
      if (at?.includes(name)) return press("Enter");
      expect(keys, `keys without a link ${name}`).toBeLessThan(40);
    }
  };
  await follow("First record");
  await showsTheStack(page);
  expect(keys).toBeLessThanOrEqual(12);
  await press("Escape");
  expect(await page.evaluate(() => document.activeElement?.nextElementSibling?.id)).toBe("hit-1");
  await page.context().close();
});

it("takes a time as a person says it, in the time zone of the browser, and leads on from nothing", async () => {
  const page = await stage().signedIn({ timezoneId: "Europe/Berlin" });
  const said = complaints(page);
  await page.goto("/search");
  const [at, from] = [page.getByLabel("Around", { exact: true }), page.getByLabel("From", { exact: true })];
  expect([await at.isVisible(), await from.isVisible()]).toEqual([false, false]);
  await page.getByLabel("Time", { exact: true }).selectOption("around …");
  expect([await at.isVisible(), await from.isVisible()]).toEqual([true, false]);
  await at.fill("2026-01-01 15:00");
  await page.getByLabel("Time zone").selectOption("Europe/Berlin");
  await page.getByLabel("Search for").fill("customer 4704");
  await page.keyboard.press("Enter");
  await page.getByText("Searched from 2026-01-01 13:45 to 14:15 UTC.").waitFor();
  await page.getByLabel("Time", { exact: true }).selectOption("the last 15 minutes");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator("details.record").waitFor();
  await page.goto("/search?q=customer+4705&outcome=failed&last=15m");
  await page.getByRole("link", { name: "any outcome" }).click();
  await page.locator("[data-end]").waitFor();
  expect(await page.locator("details.record").count()).toBe(1);
  expect((await violations(page)).map(({ id }) => id)).toEqual([]);
  expect(said).toEqual([]);
  await page.context().close();
});

it("leads from a search to one record and to those without its value, by the keyboard alone", async () => {
  const page = await stage().signedIn();
  await page.goto("/search");
  await page.keyboard.press("/");
  await page.keyboard.type("event");
  expect(await page.inputValue("#field-q")).toBe("event");
  await page.goto("/search?last=15m");
  const hits = await page.locator("details.record").count();
  expect(hits).toBeGreaterThan(2);
  for (const key of ["j", "j", "Enter"]) await page.keyboard.press(key);
  expect(await page.locator("details.record[open] > .record-details").getAttribute("id")).toBe("hit-2");
  // What is open follows.
  await page.keyboard.press("j");
  expect(await page.locator("details.record[open] > .record-details").getAttribute("id")).toBe("hit-3");
  const name = await page.locator("details.record[open] summary .record-script").innerText();
  await page.keyboard.press("Escape");
  expect(await page.locator("details.record[open]").count()).toBe(0);
  await page.keyboard.press("Enter");
  await page.locator("details.record[open] .facts div", { hasText: "Worker" }).locator("a").nth(1).press("Enter");
  await page.waitForURL(/filter=/);
  await page.locator("[data-end]").waitFor();
  const left = await page.locator("details.record summary .record-script").allInnerTexts();
  expect(left.length).toBeGreaterThan(2);
  expect(left).not.toContain(name);
  await page.close();
});

it("has the open record in its address, which opens it, and copies a link to it alone", async () => {
  const page = await stage().signedIn();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const said = complaints(page);
  const open = page.locator("details.record[open]");
  await page.goto("/search?last=15m&outcome=failed");
  await page.locator("details:has(> #hit-3) > summary").click();
  await page.waitForURL(/\/search\?last=15m&outcome=failed#q=ray.*since=/);
  const [address, ray] = [page.url(), (await open.locator(".facts div", { hasText: "Ray" }).innerText()).slice(0, 24)];
  await open.getByRole("button", { name: "Copy link" }).click();
  await open.getByText("Copied").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  await page.goto("/");
  await page.goto(address);
  await open.waitFor();
  expect(await open.locator("> .record-details").getAttribute("id")).toBe("hit-3");
  await page.keyboard.press("Escape");
  await page.waitForURL(/outcome=failed$/);
  // The link alone, and an address whose list has it no more.
  for (const to of [link, address.replace("outcome=failed", "q=nowhere")]) {
    await page.goto("/");
    await page.goto(to);
    await page.waitForURL(/\/search\?q=ray/);
    await open.waitFor();
    expect((await open.locator(".facts div", { hasText: "Ray" }).innerText()).slice(0, 24)).toBe(ray);
  }
  expect(said).toEqual([]);
  await page.context().close();
});

it.each(FOUND)("finds by %s the record that was meant, and no other: %s", async (name, typed) => {
  const page = await stage().signedIn();
  await page.goto("/search");
  await page.getByLabel("Time", { exact: true }).selectOption("the last 15 minutes");
  await page.getByLabel("Search for").focus();
  await page.keyboard.insertText(typed);
  await page.keyboard.press("Enter");
  await page.locator("[data-end]").waitFor();
  expect(await page.locator("details.record summary .record-script").allInnerTexts()).toEqual([name]);
  await page.close();
});
