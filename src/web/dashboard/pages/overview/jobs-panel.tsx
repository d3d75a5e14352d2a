import type { Child, FC } from "hono/jsx";
import { clock, count, duration, plural } from "../../../../base/words.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { figures, Panel, State, Table } from "../../parts/panel.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { HourView, JobView } from "../../views/job.ts";
import type { JobRow, Jobs } from "./asks.ts";
import { REFRESH_S } from "./verdict.tsx";

/** @param jobs null: unavailable. */
export const JobsPanel: FC<{ jobs: Jobs | null; viewer: Viewer; nowMs: number }> = ({ jobs, viewer, nowMs }) => (
  <Panel
    id="jobs"
    title="Jobs"
    refresh={REFRESH_S}
    aside={
      (jobs === null || jobs.all.length > 0) &&
      may(viewer, "logs:edit") && (
        <a class="button small" href="/jobs/new">
          Create a job
        </a>
      )
    }
  >
    {jobs === null ? (
      <p>Jobs are unavailable. Delivery continues. Retrying automatically.</p>
    ) : jobs.all.length === 0 ? (
      <p class="quiet">No jobs yet: logship counts and drops incoming events.</p>
    ) : (
      <>
        <Table
          caption="Jobs, with records shipped in the last 24 hours"
          columns={["Job", "State", "Last 24 hours", "Delivered up to", figures("Waiting")]}
          rows={jobs.rows.map((row) => cells(row, nowMs))}
        />
        {jobs.all.length > jobs.rows.length && (
          <p>
            <a href="/jobs">
              {plural(jobs.all.length - jobs.rows.length, "more job")}, {count(jobs.all.length)} in total
            </a>
          </p>
        )}
      </>
    )}
  </Panel>
);

function cells({ job, fares }: JobRow, nowMs: number): Child[] {
  const silent = <span class="quiet">no answer</span>;
  return [
    <a href={`/jobs/${job.id}`}>
      <Foreign text={job.name === null || job.name === "" ? `job ${job.id}` : job.name} max={80} />
    </a>,
    <JobState job={job} />,
    fares === null ? silent : <LastDay hours={fares.hours} />,
    job.last_complete === null ? <span class="quiet">nothing yet</span> : <Ago at={job.last_complete} nowMs={nowMs} />,
    fares === null ? silent : waiting(fares.ledger),
  ];
}

const JobState: FC<{ job: JobView }> = ({ job }) =>
  job.error_message !== null ? (
    <>
      <State kind="bad">failing</State>: <Foreign text={job.error_message} max={160} />
    </>
  ) : job.enabled ? (
    <State kind="ok">on</State>
  ) : (
    <State kind="quiet">paused</State>
  );

function waiting({
  pending,
  oldest_pending_seconds,
}: {
  pending: number;
  oldest_pending_seconds: number | null;
}): Child {
  if (pending === 0) return "0";
  return (
    <>
      {count(pending)}
      {oldest_pending_seconds !== null && <span class="quiet"> for {duration(oldest_pending_seconds * 1_000)}</span>}
    </>
  );
}

const LastDay: FC<{ hours: readonly HourView[] }> = ({ hours }) => {
  const records = hours.reduce((sum, hour) => sum + hour.records, 0);
  return (
    <span class="spark">
      <Sparkline values={hours.map((hour) => hour.records)} label={dayInWords(hours)} />
      <span class="quiet">{plural(records, "record")}</span>
    </span>
  );
};

/** The chart of a day in words. */
export function dayInWords(hours: readonly HourView[]): string {
  const records = hours.reduce((sum, hour) => sum + hour.records, 0);
  if (records === 0) return "no records delivered in the last 24 hours";
  const most = hours.reduce((best, hour) => (hour.records > best.records ? hour : best));
  return `${plural(records, "record")} in the last 24 hours, most at ${clock(most.hour)} UTC: ${count(most.records)}`;
}
