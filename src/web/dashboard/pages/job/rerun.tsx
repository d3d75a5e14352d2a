import type { FC } from "hono/jsx";
import type { ErrorEntry } from "../../../../base/errors.ts";
import { HOUR_MS } from "../../../../base/time.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { storedEntry } from "../../parts/destination-entry.ts";
import { minuteOf } from "../../parts/entered-time.ts";
import { faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { visible } from "../../parts/foreign.tsx";
import { Field, Form, Radio, Submit } from "../../parts/form.tsx";
import { Panel } from "../../parts/panel.tsx";
import type { AccountLedgerView } from "../../views/account.ts";
import type { JobView } from "../../views/job.ts";
import { jobPath, jobTrail } from "./job-text.ts";
import { type Span, sendBegin, spanIn, targetEntered, timeField } from "./replay-begin.tsx";

/** What was entered to begin a rerun, and why it was refused. */
interface Refused {
  span: Span;
  to: string;
  path: string;
  errors: readonly ErrorEntry[];
}

/** The form of a rerun. @param keptSince null: nothing is kept. */
const RerunForm: FC<{
  page: PageContext;
  job: JobView;
  keptSince: string | null;
  refused: Refused | undefined;
}> = ({ page: { viewer, nowMs, config }, job, keptSince, refused }) => {
  const faults = refused === undefined ? NO_FAULTS : faultsOf(refused.errors, ["since", "until", "destination_conf"]);
  const span = refused?.span ?? { since: minuteOf(nowMs - HOUR_MS), until: minuteOf(nowMs) };
  const own = storedEntry(job.destination_conf, config)?.values.path;
  return (
    <Panel id="rerun" title="New rerun">
      <p>
        A rerun ships again the events that the log keeps, under the job's present filter and format, whether or not the
        job was enabled then. Names of its objects end in <code>_r</code> and a number.
      </p>
      {keptSince === null ? (
        <p>The log keeps nothing (LOG_KEEP_HOURS), or does not answer.</p>
      ) : (
        <Form viewer={viewer} action={`/jobs/${job.id}/rerun`} label="Start a rerun">
          <RestOf faults={faults} title="The rerun was not started" />
          <Field
            {...timeField("since", span, faults)}
            label="Arrived since (UTC)"
            hint={`The log keeps everything since ${minuteOf(Date.parse(keptSince), Math.ceil)}.`}
          />
          <Field {...timeField("until", span, faults)} label="Arrived before (UTC)" />
          {own !== undefined && (
            <fieldset>
              <legend>Destination</legend>
              <Radio name="to" value="own" label="The job's own folder" checked={refused?.to !== "folder"} />
              <Radio
                name="to"
                value="folder"
                label="Another folder of the job's bucket"
                checked={refused?.to === "folder"}
              />
              <Field
                name="path"
                label="Folder"
                value={visible(refused?.path || `rerun/${own}`)}
                error={faults.at("destination_conf")}
                spellcheck={false}
                autocomplete="off"
              />
            </fieldset>
          )}
          <Submit label="Start rerun" />
        </Form>
      )}
    </Panel>
  );
};

/** A rerun of a job is entered here. */
export const rerunPage: Page = {
  path: "/jobs/:job_id/rerun",
  get: { permission: "logs:edit", show: (page) => view(page) },
  post: { permission: "logs:edit", take },
};

async function view(page: PageContext, refused?: Refused): Promise<View> {
  const [job, ledger] = await Promise.all([
    page.api.get<JobView>(jobPath(page)),
    page.api.send<AccountLedgerView>("GET", "/logship/ledger"),
  ]);
  return {
    title: "Rerun",
    status: refused === undefined ? 200 : 400,
    trail: [...jobTrail(job), { href: `/jobs/${job.id}/replay`, label: "Replays" }],
    parts: [
      <RerunForm page={page} job={job} keptSince={ledger.ok ? ledger.result.kept_since : null} refused={refused} />,
    ],
  };
}

async function take(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const span = spanIn(form) ?? { since: "", until: "" };
  const [to, path] = [form.get("to") ?? "own", (form.get("path") ?? "").trim()];
  const refused = (errors: readonly ErrorEntry[]): Promise<View> => view(page, { span, to, path, errors });
  const target = await targetEntered(page, { to, path, ofJob: "" });
  if ("errors" in target) return refused(target.errors);
  const answer = await sendBegin(page, "rerun", span, target.body);
  return answer.ok ? seeOther(`/jobs/${answer.result.job_id}/replay#replays`) : refused(answer.errors);
}
