import type { FC } from "hono/jsx";
import { count, plural } from "../../../base/words.ts";
import type { Page, PageContext, View } from "../page.ts";
import { Foreign, visible } from "../parts/foreign.tsx";
import { may } from "../parts/form.tsx";
import { Empty, figures, Notice, Panel, State, Table } from "../parts/panel.tsx";
import { Ago } from "../parts/values.tsx";
import type { AccountLedgerView } from "../views/account.ts";
import type { JobView } from "../views/job.ts";
import { nameOf, stateOf } from "./job/job-text.ts";
import { askWaiting, type Waiting } from "./overview/asks.ts";
import { WaitingNow } from "./overview/delivery.tsx";

export const jobsPages: readonly Page[] = [{ path: "/jobs", get: { permission: "logs:read", show: jobsView } }];

/** In characters. */
const SEARCH_MAX = 100;
const ERROR_MAX = 300;

async function jobsView({ api, viewer, nowMs, query }: PageContext): Promise<View> {
  const account = api.get<AccountLedgerView>("/logship/ledger");
  // Handled below; until then it must not be an unhandled rejection.
  account.catch(() => {});
  const { items } = await api.list<JobView>("/logship/jobs");
  const search = (query.get("q") ?? "").trim().slice(0, SEARCH_MAX);
  const found = items.filter((job) => isFound(job, search));
  const waiting = Promise.all(found.map(({ id }) => askWaiting(api, id)));
  return {
    title: "Jobs",
    aside: may(viewer, "logs:edit") ? (
      <a class="button primary" href="/jobs/new">
        Create a job
      </a>
    ) : (
      <span class="quiet">Creating a job needs the permission logs:edit</span>
    ),
    parts: [
      <>
        <Deleted query={query} />
        {items.length > 0 && <Search search={search} />}
      </>,
      waiting.then((all) => (
        <JobsPanel jobs={found} waiting={all} total={items.length} search={search} nowMs={nowMs} />
      )),
      account.then(({ draining }) => (draining.length === 0 ? null : <Draining draining={draining} nowMs={nowMs} />)),
    ],
  };
}

/** By name, ID or bucket and path; never by a key. */
function isFound(job: JobView, search: string): boolean {
  if (search === "") return true;
  const wanted = search.toLowerCase();
  const place = job.destination_conf.split("?")[0] ?? "";
  return String(job.id) === search || [job.name ?? "", place].some((text) => text.toLowerCase().includes(wanted));
}

const Deleted: FC<{ query: URLSearchParams }> = ({ query }) => {
  const id = /^\d{1,15}$/.exec(query.get("deleted") ?? "")?.[0];
  if (id === undefined) return null;
  return (
    <Notice kind="info" title={`Job ${id} deleted`}>
      <p>
        {query.has("discarded")
          ? "Its waiting records were discarded."
          : "logship delivers its waiting records in the background."}
      </p>
    </Notice>
  );
};

const Search: FC<{ search: string }> = ({ search }) => (
  <search>
    <form method="get" action="/jobs" class="filter">
      <div class="field">
        <label for="field-q">Find a job by name, ID or bucket</label>
        <input type="search" id="field-q" name="q" value={visible(search)} maxlength={SEARCH_MAX} />
      </div>
      <button type="submit">Find</button>
      {search !== "" && <a href="/jobs">Show all jobs</a>}
    </form>
  </search>
);

const JobsPanel: FC<{
  jobs: readonly JobView[];
  waiting: readonly Waiting[];
  total: number;
  search: string;
  nowMs: number;
}> = ({ jobs, waiting, total, search, nowMs }) => (
  <Panel
    id="jobs"
    title={search === "" ? plural(total, "job") : `${count(jobs.length)} of ${plural(total, "job")}`}
    refresh={15}
    isMain={search === ""}
  >
    {total === 0 ? (
      <Empty title="No jobs yet">
        <p>A job ships your Workers' trace events to your bucket or log service.</p>
      </Empty>
    ) : jobs.length === 0 ? (
      <Empty title="No matching jobs">
        <p>
          <a href="/jobs">Show all jobs</a>
        </p>
      </Empty>
    ) : (
      <Table
        caption="Jobs"
        columns={["Job", "State", figures("Waiting"), "Delivered up to", "Destination", "Last error"]}
        rows={jobs.map((job, i) => {
          const { kind, words } = stateOf(job);
          return [
            <a href={`/jobs/${job.id}`}>
              <Foreign text={nameOf(job)} max={80} />
            </a>,
            <State kind={kind}>{words}</State>,
            <WaitingNow waiting={waiting[i] ?? null} />,
            job.last_complete === null ? "nothing yet" : <Ago at={job.last_complete} nowMs={nowMs} />,
            job.destination_conf === "" ? (
              "cannot be decrypted"
            ) : (
              <Foreign text={job.destination_conf.split("?")[0] ?? ""} max={120} />
            ),
            job.error_message === null ? (
              "none"
            ) : (
              <>
                <Foreign text={job.error_message} max={ERROR_MAX} />
                {job.last_error !== null && (
                  <span class="quiet">
                    {" "}
                    <Ago at={job.last_error} nowMs={nowMs} />
                  </span>
                )}
              </>
            ),
          ];
        })}
      />
    )}
  </Panel>
);

/** Deleted jobs that still deliver. */
const Draining: FC<Pick<AccountLedgerView, "draining"> & { nowMs: number }> = ({ draining, nowMs }) => (
  <Panel id="draining" title="Deleted, still delivering" refresh={15}>
    <Table
      caption="Deleted jobs that still deliver"
      columns={["Job", "Deleted", "Waiting", "Last error"]}
      rows={draining.map(({ id, deleted_at, pending, error_message }) => [
        `Job ${id}`,
        <Ago at={deleted_at} nowMs={nowMs} />,
        pending === null ? <State kind="warn">does not answer</State> : plural(pending, "record"),
        error_message === null ? "none" : <Foreign text={error_message} max={ERROR_MAX} />,
      ])}
    />
  </Panel>
);
