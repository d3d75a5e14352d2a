import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { complaints } from "./browser.ts";
import { theStage } from "./shared.ts";

const stage = theStage();

/** Creates a job for a folder of the local bucket, proven and previewed. @returns its id. */
async function create(page: Page, folder: string): Promise<number> {
  await page.goto("/jobs/new");
  await page.getByLabel("Name", { exact: true }).fill(`job of ${folder}`);
  await page.getByRole("button", { name: "Amazon S3 or compatible" }).click();
  await page.getByLabel("Region").waitFor();
  await page.locator(".kinds > summary").click();
  await page.getByRole("button", { name: "Local bucket" }).click();
  await page.getByText("Bucket and keys of local development").waitFor();
  await page.getByLabel("Path", { exact: true }).fill(`${folder}/{DATE}`);
  await page.getByText("Proof of ownership").click();
  await page.getByRole("button", { name: "Write a challenge" }).click();
  await page.getByRole("button", { name: "Read it back" }).click();
  await page.getByText("It proves that you own the bucket").waitFor();
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("heading", { name: "Preview on recent events" }).waitFor();
  expect(await page.content()).not.toContain("local-secret-key");
  // Enter in a field creates it, as no filter is being built.
  await page.getByLabel("Name", { exact: true }).press("Enter");
  await page.waitForURL(/\/jobs\/\d+\?created$/);
  await page.getByRole("heading", { level: 2, name: "First object" }).waitFor();
  return Number(/\/jobs\/(\d+)/.exec(page.url())?.[1]);
}

const EVENTS = [
  { ScriptName: "shop", Outcome: "ok", EventType: "fetch" },
  { ScriptName: "shop", Outcome: "exception", EventType: "fetch" },
];

describe("the way to a job, up to its first object", () => {
  it("by mouse and keyboard, and the page follows by itself", async () => {
    const page = await stage().signedIn();
    const said = complaints(page);
    const id = await create(page, "with-script");
    await page.getByText("No events yet").waitFor();
    await stage().shipper.api.postEvents(EVENTS);
    await page
      .locator("#first-object")
      .getByText(/2 records waiting/)
      .waitFor();
    await stage().shipper.api.flush(id);
    await page.getByText("Delivered to your bucket").waitFor();
    const link = page.locator("#first-object").getByRole("link");
    expect(await link.textContent()).toMatch(/^with-script\/\d{8}\/.*\.log\.gz$/);
    expect(await link.getAttribute("href")).toBe(`/jobs/${id}/objects/1`);
    expect(await stage().shipper.recordsBelow("with-script")).toHaveLength(2);
    expect(said).toEqual([]);
  });

  it("without any script", async () => {
    const page = await stage().signedIn({ javaScriptEnabled: false });
    const id = await create(page, "without-script");
    await stage().shipper.api.postEvents(EVENTS);
    await expect
      .poll(
        async () => {
          await stage().shipper.api.flush(id);
          await page.getByRole("link", { name: "refresh" }).click();
          return page.locator("#first-object").textContent();
        },
        { timeout: 60_000, interval: 2_000 },
      )
      .toContain("Delivered to your bucket");
    expect(await page.locator("#first-object").getByRole("link").textContent()).toMatch(/^without-script\//);
  });
});
