import type { FC, PropsWithChildren } from "hono/jsx";
import type { DestinationEntry } from "../../../destinations/build.ts";
import { visible } from "../../parts/foreign.tsx";
import { Check, Field, type FieldProps, Form, Radio } from "../../parts/form.tsx";
import { PathHint } from "../../parts/key-path.tsx";
import type { Viewer } from "../../session.ts";
import type { EntryFaults, EntryField } from "./destination-entry.ts";

/** The controls of a destination. Keys are never shown, only that there are some. */
export const DestinationForm: FC<{ entry: DestinationEntry; faults: EntryFaults }> = ({ entry, faults }) => {
  const text = (name: EntryField, more: Omit<FieldProps, "name">) => (
    <Field name={name} error={faults[name]} spellcheck={false} autocomplete="off" {...more} />
  );
  const kept = (key: string) => (key === "" ? {} : { hint: "Stored. Leave empty to keep it." });
  return (
    <>
      <input type="hidden" name="scheme" value={entry.scheme} />
      {text("bucket", { label: "Bucket", value: visible(entry.bucket), hint: "An existing bucket." })}
      {text("path", {
        label: "Path",
        value: visible(entry.path),
        hint: <PathHint path={entry.path} />,
      })}
      {entry.scheme === "s3" ? (
        <>
          {text("region", {
            label: "Region",
            value: visible(entry.region),
            hint: (
              <>
                On AWS, such as <code>eu-central-1</code>. Other stores: often <code>auto</code> or{" "}
                <code>us-east-1</code>.
              </>
            ),
          })}
          {text("endpoint", {
            label: "Endpoint",
            value: visible(entry.endpoint),
            hint: (
              <>
                Empty for AWS. Else a host or an https URL such as <code>https://storage.example</code>, without the
                bucket.
              </>
            ),
          })}
          <Check
            name="sse"
            label={
              <>
                Request encryption of each object (<code>sse=AES256</code>)
              </>
            }
            checked={entry.sse}
            hint={faults.sse ?? "AWS always encrypts; some stores refuse the request."}
          />
        </>
      ) : (
        text("account_id", {
          label: "Account ID",
          value: visible(entry.accountId),
          hint: "The account of the bucket; by default this deployment's.",
        })
      )}
      <fieldset>
        <legend>Keys</legend>
        <Radio
          name="credentials"
          value="keys"
          label="Access key"
          checked={entry.credentials === "keys"}
          hint="Stored encrypted. It must be allowed to write below the path; to read, too, for replay and for opening objects."
        />
        {text("access_key_id", { label: "Access key ID", ...kept(entry.accessKeyId) })}
        {text("secret_access_key", {
          label: "Secret access key",
          type: "password",
          autocomplete: "new-password",
          ...kept(entry.secretAccessKey),
        })}
        <Radio
          name="credentials"
          value="env"
          label="Secret of this deployment"
          checked={entry.credentials === "env"}
          hint="Set with wrangler secret put, as JSON with host, access_key_id and secret_access_key. Several jobs can share it."
        />
        {text("secret_name", {
          label: "Secret name",
          value: visible(entry.secretName),
          hint: (
            <>
              Starts with <code>DEST_</code>.
            </>
          ),
        })}
      </fieldset>
    </>
  );
};

/** Fills the form from a `destination_conf`. @param error what was pasted before is none. */
export const PasteForm: FC<
  PropsWithChildren<{ viewer: Viewer; action: string; path: string; error: string | undefined }>
> = ({ viewer, action, path, error, children }) => (
  <details class="panel" open={error !== undefined}>
    <summary>Paste a destination_conf</summary>
    <Form viewer={viewer} action={action} label="Paste a destination">
      {children}
      <Field
        name="conf"
        label="destination_conf"
        rows={3}
        spellcheck={false}
        error={error}
        hint={
          <>
            Such as <code>{`s3://bucket/${path}/{DATE}?region=…&access-key-id=…&secret-access-key=…`}</code>.
          </>
        }
      />
      <button type="submit" name="do" value="paste">
        Fill the form
      </button>
    </Form>
  </details>
);
