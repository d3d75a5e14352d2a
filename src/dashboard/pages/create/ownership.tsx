import type { Child, FC } from "hono/jsx";
import { openDestination } from "../../../destinations/kinds.ts";
import { parseDestination } from "../../../destinations/parse.ts";
import { readSmall } from "../../../destinations/read-small.ts";
import { CHALLENGE_MAX_BYTES, CHALLENGE_READ_MS } from "../../../limits.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import { adviceOn } from "./advice.ts";
import { confOf, type Draft, type Kept, saveDraft } from "./draft.ts";
import { reached } from "./shipping-steps.tsx";
import { marked, refusedAt, stepOf, stepPath, stepView } from "./steps.tsx";

interface Fault {
  title: string;
  words: Child;
  /** Beside the field of the token. */
  token?: string;
}

/** Reading an object back found its token; or why not. */
type Back = { ok: true; token: string } | { ok: false; fault: Fault };

/** The fifth step: a proof that whoever creates the job can read what it will ship. */
export async function showOwnership(page: PageContext): Promise<PageAnswer> {
  const kept = await reached(page, "ownership");
  return kept instanceof Response ? kept : view(page, kept, null);
}

export async function takeOwnership(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const kept = await reached(page, "ownership");
  if (kept instanceof Response) return kept;
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

/** Has the API write a token into the bucket, and notes where it is. */
async function written(page: PageContext, kept: Kept, destination_conf: string): Promise<PageAnswer> {
  const answer = await page.api.send<{ valid: boolean; message: string; filename: string }>(
    "POST",
    "/logship/ownership",
    {
      destination_conf,
    },
  );
  if (!answer.ok) throw new InnerFailure(answer.status, answer.errors);
  const { valid, message, filename } = answer.result;
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

/** Goes on with a token that is right. What was sent instead is not shown again. */
async function proven(page: PageContext, kept: Kept, destination_conf: string, token: string): Promise<PageAnswer> {
  const sent = { destination_conf, ownership_challenge: token };
  const answer = await page.api.send<{ valid: boolean }>("POST", "/logship/ownership/validate", sent);
  if (!answer.ok && answer.status !== 400) throw new InnerFailure(answer.status, answer.errors);
  if (answer.ok && answer.result.valid) return goOn(page, kept, { ...kept.draft, proof: token });
  const why = token === "" ? "Paste the text of the object here." : "This is not the token of this destination.";
  return view(page, kept, { title: "Incorrect ownership challenge", words: <WrongToken />, token: why });
}

const WrongToken: FC = () => (
  <p>
    A token is good for this bucket and path alone, and for 7 days. It is all that stands in the object; take the whole
    of it, or have another one written. (Creating the job with this one would be refused with code 1002.)
  </p>
);

/** Reads the object with the draft's own keys, within bounds. */
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
  if (read.why === "too large") return <p>The object is larger than any token. Have another one written.</p>;
  if (read.why !== "refused") return <p>The store did not send all of it in time. Try again, or read it yourself.</p>;
  const { why, words } = read.answer;
  return (
    <>
      {why === "forbidden" ? (
        <p>
          These keys may write, but not read: for shipping that is enough. Read the object yourself, in the store's
          console or with other keys, and paste what stands in it.
        </p>
      ) : why === "gone" || why === "no_bucket" ? (
        <p>The object is not there any more. Have another token written.</p>
      ) : (
        <p>The store did not send it. Try again, or read it yourself and paste what stands in it.</p>
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
        <Notice kind="ok" title="It is proved that you can read this destination">
          <p>
            <a href={stepPath(id, "finish")}>Go on</a>
          </p>
        </Notice>
      ),
      <Panel id="ownership" title="Prove that the bucket is yours to read">
        <p>
          A token is written into the bucket; whoever has it, has read it there. So nobody can have records shipped to a
          place that is not theirs.
        </p>
        <p>
          {required
            ? "This deployment requires it for every new job."
            : "This deployment does not require it: you can go on without. It never hurts to know that the objects can be read."}
        </p>
        {draft.challenge === null ? null : (
          <p>
            It is in the bucket <Foreign text={draft.destination.bucket} />, as{" "}
            <code>
              <Foreign text={draft.challenge} />
            </code>
          </p>
        )}
        <div class="actions">
          <Form viewer={viewer} action={here} class="action">
            <button
              type="submit"
              name="do"
              value="write"
              class={draft.challenge === null && required ? "primary" : undefined}
            >
              {draft.challenge === null ? "Write a token into the bucket" : "Write another token"}
            </button>
          </Form>
          {draft.challenge === null ? null : (
            <Form viewer={viewer} action={here} class="action">
              <button type="submit" name="do" value="read" class="primary">
                Read it back for me
              </button>
            </Form>
          )}
          {required && draft.proof === null ? null : (
            <Form viewer={viewer} action={here} class="action">
              <button type="submit" name="do" value="skip" class={draft.challenge === null ? "primary" : undefined}>
                {draft.proof === null ? "Go on without" : "Continue"}
              </button>
            </Form>
          )}
        </div>
        {draft.challenge === null ? null : (
          <Form viewer={viewer} action={here} label="Token">
            <Field
              name="token"
              label="Or paste what stands in the object"
              error={fault?.token}
              spellcheck={false}
              autocomplete="off"
              hint="One line of some sixty characters. The object may be deleted afterwards."
            />
            <button type="submit" name="do" value="check">
              Check and continue
            </button>
          </Form>
        )}
      </Panel>,
    ],
    { status: fault === null ? 200 : 400, faults: refusedAt(draft, "ownership") },
  );
}
