import { STORE_TERMS } from "../conf.ts";
import { authority, type DestinationForm, type FormField, type FormPart, flag, PATH, parameter } from "../form.ts";

const BUCKET: FormField = {
  name: "bucket",
  label: "Bucket",
  hint: "An existing bucket.",
  at: authority("the bucket"),
  missing: "Enter the bucket name.",
  stub: "any",
  blamed: /^the bucket\b/,
};

/** The path of every store. */
export const STORE_PATH: FormField = {
  name: "path",
  label: "Path",
  at: PATH,
  kind: "path",
  initial: "logs/{DATE}",
  stub: "",
  blamed: /^the path\b/,
};

/** An access key, or the secret of the deployment that holds one. */
const KEYS: FormPart = {
  name: "credentials",
  legend: "Keys",
  ways: [
    {
      value: "keys",
      label: "Access key",
      hint: "Stored encrypted. It must be allowed to write below the path; to read, too, for replay and for opening objects.",
      fields: [
        {
          name: "access_key_id",
          label: "Access key ID",
          at: parameter("access-key-id"),
          isSecret: true,
          missing: "Enter the access key ID.",
        },
        {
          name: "secret_access_key",
          label: "Secret access key",
          at: parameter("secret-access-key"),
          isSecret: true,
          missing: "Enter the secret access key.",
        },
      ],
    },
    {
      value: "env",
      label: "Secret of this deployment",
      hint: "Set with wrangler secret put, as JSON with host, access_key_id and secret_access_key. Several jobs can share it.",
      fields: [
        {
          name: "secret_name",
          label: "Secret name",
          hint: "Starts with `DEST_`.",
          at: parameter("credentials", "env:"),
          missing: "Enter the secret name.",
          blamed: /^(?:credentials\b|the secret \S|there is no secret \S)/,
        },
      ],
    },
  ],
};

const objstore: DestinationForm = {
  id: "objstore",
  group: "store",
  name: "Cloudflare R2",
  about: "`objstore://`, with an account ID and an access key.",
  start: "objstore://",
  terms: STORE_TERMS,
  owns: ({ scheme }) => scheme === "objstore" || scheme === "r2",
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
};

const anyS3: DestinationForm = {
  id: "s3",
  group: "store",
  name: "Amazon S3 or compatible",
  about: "`s3://`, with a region, an endpoint and an access key.",
  start: "s3://",
  terms: STORE_TERMS,
  owns: ({ scheme }) => scheme === "s3",
  parts: [
    BUCKET,
    STORE_PATH,
    {
      name: "region",
      label: "Region",
      hint: "On AWS, such as `eu-central-1`. Other stores: often `auto` or `us-east-1`.",
      at: parameter("region"),
      missing: "Enter the region, or auto.",
    },
    {
      name: "endpoint",
      label: "Endpoint",
      hint: "Empty for AWS. Else a host or an https URL such as `https://storage.example`, without the bucket.",
      at: parameter("endpoint"),
    },
    {
      name: "sse",
      label: "Request encryption of each object (`sse=AES256`)",
      hint: "AWS always encrypts; some stores refuse the request.",
      at: flag("sse", "AES256"),
      kind: "check",
    },
    KEYS,
  ],
  // Behind another endpoint, a change of the region alone does not lead to the bucket, unless the
  // endpoint itself names the region that it signs for.
  mend: (values, { code, region }) =>
    region === null || (values.endpoint !== "" && code !== "AuthorizationHeaderMalformed")
      ? null
      : { values: { ...values, region }, words: `Use region ${region} and test` },
};

export const S3_FORMS: readonly DestinationForm[] = [anyS3, objstore];
