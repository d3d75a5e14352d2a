import type { FC } from "hono/jsx";
import { maskDestination } from "../../../destinations/parse.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { type Faults, faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Field, Form, may } from "../../parts/form.tsx";
import { Pager, pageOf } from "../../parts/pager.tsx";
import { Empty, Panel, Table } from "../../parts/panel.tsx";
import { count } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { JobView, ReplayDetailView, ReplayView } from "../../views/job.ts";
import { isHarmless } from "../shipping/destination-read.ts";
import { isUnderWay, ReplayEntry } from "./replay-entry.tsx";
import { jobPath, jobTrail } from "./words.ts";

const PER_PAGE = 20;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const REFRESH_S = 3;

export const replayPages: readonly Page[] = [
  {
    path: "/jobs/:job_id/replay",
    get: { permission: "logs:read", show: (page) => replaysView(page) },
    post: { permission: "logs:edit", take: begin },
  },
  { path: "/jobs/:job_id/replay/:replay_id", get: { permission: "logs:read", show: replayView } },
  { path: "/jobs/:job_id/replay/:replay_id/cancel", post: { permission: "logs:edit", take: cancel } },
];

/** The form as it was sent. */
interface Entered {
  since: string;
  until: string;
  destination: string;
  challenge: string;
}

interface Refused {
  entered: Entered;
  faults: Faults;
}

async function replaysView(page: PageContext, refused?: Refused): Promise<View> {
  const { api, query, viewer, nowMs } = page;
  const path = jobPath(page);
  const number = pageOf(query);
  const [job, { items, info }] = await Promise.all([
    api.get<JobView>(path),
    api.list<ReplayView>(`${path}/replay`, { page: number, per_page: PER_PAGE }),
  ]);
  const here = `/jobs/${job.id}/replay`;
  return {
    title: "Replay",
    status: refused === undefined ? 200 : 400,
    section: "jobs",
    trail: jobTrail(job),
    parts: [
      <>
        <Begin job={job} viewer={viewer} nowMs={nowMs} refused={refused} />
        <Panel id="replays" title="Replays" refresh={items.some(isUnderWay) ? REFRESH_S : undefined}>
          {items.length === 0 ? (
            <Empty title={number === 1 ? "No replays yet" : "No more replays"}>
              <p>Replays are listed for 30 days.</p>
            </Empty>
          ) : (
            items.map((replay) => <ReplayEntry jobId={job.id} replay={replay} viewer={viewer} nowMs={nowMs} isLinked />)
          )}
          <Pager of="replays" here={here} page={number} perPage={PER_PAGE} total={info.total_count} />
        </Panel>
      </>,
    ],
  };
}

const Begin: FC<{ job: JobView; viewer: Viewer; nowMs: number; refused: Refused | undefined }> = ({
  job,
  viewer,
  nowMs,
  refused,
}) => {
  if (!may(viewer, "logs:edit"))
    return (
      <Panel id="begin" title="New replay">
        <p>Starting a replay needs the permission logs:edit.</p>
      </Panel>
    );
  const entered = refused?.entered ?? {
    since: minuteOf(nowMs - HOUR_MS),
    until: minuteOf(nowMs),
    destination: "",
    challenge: "",
  };
  const faults = refused?.faults ?? NO_FAULTS;
  const shared = (name: string) => ({ name, spellcheck: false, autocomplete: "off", error: faults.at(name) });
  return (
    <Panel id="begin" title="New replay">
      <p>
        A replay copies delivered objects of the last 30 days, under new keys. In the same folder, a reader then finds
        their records twice: choose another destination to avoid that.
      </p>
      <RestOf faults={faults} title="The replay was not started" />
      <Form viewer={viewer} action={`/jobs/${job.id}/replay`} label="New replay">
        <Field
          {...shared("since")}
          label="Events since (UTC)"
          value={entered.since}
          required
          hint="2026-11-20 12:00, or RFC 3339 with a zone: 2026-11-20T12:00:00+01:00."
        />
        <Field
          {...shared("until")}
          label="Events before (UTC)"
          value={entered.until}
          required
          hint="Objects are copied whole, with some events around these times."
        />
        <details open={entered.destination !== "" || faults.at("destination_conf") !== undefined}>
          <summary>Another destination</summary>
          <Field
            {...shared("destination_conf")}
            label="Destination"
            value={shownAgain(entered.destination)}
            maxlength={4_096}
            hint={
              <>
                <code>s3://bucket/again?region=…&amp;access-key-id=…&amp;secret-access-key=…</code>. Empty: the job's
                own. Its keys are deleted when the replay ends.
              </>
            }
          />
          <Field
            {...shared("ownership_challenge")}
            label="Ownership token"
            value={entered.challenge}
            hint="The text of the ownership object, if this deployment requires it."
          />
        </details>
        <button type="submit" class="primary">
          Start replay
        </button>
      </Form>
    </Panel>
  );
};

/** A destination with masked keys; "" if any other part of it may be a key. */
function shownAgain(destination: string): string {
  const masked = maskDestination(destination);
  return isHarmless(masked) ? masked : "";
}

/** To the minute, in the form's format. */
function minuteOf(ms: number): string {
  return new Date(Math.floor(ms / MINUTE_MS) * MINUTE_MS).toISOString().slice(0, 16).replace("T", " ");
}

/** Converts an entered time for the API. No zone means UTC. Invalid text is the API's to refuse. */
export function timeEntered(text: string): string {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?$/.exec(text.trim()) ?? [];
  if (day === undefined) return text.trim();
  return `${day}T${time === undefined ? "00:00:00" : time.length === 5 ? `${time}:00` : time}Z`;
}

async function begin(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const field = (name: string): string => form.get(name) ?? "";
  const entered: Entered = {
    since: field("since"),
    until: field("until"),
    destination: field("destination_conf").trim(),
    challenge: field("ownership_challenge").trim(),
  };
  const { destination, challenge } = entered;
  const answer = await page.api.send<ReplayView & { job_id: number }>("POST", `${jobPath(page)}/replay`, {
    since: timeEntered(entered.since),
    until: timeEntered(entered.until),
    ...(destination !== "" && { destination_conf: destination }),
    ...(challenge !== "" && { ownership_challenge: challenge }),
  });
  if (answer.ok) return seeOther(`/jobs/${answer.result.job_id}/replay#replays`);
  if (answer.status === 404) throw new InnerFailure(answer.status, answer.errors);
  const faults = faultsOf(answer.errors, ["since", "until", "destination_conf", "ownership_challenge"]);
  return replaysView(page, { entered, faults });
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
    section: "jobs",
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
            columns={[{ label: "Object" }, { label: "Problem" }, { label: "Key" }, { label: "Reason" }]}
            rows={replay.problems.map(({ object, key, kind, why }) => [
              <a href={`/jobs/${job.id}/objects/${object}`}>{object}</a>,
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
