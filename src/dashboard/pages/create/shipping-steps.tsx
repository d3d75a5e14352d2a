import type { Child } from "hono/jsx";
import { shapeFaults } from "../../../api/body.ts";
import type { Terms } from "../../../destinations/destination.ts";
import { maskDestination } from "../../../destinations/parse.ts";
import { CODE, type ErrorEntry, faultsError, missing } from "../../../errors.ts";
import { fitDestination, readJob } from "../../../job/rules.ts";
import { CreateJob, type JobBody } from "../../../job/schema.ts";
import { DATASETS } from "../../../record/fields.ts";
import { type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Form, may } from "../../parts/form.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import type { ShippingBody } from "../shipping/body.ts";
import { askPreview, loadFields, Refused, readForms } from "../shipping/flow.tsx";
import { OutputForm } from "../shipping/output-form.tsx";
import { PreviewPanel } from "../shipping/preview-panel.tsx";
import { LogpullNotice, RecordsForm } from "../shipping/records-form.tsx";
import { confOf, type Draft, type Kept, saveDraft, termsOfDraft } from "./draft.ts";
import { marked, nextStep, refusedAt, stepOf, stepPath, stepView } from "./steps.tsx";

type FormStep = "records" | "output";

export const showForm = (step: FormStep) => (page: PageContext, kept: Kept) =>
  formView(page, kept, step, refusedAt(kept.draft, step));

/** Stores what was entered, valid or not, and goes to the next step if it is valid. */
export const takeForm =
  (step: FormStep) =>
  async (page: PageContext, kept: Kept, form: URLSearchParams): Promise<PageAnswer> => {
    const { id, draft } = kept;
    const { body, again } = readForms(form, draft.body);
    const refusal = draft.refusal.filter((fault) => stepOf(fault) !== step);
    const faults = again ? [] : shippingFaults(body, termsOfDraft(draft)).filter((fault) => stepOf(fault) === step);
    // A filter under construction may be incomplete: the step stays open.
    const next = marked({ ...draft, body, refusal }, step, !again && faults.length === 0);
    await saveDraft(page, id, next);
    if (!again && faults.length === 0) return seeOther(stepPath(id, nextStep(next, step)));
    return formView(page, { ...kept, draft: next }, step, faults, again ? 200 : 400);
  };

/** The faults for which creating this job would be refused, apart from its destination itself. */
export function shippingFaults(body: ShippingBody, terms: Terms): ErrorEntry[] {
  const shape = CreateJob.omit({ destination_conf: true }).safeParse(body, { error: missing });
  if (!shape.success) return [...faultsError(400, CODE.invalid, shapeFaults(shape.error)).entries];
  const whole = { ...shape.data, dataset: shape.data.dataset ?? DATASETS[0], destination_conf: "" } as JobBody;
  const meaning = readJob(whole);
  const { faults } = meaning.ok ? fitDestination(meaning.value, whole, terms) : meaning;
  return faults.length === 0 ? [] : [...faultsError(400, CODE.notAllowed, faults).entries];
}

async function formView(
  page: PageContext,
  kept: Kept,
  step: FormStep,
  faults: readonly ErrorEntry[],
  status = 200,
): Promise<View> {
  const { viewer } = page;
  const { body } = kept.draft;
  const isRecords = step === "records";
  const fields = isRecords ? await loadFields(page) : {};
  const button = { type: "submit", name: "do", value: "continue" } as const;
  const parts = [
    isRecords && !may(viewer, "logs:read") ? (
      <Notice kind="info" title="The list of fields needs the permission logs:read">
        <p>You can continue without it: the chosen fields stay.</p>
      </Notice>
    ) : null,
    <Refused faults={faults} title="Correct this to continue" />,
    <Panel id={`${step}-form`} title={isRecords ? "What to ship" : "How to write it"}>
      <Form viewer={viewer} action={stepPath(kept.id, step)} label={isRecords ? "Records" : "Output"}>
        {isRecords ? (
          <RecordsForm body={body} fields={fields} faults={faults} terms={termsOfDraft(kept.draft)} />
        ) : (
          <>
            {/* Enter presses the first button of a form. */}
            <button {...button} class="unseen" tabindex={-1}>
              Save and go on
            </button>
            <LogpullNotice body={body} />
            <OutputForm body={body} faults={faults} terms={termsOfDraft(kept.draft)} />
          </>
        )}
        <div class="actions">
          <button {...button} class="primary">
            Save and continue
          </button>
        </div>
      </Form>
    </Panel>,
  ];
  return stepView(kept, step, viewer, parts, { status });
}

export function showPreview(page: PageContext, kept: Kept): View {
  const { viewer } = page;
  const here = stepPath(kept.id, "preview");
  return stepView(kept, "preview", viewer, [
    previewOf(page, kept.draft),
    <Form viewer={viewer} action={here}>
      <div class="actions">
        <button type="submit" class="primary">
          Continue
        </button>
        <a class="button" href={here}>
          Refresh
        </a>
      </div>
    </Form>,
  ]);
}

export async function takePreview(page: PageContext, { id, draft }: Kept): Promise<PageAnswer> {
  await saveDraft(page, id, marked(draft, "preview", true));
  return seeOther(stepPath(id, nextStep(draft, "preview")));
}

async function previewOf(page: PageContext, draft: Draft): Promise<Child> {
  if (!may(page.viewer, "logs:read"))
    return (
      <Notice kind="info" title="The preview needs the permission logs:read">
        <p>You can create the job without it.</p>
      </Notice>
    );
  const conf = confOf(draft);
  const answer = await askPreview(page, draft.body, conf.ok ? maskDestination(conf.value) : null);
  if (!answer.ok) return <Refused title="No preview" faults={answer.errors} />;
  return <PreviewPanel preview={answer.result} body={draft.body} notes={answer.messages} />;
}
