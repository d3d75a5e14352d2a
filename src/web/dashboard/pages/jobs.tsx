import type { FC } from "hono/jsx";
import { within } from "../../../base/platform.ts";
import { count, duration, plural } from "../../../base/words.ts";
import type { InnerApi } from "../inner-api.ts";
import type { Page, PageContext, View } from "../page.ts";
import { Foreign, visible } from "../parts/foreign.tsx";
import { may } from "../parts/form.tsx";
import { Empty, figures, Notice, Panel, State, Table } from "../parts/panel.tsx";
import { Ago } from "../parts/values.tsx";
import type { Viewer } from "../session.ts";
import type { AccountLedgerView } from "../views/account.ts";
import type { JobView, LedgerView } from "../views/job.ts";
import { nameOf, stateOf } from "./job/job-text.ts";

export const jobsPages: readonly Page[] = [{ path: "/jobs", get: { permission: "logs:read", show: jobsView } }];

/** How long the page waits for one ledger, in ms. */
const LEDGER_MS = 2_500;

/** In characters. */
const SEARCH_MAX = 100;
const ERROR_MAX = 300;

/** null: the job's log does not answer. */
type Waiting = Pick<LedgerView, "pending" | "oldest_pending_seconds"> | null;

async function jobsView({ api, viewer, nowMs, query }: PageContext): Promise<View> {
  const account = api.get<AccountLedgerView>("/logship/ledger");
  // Handled below; until then it must not be an unhandled rejection.
  account.catch(() => {});
  const { items } = await api.list<JobView>("/logship/jobs");
  const search = (query.get("q") ?? "").trim().slice(0, SEARCH_MAX);
  const found = items.filter((job) => isFound(job, search));
  const waiting = Promise.all(found.map(({ id }) => waitingOf(api, id)));
  return {
    title: "Jobs",
    parts: [
      <>
        <Deleted query={query} />
        {items.length > 0 && <Search search={search} />}
      </>,
      waiting.then((all) => (
        <JobsPanel jobs={found} waiting={all} total={items.length} search={search} viewer={viewer} nowMs={nowMs} />
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

async function waitingOf(api: InnerApi, id: number): Promise<Waiting> {
  const answer = await within(LEDGER_MS, api.send<LedgerView>("GET", `/logship/jobs/${id}/ledger`), null);
  return answer?.ok === true ? answer.result : null;
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
    <form method="get" action="/jobs" class="search">
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
  viewer: Viewer;
  nowMs: number;
}> = ({ jobs, waiting, total, search, viewer, nowMs }) => (
  <Panel
    id="jobs"
    title={
      search === ""
        ? total === 0
          ? "All jobs"
          : plural(total, "job")
        : `${count(jobs.length)} of ${plural(total, "job")}`
    }
    refresh={15}
    aside={
      may(viewer, "logs:edit") ? (
        <a class="button primary" href="/jobs/new">
          Create a job
        </a>
      ) : (
        <span class="quiet">Creating a job needs the permission logs:edit</span>
      )
    }
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

const WaitingNow: FC<{ waiting: Waiting }> = ({ waiting }) => {
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
