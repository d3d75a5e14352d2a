import type { Child, FC } from "hono/jsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Notice } from "../../parts/panel.tsx";
import { duration, plural } from "../../parts/values.tsx";
import type { FindingView, StatusView } from "../../views/account.ts";
import { jobPath } from "../status/finding.tsx";
import type { Jobs } from "./asks.ts";

/** So many findings are named; the page of the status has all. */
const NAMED_MAX = 3;

/** Seconds between two looks. */
export const REFRESH_S = 15;

/** Whether everything is well, in one sentence. @param status null: nobody can tell. @param jobs null: they could not be read. */
export const Verdict: FC<{ status: StatusView | null; jobs: Jobs | null }> = ({ status, jobs }) => (
  <div id="verdict" class="verdict" data-refresh={REFRESH_S}>
    {said(status, jobs)}
  </div>
);

function said(status: StatusView | null, jobs: Jobs | null): Child {
  if (status === null)
    return (
      <Notice kind="bad" title="Nobody can tell at the moment whether anything is wrong">
        <p>
          The part that looks does not answer. What is delivered does not depend on it; it is asked again by itself.
        </p>
      </Notice>
    );
  const { findings } = status;
  if (findings.length === 0) return <Notice kind="ok" title={wellSentence(jobs)} />;
  const title = `${plural(findings.length, "thing is", "things are")} wrong`;
  return (
    <Notice kind={status.errors > 0 ? "bad" : "warn"} title={title}>
      <ul class="named">
        {findings.slice(0, NAMED_MAX).map((finding) => (
          <li>
            <Summary finding={finding} jobs={jobs} />
          </li>
        ))}
      </ul>
      <p>
        <a href="/status">
          {findings.length > NAMED_MAX
            ? `All ${plural(findings.length, "finding")}, and what to do`
            : "What to do about it"}
        </a>
      </p>
    </Notice>
  );
}

/** What is wrong, with whom: a job is a link where the sentence names it, with its name beside it if it has one. */
const Summary: FC<{ finding: FindingView; jobs: Jobs | null }> = ({ finding, jobs }) => {
  const { subject, summary } = finding;
  if (subject.type !== "job") return <Foreign text={summary} />;
  const { id } = subject;
  const name = jobs?.all.find((job) => job.id === id)?.name ?? "";
  const named = new RegExp(`\\bjob ${id}\\b`, "i").exec(summary);
  return (
    <>
      {named !== null && <Foreign text={summary.slice(0, named.index)} />}
      <a href={jobPath(finding, id)}>{named?.[0] ?? `Job ${id}`}</a>
      {name.trim() !== "" && (
        <>
          {" "}
          (<Foreign text={name} max={80} />)
        </>
      )}
      {named === null && ": "}
      <Foreign text={named === null ? summary : summary.slice(named.index + named[0].length)} />
    </>
  );
};

/** Nothing is wrong; and what there is. */
export function wellSentence(jobs: Jobs | null): string {
  if (jobs === null) return "Nothing is wrong, as far as anybody knows";
  const enabled = jobs.all.filter((job) => job.enabled).length;
  if (jobs.all.length === 0) return "Nothing is wrong, and nothing ships yet: there is no job";
  if (enabled === 0)
    return `Nothing is wrong, and nothing new ships: ${plural(jobs.all.length, "job is", "jobs are")} paused`;
  const waits = jobs.rows.flatMap(({ fares }) => fares?.ledger.oldest_pending_seconds ?? []);
  const waiting =
    waits.length === 0 ? "nothing waits" : `nothing waits longer than ${duration(Math.max(1, ...waits) * 1_000)}`;
  return `Everything is well: ${plural(enabled, "job delivers", "jobs deliver")}, ${waiting}`;
}
