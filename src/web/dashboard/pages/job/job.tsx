import type { Child, FC } from "hono/jsx";
import { plural } from "../../../../base/words.ts";
import { encoderKindOf } from "../../../../formats/object/encoders.ts";
import { termsOf } from "../../../../ship/destinations/kinds.ts";
import { parsePlace } from "../../../../ship/destinations/parse.ts";
import type { Page, PageContext, View } from "../../page.ts";
import { termsOfConf } from "../../parts/destination-entry.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, may } from "../../parts/form.tsx";
import { KeyExample } from "../../parts/key-path.tsx";
import { Facts, Notice, Panel, State } from "../../parts/panel.tsx";
import { Ago, Time } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { JobView, LedgerView, ObjectView, ReplayView } from "../../views/job.ts";
import { actionPages } from "./actions.tsx";
import { Destination, FilterText } from "./facts.tsx";
import { FirstObject, loadFirstObject } from "./first-object.tsx";
import { HealthPanel, IntervalNotice, loadHealth } from "./health.tsx";
import { jobPath, nameOf, shippingFacts, stateOf } from "./job-text.ts";
import { LedgerPanel, PendingPanel } from "./ledger.tsx";
import { LastObjects, objectPages } from "./objects.tsx";
import { LastReplays, replayPages } from "./replay.tsx";
import { rangeOf } from "./series.ts";

/** How many are shown on the page of a job. */
const LAST_OBJECTS = 10;
const LAST_REPLAYS = 3;

/** Seconds between refreshes. */
const REFRESH_S = 5;

export const jobPages: readonly Page[] = [
  { path: "/jobs/:job_id", get: { permission: "logs:read", show: jobView } },
  ...actionPages,
  ...objectPages,
  ...replayPages,
];

async function jobView(page: PageContext): Promise<View> {
  const { api, viewer, query, config, nowMs } = page;
  const job = await api.get<JobView>(jobPath(page));
  const isReadable = termsOfConf(job.destination_conf, config.destinations)?.isReadable ?? true;
  const range = rangeOf(query.get("range"));
  const path = `/logship/jobs/${job.id}`;
  const ledger = api.get<LedgerView>(`${path}/ledger`);
  const objects = api.list<ObjectView>(`${path}/objects`, { before: Number.MAX_SAFE_INTEGER, limit: LAST_OBJECTS });
  const replays = api.list<ReplayView>(`${path}/replay`, { per_page: LAST_REPLAYS });
  return {
    title: nameOf(job),
    parts: [
      <>
        <Done query={query} job={job} />
        <Trouble job={job} nowMs={nowMs} />
      </>,
      query.has("created") || isNew(job)
        ? loadFirstObject(page, job).then((first) => <FirstObject {...first} />)
        : null,
      <About job={job} page={page} />,
      ledger.then((found) => <PendingPanel job={job} ledger={found} />),
      ledger.then((found) => <LedgerPanel jobId={job.id} ledger={found} />),
      loadHealth(page, job.id, range).then((sums) => (
        <>
          <IntervalNotice job={job} range={range} sums={sums} />
          <HealthPanel jobId={job.id} range={range} sums={sums} />
        </>
      )),
      objects.then(({ items, info }) => (
        <LastObjects job={job} objects={items} total={info.total_count} isReadable={isReadable} nowMs={nowMs} />
      )),
      replays.then(({ items, info }) => (
        <LastReplays jobId={job.id} replays={items} total={info.total_count} viewer={viewer} nowMs={nowMs} />
      )),
    ],
  };
}

/** Whether nothing was delivered yet, and nothing failed. */
function isNew({ last_complete, error_message }: JobView): boolean {
  return last_complete === null && error_message === null;
}

/** The result of an action, after its redirect. */
const Done: FC<{ query: URLSearchParams; job: JobView }> = ({ query, job }): Child => {
  const left = query.get("flushed");
  if (left !== null && /^\d{1,9}$/.test(left)) {
    if (Number(left) > 0 && job.error_message !== null)
      return (
        <Notice kind="warn" title={`Flush failed for ${plural(Number(left), "object")}`}>
          <p>Nothing is lost. The reason is below.</p>
        </Notice>
      );
    return Number(left) === 0 ? (
      <Notice kind="ok" title="Flushed: everything is delivered" />
    ) : (
      <Notice kind="info" title={`Flushed: ${plural(Number(left), "object")} still uploading`}>
        <p>The upload continues in the background.</p>
      </Notice>
    );
  }
  if (query.has("paused"))
    return (
      <Notice kind="info" title="Paused">
        <p>The job takes no new events, and delivers what it has.</p>
      </Notice>
    );
  if (query.has("created")) return <Notice kind="ok" title="Job created" />;
  if (query.has("resumed")) return <Notice kind="ok" title="Resumed" />;
  return null;
};

/** A message that says so itself. */
const RETRIES = /nothing is lost|records are kept/;

/** The current delivery error. */
const Trouble: FC<{ job: JobView; nowMs: number }> = ({ job, nowMs }) => (
  <div id="trouble" data-refresh={REFRESH_S}>
    {job.error_message !== null && (
      <Notice kind="bad" title="Delivery is failing">
        <Foreign as="p" text={job.error_message} max={2_000} />
        <p>
          {job.last_error !== null && (
            <>
              Last seen <Ago at={job.last_error} nowMs={nowMs} />.{" "}
            </>
          )}
          {!RETRIES.test(job.error_message) && "logship retries, and nothing is lost. "}
          <a href="/status">What to do</a>
        </p>
      </Notice>
    )}
  </div>
);

const About: FC<{ job: JobView; page: PageContext }> = ({ job, page }) => {
  const { viewer, nowMs } = page;
  const { kind, words } = stateOf(job);
  const place = parsePlace(job.destination_conf, page.config.destinations);
  const path = place.ok ? place.value.path : "";
  const terms = place.ok ? termsOf(place.value) : null;
  const { suffix } = encoderKindOf({ type: job.output_options?.output_type ?? "ndjson" });
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
          ["ID", String(job.id)],
          ["Destination", <Destination conf={job.destination_conf} />],
          ...(path.includes("{")
            ? [["Example key", <KeyExample path={path} nowMs={nowMs} suffix={suffix} />] as const]
            : []),
          ...shippingFacts(job, terms),
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
      <FilterText filter={job.filter} job={job.id} />
      <Actions job={job} viewer={viewer} isReadable={terms?.isReadable ?? true} />
    </Panel>
  );
};

const Actions: FC<{ job: JobView; viewer: Viewer; isReadable: boolean }> = ({ job, viewer, isReadable }) => {
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
        <Way viewer={viewer} href={`/jobs/new?from=${job.id}`} label="Duplicate" />
        {isReadable && (
          <a class="button" href={`${path}/replay`}>
            Replay
          </a>
        )}
        <Way viewer={viewer} href={`${path}/delete`} label="Delete" />
      </div>
      <p class="quiet">
        {may(viewer, "logs:edit")
          ? "Flush uploads waiting records now, for up to 20 seconds. Events that arrive while a job is paused are not shipped."
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
