import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { theWorld } from "./shared.ts";
import { holdStill, PAGE_PATTERNS, placesOf, visitPage, whenCounted } from "./world.ts";

const world = theWorld();

let page: Page;
beforeAll(async () => {
  page = await world().stage.signedIn();
  await holdStill(page);
});

/**
 * Marks every element that can be clicked. @returns how many there are.
 * A group of radio buttons counts once: the tab key stops at one of them.
 */
async function markStops(): Promise<number> {
  return page.evaluate(() => {
    const candidates = document.querySelectorAll<HTMLElement>(
      "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'], [contenteditable]",
    );
    const groups = new Set<string>();
    let marked = 0;
    for (const element of candidates) {
      // The default button of the return key, if another button comes first: it needs no focus.
      if (element.matches("button.unseen[tabindex='-1']")) continue;
      // A list of records is one stop; the arrows lead on. Of a bar, its row in the table is one.
      if (element.matches(".live-rows button[tabindex='-1'], .chart svg a")) continue;
      if (element.matches(":disabled") || !element.checkVisibility({ visibilityProperty: true })) continue;
      if (element instanceof HTMLInputElement && element.type === "radio") {
        if (element.name !== "" && groups.has(element.name)) continue;
        groups.add(element.name);
        element.dataset.stop = `radio:${element.name}`;
      } else element.dataset.stop = `${marked}`;
      marked += 1;
    }
    return marked;
  });
}

interface Stop {
  stop: string | null;
  html: string;
  /** Whether the focus is visible. */
  seen: boolean;
}

/** Notes each element of the page that gets the focus from now on. */
async function noteFocus(): Promise<void> {
  await page.evaluate(() => {
    const noted: Stop[] = [];
    Object.assign(window, { noted });
    addEventListener("focusin", ({ target: element }) => {
      if (!(element instanceof HTMLElement)) return;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const box = element.getBoundingClientRect();
      const isRadio = element instanceof HTMLInputElement && element.type === "radio";
      noted.push({
        stop: isRadio ? `radio:${element.name}` : (element.dataset.stop ?? null),
        html: element.outerHTML.slice(0, 160),
        seen: outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 1 && box.width > 0 && box.height > 0,
      });
    });
  });
}

/** What {@link noteFocus} has noted, each once. */
const noted = (): Promise<Stop[]> => page.evaluate(() => (window as unknown as { noted: Stop[] }).noted.splice(0));

/** More presses than stops: the focus may leave the page once, and pass what is no stop. */
const MORE_PRESSES = 20;

/** Presses the tab key until the focus has been everywhere. @returns what is wrong, in lines. */
async function tabThrough(where: string): Promise<string[]> {
  const stops = await markStops();
  await noteFocus();
  const reached = new Set<string>();
  const wrong: string[] = [];
  for (let presses = 0; reached.size < stops && presses < stops + MORE_PRESSES; ) {
    // To ask after each press takes as long as to press.
    const next = presses === 0 ? stops : 1;
    for (let i = 0; i < next; i++) await page.keyboard.press("Tab");
    presses += next;
    for (const { stop, html, seen } of await noted()) {
      if (!seen) wrong.push(`${where}: nobody sees the focus on ${html}`);
      if (stop !== null) reached.add(stop);
    }
  }
  if (reached.size < stops) {
    const missed = await page.evaluate(
      (known) =>
        [...document.querySelectorAll<HTMLElement>("[data-stop]")]
          .filter(({ dataset }) => !known.includes(dataset.stop ?? ""))
          .map(({ outerHTML }) => outerHTML.slice(0, 160)),
      [...reached],
    );
    // What a page that goes on has taken away cannot be reached.
    if (missed.length > 0)
      wrong.push(`${where}: ${missed.length} of ${stops} are not reached: ${missed.slice(0, 3).join(" | ")}`);
  }
  return wrong;
}

describe("the tab key alone reaches everything, and one sees where it is", () => {
  it.for(PAGE_PATTERNS)("%s", async (pattern) => {
    for (const path of placesOf(pattern, world())) {
      await visitPage(page, path);
      await whenCounted(page);
      expect(await tabThrough(path)).toEqual([]);
    }
  });
});

/** Presses the tab key until the focused element matches. @throws Error if none does. */
async function tabTo(by: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 300; presses++) {
    await by.keyboard.press("Tab");
    if (await by.evaluate((wanted) => document.activeElement?.matches(wanted) === true, selector)) return;
  }
  throw new Error(`the tab key never comes to ${selector}`);
}

/** Whether the job is enabled, according to the API. */
async function isEnabled(id: number): Promise<boolean> {
  const { enabled } = await world().stage.shipper.call<{ enabled: boolean }>("GET", `/logship/jobs/${id}`);
  return enabled;
}

describe.runIf(PAGE_PATTERNS.includes("/jobs/:job_id"))("by keyboard alone", () => {
  it("a job is paused, and goes on", async () => {
    const id = world().seeded.jobs.delivering;
    const button = `form[action="/jobs/${id}/enabled"] button`;
    for (const [label, enabled] of [
      ["Pause", false],
      ["Resume", true],
    ] as const) {
      await visitPage(page, `/jobs/${id}`);
      await tabTo(page, button);
      expect(await page.locator(button).innerText()).toContain(label);
      await page.keyboard.press("Enter");
      if (!enabled) {
        await page.getByText("It still delivers what it has").waitFor();
        await tabTo(page, `${button}.danger`);
        await page.keyboard.press("Enter");
      }
      await page
        .locator(button)
        .getByText(enabled ? "Pause" : "Resume")
        .waitFor();
      expect(await isEnabled(id)).toBe(enabled);
    }
  });

  it("logging of a function is switched off, and on again", async () => {
    const name = world().seeded.functions.plain;
    const button = `form[action="/functions/${name}/logging"] [role=switch]`;
    for (const isOn of [false, true]) {
      await visitPage(page, `/functions/${name}`);
      await tabTo(page, button);
      await page.keyboard.press("Space");
      if (!isOn) {
        await page.getByText("then counts and drops events of this Worker").waitFor();
        await tabTo(page, ".danger");
        await page.keyboard.press("Space");
      }
      await page.locator(`${button}[aria-checked=${isOn}]`).waitFor();
      const settings = await world().stage.shipper.call("GET", `/functions/scripts/${name}/script-settings`);
      expect(settings).toMatchObject({ logship: isOn });
    }
  });
});

it("signs in, skips what stands before the content, and signs out", async () => {
  const by = await (await world().stage.profile()).newPage();
  await visitPage(by, "/sign-in");
  await tabTo(by, "input[name=token]");
  await by.keyboard.type(world().stage.shipper.token);
  await by.keyboard.press("Enter");
  await by.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await by.keyboard.press("Tab");
  expect(await by.evaluate(() => document.activeElement?.getAttribute("href"))).toBe("#main");
  await by.keyboard.press("Enter");
  await by.waitForURL("**/#main");
  expect(await by.evaluate(() => document.activeElement?.id)).toBe("main");
  await by.reload();
  await tabTo(by, ".banner form button");
  await by.keyboard.press("Enter");
  await by.getByText("You are signed out").waitFor();
  await by.context().close();
});
