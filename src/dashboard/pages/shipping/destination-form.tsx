import type { FC } from "hono/jsx";
import type { Config } from "../../../config.ts";
import { blamedOf, withoutSecrets, withSecretsOf } from "../../../destinations/entry.ts";
import type { ErrorEntry } from "../../../errors.ts";
import { DestinationFields } from "../../parts/destination-fields.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Field } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import { faultAt } from "./body.ts";
import { type DestinationAsked, PREFIX, storedEntry } from "./destination-read.ts";

/**
 * The destination of a stored job: what its form asks for, or a whole new one. Entered secrets go
 * to the API and are never shown again.
 */
export const DestinationForm: FC<{
  /** With secrets as `****`. "" if no key decrypts it. */
  masked: string;
  /** What the form sent; null: nothing yet. */
  asked: DestinationAsked | null;
  faults: readonly ErrorEntry[];
  config: Config;
  nowMs: number;
}> = ({ masked, asked, faults, config, nowMs }) => {
  const stored = storedEntry(masked, config);
  const sent = asked?.again.entry ?? null;
  // Of each secret, the form says that there is one.
  const entry = stored === null || sent === null ? stored : withSecretsOf(withoutSecrets(sent), stored);
  const fault = faultAt(faults, "/destination_conf");
  const blamed = fault === undefined || entry === null ? null : blamedOf(entry, fault);
  const challenge = faultAt(faults, "/ownership_challenge");
  return (
    <>
      {asked?.hadSecrets === true && (
        <Notice kind="warn" title="Enter the keys again">
          <p>Secrets are never shown. Leave their fields empty to keep what is stored.</p>
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
      {entry !== null && (
        <DestinationFields
          entry={entry}
          faults={blamed === null || fault === undefined ? {} : { [blamed]: fault }}
          nowMs={nowMs}
          prefix={PREFIX}
        />
      )}
      <details open={entry === null || (asked?.again.conf ?? "") !== "" || challenge !== undefined}>
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
              Replaces the fields above. <code>****</code> keeps a stored secret, for the same scheme, endpoint, account
              and bucket, or host and path.
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
