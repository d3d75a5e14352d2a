import type { ErrorEntry } from "../../../../base/errors.ts";
import { requireForm } from "../../../../ship/destinations/entry.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { faultsOf, RestOf } from "../../parts/faults.tsx";
import { Panel } from "../../parts/panel.tsx";
import type { JobView } from "../../views/job.ts";
import { begun, type Origin, originOf } from "../shipping/destination.tsx";
import { EnteredForm, type EnteredView, isRefused, takeEntered } from "../shipping/entered-form.tsx";
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
interface Shown extends EnteredView {
  form?: URLSearchParams;
  /** Why the replay was refused. */
  errors?: readonly ErrorEntry[];
}

async function showForm(page: PageContext): Promise<PageAnswer> {
  return view(page, spanIn(page.query), { entered: begun(page, originAt(page)) });
}

async function takeForm(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const span = spanIn(form);
  const { use: conf, ...taken } = await takeEntered(page, form, originAt(page));
  const shown = { ...taken, form };
  if (conf === undefined || span === null) return view(page, span, shown);
  const answer = await sendBegin(page, span, { destination_conf: conf, ...confirmedIn(form) });
  if (answer.ok) return seeOther(`/jobs/${answer.result.job_id}/replay#replays`);
  const { tested: _, ...untested } = shown;
  return view(page, span, { ...untested, errors: answer.errors });
}

function originAt(page: PageContext): Origin {
  return originOf(page, `a replay of job ${Number(page.params.job_id)}`, FOLDER);
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
        origin={originAt(page)}
        shown={shown}
        action={at}
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
        {requireForm(shown.entered.entry).terms.isReadable && (
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
