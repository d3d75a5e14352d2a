import { STORE_TERMS } from "../conf.ts";
import {
  authority,
  type DestinationForm,
  type FormField,
  type FormPart,
  PATH,
  parameter,
} from "../destination-form.ts";

/** What the forms of stores share. */

interface StoreForm extends Pick<DestinationForm, "name" | "about" | "parts" | "mend"> {
  /** Of strings that it owns; absent: of those alone that it makes. */
  readonly schemes?: readonly string[];
}

/** @param id its scheme. */
export function storeForm(id: string, { schemes = [id], ...form }: StoreForm): DestinationForm {
  const owns: DestinationForm["owns"] = ({ scheme }) => schemes.includes(scheme);
  return { id, group: "store", start: `${id}://`, terms: STORE_TERMS, owns, ...form };
}

export const BUCKET: FormField = {
  name: "bucket",
  label: "Bucket",
  hint: "An existing bucket.",
  at: authority("the bucket"),
  missing: "Enter the bucket name.",
  stub: "any",
  blamed: /^the bucket\b|\b(?:NoSuchBucket|InvalidBucketName)\b/,
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
export const KEYS: FormPart = {
  name: "credentials",
  legend: "Keys",
  ways: [
    {
      value: "keys",
      label: "Access key",
      hint: "Stored encrypted. It must be allowed to write below the path. To open and replay objects, it must also be allowed to read.",
      fields: [
        {
          name: "access_key_id",
          label: "Access key ID",
          at: parameter("access-key-id"),
          isSecret: true,
          missing: "Enter the access key ID.",
          blamed: /\bInvalidAccessKeyId\b/,
        },
        {
          name: "secret_access_key",
          label: "Secret access key",
          at: parameter("secret-access-key"),
          isSecret: true,
          missing: "Enter the secret access key.",
          blamed: /\bSignatureDoesNotMatch\b/,
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
