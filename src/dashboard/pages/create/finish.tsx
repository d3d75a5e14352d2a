import type { FC } from "hono/jsx";
import { maskDestination } from "../../../destinations/parse.ts";
import type { ErrorEntry } from "../../../errors.ts";
import { type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Guarantee } from "../../parts/destination-fields.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Form, may } from "../../parts/form.tsx";
import { Facts, Notice, Panel } from "../../parts/panel.tsx";
import type { JobView } from "../../views/job.ts";
import { Destination, FilterText } from "../job/facts.tsx";
import { shippingFacts } from "../job/words.ts";
import { inShort } from "../shipping/body.ts";
import { confOf, type Draft, type Kept, STEPS, saveDraft, takeDraft, termsOfDraft } from "./draft.ts";
import { marked, stepOf, stepPath, stepView } from "./steps.tsx";

export function showFinish(page: PageContext, kept: Kept): View {
  return view(page, kept, kept.draft.refusal, 200);
}

/**
 * Creates the job. The draft is removed first, so that a second press of the button makes no second
 * job. If the job is refused, the draft is stored again, with the reasons.
 */
export async function takeFinish(page: PageContext): Promise<PageAnswer> {
  const kept = await takeDraft(page);
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
    // The job is stored, and takes effect within a minute: another try would create a second one.
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

/** To the page of the job, or back to the first page for a viewer without `logs:read`. */
function created({ viewer }: PageContext, id: number): Response {
  return seeOther(may(viewer, "logs:read") ? `/jobs/${id}?created` : `/jobs/new?created=${id}`);
}

/** Keeps the reasons in the draft, and reopens steps that must be completed again. */
function withRefusal(draft: Draft, errors: readonly ErrorEntry[]): Draft {
  const steps = errors.map(stepOf);
  const noted = { ...draft, refusal: [...errors] };
  const unproved = steps.includes("ownership") ? marked({ ...noted, proof: null }, "ownership", false) : noted;
  return steps.includes("destination") ? marked({ ...unproved, tested: null }, "destination", false) : unproved;
}

function view({ viewer }: PageContext, kept: Kept, refusal: readonly ErrorEntry[], status: number): View {
  const { id, draft } = kept;
  const { body } = draft;
  const conf = confOf(draft);
  const terms = termsOfDraft(draft);
  const parts = [
    refusal.length === 0 ? null : <Refused id={id} errors={refusal} isLater={status >= 500} />,
    <Panel id="destination" title="Destination" aside={<a href={stepPath(id, "destination")}>Edit the destination</a>}>
      <p>
        <Destination conf={maskDestination(conf.ok ? conf.value : "")} />
      </p>
      <p>
        <Guarantee terms={terms} />
      </p>
      {draft.shared && <p>Another job ships {terms.isReadable ? "to the same folder" : "there"}.</p>}
    </Panel>,
    <Panel
      id="shipping"
      title="Records and output"
      aside={
        <>
          <a href={stepPath(id, "records")}>Edit the records</a> · <a href={stepPath(id, "output")}>Edit the output</a>
        </>
      }
    >
      <Facts
        rows={[
          ["Name", body.name == null || body.name === "" ? "none" : <Foreign text={body.name} max={512} />],
          ["State", body.enabled === true ? "on" : "paused: takes no events until you resume it"],
          ...shippingFacts(body, terms),
        ]}
      />
      <FilterText filter={body.filter} />
    </Panel>,
    terms.isReadable ? (
      <Panel id="proof" title="Ownership" aside={<a href={stepPath(id, "ownership")}>Edit the proof</a>}>
        <p>{draft.proof === null ? "Not verified; not required." : "Ownership is verified."}</p>
      </Panel>
    ) : null,
    <Form viewer={viewer} action={stepPath(id, "finish")}>
      {terms.isReadable && <p class="quiet">The store bills one request per object, and its storage.</p>}
      <div class="actions">
        <button type="submit" class="primary">
          Create job
        </button>
      </div>
    </Form>,
  ];
  return stepView(kept, "finish", viewer, parts, { status });
}

const Refused: FC<{ id: string; errors: readonly ErrorEntry[]; isLater: boolean }> = ({ id, errors, isLater }) => (
  <Notice kind="bad" title={isLater ? "That did not work" : "The job was not created"}>
    <ul>
      {errors.map((entry) => {
        const step = stepOf(entry);
        const label = STEPS.find(({ name }) => name === step)?.label;
        return (
          <li>
            <Foreign text={inShort(entry.message)} />{" "}
            {step !== null && <a href={stepPath(id, step)}>Change it at {label}</a>}
          </li>
        );
      })}
    </ul>
    {isLater && (
      <p>
        The job may exist anyway: check the <a href="/jobs">list of jobs</a> before you try again.
      </p>
    )}
  </Notice>
);
