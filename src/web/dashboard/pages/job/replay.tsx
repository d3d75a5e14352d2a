import type { FC } from "hono/jsx";
import { count } from "../../../../base/words.ts";
import { type Page, type PageAnswer, type PageContext, REFRESH_HEADER, seeOther, type View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { paged } from "../../parts/pager.tsx";
import { Empty, Panel, Table } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";
import type { JobView, ReplayDetailView, ReplayView } from "../../views/job.ts";
import { jobPath, jobTrail } from "./job-text.ts";
import { begin, beginParts, type Refused } from "./replay-begin.tsx";
import { replayDestinationPage } from "./replay-destination.tsx";
import { isUnderWay, ReplayEntry } from "./replay-entry.tsx";
import { rerunPage } from "./rerun.tsx";

const PER_PAGE = 20;
const REFRESH_S = 3;

export const replayPages: readonly Page[] = [
  {
    path: "/jobs/:job_id/replay",
    get: { permission: "logs:read", show: (page) => replaysView(page) },
    post: { permission: "logs:edit", take: takeReplay },
  },
  rerunPage,
  // Before the next: no replay has that id.
  replayDestinationPage,
  { path: "/jobs/:job_id/replay/:replay_id", get: { permission: "logs:read", show: replayView } },
  { path: "/jobs/:job_id/replay/:replay_id/cancel", post: { permission: "logs:edit", take: cancel } },
];

async function replaysView(page: PageContext, refused?: Refused): Promise<View> {
  const { api, query, viewer, nowMs, request } = page;
  const path = jobPath(page);
  const here = `/jobs/${encodeURIComponent(page.params.job_id ?? "")}/replay`;
  const [job, { items, page: number, pager }] = await Promise.all([
    api.get<JobView>(path),
    paged<ReplayView>({ api, query, here }, `${path}/replay`, { of: "replays", perPage: PER_PAGE }),
  ]);
  // A refresh counts nothing: that scans every object that the log knows.
  const begins = request.headers.has(REFRESH_HEADER) ? null : await beginParts(page, job, refused);
  return {
    title: "Replay",
    status: refused === undefined ? 200 : 400,
    trail: jobTrail(job),
    parts: [
      <>
        {begins}
        <Panel
          id="replays"
          title="Replays and reruns"
          refresh={items.some(isUnderWay) ? REFRESH_S : undefined}
          aside={may(viewer, "logs:edit") && <a href={`/jobs/${job.id}/rerun`}>New rerun</a>}
        >
          {items.length === 0 ? (
            <Empty title={number === 1 ? "No replays yet" : "No more replays"}>
              <p>Replays are listed for 30 days, reruns for 15.</p>
            </Empty>
          ) : (
            items.map((replay) => <ReplayEntry jobId={job.id} replay={replay} viewer={viewer} nowMs={nowMs} isLinked />)
          )}
          {pager}
        </Panel>
      </>,
    ],
  };
}

async function takeReplay(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const taken = await begin(page, form);
  return "errors" in taken ? replaysView(page, taken) : taken;
}

async function replayView(page: PageContext): Promise<View> {
  const { api, viewer, nowMs } = page;
  const path = jobPath(page);
  const [job, replay] = await Promise.all([
    api.get<JobView>(path),
    api.get<ReplayDetailView>(`${path}/replay/${encodeURIComponent(page.params.replay_id ?? "")}`),
  ]);
  const trouble = replay.missing.objects + replay.damaged.objects + replay.failed.objects;
  return {
    title: "Replay",
    trail: [...jobTrail(job), { href: `/jobs/${job.id}/replay`, label: "Replays" }],
    parts: [
      <Panel id="replay" title="Progress" refresh={isUnderWay(replay) ? REFRESH_S : undefined}>
        <ReplayEntry jobId={job.id} replay={replay} viewer={viewer} nowMs={nowMs} />
        {trouble > replay.problems.length && (
          <p>
            The first {count(replay.problems.length)} of {count(trouble)} objects that were not copied:
          </p>
        )}
        {replay.problems.length > 0 && (
          <Table
            caption="Objects that were not copied"
            columns={["Object", "Problem", "Key", "Reason"]}
            rows={replay.problems.map(({ object, key, kind, why }) => [
              replay.kind === "rerun" ? object : <a href={`/jobs/${job.id}/objects/${object}`}>{object}</a>,
              kind,
              <Foreign text={key} max={300} />,
              <Foreign text={why} max={500} />,
            ])}
          />
        )}
      </Panel>,
    ],
  };
}

async function cancel(page: PageContext): Promise<PageAnswer> {
  const id = encodeURIComponent(page.params.replay_id ?? "");
  const { job_id } = await page.api.change<{ job_id: number }>("DELETE", `${jobPath(page)}/replay/${id}`);
  return seeOther(`/jobs/${job_id}/replay#replays`);
}

/** The newest replays, on the page of their job. */
export const LastReplays: FC<{
  jobId: number;
  replays: readonly ReplayView[];
  total: number;
  viewer: Viewer;
  nowMs: number;
}> = ({ jobId, replays, total, viewer, nowMs }) => {
  if (replays.length === 0) return null;
  return (
    <Panel
      id="replays"
      title="Replays"
      refresh={replays.some(isUnderWay) ? REFRESH_S : undefined}
      aside={<a href={`/jobs/${jobId}/replay`}>{total > replays.length ? `All ${count(total)} replays` : "More"}</a>}
    >
      {replays.map((replay) => (
        <ReplayEntry jobId={jobId} replay={replay} viewer={viewer} nowMs={nowMs} isLinked />
      ))}
    </Panel>
  );
};
