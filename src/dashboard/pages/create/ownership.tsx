import type { Child, FC } from "hono/jsx";
import { placeOf } from "../../../destinations/entry.ts";
import { openDestination } from "../../../destinations/kinds.ts";
import { parseDestination } from "../../../destinations/parse.ts";
import { readSmall } from "../../../destinations/read-small.ts";
import { CHALLENGE_MAX_BYTES, CHALLENGE_READ_MS } from "../../../limits.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, Field, Form } from "../../parts/form.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import { adviceOn } from "./advice.ts";
import { confOf, type Draft, type Kept, saveDraft } from "./draft.ts";
import { marked, refusedAt, stepOf, stepPath, stepView } from "./steps.tsx";

interface Fault {
  title: string;
  words: Child;
  /** Shown beside the token field. */
  token?: string;
}

/** The token of an object that was read back, or why there is none. */
type Back = { ok: true; token: string } | { ok: false; fault: Fault };

/** Proves that the user can read the bucket. */
export function showOwnership(page: PageContext, kept: Kept): View {
  return view(page, kept, null);
}

export async function takeOwnership(page: PageContext, kept: Kept, form: URLSearchParams): Promise<PageAnswer> {
  const { draft } = kept;
  const conf = confOf(draft);
  if (!conf.ok) return seeOther(stepPath(kept.id, "destination"));
  switch (form.get("do")) {
    case "skip":
      if (page.config.requireOwnershipChallenge && draft.proof === null) break;
      return goOn(page, kept, draft);
    case "write":
      return written(page, kept, conf.value);
    case "read": {
      if (draft.challenge === null) break;
      const back = await readBack(page, conf.value, draft.challenge);
      if (!back.ok) return view(page, kept, back.fault);
      return proven(page, kept, conf.value, back.token);
    }
    case "check":
      return proven(page, kept, conf.value, (form.get("token") ?? "").trim());
  }
  return view(page, kept, null);
}

async function goOn(page: PageContext, kept: Kept, draft: Draft): Promise<Response> {
  const refusal = draft.refusal.filter((fault) => stepOf(fault) !== "ownership");
  await saveDraft(page, kept.id, marked({ ...draft, refusal }, "ownership", true));
  return seeOther(stepPath(kept.id, "finish"));
}

/** Has the API write a token into the bucket. */
async function written(page: PageContext, kept: Kept, destination_conf: string): Promise<PageAnswer> {
  const { valid, message, filename } = await page.api.change<{ valid: boolean; message: string; filename: string }>(
    "POST",
    "/logship/ownership",
    { destination_conf },
  );
  if (!valid) {
    const words = (
      <>
        <p>{adviceOn(message)}</p>
        <p class="quiet">
          <Foreign text={message} max={500} />
        </p>
      </>
    );
    return view(page, kept, { title: "The token could not be written", words });
  }
  await saveDraft(page, kept.id, { ...kept.draft, challenge: filename, proof: null });
  return seeOther(stepPath(kept.id, "ownership"));
}

/** Continues if the token is right. The sent text is not shown again. */
async function proven(page: PageContext, kept: Kept, destination_conf: string, token: string): Promise<PageAnswer> {
  const sent = { destination_conf, ownership_challenge: token };
  const answer = await page.api.send<{ valid: boolean }>("POST", "/logship/ownership/validate", sent);
  if (!answer.ok && answer.status !== 400) throw new InnerFailure(answer.status, answer.errors);
  if (answer.ok && answer.result.valid) return goOn(page, kept, { ...kept.draft, proof: token });
  const why = token === "" ? "Paste the text of the object." : "Not the token of this destination.";
  return view(page, kept, { title: "Incorrect ownership challenge", words: <WrongToken />, token: why });
}

const WrongToken: FC = () => (
  <p>
    A token is valid for this bucket and path, for 7 days. Paste the whole text of the object, or write a new token.
    (Error 1002.)
  </p>
);

/** Reads the object with the draft's keys, within bounds. */
async function readBack({ config, platform }: PageContext, conf: string, key: string): Promise<Back> {
  const destination = parseDestination(conf, config.destinations);
  const title = "The token could not be read back";
  if (!destination.ok) return { ok: false, fault: { title, words: <p>{destination.why}</p> } };
  const bounds = { maxBytes: CHALLENGE_MAX_BYTES, ms: CHALLENGE_READ_MS };
  const read = await readSmall(openDestination(destination.value, platform), key, bounds);
  if (read.ok) return { ok: true, token: new TextDecoder().decode(read.bytes).trim() };
  return { ok: false, fault: { title, words: <NotRead read={read} /> } };
}

const NotRead: FC<{ read: Exclude<Awaited<ReturnType<typeof readSmall>>, { ok: true }> }> = ({ read }) => {
  if (read.why === "too large") return <p>The object is larger than a token. Write another token.</p>;
  if (read.why !== "refused") return <p>The store did not send all of it in time. Try again, or paste the token.</p>;
  const { why, words } = read.answer;
  return (
    <>
      {why === "forbidden" ? (
        <p>
          The keys may write but not read, which is enough for shipping. Read the object in the store's console, and
          paste its text.
        </p>
      ) : why === "gone" || why === "no_bucket" ? (
        <p>The object is gone. Write another token.</p>
      ) : (
        <p>The store did not send it. Try again, or paste the token.</p>
      )}
      <p class="quiet">{words}</p>
    </>
  );
};

function view(page: PageContext, kept: Kept, fault: Fault | null): View {
  const { viewer, config } = page;
  const { id, draft } = kept;
  const here = stepPath(id, "ownership");
  const required = config.requireOwnershipChallenge;
  const button = (what: string, label: string, isPrimary: boolean) => (
    <Action
      viewer={viewer}
      action={here}
      label={label}
      needs="logs:edit"
      fields={{ do: what }}
      {...(isPrimary && { kind: "primary" })}
    />
  );
  return stepView(
    kept,
    "ownership",
    viewer,
    [
      fault === null ? null : (
        <Notice kind="bad" title={fault.title}>
          {fault.words}
        </Notice>
      ),
      draft.proof === null ? null : (
        <Notice kind="ok" title="Verified">
          <p>
            <a href={stepPath(id, "finish")}>Continue</a>
          </p>
        </Notice>
      ),
      <Panel id="ownership" title="Verify ownership">
        <p>
          logship writes a token into the bucket; reading it back proves that the bucket is yours.{" "}
          {required ? "Required by this deployment." : "Optional in this deployment."}
        </p>
        {draft.challenge === null ? null : (
          <p>
            The token is in the bucket <Foreign text={placeOf(draft.destination, config.destinations)?.bucket ?? ""} />,
            as{" "}
            <code>
              <Foreign text={draft.challenge} />
            </code>
          </p>
        )}
        <div class="actions">
          {draft.challenge === null
            ? button("write", "Write a token", required)
            : [button("write", "Write another token", false), button("read", "Read it back", true)]}
          {(!required || draft.proof !== null) &&
            button("skip", draft.proof === null ? "Skip" : "Continue", draft.challenge === null)}
        </div>
        {draft.challenge === null ? null : (
          <Form viewer={viewer} action={here} label="Token">
            <Field
              name="token"
              label="Or paste the text of the object"
              error={fault?.token}
              spellcheck={false}
              autocomplete="off"
              hint="About 60 characters. You can delete the object afterwards."
            />
            <button type="submit" name="do" value="check">
              Verify and continue
            </button>
          </Form>
        )}
      </Panel>,
    ],
    { status: fault === null ? 200 : 400, faults: refusedAt(draft, "ownership") },
  );
}
