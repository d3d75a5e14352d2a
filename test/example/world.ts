import { readFileSync } from "node:fs";
import { inject } from "vitest";
import { ApiClient } from "../../tools/client/api-client.ts";
import { Bucket } from "../../tools/client/bucket.ts";

/** What {@link ./global-setup.ts} has started. */
export interface World {
  /** Origin of the shop. */
  readonly shop: string;
  /** The folder of the built application. */
  readonly app: string;
  readonly paymentToken: string;
  readonly address: string;
  readonly api: ApiClient;
  readonly bucket: Bucket;
  /** The end of the shop's output, without the lines of its thousand shelves. */
  readonly said: () => string;
}

/** In characters. */
const SAID_SHOWN = 4_000;

export function theWorld(): World {
  const { shop, shipper, token, app, paymentToken, address, logFile } = inject("example");
  return {
    shop,
    app,
    paymentToken,
    address,
    api: new ApiClient(shipper, { token }),
    bucket: new Bucket(shipper),
    said: () =>
      readFileSync(logFile, "utf8")
        .replace(/^shelf .*\n/gm, "")
        .slice(-SAID_SHOWN),
  };
}
