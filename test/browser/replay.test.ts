import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { LOCAL_BUCKET, localDestination } from "../../tools/client/bucket.ts";
import { until } from "../../tools/until.ts";
import { theStage } from "./shared.ts";

const stage = theStage();
let job: number;
let page: Page;
beforeAll(async () => {
  const { api } = stage().shipper;
  ({ id: job } = await api.createJob({ destination_conf: localDestination("replayed/{DATE}"), enabled: true }));
  await api.postEvents(Array.from({ length: 3 }, () => ({ ScriptName: "shop", Outcome: "ok", EventType: "fetch" })));
  await until({
    what: "the records to be delivered",
    withinMs: 60_000,
    look: async () => {
      await api.flush(job);
      return stage().shipper.recordsBelow("replayed");
    },
    enough: (records) => records.length === 3,
  });
  page = await stage().signedIn({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
});

async function preview(): Promise<void> {
  await page.goto(`/jobs/${job}/replay`);
  await page.getByLabel("Events since (UTC)").fill("2026-01-01");
  await page.getByLabel("Events before (UTC)").fill("2999-01-01");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("Estimated cost").waitFor();
}

const copied = (folder: string, records: number): Promise<unknown> =>
  until({
    what: `${records} records below ${folder}`,
    withinMs: 60_000,
    look: () => stage().shipper.recordsBelow(folder),
    enough: (found) => found.length === records,
  });

/** What the phone shows is as wide as the phone. */
const isNarrow = (): Promise<boolean> => page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);

it("a rerun on a phone, without scripts, says since when it may, and ships what is kept", async () => {
  await page.goto(`/jobs/${job}/replay`);
  await page.getByRole("link", { name: "New rerun" }).click();
  await page.getByText(/^Everything since \d{4}-\d\d-\d\d \d\d:\d\d is kept\.$/).waitFor();
  const [since, before] = [page.getByLabel("Taken in since (UTC)"), page.getByLabel("Taken in before (UTC)")];
  await since.fill("2026-01-01");
  await page.getByRole("button", { name: "Start rerun" }).click();
  await page.getByText(/is not kept; kept since/).waitFor();
  expect(await isNarrow()).toBe(true);
  await since.fill(new Date(Date.now() - 3_600_000).toISOString());
  await before.fill(new Date().toISOString());
  await page.getByLabel("Another folder of the job's bucket").check();
  await page.getByRole("button", { name: "Start rerun" }).click();
  await page.waitForURL(/replay#replays$/);
  await copied("rerun/replayed", 3);
  await page
    .getByText(/rerun r\d+/)
    .first()
    .waitFor();
});

it("a job on a phone, without scripts, starts in the past", async () => {
  await page.goto("/jobs/new");
  await page.getByLabel("Path", { exact: true }).fill("past/{DATE}");
  await page.getByText("Start", { exact: true }).click();
  await page.getByLabel("Starts at (UTC)").fill("2026-01-01 12:00");
  await page.getByRole("button", { name: "Create now" }).last().click();
  await page
    .getByText(/is not kept; kept since/)
    .first()
    .waitFor();
  await page.getByLabel("Starts at (UTC)").fill(new Date(Date.now() - 3_600_000).toISOString());
  await page.getByRole("button", { name: "Create now" }).last().click();
  await page.waitForURL(/\/jobs\/\d+/);
  await until({
    what: "what was taken in before there was this job",
    withinMs: 60_000,
    look: async () => {
      const id = Number(/\/jobs\/(\d+)/.exec(page.url())?.[1]);
      await stage().shipper.api.flush(id);
      return stage().shipper.recordsBelow("past");
    },
    enough: (records) => records.length >= 3,
  });
});

describe("a replay on a phone, without scripts", () => {
  it("is counted before it starts, and goes to another folder", async () => {
    await preview();
    expect(await page.locator("#count").innerText()).toMatch(/Records\s*3\b/);
    expect(await isNarrow()).toBe(true);
    await page.getByRole("button", { name: "Start replay" }).click();
    await page.waitForURL(/replay#replays$/);
    await copied("replay/replayed", 3);
    expect(await stage().shipper.recordsBelow("replayed")).toHaveLength(3);
  });

  it("into the job's own folder needs a tick that names what happens", async () => {
    await preview();
    await page.getByLabel("The job's own folder").check();
    await page.getByRole("button", { name: "Start replay" }).click();
    await page.getByText("That folder already holds records of this time.").waitFor();
    expect(await page.getByLabel("The job's own folder").isChecked()).toBe(true);
    await page
      .getByLabel("Allow duplicates: 3 records will be in the folder twice, the second time under new keys")
      .check();
    await page.getByRole("button", { name: "Start replay" }).click();
    await page.waitForURL(/replay#replays$/);
    await copied("replayed", 6);
  });

  it("goes to another destination, entered as that of a job, once", async () => {
    await preview();
    await page.getByRole("link", { name: "Another destination" }).click();
    await page.getByRole("heading", { level: 1, name: "Replay to another destination" }).waitFor();
    await page.getByLabel("Bucket", { exact: true }).fill("traces");
    await page.getByLabel("Path", { exact: true }).fill("elsewhere/{DATE}");
    await page.getByLabel("Account ID").fill("local");
    await page.getByLabel("Access key ID", { exact: true }).fill(LOCAL_BUCKET.accessKeyId);
    await page.getByLabel("Secret access key", { exact: true }).fill(LOCAL_BUCKET.secretAccessKey);
    await page.getByRole("button", { name: "Test", exact: true }).last().click();
    await page.getByText("Reachable and writable").waitFor();
    expect(await page.content()).not.toContain(LOCAL_BUCKET.secretAccessKey);
    expect(await isNarrow()).toBe(true);
    await page.getByRole("button", { name: "Test and start" }).click();
    await page.waitForURL(/replay#replays$/);
    await copied("elsewhere", 3);
  });
});
