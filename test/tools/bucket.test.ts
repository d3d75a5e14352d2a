import { it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { EXAMPLE_DESTINATION } from "../../src/web/api/docs/common.ts";
import { LOCAL_BUCKET, localDestination } from "../../tools/client/bucket.ts";
import { SHIPPER_CONFIG } from "../../tools/paths.ts";

it("knows the local bucket and its credentials as wrangler.jsonc has them", ({ expect }) => {
  const { r2_buckets } = unstable_readConfig({ config: SHIPPER_CONFIG }, { hideWarnings: true });
  const { name, accessKeyId, secretAccessKey } = LOCAL_BUCKET;
  expect(r2_buckets).toMatchObject([
    { bucket_name: name, local_dev: { experimental_s3_credentials: { accessKeyId, secretAccessKey } } },
  ]);
});

it("writes a destination as a job takes it", ({ expect }) => {
  expect(localDestination("logs/{DATE}")).toBe(
    "objstore://traces/logs/{DATE}?account-id=local&access-key-id=local-access-key&secret-access-key=local-secret-key",
  );
});

it("is where the examples of the API's description ship to", ({ expect }) => {
  expect(EXAMPLE_DESTINATION).toBe(localDestination("logs/{DATE}"));
});
