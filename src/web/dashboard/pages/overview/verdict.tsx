import type { Child, FC } from "hono/jsx";
import { duration, plural } from "../../../../base/words.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { Notice } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";
import type { FindingView, StatusView } from "../../views/account.ts";
import type { JobView } from "../../views/job.ts";
import { functionPath, hasPath } from "../functions/logging.tsx";
import { jobPath, recoveringWords } from "../status/finding.tsx";
import type { Jobs } from "./asks.ts";

/** Findings shown; /status has all. */
const NAMED_MAX = 3;

/** Seconds between refreshes. */
export const REFRESH_S = 15;

/** The status in one sentence. @param status null: unavailable. @param jobs null: unavailable. */
export const Verdict: FC<{ status: StatusView | null; jobs: Jobs | null; viewer: Viewer }> = ({
  status,
  jobs,
  viewer,
}) => (
  <div id="verdict" class="verdict" data-refresh={REFRESH_S}>
    {said(status, jobs, viewer)}
  </div>
);

function said(status: StatusView | null, jobs: Jobs | null, viewer: Viewer): Child {
  if (status === null)
    return (
      <Notice kind="bad" title="Status unavailable">
        <p>The status check does not answer. Delivery continues. Retrying automatically.</p>
      </Notice>
    );
  const { findings } = status;
  const unfound = failingUnfound(findings, jobs);
  const problems = findings.length + unfound.length;
  if (problems === 0) {
    const recovering = recoveringWords(status.incidents);
    return (
      <Notice kind="ok" title={wellSentence(jobs)}>
        {recovering !== null && (
          <p>
            <a href="/incidents">{recovering}</a>
          </p>
        )}
      </Notice>
    );
  }
  return (
    <Notice kind={status.errors + unfound.length > 0 ? "bad" : "warn"} title={plural(problems, "problem")}>
      <ul class="named">
        {findings.slice(0, NAMED_MAX).map((finding) => (
          <li>
            <Summary finding={finding} jobs={jobs} viewer={viewer} />
          </li>
        ))}
        {unfound.slice(0, Math.max(0, NAMED_MAX - findings.length)).map((job) => (
          <li>
            <a href={`/jobs/${job.id}`}>Job {job.id}</a>
            <NameOf job={job} /> fails: <Foreign text={job.error_message ?? ""} max={160} />
          </li>
        ))}
      </ul>
      {findings.length > 0 && (
        <p>
          <a href="/status">
            {findings.length > NAMED_MAX
              ? `All ${plural(findings.length, "problem")} and how to fix them`
              : "How to fix it"}
          </a>
        </p>
      )}
    </Notice>
  );
}

/**
 * Jobs that fail by their rows, which are newer than the last check: without them the page would
 * say that nothing is wrong above a row that says otherwise.
 */
function failingUnfound(findings: readonly FindingView[], jobs: Jobs | null): JobView[] {
  const found = new Set(findings.flatMap(({ subject }) => (subject.type === "job" ? [subject.id] : [])));
  return jobs?.all.filter(({ id, error_message }) => error_message !== null && !found.has(id)) ?? [];
}

const NameOf: FC<{ job: Pick<JobView, "name"> | undefined }> = ({ job }) =>
  job === undefined || (job.name ?? "").trim() === "" ? null : (
    <>
      {" "}
      (<Foreign text={job.name ?? ""} max={80} />)
    </>
  );

/**
 * A finding; the job number in it becomes a link, followed by the name of the job. One about a
 * function is a link to it.
 */
const Summary: FC<{ finding: FindingView; jobs: Jobs | null; viewer: Viewer }> = ({ finding, jobs, viewer }) => {
  const { subject, summary } = finding;
  if (subject.type === "function" && may(viewer, "functions:read") && hasPath(subject.name))
    return (
      <a href={functionPath(subject.name)}>
        <Foreign text={summary} />
      </a>
    );
  if (subject.type !== "job") return <Foreign text={summary} />;
  const { id } = subject;
  const named = new RegExp(`\\bjob ${id}\\b`, "i").exec(summary);
  return (
    <>
      {named !== null && <Foreign text={summary.slice(0, named.index)} />}
      <a href={jobPath(finding, id)}>{named?.[0] ?? `Job ${id}`}</a>
      <NameOf job={jobs?.all.find((job) => job.id === id)} />
      {named === null && ": "}
      <Foreign text={named === null ? summary : summary.slice(named.index + named[0].length)} />
    </>
  );
};

/** The sentence when there are no findings. */
export function wellSentence(jobs: Jobs | null): string {
  if (jobs === null) return "No problems found; jobs are unavailable";
  const enabled = jobs.all.filter((job) => job.enabled).length;
  if (jobs.all.length === 0) return "No jobs yet";
  if (enabled === 0) return `Nothing ships: ${plural(jobs.all.length, "job is", "jobs are")} paused`;
  const waits = jobs.rows.flatMap(({ fares }) => fares?.ledger.oldest_pending_seconds ?? []);
  const waiting = waits.length === 0 ? "nothing waiting" : `longest wait ${duration(Math.max(1, ...waits) * 1_000)}`;
  return `No problems: ${plural(enabled, "job delivers", "jobs deliver")}, ${waiting}`;
}
