/** A real browser in front of a real shipper. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import type { Result, RunOptions } from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { IsolatedShipper, type ShipperOptions } from "../e2e/shipper.ts";

/** Names of the executable in the PATH. */
const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"] as const;

/**
 * The path of the browser: CHROMIUM, or the first one in the PATH.
 * @throws Error that says what to install.
 */
function chromiumPath(): string {
  const given = process.env.CHROMIUM;
  if (given !== undefined && given !== "") return given;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of NAMES) if (existsSync(join(folder, name))) return join(folder, name);
  }
  throw new Error("there is no Chromium on the PATH: install it (Debian: apt-get install chromium), or set CHROMIUM");
}

/**
 * Features of the browser that are off. The last list given counts, so this one repeats
 * Playwright's (`disabledFeatures` in playwright-core).
 */
const DISABLED = [
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "TcpPortRandomizationWin",
  "ThirdPartyStoragePartitioning",
  // Pages of the address bar, which no test has: each profile would start two processes for them.
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxPopup",
];

/**
 * Names other than this machine's do not resolve, so no request leaves it. As root the sandbox is
 * not available.
 */
const FLAGS = [
  "--no-sandbox",
  "--disable-background-networking",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost",
  `--disable-features=${DISABLED.join()}`,
];

export async function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: FLAGS, timeout: 30_000 });
}

/** A browser, and a shipper with its own state. `await using` ends both. */
export class Stage implements AsyncDisposable {
  readonly browser: Browser;
  readonly shipper: IsolatedShipper;

  constructor(browser: Browser, shipper: IsolatedShipper) {
    this.browser = browser;
    this.shipper = shipper;
  }

  /** By default the queue gathers for 1 s. */
  static async set(options: ShipperOptions = {}): Promise<Stage> {
    const browser = await launch();
    try {
      return new Stage(browser, await IsolatedShipper.start({ queueWaitS: 1, ...options }));
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  /** A new profile without a session. Console errors of its pages are in {@link complaints}. */
  async profile(options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext({ baseURL: this.shipper.url, ...options });
    // A page takes a second; three browsers and a build beside them may take twenty.
    context.setDefaultTimeout(45_000);
    return context;
  }

  /** A page of a profile that is signed in as the admin. */
  async signedIn(options: Parameters<Browser["newContext"]>[0] = {}, token = this.shipper.token): Promise<Page> {
    const page = await (await this.profile(options)).newPage();
    await page.goto("/sign-in");
    await page.getByLabel("Token", { exact: true }).fill(token);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.shipper[Symbol.asyncDispose]();
  }
}

/** Collects what a page reports from now on: script errors and violations of its policy. */
export function complaints(page: Page): string[] {
  const said: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") said.push(message.text());
  });
  page.on("pageerror", (error) => said.push(error.message));
  return said;
}

/** Without comments and spaces: it is sent to each page, and compiled there. */
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * What axe finds wrong with a page as it is now. Its script is loaded into each page once: that
 * takes as long as to look.
 * @param options by default all rules.
 */
export async function violations(page: Page, options: RunOptions = {}): Promise<Result[]> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  const given = JSON.stringify({ ...options, resultTypes: ["violations"] });
  return page.evaluate(`axe.run(${given}).then(({ violations }) => violations)`);
}
