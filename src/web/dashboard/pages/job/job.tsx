import type { Child, FC } from "hono/jsx";
import { plural } from "../../../../base/words.ts";
import { encoderKindOf } from "../../../../formats/object/encoders.ts";
import { termsOf } from "../../../../ship/destinations/kinds.ts";
import { parsePlace } from "../../../../ship/destinations/parse.ts";
import type { Page, PageContext, View } from "../../page.ts";
import { termsOfConf } from "../../parts/destination-entry.ts";
import { KeyExample } from "../../parts/key-path.tsx";
import { Facts, Notice, Panel } from "../../parts/panel.tsx";
import { Time } from "../../parts/values.tsx";
import type { JobView, LedgerView, ObjectView, ReplayView } from "../../views/job.ts";
import { actionPages } from "./actions.tsx";
import { DeliveryPanel, loadPaused } from "./delivery.tsx";
import { Destination, FilterText } from "./facts.tsx";
import { FirstObject, loadFirstObject } from "./first-object.tsx";
import { HealthPanel, IntervalNotice, loadHealth } from "./health.tsx";
import { jobPath, nameOf, shippingFacts } from "./job-text.ts";
import { LedgerPanel } from "./ledger.tsx";
import { LastObjects, objectPages } from "./objects.tsx";
import { LastReplays, replayPages } from "./replay.tsx";
import { rangeOf } from "./series.ts";

/** How many are shown on the page of a job. */
const LAST_OBJECTS = 10;
const LAST_REPLAYS = 3;

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
      <Done query={query} job={job} />,
      Promise.all([ledger.catch(() => null), loadPaused(page, job)]).then(([found, paused]) => (
        <DeliveryPanel ledger={found} {...{ job, paused, viewer, nowMs, isReadable }} />
      )),
      query.has("created") || isNew(job)
        ? loadFirstObject(page, job).then((first) => <FirstObject {...first} />)
        : null,
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
      <About job={job} page={page} />,
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
  if (query.has("created")) return <Notice kind="ok" title="Job created" />;
  if (query.has("resumed")) return <Notice kind="ok" title="Resumed" />;
  return null;
};

const About: FC<{ job: JobView; page: PageContext }> = ({ job, page }) => {
  const place = parsePlace(job.destination_conf, page.config.destinations);
  const path = place.ok ? place.value.path : "";
  const terms = place.ok ? termsOf(place.value) : null;
  const { suffix } = encoderKindOf({ type: job.output_options?.output_type ?? "ndjson" });
  return (
    <Panel id="about" title="Settings">
      <Facts
        rows={[
          ["ID", String(job.id)],
          ["Destination", <Destination conf={job.destination_conf} />],
          ...(path.includes("{")
            ? [["Example key", <KeyExample path={path} nowMs={page.nowMs} suffix={suffix} />] as const]
            : []),
          ...shippingFacts(job, terms),
          ["Created", <Time at={job.time_created} />],
          ["Changed", <Time at={job.time_modified} />],
        ]}
      />
      <FilterText filter={job.filter} job={job.id} />
    </Panel>
  );
};
