import type { Child, FC } from "hono/jsx";
import { duration, plural } from "../../../../base/words.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Panel, type Row, Rows, State } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";
import type { FindingView, StatusView } from "../../views/account.ts";
import type { JobView } from "../../views/job.ts";
import { INCIDENTS_AT } from "../incidents/words.tsx";
import { nameOf } from "../job/job-text.ts";
import { type JobNames, recoveringWords, rowOf } from "../status/finding.tsx";
import type { Jobs } from "./asks.ts";

/** Findings shown; /status has all. */
const SHOWN_MAX = 8;

/** Seconds between refreshes. */
export const REFRESH_S = 15;

interface Asked {
  /** null: unavailable, as is the other. */
  status: StatusView | null;
  jobs: Jobs | null;
  viewer: Viewer;
  nowMs: number;
}

/** What is wrong, a row each; one line where nothing is. */
export const Wrong: FC<Asked> = ({ status, jobs, viewer, nowMs }) => {
  if (status === null)
    return (
      <Calm kind="bad" words="Status unavailable">
        : the check does not answer. Delivery continues. Retrying automatically.
      </Calm>
    );
  const { findings, incidents } = status;
  const unfound = failingUnfound(findings, jobs);
  const recovering = recoveringWords(incidents);
  if (findings.length + unfound.length === 0)
    return (
      <Calm kind="ok" words={wellSentence(jobs)}>
        {recovering !== null && (
          <>
            . <a href={INCIDENTS_AT}>{recovering}</a>
          </>
        )}
      </Calm>
    );
  const names: JobNames = new Map(jobs?.all.map((job) => [job.id, nameOf(job)]));
  const rows = [...findings.map((each) => rowOf(each, { viewer, names, nowMs })), ...unfound.map(failingRow)];
  return (
    <Panel
      id="verdict"
      title={plural(rows.length, "problem")}
      aside={<a href="/status">{rows.length > SHOWN_MAX ? `All ${rows.length}` : "How to fix them"}</a>}
      refresh={REFRESH_S}
    >
      <Rows rows={rows.slice(0, SHOWN_MAX)} />
    </Panel>
  );
};

const Calm: FC<{ kind: "ok" | "bad"; words: string; children?: Child }> = ({ kind, words, children }) => (
  <p id="verdict" class="lead" data-refresh={REFRESH_S}>
    <State kind={kind}>{words}</State>
    {children}
  </p>
);

/**
 * Jobs that fail by their rows, which are newer than the last check: without them the page would
 * say that nothing is wrong above a row that says otherwise.
 */
function failingUnfound(findings: readonly FindingView[], jobs: Jobs | null): JobView[] {
  const found = new Set(findings.flatMap(({ subject }) => (subject.type === "job" ? [subject.id] : [])));
  return jobs?.all.filter(({ id, error_message }) => error_message !== null && !found.has(id)) ?? [];
}

function failingRow(job: JobView): Row {
  const name = (
    <a href={`/jobs/${job.id}`}>
      <Foreign text={nameOf(job)} max={80} />
    </a>
  );
  const subject = (
    <>
      <State kind="bad">
        <span class="unseen">error</span>
      </State>
      {name}
    </>
  );
  return { subject, detail: <Foreign text={job.error_message ?? ""} max={160} /> };
}

/** The sentence when there are no findings. */
function wellSentence(jobs: Jobs | null): string {
  if (jobs === null) return "No problems found; jobs are unavailable";
  const enabled = jobs.all.filter((job) => job.enabled).length;
  if (jobs.all.length === 0) return "No jobs yet";
  if (enabled === 0) return `Nothing ships: ${plural(jobs.all.length, "job is", "jobs are")} paused`;
  const waits = jobs.rows.flatMap(({ waiting }) => waiting?.oldest_pending_seconds ?? []);
  const waiting = waits.length === 0 ? "nothing waiting" : `longest wait ${duration(Math.max(1, ...waits) * 1_000)}`;
  return `No problems: ${plural(enabled, "job delivers", "jobs deliver")}, ${waiting}`;
}
