import type { FC } from "hono/jsx";
import { maskDestination } from "../../../destinations/parse.ts";
import type { ErrorEntry } from "../../../errors.ts";
import { InnerFailure } from "../../inner-api.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Field, Form, may } from "../../parts/form.tsx";
import { Empty, Panel, Table } from "../../parts/panel.tsx";
import { count } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { JobView, ReplayDetailView, ReplayView } from "../../views/job.ts";
import { isHarmless } from "../shipping/destination-read.ts";
import { jobPath } from "./actions.tsx";
import { isUnderWay, ReplayEntry } from "./replay-entry.tsx";
import { shortNameOf } from "./words.ts";

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

/** What was entered, as it was. */
interface Entered {
  since: string;
  until: string;
  destination: string;
  challenge: string;
}

interface Refused {
  entered: Entered;
  errors: readonly ErrorEntry[];
}

async function replaysView(page: PageContext, refused?: Refused): Promise<View> {
  const { api, query, viewer, nowMs } = page;
  const path = jobPath(page);
  const number = Number(/^[1-9]\d{0,5}$/.exec(query.get("page") ?? "")?.[0] ?? 1);
  const [job, { items, info }] = await Promise.all([
    api.get<JobView>(path),
    api.list<ReplayView>(`${path}/replay`, { page: number, per_page: PER_PAGE }),
  ]);
  const here = `/jobs/${job.id}/replay`;
  const hasMore = number * PER_PAGE < info.total_count;
  return {
    title: "Replay",
    status: refused === undefined ? 200 : 400,
    section: "jobs",
    trail: trailOf(job),
    parts: [
      <>
        <Begin job={job} viewer={viewer} nowMs={nowMs} refused={refused} />
        <Panel id="replays" title="Replays" refresh={items.some(isUnderWay) ? REFRESH_S : undefined}>
          {items.length === 0 ? (
            <Empty title={number === 1 ? "Nothing was replayed yet" : "There are no more"}>
              <p>A replay is listed here, with its progress, for 30 days.</p>
            </Empty>
          ) : (
            items.map((replay) => <ReplayEntry jobId={job.id} replay={replay} viewer={viewer} nowMs={nowMs} isLinked />)
          )}
          {(number > 1 || hasMore) && (
            <nav class="pager" aria-label="Pages">
              {number > 1 && <a href={`${here}?page=${number - 1}`}>Newer</a>}
              {hasMore && <a href={`${here}?page=${number + 1}`}>Older</a>}
              <span class="quiet">{count(info.total_count)} in all</span>
            </nav>
          )}
        </Panel>
      </>,
    ],
  };
}

function trailOf(job: JobView): { href: string; label: string }[] {
  return [
    { href: "/jobs", label: "Jobs" },
    { href: `/jobs/${job.id}`, label: shortNameOf(job) },
  ];
}

const Begin: FC<{ job: JobView; viewer: Viewer; nowMs: number; refused: Refused | undefined }> = ({
  job,
  viewer,
  nowMs,
  refused,
}) => {
  if (!may(viewer, "logs:edit"))
    return (
      <Panel id="begin" title="Ship objects again">
        <p>Beginning a replay needs the permission logs:edit.</p>
      </Panel>
    );
  const entered = refused?.entered ?? {
    since: minuteOf(nowMs - HOUR_MS),
    until: minuteOf(nowMs),
    destination: "",
    challenge: "",
  };
  const errors = refused?.errors ?? [];
  const fault = (pointer: string): string | undefined => {
    const found = errors.filter(({ source }) => source?.pointer === pointer).map(({ message }) => message);
    return found.length === 0 ? undefined : found.join("; ");
  };
  const known = ["/since", "/until", "/destination_conf", "/ownership_challenge"];
  const others = errors.filter(({ source }) => !known.includes(source?.pointer ?? ""));
  return (
    <Panel id="begin" title="Ship objects again">
      <p>
        A replay reads delivered objects from the bucket and writes them once more, whole and unchanged, under keys of
        their own. In the same folder a reader then finds those records twice: give another path or bucket if that
        matters. Only what was delivered within 30 days is known.
      </p>
      {others.length > 0 && <Errors title="The replay was not begun" errors={others} />}
      <Form viewer={viewer} action={`/jobs/${job.id}/replay`} label="Ship objects again">
        <Field
          name="since"
          label="Events since (UTC)"
          value={entered.since}
          required
          spellcheck={false}
          autocomplete="off"
          hint="Like 2026-11-20 12:00, or RFC 3339 with a zone: 2026-11-20T12:00:00+01:00."
          error={fault("/since")}
        />
        <Field
          name="until"
          label="Events before (UTC)"
          value={entered.until}
          required
          spellcheck={false}
          autocomplete="off"
          hint="Objects are copied whole: some events around these times come along."
          error={fault("/until")}
        />
        <details open={entered.destination !== "" || fault("/destination_conf") !== undefined}>
          <summary>To another destination</summary>
          <Field
            name="destination_conf"
            label="Destination"
            value={shownAgain(entered.destination)}
            spellcheck={false}
            autocomplete="off"
            maxlength={4_096}
            hint={
              <>
                Like <code>s3://bucket/again?region=…&amp;access-key-id=…&amp;secret-access-key=…</code>. Empty: where
                the job ships. Its keys are forgotten when the replay is over, and never shown: enter them again after a
                fault.
              </>
            }
            error={fault("/destination_conf")}
          />
          <Field
            name="ownership_challenge"
            label="Ownership challenge"
            value={entered.challenge}
            spellcheck={false}
            autocomplete="off"
            hint="The text of the challenge file, where this deployment asks for one."
            error={fault("/ownership_challenge")}
          />
        </details>
        <button type="submit" class="primary">
          Begin the replay
        </button>
      </Form>
    </Panel>
  );
};

/** A destination with its keys masked; where anything else in it may be one, nothing of it. */
function shownAgain(destination: string): string {
  const masked = maskDestination(destination);
  return isHarmless(masked) ? masked : "";
}

/** To the minute, as it may be entered. */
function minuteOf(ms: number): string {
  return new Date(Math.floor(ms / MINUTE_MS) * MINUTE_MS).toISOString().slice(0, 16).replace("T", " ");
}

/** A time as it was entered, as the API takes it: without a zone it is UTC. What is no time is left for the API to refuse. */
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
  return replaysView(page, { entered, errors: answer.errors });
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
    trail: [...trailOf(job), { href: `/jobs/${job.id}/replay`, label: "Replays" }],
    parts: [
      <Panel id="replay" title="Progress" refresh={isUnderWay(replay) ? REFRESH_S : undefined}>
        <ReplayEntry jobId={job.id} replay={replay} viewer={viewer} nowMs={nowMs} />
        {trouble > replay.problems.length && (
          <p>
            Of {count(trouble)} objects that were not shipped, the first {count(replay.problems.length)} are below.
          </p>
        )}
        {replay.problems.length > 0 && (
          <Table
            caption="Objects that were not shipped again"
            columns={[{ label: "Object" }, { label: "What" }, { label: "Key" }, { label: "Why" }]}
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
  const answer = await page.api.send<{ job_id: number }>("DELETE", `${jobPath(page)}/replay/${id}`);
  if (!answer.ok) throw new InnerFailure(answer.status, answer.errors);
  return seeOther(`/jobs/${answer.result.job_id}/replay#replays`);
}

/** On the page of a job: its newest replays; nothing, if there is none. */
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
