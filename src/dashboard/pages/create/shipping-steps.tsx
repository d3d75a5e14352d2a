import type { Child } from "hono/jsx";
import { shapeFaults } from "../../../api/body.ts";
import { CODE, type ErrorEntry, faultsError, missing } from "../../../errors.ts";
import { readJob } from "../../../job/rules.ts";
import { CreateJob, type JobBody } from "../../../job/schema.ts";
import { DATASETS } from "../../../record/fields.ts";
import { type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Form, may } from "../../parts/form.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import type { ShippingBody } from "../shipping/body.ts";
import { OutputForm, readOutputForm } from "../shipping/output-form.tsx";
import { PreviewPanel, type PreviewView } from "../shipping/preview-panel.tsx";
import { RecordsForm, readRecordsForm } from "../shipping/records-form.tsx";
import type { StepName } from "./draft.ts";
import { type Draft, type Kept, requireDraft, saveDraft } from "./draft.ts";
import { firstOpen, isReachable, marked, nextStep, refusedAt, stepOf, stepPath, stepView } from "./steps.tsx";

type FormStep = "records" | "output";

const READERS = { records: readRecordsForm, output: readOutputForm } as const;

/** The draft of a page, if it has come to this step. Otherwise the way to the one it is at. */
export async function reached(page: PageContext, step: StepName): Promise<Kept | Response> {
  const kept = await requireDraft(page, page.params.draft ?? "");
  return isReachable(kept.draft, step) ? kept : seeOther(stepPath(kept.id, firstOpen(kept.draft)));
}

export async function showForm(page: PageContext, step: FormStep): Promise<PageAnswer> {
  const kept = await reached(page, step);
  if (kept instanceof Response) return kept;
  return formView(page, kept, step, refusedAt(kept.draft, step), 200);
}

/** Keeps what was entered, whatever is wrong with it; goes on where nothing is. */
export async function takeForm(page: PageContext, step: FormStep, form: URLSearchParams): Promise<PageAnswer> {
  const kept = await reached(page, step);
  if (kept instanceof Response) return kept;
  const { id, draft } = kept;
  const { body, again } = READERS[step](form, draft.body);
  const refusal = draft.refusal.filter((fault) => stepOf(fault) !== step);
  const changed: Draft = { ...draft, body, refusal };
  if (again) {
    // Half of something may be in it: nobody gets past this step with that.
    const open = marked(changed, step, false);
    await saveDraft(page, id, open);
    return formView(page, { ...kept, draft: open }, step, [], 200);
  }
  const faults = shippingFaults(body).filter((fault) => stepOf(fault) === step);
  await saveDraft(page, id, marked(changed, step, faults.length === 0));
  if (faults.length > 0) return formView(page, { ...kept, draft: changed }, step, faults, 400);
  return seeOther(stepPath(id, nextStep(step)));
}

/** What creating a job of this would be refused for, but for its destination: each with its place in the body. */
export function shippingFaults(body: ShippingBody): ErrorEntry[] {
  const shape = CreateJob.omit({ destination_conf: true }).safeParse(body, { error: missing });
  if (!shape.success) return [...faultsError(400, CODE.invalid, shapeFaults(shape.error)).entries];
  const meaning = readJob({
    ...shape.data,
    dataset: shape.data.dataset ?? DATASETS[0],
    destination_conf: "",
  } as JobBody);
  return meaning.ok ? [] : [...faultsError(400, CODE.notAllowed, meaning.faults).entries];
}

async function formView(
  page: PageContext,
  kept: Kept,
  step: FormStep,
  faults: readonly ErrorEntry[],
  status: number,
): Promise<View> {
  const { viewer, api } = page;
  const { body } = kept.draft;
  const canRead = may(viewer, "logs:read");
  const fields =
    step === "records" && canRead
      ? await api.get<Record<string, string>>("/logship/datasets/functions_trace_events/fields")
      : {};
  return stepView(
    kept,
    step,
    viewer,
    [
      step === "records" && !canRead ? (
        <Notice kind="info" title="The list of fields needs the permission logs:read">
          <p>You can go on without it: what is chosen already stays as it is.</p>
        </Notice>
      ) : null,
      faults.length > 0 && status === 400 ? (
        <Notice kind="bad" title="Something here has to be changed first">
          <p>What is wrong stands beside what it is about.</p>
        </Notice>
      ) : null,
      <Panel id={`${step}-form`} title={step === "records" ? "What is shipped" : "How it is written"}>
        <Form viewer={viewer} action={stepPath(kept.id, step)} label={step === "records" ? "Records" : "Output"}>
          {step === "records" ? (
            <RecordsForm body={body} fields={fields} faults={faults} viewer={viewer} />
          ) : (
            <>
              {/* What the return key presses is the first button of a form. */}
              <button type="submit" name="do" value="continue" class="unseen" tabindex={-1}>
                Save and go on
              </button>
              <OutputForm body={body} faults={faults} viewer={viewer} />
            </>
          )}
          <div class="actions">
            <button type="submit" name="do" value="continue" class="primary">
              Save and continue
            </button>
          </div>
        </Form>
      </Panel>,
    ],
    { status },
  );
}

/** The fourth step: what would be kept of recent events, and how it would look. */
export async function showPreview(page: PageContext): Promise<PageAnswer> {
  const kept = await reached(page, "preview");
  if (kept instanceof Response) return kept;
  const { viewer } = page;
  return stepView(kept, "preview", viewer, [
    previewOf(page, kept),
    <Form viewer={viewer} action={stepPath(kept.id, "preview")}>
      <div class="actions">
        <button type="submit" class="primary">
          Continue
        </button>
        <a class="button" href={stepPath(kept.id, "preview")}>
          Look again
        </a>
      </div>
    </Form>,
  ]);
}

export async function takePreview(page: PageContext): Promise<PageAnswer> {
  const kept = await reached(page, "preview");
  if (kept instanceof Response) return kept;
  await saveDraft(page, kept.id, marked(kept.draft, "preview", true));
  return seeOther(stepPath(kept.id, "ownership"));
}

/** What the panel says itself, where it is so. */
const SAID = /^(?:the sample is an example|there are no recent events in memory)/;

async function previewOf({ api, viewer }: PageContext, { id, draft: { body } }: Kept): Promise<Child> {
  if (!may(viewer, "logs:read")) {
    return (
      <Notice kind="info" title="A preview shows recent events, which needs the permission logs:read">
        <p>The job can be created without it.</p>
      </Notice>
    );
  }
  const { filter, output_options, logpull_options } = body;
  const asked = { filter, output_options, logpull_options };
  const answer = await api.send<PreviewView>("POST", "/logship/preview", asked);
  if (!answer.ok) return <Errors title="There is no preview of this" errors={answer.errors} />;
  return (
    <>
      <PreviewPanel preview={answer.result} body={body} />
      {answer.messages
        .filter(({ message }) => !SAID.test(message))
        .map(({ message }) => (
          <p class="quiet">
            <Foreign text={message} />
          </p>
        ))}
      {answer.result.events === 0 && (
        <Panel id="how" title="How to get some events">
          <p>
            <a href="/functions">Attach a function</a> and call it, or send an event to the API; recent events are held
            in memory for some minutes. Then <a href={stepPath(id, "preview")}>look again</a>. Or go on all the same:
            the job can be changed at any time.
          </p>
        </Panel>
      )}
    </>
  );
}
