import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Field } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import { faultAt } from "./body.ts";
import { type DestinationAsked, pathOf } from "./destination-read.ts";

/** The destination of a job that there is: another path, other keys, or another one altogether. Secrets go from here to the API and never come back. */
export const DestinationForm: FC<{
  /** As the API shows it: secrets are `****`. "" if no key opens it. */
  masked: string;
  /** What was sent before; null: nothing. */
  asked: DestinationAsked | null;
  faults: readonly ErrorEntry[];
}> = ({ masked, asked, faults }) => {
  const path = pathOf(masked);
  const fault = faultAt(faults, "/destination_conf");
  const challenge = faultAt(faults, "/ownership_challenge");
  return (
    <>
      {asked?.hadSecrets === true && (
        <Notice kind="warn" title="The keys that you entered are not on this page any more">
          <p>A page never shows a secret. Enter them again before you save; left empty, the stored ones stay.</p>
        </Notice>
      )}
      {masked === "" ? (
        <Notice kind="bad" title="No key opens the stored destination">
          <p>
            Set <code>SECRETS_KEY</code> again, or give the whole <code>destination_conf</code> below.
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
            hint={
              <>
                Below the bucket. <code>{"{DATE}"}</code> becomes the UTC day of the events.
              </>
            }
          />
          <Field
            name="access-key-id"
            label="Another access key id"
            autocomplete="off"
            spellcheck={false}
            hint="Left empty, the stored one stays."
          />
          <Field
            name="secret-access-key"
            label="Another secret access key"
            type="password"
            autocomplete="off"
            hint="Left empty, the stored one stays."
          />
        </>
      )}
      <details open={path === null || (asked?.again.conf ?? "") !== "" || challenge !== undefined}>
        <summary>Another destination altogether</summary>
        <Field
          name="destination_conf"
          label="destination_conf"
          rows={3}
          value={asked?.again.conf ?? ""}
          autocomplete="off"
          spellcheck={false}
          hint={
            <>
              If this is not empty, it counts, and not the fields above. <code>****</code> in place of a key keeps the
              stored one, for the same scheme, endpoint, account and bucket.
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
              Wanted for another place where <code>REQUIRE_OWNERSHIP_CHALLENGE</code> is on: what the object says that{" "}
              <code>POST …/logship/ownership</code> writes there.
            </>
          }
        />
      </details>
    </>
  );
};
