import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { PAGES, type PageEntry } from "./pages-there-are.ts";
import { FILES } from "./places.ts";
import { ROLES, type RoleName } from "./seed.ts";
import { theWorld } from "./shared.ts";
import { placesOf } from "./world.ts";

const world = theWorld();
const ROLE_NAMES = Object.keys(ROLES) as RoleName[];

function mayNot(role: RoleName, permission: string | null | undefined): permission is string {
  return typeof permission === "string" && !(ROLES[role] as readonly string[]).includes(permission);
}

/** The page that takes a form with this action. */
function takerOf(action: string): PageEntry | undefined {
  const path = new URL(action, "http://localhost").pathname.split("/");
  return PAGES.find(({ path: pattern, post }) => {
    const parts = pattern.split("/");
    return (
      post !== undefined &&
      parts.length === path.length &&
      parts.every((part, i) => (part.startsWith(":") ? path[i] !== "" : part === path[i]))
    );
  });
}

interface Read {
  status: number;
  /** Of the content, without what leads elsewhere. */
  text: string;
  /** Where its forms lead. */
  actions: string[];
}

/**
 * A page as its user gets it. What it says and offers is in its HTML: no script adds a form, so it
 * is not opened.
 */
function read(page: Page, path: string): Promise<Read> {
  return page.evaluate(async (at) => {
    const answer = await fetch(at);
    const html = new DOMParser().parseFromString(await answer.text(), "text/html");
    return {
      status: answer.status,
      text: html.querySelector("main")?.textContent ?? "",
      actions: [...html.querySelectorAll("form[method=post]")].map(
        (form) => form.getAttribute("action") ?? new URL(answer.url).pathname,
      ),
    };
  }, path);
}

describe.for(ROLE_NAMES)("with %s alone", (role) => {
  let page: Page;
  beforeAll(async () => {
    const { stage, seeded } = world();
    page = await stage.signedIn({}, seeded.tokens[role].value);
  });

  it("every page shows itself, or says what it needs; and none offers what it would then refuse", async () => {
    for (const { path: pattern, get } of PAGES) {
      if (get === undefined || FILES.includes(pattern)) continue;
      for (const path of placesOf(pattern, world())) {
        const { status, text, actions } = await read(page, path);
        if (mayNot(role, get.permission)) {
          expect({ path, status }).toEqual({ path, status: 403 });
          expect(text, path).toContain(get.permission);
          continue;
        }
        expect({ path, status }).toEqual({ path, status: 200 });
        // A page must not request a part that its user may not see.
        expect(text, path).not.toContain("This part cannot be shown");
        for (const action of actions) {
          const needs = takerOf(action)?.post?.permission;
          if (mayNot(role, needs)) expect.soft(`${path} offers ${action}`).toBe(`nothing that needs ${needs}`);
        }
      }
    }
  });
});

it("what is closed in the navigation says so", async () => {
  const { stage, seeded } = world();
  const page = await stage.signedIn({}, seeded.tokens.functions.value);
  const closed = await page.locator("nav .closed").allInnerTexts();
  expect(closed.length).toBeGreaterThan(0);
  for (const text of closed) expect(text).toMatch(/needs the permission \w+:\w+/);
  await page.context().close();
});
