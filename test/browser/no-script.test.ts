import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { untilPasses } from "../support/until.ts";
import { theWorld } from "./shared.ts";
import { PAGE_PATTERNS, placesOf, visitPage } from "./world.ts";

const world = theWorld();

/** Pages that show what happens while they are open. They say that they need a script. */
const LIVE = ["/live"];

/** For all scripts together, in bytes without compression. */
const BUDGET = 60_000;

let without: Page;
let withScripts: Page;
beforeAll(async () => {
  without = await world().stage.signedIn({ javaScriptEnabled: false });
  withScripts = await world().stage.signedIn();
});

const headings = (page: Page): Promise<string[]> => page.locator("h1, h2").allInnerTexts();

describe("a browser without scripts shows the same", () => {
  it.for(PAGE_PATTERNS)("%s", async (pattern) => {
    for (const path of placesOf(pattern, world())) {
      if (LIVE.includes(pattern)) {
        await visitPage(without, path);
        expect(await without.locator("main").innerText()).toMatch(/script/i);
        continue;
      }
      // What a page shows may change between two visits, as records are delivered.
      await untilPasses(async () => {
        await visitPage(without, path);
        const shown = await headings(without);
        await visitPage(withScripts, path);
        expect(shown, path).toEqual(await headings(withScripts));
      });
      expect((await without.locator("main").innerText()).length, path).toBeGreaterThan(30);
      // A button that works only by script is not there without script.
      const dead = await without
        .locator("main button:enabled")
        .evaluateAll((buttons) =>
          buttons
            .filter(
              (each) =>
                each.checkVisibility() &&
                ((each as HTMLButtonElement).type !== "submit" || (each as HTMLButtonElement).form === null),
            )
            .map((each) => each.outerHTML.slice(0, 160)),
        );
      expect(dead, path).toEqual([]);
    }
  });
});

describe("what is changed is changed by forms", () => {
  it("signs out, and in again", async () => {
    const page = await world().stage.signedIn({ javaScriptEnabled: false });
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are signed out").waitFor();
    await page.context().close();
  });

  it.runIf(PAGE_PATTERNS.includes("/jobs/:job_id"))("pauses a job, has it go on, and uploads what waits", async () => {
    const path = `/jobs/${world().seeded.jobs.delivering}`;
    await visitPage(without, path);
    await without.getByRole("button", { name: "Pause" }).click();
    await without.getByText("Events that arrive while the job is paused are not shipped, unless").waitFor();
    await without.getByRole("button", { name: "Pause" }).click();
    await without.getByRole("button", { name: "Resume" }).click();
    await without.getByRole("button", { name: "Pause" }).waitFor();
    await without.getByRole("button", { name: /^Flush/ }).click();
    await without.getByRole("button", { name: /^Flush/ }).waitFor();
    await visitPage(without, `${path}/objects`);
    expect(await without.locator("table tbody tr").count()).toBeGreaterThan(0);
  });
});

describe.runIf(PAGE_PATTERNS.includes("/functions"))("what loses data is asked for first", () => {
  it("a function is switched off in the list by two clicks, and on again by one", async () => {
    const name = world().seeded.functions.plain;
    await visitPage(without, `/functions?name=${name}`);
    const button = without.locator(`form[action="/functions/${name}/logging"] [role=switch]`);
    await button.click();
    await without.getByText("then counts and drops events of this Worker").waitFor();
    const settings = () => world().stage.shipper.call("GET", `/functions/scripts/${name}/script-settings`);
    expect(await settings()).not.toMatchObject({ logship: false });
    await without.getByRole("button", { name: "Switch logging off" }).click();
    await button.and(without.locator("[aria-checked=false]")).click();
    await button.and(without.locator("[aria-checked=true]")).waitFor();
    expect(await settings()).toMatchObject({ logship: true });
  });
});

it("all scripts of all pages together are small", async () => {
  const scripts = new Set<string>();
  for (const pattern of PAGE_PATTERNS) {
    const [path] = placesOf(pattern, world());
    if (path === undefined) continue;
    const html = await (await withScripts.request.get(path)).text();
    for (const [, src = ""] of html.matchAll(/<script\b[^>]*\bsrc="([^"]*)"/g)) scripts.add(src);
  }
  expect(scripts.size).toBeGreaterThan(0);
  const sizes = await Promise.all(
    [...scripts].map(async (src) => {
      const answer = await withScripts.request.get(src);
      expect(answer.status(), src).toBe(200);
      return (await answer.body()).byteLength;
    }),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(BUDGET);
});
