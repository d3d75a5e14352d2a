import type { FC } from "hono/jsx";
import type { DestinationEntry } from "../../../destinations/build.ts";
import { visible } from "../../parts/foreign.tsx";
import { Check, Field } from "../../parts/form.tsx";
import type { EntryFaults } from "./destination-entry.ts";

const KEPT = "One is kept. It is never shown again; leave this empty to keep it.";

/** The controls of a destination. Of keys it shows that there are some, and nothing else. */
export const DestinationForm: FC<{ entry: DestinationEntry; faults: EntryFaults }> = ({ entry, faults }) => {
  const values = Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [name, typeof value === "string" ? visible(value) : ""]),
  );
  return (
    <>
      <input type="hidden" name="scheme" value={entry.scheme} />
      <Field
        name="bucket"
        label="Bucket"
        value={values.bucket}
        error={faults.bucket}
        spellcheck={false}
        autocomplete="off"
        hint="It has to be there already."
      />
      <Field
        name="path"
        label="Path below it"
        value={values.path}
        error={faults.path}
        spellcheck={false}
        autocomplete="off"
        hint={
          <>
            <code>{"{DATE}"}</code> becomes the UTC day of the events, such as <code>20261120</code>: a folder for each
            day, which readers can skip. It may stand anywhere, or be left out; then all objects lie in one folder.
          </>
        }
      />
      {entry.scheme === "s3" ? (
        <S3Fields entry={entry} faults={faults} />
      ) : (
        <Field
          name="account_id"
          label="Account id"
          value={values.accountId}
          error={faults.account_id}
          spellcheck={false}
          autocomplete="off"
          hint="The account that the bucket is of; this deployment's own, unless you change it."
        />
      )}
      <Credentials entry={entry} faults={faults} />
    </>
  );
};

const S3Fields: FC<{ entry: DestinationEntry; faults: EntryFaults }> = ({ entry, faults }) => (
  <>
    <Field
      name="region"
      label="Region"
      value={visible(entry.region)}
      error={faults.region}
      spellcheck={false}
      autocomplete="off"
      hint={
        <>
          On AWS the one of the bucket, such as <code>eu-central-1</code>. Elsewhere what the store calls it;{" "}
          <code>auto</code> or <code>us-east-1</code> where it has none.
        </>
      }
    />
    <Field
      name="endpoint"
      label="Endpoint"
      value={visible(entry.endpoint)}
      error={faults.endpoint}
      spellcheck={false}
      autocomplete="off"
      hint={
        <>
          Empty for AWS. For another store its host, or an https address such as <code>https://storage.example</code>,
          without the bucket: that is asked for as a path.
        </>
      }
    />
    <Check
      name="sse"
      label={
        <>
          Ask the store to encrypt each object (<code>sse=AES256</code>)
        </>
      }
      checked={entry.sse}
      hint={faults.sse ?? "AWS does so anyway; some stores refuse the request."}
    />
  </>
);

const Credentials: FC<{ entry: DestinationEntry; faults: EntryFaults }> = ({ entry, faults }) => (
  <fieldset>
    <legend>Keys</legend>
    <Choice
      value="keys"
      label="An access key of the store"
      chosen={entry.credentials === "keys"}
      hint="It is stored encrypted, and it needs to be allowed to put objects below the path; to read them, too, if replay or opening objects is wanted."
    />
    <Field
      name="access_key_id"
      label="Access key id"
      error={faults.access_key_id}
      spellcheck={false}
      autocomplete="off"
      {...(entry.accessKeyId !== "" && { hint: KEPT })}
    />
    <Field
      name="secret_access_key"
      label="Secret access key"
      type="password"
      error={faults.secret_access_key}
      autocomplete="new-password"
      {...(entry.secretAccessKey !== "" && { hint: KEPT })}
    />
    <Choice
      value="env"
      label="A secret of this deployment holds them"
      chosen={entry.credentials === "env"}
      hint="Set with wrangler secret put, as JSON with host, access_key_id and secret_access_key: then no job has the keys, and all that name it get new ones at once."
    />
    <Field
      name="secret_name"
      label="Name of the secret"
      value={visible(entry.secretName)}
      error={faults.secret_name}
      spellcheck={false}
      autocomplete="off"
      hint={
        <>
          It begins with <code>DEST_</code>, in capitals.
        </>
      }
    />
  </fieldset>
);

const Choice: FC<{ value: string; label: string; chosen: boolean; hint: string }> = ({
  value,
  label,
  chosen,
  hint,
}) => (
  <div class="check">
    <input
      type="radio"
      id={`field-credentials-${value}`}
      name="credentials"
      value={value}
      checked={chosen}
      aria-describedby={`field-credentials-${value}-hint`}
    />
    <label for={`field-credentials-${value}`}>{label}</label>
    <p class="hint" id={`field-credentials-${value}-hint`}>
      {hint}
    </p>
  </div>
);
