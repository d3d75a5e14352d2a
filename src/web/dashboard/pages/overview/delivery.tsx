import type { FC } from "hono/jsx";
import { count, duration, plural } from "../../../../base/words.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { Panel, type Row, Rows, State } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { nameOf, stateOf } from "../job/job-text.ts";
import type { Jobs, Waiting } from "./asks.ts";
import { REFRESH_S } from "./wrong.tsx";

/** Of each job whether it delivers, how far, and what waits. @param jobs null: unavailable. */
export const DeliveryPanel: FC<{ jobs: Jobs | null; viewer: Viewer; nowMs: number }> = ({ jobs, viewer, nowMs }) => (
  <Panel
    id="jobs"
    title="Delivery"
    refresh={REFRESH_S}
    aside={jobs?.all.length !== 0 && may(viewer, "logs:edit") && <a href="/jobs/new">Create a job</a>}
  >
    {jobs === null ? (
      <p>Jobs are unavailable. Delivery continues. Retrying automatically.</p>
    ) : jobs.all.length === 0 ? (
      <p class="quiet">No jobs yet: logship counts and drops incoming events.</p>
    ) : (
      <Rows rows={jobs.rows.map((each) => rowOf(each, nowMs))} />
    )}
    {jobs !== null && jobs.all.length > jobs.rows.length && (
      <p>
        <a href="/jobs">
          {plural(jobs.all.length - jobs.rows.length, "more job")}, {count(jobs.all.length)} in total
        </a>
      </p>
    )}
  </Panel>
);

function rowOf({ job, waiting }: Jobs["rows"][number], nowMs: number): Row {
  const { kind, words } = stateOf(job);
  return {
    subject: (
      <a href={`/jobs/${job.id}`}>
        <Foreign text={nameOf(job)} max={80} />
      </a>
    ),
    detail: (
      <>
        <State kind={kind}>{words}</State>
        {job.error_message !== null && (
          <>
            : <Foreign text={job.error_message} max={160} />
          </>
        )}
        {waiting?.pending === 0 ? ", nothing waiting" : ", waiting: "}
        {waiting?.pending !== 0 && <WaitingNow waiting={waiting} />}
      </>
    ),
    age:
      job.last_complete === null ? (
        "nothing delivered"
      ) : (
        <>
          <span class="unseen">delivered </span>up to <Ago at={job.last_complete} nowMs={nowMs} />
        </>
      ),
  };
}

export const WaitingNow: FC<{ waiting: Waiting }> = ({ waiting }) => {
  if (waiting === null) return <State kind="warn">does not answer</State>;
  const { pending, oldest_pending_seconds: oldest } = waiting;
  if (pending === 0) return <>nothing</>;
  return (
    <>
      {plural(pending, "record")}
      {oldest !== null && <span class="quiet"> for {duration(oldest * 1_000)}</span>}
    </>
  );
};
