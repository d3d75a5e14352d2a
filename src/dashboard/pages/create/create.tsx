import { type Page, type PageAnswer, type PageContext, seeOther } from "../../page.ts";
import { showDestination, takeDestination } from "./destination.tsx";
import { type Kept, requireDraft, type StepName } from "./draft.ts";
import { showFinish, takeFinish } from "./finish.tsx";
import { showOwnership, takeOwnership } from "./ownership.tsx";
import { showForm, showPreview, takeForm, takePreview } from "./shipping-steps.tsx";
import { discardDraft, duplicate, showDraft, showStart, takeStart } from "./start.tsx";
import { firstOpen, isReachable, stepPath } from "./steps.tsx";

const needs = { permission: "logs:edit" } as const;

type Show = (page: PageContext, kept: Kept) => PageAnswer | Promise<PageAnswer>;
type Take = (page: PageContext, kept: Kept, form: URLSearchParams) => Promise<PageAnswer>;

/**
 * A step of the wizard, with its draft loaded. A draft that has not reached the step redirects to
 * its first open one.
 */
function step(name: StepName, show: Show, take: Take): Page {
  const at = async (page: PageContext, run: Show): Promise<PageAnswer> => {
    const kept = await requireDraft(page);
    return isReachable(kept.draft, name) ? run(page, kept) : seeOther(stepPath(kept.id, firstOpen(kept.draft)));
  };
  return {
    path: `/jobs/new/:draft/${name}`,
    get: { ...needs, show: (page) => at(page, show) },
    post: { ...needs, take: (page, form) => at(page, (_page, kept) => take(page, kept, form)) },
  };
}

/** The wizard. Entries are stored on the server: a step can be reloaded, left, and resumed. */
export const createPages: readonly Page[] = [
  { path: "/jobs/new", get: { ...needs, show: showStart }, post: { ...needs, take: takeStart } },
  { path: "/jobs/new/:draft", get: { ...needs, show: showDraft } },
  { path: "/jobs/new/:draft/discard", post: { ...needs, take: discardDraft } },
  step("destination", showDestination, takeDestination),
  step("records", showForm("records"), takeForm("records")),
  step("output", showForm("output"), takeForm("output")),
  step("preview", showPreview, takePreview),
  step("ownership", showOwnership, takeOwnership),
  step("finish", showFinish, takeFinish),
  { path: "/jobs/:job_id/duplicate", post: { ...needs, take: (page) => duplicate(page) } },
];
