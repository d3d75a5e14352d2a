import { requireForm } from "../../../destinations/entry.ts";
import type { ErrorEntry } from "../../../errors.ts";
import { enteredPurpose } from "../../../job/secrets.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { faultsOf, RestOf } from "../../parts/faults.tsx";
import { Panel } from "../../parts/panel.tsx";
import type { JobView } from "../../views/job.ts";
import { ownerOf } from "../create/draft.ts";
import { type Entered, EnteredForm, emptyForm, isRefused, takeEntered } from "../shipping/entered.tsx";
import {
  AllowDuplicates,
  Count,
  confirmedIn,
  counted,
  type Span,
  sendBegin,
  spanIn,
  spanQuery,
  Token,
} from "./replay-begin.tsx";
import { jobPath, jobTrail } from "./words.ts";

/** A replay to a destination of its own, entered as that of a job. */
export const replayDestinationPage: Page = {
  path: "/jobs/:job_id/replay/destination",
  get: { permission: "logs:edit", show: showForm },
  post: { permission: "logs:edit", take: takeForm },
};

/** The folder of copies in a new form. */
const FOLDER = "replay";

/** What the form shows again. */
interface Shown extends Entered {
  form?: URLSearchParams;
  /** Why the replay was refused. */
  errors?: readonly ErrorEntry[];
}

async function showForm(page: PageContext): Promise<PageAnswer> {
  return view(page, spanIn(page.query), { entry: emptyForm(page, page.query.get("scheme") ?? "", FOLDER) });
}

async function takeForm(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const span = spanIn(form);
  const { conf, ...entered } = await takeEntered(page, form, purposeOf(page), FOLDER);
  const shown = { ...entered, form };
  if (conf === undefined || span === null) return view(page, span, shown);
  const answer = await sendBegin(page, span, { destination_conf: conf, ...confirmedIn(form) });
  if (answer.ok) return seeOther(`/jobs/${answer.result.job_id}/replay#replays`);
  const { tested: _, ...untested } = shown;
  return view(page, span, { ...untested, errors: answer.errors });
}

function purposeOf(page: PageContext): string {
  return enteredPurpose(page.config.accountId, ownerOf(page), Number(page.params.job_id));
}

/** The form; without a time, or where nothing would be shipped, the page before it. */
async function view(page: PageContext, span: Span | null, shown: Shown): Promise<View | Response> {
  const job = await page.api.get<JobView>(jobPath(page));
  const answer = span === null ? null : await counted(page, jobPath(page), span);
  if (span === null || answer?.ok !== true)
    return seeOther(`/jobs/${job.id}/replay${span === null ? "" : `?${spanQuery(span)}`}`);
  const { form, errors = [] } = shown;
  const back = `/jobs/${job.id}/replay?${spanQuery(span)}`;
  const at = `/jobs/${job.id}/replay/destination`;
  const refusals = faultsOf(errors, ["allow_duplicates", "ownership_challenge"]);
  return {
    title: "Replay to another destination",
    section: "jobs",
    status: isRefused(shown) || errors.length > 0 ? 400 : 200,
    trail: [...jobTrail(job), { href: back, label: "Replay" }],
    parts: [
      <Panel id="count" title="Preview">
        <Count estimate={answer.result} notes={answer.messages} />
      </Panel>,
      <RestOf faults={refusals} title="The replay was not started" />,
      <EnteredForm
        page={page}
        entered={shown}
        purpose={purposeOf(page)}
        action={at}
        here={`${at}?${spanQuery(span)}&`}
        folder={FOLDER}
        carried={
          <>
            <input type="hidden" name="since" value={span.since} />
            <input type="hidden" name="until" value={span.until} />
          </>
        }
        about="The keys are deleted when the replay ends."
        start="Test and start"
        disabled={answer.result.planned.objects === 0}
      >
        {requireForm(shown.entry).terms.isReadable && (
          <Token
            page={page}
            value={form?.get("ownership_challenge") ?? ""}
            error={refusals.at("ownership_challenge")}
          />
        )}
        <AllowDuplicates
          estimate={answer.result}
          checked={form?.has("allow_duplicates") ?? false}
          error={refusals.at("allow_duplicates")}
        />
      </EnteredForm>,
    ],
  };
}
