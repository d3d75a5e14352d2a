import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../errors.ts";
import type { Part, View } from "../../page.ts";
import { Action } from "../../parts/form.tsx";
import type { Viewer } from "../../session.ts";
import { Refused } from "../shipping/flow.tsx";
import { type Draft, type Kept, STEPS, type StepName, stepsOf } from "./draft.ts";

export function stepPath(id: string, step: StepName): string {
  return `/jobs/new/${id}/${step}`;
}

/** The first step that is not completed. */
export function firstOpen(draft: Draft): StepName {
  return stepsOf(draft).find(({ name }) => !draft.done.includes(name))?.name ?? "finish";
}

/** Whether it is a step of the draft, and all steps before it are completed. */
export function isReachable(draft: Draft, step: StepName): boolean {
  const at = indexOf(draft, step);
  return at !== -1 && at <= indexOf(draft, firstOpen(draft));
}

/** Marks a step as completed or open. */
export function marked(draft: Draft, step: StepName, isDone: boolean): Draft {
  const others = draft.done.filter((name) => name !== step);
  return { ...draft, done: isDone ? [...others, step] : others };
}

export function nextStep(draft: Draft, step: StepName): StepName {
  return stepsOf(draft)[indexOf(draft, step) + 1]?.name ?? "finish";
}

function indexOf(draft: Draft, step: StepName): number {
  return stepsOf(draft).findIndex(({ name }) => name === step);
}

/** Fields of the records form; all other fields are on the output form. */
const RECORDS_POINTERS =
  /^\/(?:filter|dataset|output_options\/(?:field_names|sample_rate)|logpull_options|output_options$)/;

/**
 * The step where a fault can be corrected, by its JSON pointer; null: the fault is about the whole
 * job.
 */
export function stepOf({ source, code }: ErrorEntry): StepName | null {
  const pointer = source?.pointer ?? "";
  if (pointer.startsWith("/destination_conf")) return "destination";
  if (pointer.startsWith("/ownership_challenge") || code === 1002) return "ownership";
  if (RECORDS_POINTERS.test(pointer)) return "records";
  return pointer === "" ? null : "output";
}

/** The faults of the refused job that belong to this step. */
export function refusedAt({ refusal }: Draft, step: StepName): ErrorEntry[] {
  return refusal.filter((entry) => stepOf(entry) === step);
}

/** The steps; only reachable ones are links. */
const Progress: FC<{ kept: Kept; step: StepName }> = ({ kept: { id, draft }, step }) => (
  <nav class="steps" aria-label="Steps">
    <p class="quiet">
      Step {indexOf(draft, step) + 1} of {stepsOf(draft).length}
    </p>
    <ol>
      {stepsOf(draft).map(({ name, label }) => (
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

/**
 * A page of the wizard. @param faults of the refused job, for a step whose fields do not show them.
 */
export function stepView(
  kept: Kept,
  step: StepName,
  viewer: Viewer,
  parts: readonly Part[],
  { status = 200, faults = [] }: { status?: number; faults?: readonly ErrorEntry[] } = {},
): View {
  return {
    title: `Create a job: ${STEPS.find(({ name }) => name === step)?.label.toLowerCase() ?? ""}`,
    status,
    section: "jobs",
    trail: [
      { href: "/jobs", label: "Jobs" },
      { href: "/jobs/new", label: "Create a job" },
    ],
    parts: [
      <Progress kept={kept} step={step} />,
      <Refused faults={faults} title="Change this to create the job" />,
      ...parts,
      <div class="leave">
        <p class="quiet">Only you can see this draft. It is kept for a week; nothing ships before the last step.</p>
        <Action
          viewer={viewer}
          action={`/jobs/new/${kept.id}/discard`}
          label="Discard draft"
          needs="logs:edit"
          kind="small"
        />
      </div>,
    ],
  };
}
