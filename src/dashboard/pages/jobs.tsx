import type { Page, PageContext, View } from "../page.ts";
import { Foreign } from "../parts/foreign.tsx";
import { may } from "../parts/form.tsx";
import { Empty, Panel, State, Table } from "../parts/panel.tsx";
import { Ago } from "../parts/values.tsx";
import type { JobView } from "../views.ts";

export const jobsPages: readonly Page[] = [{ path: "/jobs", get: { permission: "logs:read", show: jobsView } }];

async function jobsView({ api, viewer, nowMs }: PageContext): Promise<View> {
  const { items } = await api.list<JobView>("/logship/jobs");
  return {
    title: "Jobs",
    section: "jobs",
    parts: [
      <Panel
        id="jobs"
        title="All jobs"
        aside={
          may(viewer, "logs:edit") && (
            <a class="button primary" href="/jobs/new">
              Create a job
            </a>
          )
        }
      >
        {items.length === 0 ? (
          <Empty title="There is no job yet">
            <p>A job ships the trace events of your functions into a bucket of yours.</p>
          </Empty>
        ) : (
          <Table
            caption="Jobs"
            columns={[{ label: "Job" }, { label: "State" }, { label: "Delivered up to" }, { label: "Error" }]}
            rows={items.map((job) => [
              <a href={`/jobs/${job.id}`}>
                <Foreign text={job.name ?? `job ${job.id}`} />
              </a>,
              job.error_message !== null ? (
                <State kind="bad">failing</State>
              ) : job.enabled ? (
                <State kind="ok">on</State>
              ) : (
                <State kind="quiet">paused</State>
              ),
              job.last_complete === null ? "" : <Ago at={job.last_complete} nowMs={nowMs} />,
              job.error_message === null ? "" : <Foreign text={job.error_message} />,
            ])}
          />
        )}
      </Panel>,
    ],
  };
}
