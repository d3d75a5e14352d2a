import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import {
  arePackagesInstalled,
  buildExample,
  copyExample,
  installPackages,
  SHOP_NAME,
  type ShopSecrets,
  startShop,
} from "../../tools/example/app.ts";
import { IsolatedShipper } from "../e2e/shipper.ts";

/** Far from the ports of other tests. */
const SHIPPER_PORT = 19_187;
const SHOP_PORT = 19_287;

/** What all test files share, as serializable values. */
export interface Example {
  readonly shop: string;
  readonly shipper: string;
  readonly token: string;
  readonly app: string;
  readonly paymentToken: string;
  readonly address: string;
  readonly logFile: string;
}

const SECRETS: ShopSecrets = {
  PAYMENT_TOKEN: randomBytes(24).toString("base64url"),
  // With characters that need escaping on a page and in a file of secrets.
  SHOP_ADDRESS: "Tea & Co., Quay 7 <east>",
};

/**
 * Builds the shop once, and serves it beside a shipper whose queue gathers for 1 s. Installs the
 * packages if they are missing.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!arePackagesInstalled()) await installPackages();
  const folder = mkdtempSync(join(tmpdir(), "logship-example-"));
  const ends: (() => Promise<void>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const end = async (): Promise<void> => {
    for (const each of ends.toReversed()) await each();
  };
  try {
    const [built, started] = await Promise.allSettled([build(join(folder, "app")), startShipper()]);
    if (started.status === "fulfilled") ends.push(() => started.value[Symbol.asyncDispose]());
    const [app, shipper] = [settled(built), settled(started)];
    const logFile = join(folder, "shop.log");
    const shop = await startShop({
      app,
      state: join(folder, "shop"),
      registry: shipper.registry,
      port: SHOP_PORT,
      logFile,
    });
    ends.push(() => shop.stop());
    project.provide("example", {
      shop: shop.url,
      shipper: shipper.url,
      token: shipper.token,
      app,
      paymentToken: SECRETS.PAYMENT_TOKEN,
      address: SECRETS.SHOP_ADDRESS,
      logFile,
    });
    return end;
  } catch (error) {
    await end();
    throw error;
  }
}

async function build(app: string): Promise<string> {
  copyExample(app);
  await buildExample(app, SECRETS);
  return app;
}

function startShipper(): Promise<IsolatedShipper> {
  return IsolatedShipper.start({
    queueWaitS: 1,
    port: SHIPPER_PORT,
    // Local development does not name the function of an event.
    settings: { DEFAULT_SCRIPT_NAME: SHOP_NAME },
  });
}

/** @throws the reason if it was rejected. */
function settled<T>(result: PromiseSettledResult<T>): T {
  if (result.status === "rejected") throw result.reason;
  return result.value;
}
