/** A real browser before a real shipper. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { IsolatedShipper, type ShipperOptions } from "../e2e/shipper.ts";

/** By these names a system has it. */
const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"] as const;

/** Where the system's browser is: CHROMIUM, or the first on the PATH. @throws Error saying what to install. */
function chromiumPath(): string {
  const given = process.env.CHROMIUM;
  if (given !== undefined && given !== "") return given;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of NAMES) if (existsSync(join(folder, name))) return join(folder, name);
  }
  throw new Error("there is no Chromium on the PATH: install it (Debian: apt-get install chromium), or set CHROMIUM");
}

/** Nothing leaves this machine: names other than this one's do not exist. As root there is no sandbox to be had. */
const FLAGS = [
  "--no-sandbox",
  "--disable-background-networking",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost",
];

export async function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: FLAGS, timeout: 30_000 });
}

/** A browser, and a shipper with state of its own. `await using` it. */
export class Stage implements AsyncDisposable {
  readonly browser: Browser;
  readonly shipper: IsolatedShipper;

  private constructor(browser: Browser, shipper: IsolatedShipper) {
    this.browser = browser;
    this.shipper = shipper;
  }

  /** The queue gathers for a second, unless told otherwise. */
  static async set(options: ShipperOptions = {}): Promise<Stage> {
    const browser = await launch();
    try {
      return new Stage(browser, await IsolatedShipper.start({ queueWaitS: 1, ...options }));
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  /** A new profile, in which nobody is signed in. What its pages complain about in the console is in {@link complaints}. */
  async profile(options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext({ baseURL: this.shipper.url, ...options });
    context.setDefaultTimeout(15_000);
    return context;
  }

  /** A page of a profile in which the admin is signed in. */
  async signedIn(options: Parameters<Browser["newContext"]>[0] = {}, token = this.shipper.token): Promise<Page> {
    const page = await (await this.profile(options)).newPage();
    await page.goto("/sign-in");
    await page.getByLabel("Token", { exact: true }).fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.shipper[Symbol.asyncDispose]();
  }
}

/** What a page complains about from now on: errors of scripts, and what its policy refused. Empty if all is well. */
export function complaints(page: Page): string[] {
  const said: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") said.push(message.text());
  });
  page.on("pageerror", (error) => said.push(error.message));
  return said;
}
