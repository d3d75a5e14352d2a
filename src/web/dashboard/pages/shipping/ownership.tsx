import type { Child, FC } from "hono/jsx";
import { CHALLENGE_MAX_BYTES, CHALLENGE_READ_MS } from "../../../../base/limits.ts";
import { openDestination } from "../../../../ship/destinations/kinds.ts";
import { parseDestination } from "../../../../ship/destinations/parse.ts";
import { readSmall } from "../../../../ship/destinations/read-small.ts";
import { InnerFailure } from "../../inner-api.ts";
import type { PageContext } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Button, DO_FIELD, Field } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import type { Proof } from "./destination.tsx";
import { adviceOn } from "./test-write.tsx";

/** What came of a button of the challenge. */
export interface Challenged {
  proof: Proof;
  /** Why it failed; absent: it did not. */
  fault?: { title: string; words: Child };
}

/** Writes a challenge into the destination, or reads the last one back with the entered keys. */
export async function challenge(page: PageContext, what: string, conf: string, proof: Proof): Promise<Challenged> {
  return what === "own:read" && proof.challenge !== null
    ? { proof, ...(await readBack(page, conf, proof.challenge)) }
    : { proof, ...(await written(page, conf)) };
}

async function written({ api }: PageContext, destination_conf: string): Promise<Partial<Challenged>> {
  const sent = { destination_conf };
  const { valid, message, filename } = await api.change<{ valid: boolean; message: string; filename: string }>(
    "POST",
    "/logship/ownership",
    sent,
  );
  if (valid) return { proof: { challenge: filename, token: null } };
  const words = (
    <p>
      {adviceOn(message)} (<Foreign text={message} max={500} />)
    </p>
  );
  return { fault: { title: "The challenge could not be written", words } };
}

async function readBack(
  { api, config, platform }: PageContext,
  conf: string,
  key: string,
): Promise<Partial<Challenged>> {
  const title = "The challenge could not be read back";
  const destination = parseDestination(conf, config.destinations);
  if (!destination.ok) return { fault: { title, words: <p>{destination.why}</p> } };
  const bounds = { maxBytes: CHALLENGE_MAX_BYTES, ms: CHALLENGE_READ_MS };
  const read = await readSmall(openDestination(destination.value, platform), key, bounds);
  if (!read.ok) return { fault: { title, words: <NotRead read={read} /> } };
  const token = new TextDecoder().decode(read.bytes).trim();
  const sent = { destination_conf: conf, ownership_challenge: token };
  const answer = await api.send<{ valid: boolean }>("POST", "/logship/ownership/validate", sent);
  if (!answer.ok && answer.status !== 400) throw new InnerFailure(answer.status, answer.errors);
  if (answer.ok && answer.result.valid) return { proof: { challenge: key, token } };
  return { fault: { title, words: <p>The object holds something else. Write another challenge.</p> } };
}

const NotRead: FC<{ read: Exclude<Awaited<ReturnType<typeof readSmall>>, { ok: true }> }> = ({ read }) => {
  if (read.why === "too large") return <p>The object is larger than a challenge. Write another challenge.</p>;
  if (read.why !== "refused") return <p>The store did not send all of it in time. Try again, or paste its text.</p>;
  const { why, words } = read.answer;
  return (
    <p>
      {why === "forbidden"
        ? "The keys may write but not read, which is enough for shipping. Read the object in the store's console, and paste its text."
        : why === "gone" || why === "no_bucket"
          ? "The object is gone. Write another challenge."
          : "The store did not send it. Try again, or paste its text."}{" "}
      ({words})
    </p>
  );
};

/** The controls of the proof that a destination can be read, in the form around them. */
export const Ownership: FC<{ proof: Proof; fault: Challenged["fault"]; error: string | undefined }> = ({
  proof,
  fault,
  error,
}) => (
  <>
    <p>logship writes a challenge into the bucket; reading it back proves that the bucket is yours.</p>
    {fault !== undefined && (
      <Notice kind="bad" title={fault.title}>
        {fault.words}
      </Notice>
    )}
    {proof.challenge !== null && (
      <p>
        Written as <Foreign as="code" text={proof.challenge} />
        {proof.token !== null && ". It proves that you own the bucket"}. You can delete it afterwards.
      </p>
    )}
    <div class="actions">
      <Button
        class="small"
        name={DO_FIELD}
        value="own:write"
        formaction="#ownership"
        label={proof.challenge === null ? "Write a challenge" : "Write another challenge"}
      />
      {proof.challenge !== null && (
        <Button class="small" name={DO_FIELD} value="own:read" formaction="#ownership" label="Read it back" />
      )}
    </div>
    <Field
      name="ownership_challenge"
      label="Or the text of the object"
      error={error}
      spellcheck={false}
      autocomplete="off"
      hint={proof.token === null ? "About 60 characters." : "Kept. Leave empty to use it."}
    />
  </>
);
