/** An engineer on call in front of the dashboard, whose clicks, keys and seconds are counted. */
import type { Locator, Page } from "playwright-core";
import { pause } from "../../until.ts";

/**
 * What a person needs for a click, a key and a thought before each step, in seconds: the
 * keystroke-level model (Card, Moran, Newell 1980), an average typist. A click is to point and to
 * press.
 */
const HANDS = { click: 1.1 + 0.2, key: 0.2, thought: 1.35 } as const;

/** How long to look for something on a page, in ms. */
const LOOK_MS = 10_000;

const LOOK_AGAIN_MS = 50;

export interface Played {
  clicks: number;
  keys: number;
  /** Screens scrolled down. */
  screens: number;
  /** From the overview to the answer, in seconds: what the machine took. */
  machineS: number;
  /** The same with a person's hands and thoughts. */
  seconds: number;
}

export class Player {
  readonly page: Page;
  #played: Played = { clicks: 0, keys: 0, screens: 0, machineS: 0, seconds: 0 };
  #steps = 0;
  #fromMs = 0;

  constructor(page: Page) {
    this.page = page;
  }

  /** Every question begins at the overview, as it is. */
  async begin(): Promise<void> {
    // What was begun before is not to go on.
    await this.page.waitForLoadState("load");
    await this.page.goto("/", { waitUntil: "load" });
    await this.page.locator("#ledger").waitFor();
    this.#played = { clicks: 0, keys: 0, screens: 0, machineS: 0, seconds: 0 };
    this.#steps = 0;
    this.#fromMs = performance.now();
  }

  async click(what: Locator): Promise<void> {
    await this.#find(what);
    await what.first().click({ timeout: LOOK_MS });
    this.#played.clicks += 1;
    this.#steps += 1;
  }

  async press(key: string): Promise<void> {
    await this.page.keyboard.press(key);
    this.#played.keys += 1;
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
    this.#played.keys += text.length;
    this.#steps += 1;
  }

  /**
   * Reads a text, as soon as it is as expected, and is on the screen.
   * @returns what the pattern matches.
   * @throws Error with the text that is there.
   */
  async read(what: Locator, expected: RegExp): Promise<string> {
    const untilMs = performance.now() + LOOK_MS;
    for (;;) {
      const there = (await this.#textsOf(what)).map((text) => text.replaceAll(/\s+/g, " ").trim());
      const at = there.findIndex((text) => expected.test(text));
      if (at !== -1) {
        await this.#find(what.nth(at));
        return expected.exec(there[at] ?? "")?.[0] ?? "";
      }
      if (performance.now() > untilMs)
        throw new Error(
          `no ${expected} at ${this.#where()}; there is: ${there.filter(Boolean).join(" | ").slice(0, 400)}`,
        );
      await pause(LOOK_AGAIN_MS);
    }
  }

  /** What it took until now. */
  end(): Played {
    const machineS = (performance.now() - this.#fromMs) / 1_000;
    const { clicks, keys } = this.#played;
    const handsS = clicks * HANDS.click + keys * HANDS.key + (this.#steps + 1) * HANDS.thought;
    return { ...this.#played, machineS, seconds: machineS + handsS };
  }

  /** None while another page is loaded. */
  #textsOf(what: Locator): Promise<string[]> {
    return what.allInnerTexts().catch(() => []);
  }

  /** Scrolls as far as it takes to see it. */
  async #find(what: Locator): Promise<void> {
    const one = what.first();
    try {
      await one.waitFor({ timeout: LOOK_MS });
    } catch {
      throw new Error(`nothing at ${this.#where()} to go on with: ${one}`);
    }
    const height = this.page.viewportSize()?.height ?? 1;
    const box = await one.boundingBox();
    if (box !== null && (box.y + Math.min(box.height, height) > height || box.y < 0))
      this.#played.screens += Math.ceil(Math.abs(box.y) / height);
    await one.scrollIntoViewIfNeeded({ timeout: LOOK_MS });
  }

  #where(): string {
    const { pathname, search } = new URL(this.page.url());
    return decodeURIComponent(`${pathname}${search}`);
  }
}
