import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import {
  buildExample,
  copyExample,
  installExample,
  isExampleInstalled,
  SHOP_NAME,
  startShop,
} from "../../tools/example/app.ts";
import { IsolatedShipper } from "../e2e/shipper.ts";

/** Far from the servers of other tests. */
const SHIPPER_PORT = 19_187;
const SHOP_PORT = 19_287;

/** What all test files share, as values that can be handed to them. */
export interface Example {
  readonly shop: string;
  readonly shipper: string;
  readonly token: string;
  readonly app: string;
  readonly paymentToken: string;
  readonly address: string;
  readonly logFile: string;
}

/** Builds the shop once, and serves it beside a shipper whose queue gathers for a second. Packages are installed if they are not there. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!isExampleInstalled()) await installExample();
  const shipper = await IsolatedShipper.start({
    queueWaitS: 1,
    port: SHIPPER_PORT,
    // Local development does not say which function an event is of.
    settings: { DEFAULT_SCRIPT_NAME: SHOP_NAME },
  });
  try {
    const app = join(shipper.folder, "app");
    const secrets = { PAYMENT_TOKEN: randomBytes(24).toString("base64url"), SHOP_ADDRESS: "Tea & Co., Quay 7 <east>" };
    copyExample(app);
    await buildExample(app, secrets);
    const logFile = join(shipper.folder, "shop.log");
    const shop = await startShop({
      app,
      state: join(shipper.folder, "shop"),
      registry: shipper.registry,
      port: SHOP_PORT,
      logFile,
    });
    project.provide("example", {
      shop: shop.url,
      shipper: shipper.url,
      token: shipper.token,
      app,
      paymentToken: secrets.PAYMENT_TOKEN,
      address: secrets.SHOP_ADDRESS,
      logFile,
    });
    return async () => {
      await shop.stop();
      await shipper[Symbol.asyncDispose]();
    };
  } catch (error) {
    await shipper[Symbol.asyncDispose]();
    throw error;
  }
}
