import { type DestinationForm, flag, parameter } from "../destination-form.ts";
import { BUCKET, KEYS, STORE_PATH, storeForm } from "../store/fields.ts";
import { VIRTUAL_ONLY } from "./object-store.ts";

const objstore = storeForm("objstore", {
  schemes: ["objstore", "r2"],
  name: "Cloudflare R2",
  about: "`objstore://`, with an account ID and an access key.",
  parts: [
    BUCKET,
    STORE_PATH,
    {
      name: "account_id",
      label: "Account ID",
      hint: "The account of the bucket; by default this deployment's.",
      at: parameter("account-id"),
      missing: "Enter the account ID of the bucket.",
      initial: ({ accountId }) => accountId,
    },
    KEYS,
  ],
});

const anyS3 = storeForm("s3", {
  name: "Amazon S3 or compatible",
  about: "`s3://`, with a region, an endpoint and an access key.",
  parts: [
    BUCKET,
    STORE_PATH,
    {
      name: "region",
      label: "Region",
      hint: "On AWS, such as `eu-central-1`. Other stores: often `auto` or `us-east-1`.",
      at: parameter("region"),
      missing: "Enter the region, or auto.",
      blamed: /\b(?:AuthorizationHeaderMalformed|InvalidRegion(?:Name)?)\b/,
    },
    {
      name: "endpoint",
      label: "Endpoint",
      hint: "Empty for AWS. Otherwise a host or an https URL, such as `https://storage.example`, without the bucket.",
      at: parameter("endpoint"),
      blamed: /\b(?:connection failed|host name|certificate|HTTP 307)\b/,
    },
    {
      name: "addressing_style",
      label: "Bucket in the host name (`addressing-style=virtual`)",
      hint: "Alibaba OSS, Tencent COS, Volcengine TOS and Huawei OBS want it there.",
      at: flag("addressing-style", "virtual"),
      kind: "check",
    },
    {
      name: "sse",
      label: "Request encryption of each object (`sse=AES256`)",
      hint: "AWS always encrypts. Some stores refuse requests with this header.",
      at: flag("sse", "AES256"),
      kind: "check",
    },
    KEYS,
  ],
  // Behind another endpoint, a change of the region alone does not lead to the bucket, unless the
  // endpoint itself names the region that it signs for.
  mend: (values, { code, region }) => {
    if (code !== null && VIRTUAL_ONLY.test(code))
      return { values: { ...values, addressing_style: "true" }, words: "Put the bucket into the host and test" };
    return region === null || (values.endpoint !== "" && code !== "AuthorizationHeaderMalformed")
      ? null
      : { values: { ...values, region }, words: `Use region ${region} and test` };
  },
});

export const S3_FORMS: readonly DestinationForm[] = [objstore, anyS3];
