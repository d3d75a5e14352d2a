import { expect, it } from "vitest";
import { theWorld } from "./shared.ts";

const world = theWorld();

const ALL = "last=own&since=2026-01-01&until=2999-01-01";

it("leads from a search to one record and to those without its value, by the keyboard alone", async () => {
  const page = await world().stage.signedIn();
  await page.goto("/search");
  await page.keyboard.press("/");
  await page.keyboard.type("event");
  expect(await page.inputValue("#field-text")).toBe("event");
  await page.goto(`/search?${ALL}`);
  const hits = await page.locator("details.hit").count();
  expect(hits).toBeGreaterThan(2);
  for (const key of ["j", "j", "Enter"]) await page.keyboard.press(key);
  expect(await page.locator("details.hit[open]").getAttribute("id")).toBe("hit-2");
  // What is open follows.
  await page.keyboard.press("j");
  expect(await page.locator("details.hit[open]").getAttribute("id")).toBe("hit-3");
  const name = await page.locator("details.hit[open] summary strong").innerText();
  await page.keyboard.press("Escape");
  expect(await page.locator("details.hit[open]").count()).toBe(0);
  await page.keyboard.press("Enter");
  await page.locator("details.hit[open] tr", { hasText: "ScriptName" }).locator("a").nth(1).press("Enter");
  await page.waitForURL(/filter=/);
  await page.locator("nav, .ways, .empty").last().waitFor();
  const left = await page.locator("details.hit summary strong").allInnerTexts();
  expect(left).not.toContain(name);
  await page.close();
});
