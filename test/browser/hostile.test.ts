import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { complaints } from "./browser.ts";
import { hostileEvents, MADE, MARK, STEERS } from "./hostile-text.ts";
import { theWorld } from "./shared.ts";
import { PAGE_PATTERNS, placesOf, unfold, visitPage } from "./world.ts";

const world = theWorld();

let page: Page;
let said: string[];
/** Requests to any host but the shipper. */
const elsewhere: string[] = [];
const dialogs: string[] = [];
/** Addresses of pages that showed a hostile text. */
const shown = new Set<string>();

beforeAll(async () => {
  page = await world().stage.signedIn();
  said = complaints(page);
  page.context().on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${world().stage.shipper.url}/`) && !url.startsWith("data:")) elsewhere.push(url);
  });
  page.context().on("page", (opened) => elsewhere.push(`a window: ${opened.url()}`));
  page.on("dialog", async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.dismiss();
  });
});

/** Effects of hostile texts on the current page. */
async function harm(): Promise<unknown> {
  return page.evaluate(
    ([made, steers, mark]) => {
      const steering = new RegExp(steers, "u");
      const texts: string[] = [];
      const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const { parentElement, nodeValue } = node;
        // Text that is edited must stay unchanged.
        if (parentElement?.closest("textarea, style, script") === null) texts.push(nodeValue ?? "");
      }
      const elements = [...document.querySelectorAll("*")];
      const attributes = elements.flatMap((element) =>
        [...element.attributes].map(({ name, value }) => ({ element, name, value })),
      );
      for (const { name, value } of attributes)
        if (["title", "aria-label", "alt", "placeholder", "data-label", "summary", "label"].includes(name))
          texts.push(value);
      texts.push(document.title);
      return {
        ran: Reflect.get(window, "hostileRan") ?? null,
        made: elements.filter((each) => each.classList.contains(made)).map((each) => each.outerHTML.slice(0, 200)),
        handlers: attributes
          .filter(({ name }) => name.startsWith("on") || name === "style")
          .map(({ name, value }) => `${name}=${value.slice(0, 100)}`),
        frames: document.querySelectorAll("iframe, frame, object, embed, base, meta[http-equiv]").length,
        links: attributes
          .filter(
            ({ name, value }) =>
              ["href", "src", "action", "formaction", "xlink:href"].includes(name) &&
              /^\s*(javascript|vbscript):/i.test(value),
          )
          .map(({ value }) => value.slice(0, 100)),
        steering: texts.filter((text) => steering.test(text)).map((text) => JSON.stringify(text.slice(0, 100))),
        // Not innerHTML of the whole page: that contains the addresses of links too.
        shows: texts.some((text) => text.includes(mark)),
      };
    },
    [MADE, STEERS.source, MARK] as const,
  );
}

const NONE = { ran: null, made: [], handlers: [], frames: 0, links: [], steering: [] };

describe("what somebody else wrote is text, and nothing but text", () => {
  it.for(PAGE_PATTERNS)("%s", async (pattern) => {
    for (const path of placesOf(pattern, world())) {
      await visitPage(page, path);
      await unfold(page);
      const { shows, ...rest } = (await harm()) as { shows: boolean };
      expect(rest, path).toEqual(NONE);
      if (shows) shown.add(pattern);
    }
    expect({ said, elsewhere, dialogs }).toEqual({ said: [], elsewhere: [], dialogs: [] });
  });

  it("was there to be seen", () => {
    expect([...shown]).toEqual(expect.arrayContaining(SHOWING.filter((pattern) => PAGE_PATTERNS.includes(pattern))));
  });
});

/** Pages that show texts of others. Each must show one, or the test would prove nothing. */
const SHOWING = [
  "/",
  "/jobs",
  "/jobs/:job_id/edit",
  "/jobs/:job_id",
  "/jobs/:job_id/objects/:number",
  "/functions",
  "/functions/:name",
  "/access",
  "/access/audit",
  "/access/members/:id",
];

describe.runIf(PAGE_PATTERNS.includes("/live"))("as it arrives", () => {
  it("/live", async () => {
    await visitPage(page, "/live");
    await world().stage.shipper.api.postEvents(hostileEvents(Date.now()));
    await page.getByText(MARK).filter({ visible: true }).first().waitFor({ timeout: 45_000 });
    await unfold(page);
    const { shows, ...rest } = (await harm()) as { shows: boolean };
    expect(rest).toEqual(NONE);
    expect({ shows, said, elsewhere, dialogs }).toEqual({ shows: true, said: [], elsewhere: [], dialogs: [] });
  });
});
