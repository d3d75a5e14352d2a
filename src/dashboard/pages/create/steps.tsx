import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import type { Part, View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { Action } from "../../parts/form.tsx";
import type { Viewer } from "../../session.ts";
import { type Draft, type Kept, STEPS, type StepName } from "./draft.ts";

/** Address of a step of a draft. */
export function stepPath(id: string, step: StepName): string {
  return `/jobs/new/${id}/${step}`;
}

/** The first step that was not gone through: beyond it, nothing can be known yet. */
export function firstOpen({ done }: Draft): StepName {
  return STEPS.find(({ name }) => !done.includes(name))?.name ?? "finish";
}

/** Whether somebody may be at a step: all before it are gone through. */
export function isReachable(draft: Draft, step: StepName): boolean {
  return indexOf(step) <= indexOf(firstOpen(draft));
}

/** The draft with a step gone through, or to be gone through again. */
export function marked(draft: Draft, step: StepName, isDone: boolean): Draft {
  const others = draft.done.filter((name) => name !== step);
  return { ...draft, done: isDone ? [...others, step] : others };
}

export function nextStep(step: StepName): StepName {
  return STEPS[indexOf(step) + 1]?.name ?? "finish";
}

function indexOf(step: StepName): number {
  return STEPS.findIndex(({ name }) => name === step);
}

/** Fields of the body that the first form has; all others that a job may be refused for are the second one's. */
const RECORDS_POINTERS =
  /^\/(?:filter|dataset|output_options\/(?:field_names|sample_rate)|logpull_options|output_options$)/;

/** The step at which something can be mended, by its place in the body of the job. null: at none, it is of the whole job. */
export function stepOf({ source, code }: ErrorEntry): StepName | null {
  const pointer = source?.pointer ?? "";
  if (pointer.startsWith("/destination_conf")) return "destination";
  if (pointer.startsWith("/ownership_challenge") || code === 1002) return "ownership";
  if (RECORDS_POINTERS.test(pointer)) return "records";
  return pointer === "" ? null : "output";
}

/** What the job was refused for, as far as it is this step's. */
export function refusedAt({ refusal }: Draft, step: StepName): ErrorEntry[] {
  return refusal.filter((entry) => stepOf(entry) === step);
}

/** Where one is, and the way back; what is not reached yet is no link. */
const Progress: FC<{ kept: Kept; step: StepName }> = ({ kept: { id, draft }, step }) => (
  <nav class="steps" aria-label="Steps">
    <p class="quiet">
      Step {indexOf(step) + 1} of {STEPS.length}
    </p>
    <ol>
      {STEPS.map(({ name, label }) => (
        <li>
          {name === step ? (
            <span aria-current="step">{label}</span>
          ) : isReachable(draft, name) ? (
            <a href={stepPath(id, name)}>
              {draft.done.includes(name) && (
                <span class="mark" aria-hidden="true">
                  ✓
                </span>
              )}
              {label}
              {draft.done.includes(name) && <span class="unseen"> (done)</span>}
            </a>
          ) : (
            <span class="quiet">{label}</span>
          )}
        </li>
      ))}
    </ol>
  </nav>
);

/** A page of the flow. @param faults what the job was refused for at this step, where no field of it says so. */
export function stepView(
  kept: Kept,
  step: StepName,
  viewer: Viewer,
  parts: readonly Part[],
  { status = 200, faults = [] }: { status?: number; faults?: readonly ErrorEntry[] } = {},
): View {
  return {
    title: `Create a job: ${STEPS[indexOf(step)]?.label.toLowerCase() ?? ""}`,
    status,
    section: "jobs",
    trail: [
      { href: "/jobs", label: "Jobs" },
      { href: "/jobs/new", label: "Create a job" },
    ],
    parts: [
      <Progress kept={kept} step={step} />,
      faults.length > 0 ? (
        <Errors title="This has to be changed before the job can be created" errors={faults} />
      ) : null,
      ...parts,
      <div class="leave">
        <p class="quiet">What you enter is kept for a week, for you alone; nothing ships before the last step.</p>
        <Action
          viewer={viewer}
          action={`/jobs/new/${kept.id}/discard`}
          label="Throw this draft away"
          needs="logs:edit"
          kind="small"
        />
      </div>,
    ],
  };
}
