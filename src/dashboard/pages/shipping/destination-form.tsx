import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Field } from "../../parts/form.tsx";
import { PathHint } from "../../parts/key-path.tsx";
import { Notice } from "../../parts/panel.tsx";
import { faultAt } from "./body.ts";
import { type DestinationAsked, pathOf } from "./destination-read.ts";

/**
 * The destination of a stored job: a new path, new keys, or a new destination. Entered secrets go
 * to the API and are never shown again.
 */
export const DestinationForm: FC<{
  /** With secrets as `****`. "" if no key decrypts it. */
  masked: string;
  /** What the form sent; null: nothing yet. */
  asked: DestinationAsked | null;
  faults: readonly ErrorEntry[];
}> = ({ masked, asked, faults }) => {
  const path = pathOf(masked);
  const fault = faultAt(faults, "/destination_conf");
  const challenge = faultAt(faults, "/ownership_challenge");
  return (
    <>
      {asked?.hadSecrets === true && (
        <Notice kind="warn" title="Enter the keys again">
          <p>Secrets are never shown. Leave the fields empty to keep the stored keys.</p>
        </Notice>
      )}
      {masked === "" ? (
        <Notice kind="bad" title="The stored destination cannot be decrypted">
          <p>
            Restore <code>SECRETS_KEY</code>, or enter a whole <code>destination_conf</code> below.
          </p>
        </Notice>
      ) : (
        <p>
          <code>
            <Foreign text={masked} max={4_096} />
          </code>
        </p>
      )}
      {fault !== undefined && <p class="error">{fault}</p>}
      {path !== null && (
        <>
          <Field
            name="destination-path"
            label="Path"
            value={asked?.again.path ?? path}
            spellcheck={false}
            hint={<PathHint path={asked?.again.path ?? path} />}
          />
          <Field
            name="access-key-id"
            label="New access key ID"
            autocomplete="off"
            spellcheck={false}
            hint="Empty: unchanged."
          />
          <Field
            name="secret-access-key"
            label="New secret access key"
            type="password"
            autocomplete="off"
            hint="Empty: unchanged."
          />
        </>
      )}
      <details open={path === null || (asked?.again.conf ?? "") !== "" || challenge !== undefined}>
        <summary>Replace the destination</summary>
        <Field
          name="destination_conf"
          label="destination_conf"
          rows={3}
          value={asked?.again.conf ?? ""}
          autocomplete="off"
          spellcheck={false}
          hint={
            <>
              Replaces the fields above. <code>****</code> keeps a stored key, for the same scheme, endpoint, account
              and bucket.
            </>
          }
        />
        <Field
          name="ownership_challenge"
          label="Ownership token"
          autocomplete="off"
          spellcheck={false}
          error={challenge}
          hint={
            <>
              Required for a new place if <code>REQUIRE_OWNERSHIP_CHALLENGE</code> is on: the text of the object that{" "}
              <code>POST …/logship/ownership</code> writes there.
            </>
          }
        />
      </details>
    </>
  );
};
