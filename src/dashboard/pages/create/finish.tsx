import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import { type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Form, may } from "../../parts/form.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import type { JobView } from "../../views/job.ts";
import { inShort } from "../shipping/body.ts";
import { confOf, type Draft, type Kept, STEPS, saveDraft, takeDraft } from "./draft.ts";
import { reached } from "./shipping-steps.tsx";
import { marked, stepOf, stepPath, stepView } from "./steps.tsx";
import { DestinationFacts, ShippingFacts } from "./summary.tsx";

/** The last step: everything at a glance, and the button. */
export async function showFinish(page: PageContext): Promise<PageAnswer> {
  const kept = await reached(page, "finish");
  return kept instanceof Response ? kept : view(page, kept, kept.draft.refusal, 200);
}

/**
 * Creates the job. The draft is taken out of the store before, so that pressing the button twice makes no second job; where it is refused, the draft is put
 * back, with why.
 */
export async function takeFinish(page: PageContext): Promise<PageAnswer> {
  const there = await reached(page, "finish");
  if (there instanceof Response) return there;
  const kept = await takeDraft(page, there.id);
  const { id, draft } = kept;
  let refused: { status: number; errors: readonly ErrorEntry[] };
  try {
    const conf = confOf(draft);
    const answer = await page.api.send<JobView>("POST", "/logship/jobs", {
      ...draft.body,
      destination_conf: conf.ok ? conf.value : "",
      ...(draft.proof !== null && { ownership_challenge: draft.proof }),
    });
    if (answer.ok) return created(page, answer.result.id);
    // It is there, and the log or the ledger hears of it within a minute: another try would make another one.
    const storedAs =
      answer.status === 503 ? /^job (\d+) is stored\b/.exec(answer.errors[0]?.message ?? "")?.[1] : undefined;
    if (storedAs !== undefined) return created(page, Number(storedAs));
    refused = answer;
  } catch (error) {
    await saveDraft(page, id, draft);
    throw error;
  }
  const changed = withRefusal(draft, refused.errors);
  await saveDraft(page, id, changed);
  return view(page, { ...kept, draft: changed }, refused.errors, refused.status);
}

/** To the job's page; whoever may not read that is told here. */
function created({ viewer }: PageContext, id: number): Response {
  return seeOther(may(viewer, "logs:read") ? `/jobs/${id}?created` : `/jobs/new?created=${id}`);
}

/** The draft with why it was refused; a step that has to be gone through again is not done. */
function withRefusal(draft: Draft, errors: readonly ErrorEntry[]): Draft {
  const steps = errors.map(stepOf);
  const noted = { ...draft, refusal: [...errors] };
  const unproved = steps.includes("ownership") ? marked({ ...noted, proof: null }, "ownership", false) : noted;
  return steps.includes("destination") ? marked({ ...unproved, tested: null }, "destination", false) : unproved;
}

function view({ viewer }: PageContext, kept: Kept, refusal: readonly ErrorEntry[], status: number): View {
  const { id, draft } = kept;
  return stepView(
    kept,
    "finish",
    viewer,
    [
      refusal.length === 0 ? null : <Refused id={id} errors={refusal} isLater={status >= 500} />,
      <Panel
        id="destination"
        title="Destination"
        aside={<a href={stepPath(id, "destination")}>Change the destination</a>}
      >
        <DestinationFacts entry={draft.destination} />
        {draft.shared && <p>Another job ships into the same folder.</p>}
      </Panel>,
      <Panel
        id="shipping"
        title="Records and output"
        aside={
          <>
            <a href={stepPath(id, "records")}>Change the records</a> ·{" "}
            <a href={stepPath(id, "output")}>Change the output</a>
          </>
        }
      >
        <ShippingFacts body={draft.body} />
      </Panel>,
      <Panel id="proof" title="Ownership" aside={<a href={stepPath(id, "ownership")}>Change the proof</a>}>
        <p>
          {draft.proof === null
            ? "Not proved; this deployment does not ask for it."
            : "It is proved that you can read the bucket."}
        </p>
      </Panel>,
      <Form viewer={viewer} action={stepPath(id, "finish")}>
        <p class="quiet">
          The test object is written once more; then the job is there. It costs what its uploads cost: one request to
          the store for each object, and the storage.
        </p>
        <div class="actions">
          <button type="submit" class="primary">
            Create job
          </button>
        </div>
      </Form>,
    ],
    { status },
  );
}

const Refused: FC<{ id: string; errors: readonly ErrorEntry[]; isLater: boolean }> = ({ id, errors, isLater }) => (
  <Notice kind="bad" title={isLater ? "It did not work just now" : "The job was not created"}>
    <ul>
      {errors.map((entry) => {
        const step = stepOf(entry);
        const label = STEPS.find(({ name }) => name === step)?.label;
        return (
          <li>
            <Foreign text={inShort(entry.message)} />
            {step !== null && (
              <>
                {" "}
                <a href={stepPath(id, step)}>Change it at {label}</a>
              </>
            )}
          </li>
        );
      })}
    </ul>
    {isLater && (
      <p>
        It may have been made all the same: <a href="/jobs">look at the list of jobs</a> before you press the button
        again.
      </p>
    )}
  </Notice>
);
