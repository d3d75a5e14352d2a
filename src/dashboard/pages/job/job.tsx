import type { Child, FC } from "hono/jsx";
import { isMasked } from "../../../destinations/parse.ts";
import type { Page, PageContext, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, may } from "../../parts/form.tsx";
import { Facts, Notice, Panel, State } from "../../parts/panel.tsx";
import { Ago, plural, Time } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { JobView, LedgerView, ObjectView, ReplayView } from "../../views/job.ts";
import { FirstObject, loadFirstObject } from "../create/first-object.tsx";
import { actionPages } from "./actions.tsx";
import { HealthPanel, loadHealth } from "./health.tsx";
import { LedgerPanel, PendingPanel } from "./ledger.tsx";
import { LastObjects, objectPages } from "./objects.tsx";
import { LastReplays, replayPages } from "./replay.tsx";
import { rangeOf } from "./series.ts";
import { limitsWords, nameOf, outputWords, recordsWords, stateOf } from "./words.ts";

/** Objects, and replays, on the page of their job. */
const LAST_OBJECTS = 10;
const LAST_REPLAYS = 3;

/** Seconds between two looks. */
const REFRESH_S = 5;

export const jobPages: readonly Page[] = [
  { path: "/jobs/:job_id", get: { permission: "logs:read", show: jobView } },
  ...actionPages,
  ...objectPages,
  ...replayPages,
];

async function jobView(page: PageContext): Promise<View> {
  const { api, viewer, query, nowMs } = page;
  const job = await api.get<JobView>(`/logship/jobs/${encodeURIComponent(page.params.job_id ?? "")}`);
  const range = rangeOf(query.get("range"));
  const path = `/logship/jobs/${job.id}`;
  const ledger = api.get<LedgerView>(`${path}/ledger`);
  const objects = api.list<ObjectView>(`${path}/objects`, { before: Number.MAX_SAFE_INTEGER, limit: LAST_OBJECTS });
  const replays = api.list<ReplayView>(`${path}/replay`, { per_page: LAST_REPLAYS });
  return {
    title: nameOf(job),
    section: "jobs",
    trail: [{ href: "/jobs", label: "Jobs" }],
    parts: [
      <>
        <Done query={query} job={job} />
        <Trouble job={job} nowMs={nowMs} />
      </>,
      query.has("created") ? loadFirstObject(page, job).then((first) => <FirstObject {...first} />) : null,
      <About job={job} viewer={viewer} nowMs={nowMs} />,
      ledger.then((found) => <PendingPanel job={job} ledger={found} />),
      ledger.then((found) => <LedgerPanel jobId={job.id} ledger={found} />),
      loadHealth(page, job.id, range).then((sums) => <HealthPanel jobId={job.id} range={range} sums={sums} />),
      objects.then(({ items, info }) => (
        <LastObjects jobId={job.id} objects={items} total={info.total_count} nowMs={nowMs} />
      )),
      replays.then(({ items, info }) => (
        <LastReplays jobId={job.id} replays={items} total={info.total_count} viewer={viewer} nowMs={nowMs} />
      )),
    ],
  };
}

/** What was just done, after the redirect. */
const Done: FC<{ query: URLSearchParams; job: JobView }> = ({ query, job }): Child => {
  const left = query.get("flushed");
  if (left !== null && /^\d{1,9}$/.test(left)) {
    if (Number(left) > 0 && job.error_message !== null)
      return (
        <Notice kind="warn" title={`Flushed: ${plural(Number(left), "object")} could not be uploaded`}>
          <p>Nothing of it is lost; why it failed is below.</p>
        </Notice>
      );
    return Number(left) === 0 ? (
      <Notice kind="ok" title="Flushed: everything that waited is delivered" />
    ) : (
      <Notice kind="info" title={`Flushed: ${plural(Number(left), "object")} still on the way`}>
        <p>The upload goes on in the background. What waits is below.</p>
      </Notice>
    );
  }
  if (query.has("paused"))
    return (
      <Notice kind="info" title="The job is paused">
        <p>It takes nothing new from now on, and delivers what it had taken.</p>
      </Notice>
    );
  if (query.has("created")) return <Notice kind="ok" title="The job is created" />;
  if (query.has("resumed")) return <Notice kind="ok" title="The job is on, and takes every event from now on" />;
  return null;
};

/** Whether delivery fails; it looks again by itself, as what changes of {@link About} does. */
const Trouble: FC<{ job: JobView; nowMs: number }> = ({ job, nowMs }) => (
  <div id="trouble" data-refresh={REFRESH_S}>
    {job.error_message !== null && (
      <Notice kind="bad" title="Delivery fails at the moment">
        <p>
          <Foreign text={job.error_message} max={2_000} />
        </p>
        <p>
          {job.last_error !== null && (
            <>
              Last seen <Ago at={job.last_error} nowMs={nowMs} />.{" "}
            </>
          )}
          {!job.error_message.includes("nothing is lost") &&
            "It is tried again by itself, and nothing is lost meanwhile. "}
          <a href="/status">What to do about it</a>
        </p>
      </Notice>
    )}
  </div>
);

const About: FC<{ job: JobView; viewer: Viewer; nowMs: number }> = ({ job, viewer, nowMs }) => {
  const { kind, words } = stateOf(job);
  return (
    <Panel
      id="about"
      title="About"
      aside={
        <span id="state" data-refresh={REFRESH_S}>
          <State kind={kind}>{words}</State>
        </span>
      }
    >
      <Facts
        rows={[
          ["Number", String(job.id)],
          ["Destination", <Destination conf={job.destination_conf} />],
          ["Records", recordsWords(job)],
          ["Output", outputWords(job)],
          ["An object is cut", limitsWords(job)],
          ["Canary", job.canary === true ? "on" : "off"],
          [
            "Delivered up to",
            <span id="delivered-to" data-refresh={REFRESH_S}>
              {job.last_complete === null ? "nothing yet" : <Ago at={job.last_complete} nowMs={nowMs} />}
            </span>,
          ],
          ["Created", <Time at={job.time_created} />],
          ["Changed", <Time at={job.time_modified} />],
        ]}
      />
      {job.filter !== null && job.filter !== "" && (
        <details>
          <summary>The filter</summary>
          <pre class="whole">
            <Foreign text={job.filter} max={8_192} />
          </pre>
        </details>
      )}
      <Actions job={job} viewer={viewer} />
    </Panel>
  );
};

const Actions: FC<{ job: JobView; viewer: Viewer }> = ({ job, viewer }) => {
  const path = `/jobs/${job.id}`;
  const shared = { viewer, needs: "logs:edit" } as const;
  return (
    <>
      <div class="actions">
        <Action {...shared} action={`${path}/flush`} label="Flush now" />
        {job.enabled ? (
          <Action {...shared} action={`${path}/enabled`} label="Pause" fields={{ enabled: "false" }} />
        ) : (
          <Action {...shared} action={`${path}/enabled`} label="Resume" fields={{ enabled: "true" }} kind="primary" />
        )}
        <Way viewer={viewer} href={`${path}/edit`} label="Edit" />
        <Action {...shared} action={`${path}/duplicate`} label="Duplicate" />
        <a class="button" href={`${path}/replay`}>
          Replay
        </a>
        <Way viewer={viewer} href={`${path}/delete`} label="Delete" />
      </div>
      <p class="quiet">
        {may(viewer, "logs:edit")
          ? "Flush uploads what waits now, and waits for it up to 20 seconds. A paused job takes nothing new; what it skips is not kept for it."
          : "Changing a job needs the permission logs:edit."}
      </p>
    </>
  );
};

/** A link to a page that changes something. */
const Way: FC<{ viewer: Viewer; href: string; label: string }> = ({ viewer, href, label }) =>
  may(viewer, "logs:edit") ? (
    <a class="button" href={href}>
      {label}
    </a>
  ) : (
    <button type="button" disabled title="needs the permission logs:edit">
      {label}
      <span class="unseen"> (needs the permission logs:edit)</span>
    </button>
  );

/** Where a job delivers to, without its keys. */
export const Destination: FC<{ conf: string }> = ({ conf }) =>
  conf === "" ? (
    <State kind="bad">no key opens it</State>
  ) : (
    <code>
      <Foreign text={withoutKeys(conf)} max={1_024} />
    </code>
  );

function withoutKeys(conf: string): string {
  const at = conf.indexOf("?");
  if (at === -1) return conf;
  const kept = conf
    .slice(at + 1)
    .split("&")
    .filter((pair) => !isMasked(`x?${pair}`));
  return conf.slice(0, at) + (kept.length === 0 ? "" : `?${kept.join("&")}`);
}
