import type { FC } from "hono/jsx";
import { readIntakeConfig } from "../../../config.ts";
import { UPLOAD_INTERVAL_S } from "../../../limits.ts";
import type { PageContext } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Notice, Panel, Snippet, State } from "../../parts/panel.tsx";
import { bytes, count, plural, Time } from "../../parts/values.tsx";
import type { JobView } from "../../views/job.ts";
import { attachJsonc, eventsCurl } from "../functions/snippets.ts";

/** An upload starts within so many seconds after its object is due: what the queue and the alarm need. */
const STARTS_WITHIN_S = 15;

const REFRESH_S = 3;

interface LedgerView {
  received: number;
  filtered: number;
  sampled_out: number;
  delivered: number;
  pending: number;
  oldest_pending_seconds: number | null;
}

interface ObjectView {
  number: number;
  key: string;
  state: string;
  records: number;
  bytes: number;
  uploaded_at: string | null;
}

/** How far a new job is on its way to its first object. */
export type FirstLook =
  | { kind: "nothing" }
  | { kind: "paused" }
  | { kind: "dropped"; filtered: number; sampledOut: number }
  /** `startsInS` null: it is due, or under way. */
  | { kind: "waiting"; records: number; startsInS: number | null }
  | { kind: "failing"; records: number; message: string }
  | { kind: "delivered"; object: ObjectView };

export interface FirstObjectProps {
  jobId: number;
  look: FirstLook;
  /** What functions name as their tail consumer. */
  selfName: string;
  /** Of this deployment: where events are sent to. */
  origin: string;
  accountId: string;
}

/** Asks how far a job is. @throws InnerFailure as the API does; a log that has not heard of its job yet is none. */
export async function loadFirstObject(
  { api, origin, config, env }: PageContext,
  job: JobView,
): Promise<FirstObjectProps> {
  const [ledger, objects] = await Promise.all([
    api.send<LedgerView>("GET", `/logship/jobs/${job.id}/ledger`),
    api.list<ObjectView>(`/logship/jobs/${job.id}/objects`, { limit: 50 }),
  ]);
  return {
    jobId: job.id,
    look: lookOf(job, ledger.ok ? ledger.result : null, objects.items),
    selfName: readIntakeConfig(env).selfName ?? "logship",
    origin,
    accountId: config.accountId,
  };
}

/** What is to be said of a job. @param ledger null: it is not known yet. */
export function lookOf(job: JobView, ledger: LedgerView | null, objects: readonly ObjectView[]): FirstLook {
  const first = objects.find(({ state }) => state === "delivered");
  if (first !== undefined) return { kind: "delivered", object: first };
  const pending = ledger?.pending ?? 0;
  if (job.error_message !== null) return { kind: "failing", records: pending, message: job.error_message };
  if (pending > 0) {
    const interval = job.max_upload_interval_seconds || UPLOAD_INTERVAL_S.fallback;
    const left = interval - (ledger?.oldest_pending_seconds ?? 0);
    return { kind: "waiting", records: pending, startsInS: left + STARTS_WITHIN_S > 0 ? left + STARTS_WITHIN_S : null };
  }
  if (ledger !== null && ledger.filtered + ledger.sampled_out > 0)
    return { kind: "dropped", filtered: ledger.filtered, sampledOut: ledger.sampled_out };
  return job.enabled ? { kind: "nothing" } : { kind: "paused" };
}

/** The way of a new job to its first object; it looks again by itself until that is there. */
export const FirstObject: FC<FirstObjectProps> = ({ jobId, look, ...here }) => (
  <Panel
    id="first-object"
    title="The first object"
    refresh={look.kind === "delivered" || look.kind === "paused" ? undefined : REFRESH_S}
  >
    <Look look={look} jobId={jobId} />
    {(look.kind === "nothing" || look.kind === "dropped") && <HowTo {...here} />}
    {look.kind !== "delivered" && look.kind !== "paused" && (
      <p class="quiet">
        This part looks again every {REFRESH_S} seconds. Without scripts,{" "}
        <a href={`/jobs/${jobId}?created`}>look again</a> yourself.
      </p>
    )}
  </Panel>
);

const Look: FC<{ look: FirstLook; jobId: number }> = ({ look, jobId }) => {
  switch (look.kind) {
    case "delivered":
      return <Delivered object={look.object} jobId={jobId} />;
    case "failing":
      return (
        <Notice kind="bad" title="The upload fails at the moment; it is tried again">
          <p>
            <Foreign text={look.message} max={500} />
          </p>
          <p>{plural(look.records, "record")} wait; none is lost.</p>
        </Notice>
      );
    case "waiting":
      return (
        <p>
          <State kind="info">on its way</State> {count(look.records)}{" "}
          {look.records === 1 ? "record waits" : "records wait"};{" "}
          {look.startsInS === null ? "the upload is due." : `the upload starts within ${look.startsInS} s.`}
        </p>
      );
    case "dropped":
      return (
        <p>
          <State kind="warn">none kept</State> Events have come, but the job kept none: {count(look.filtered)} filtered,{" "}
          {count(look.sampledOut)} sampled out. <a href={`/jobs/${jobId}/edit`}>Change what it keeps</a>
        </p>
      );
    case "paused":
      return (
        <p>
          <State kind="quiet">paused</State> The job takes no events until it is switched on.
        </p>
      );
    case "nothing":
      return (
        <p>
          <State kind="quiet">nothing yet</State> No event has come since the job was created.
        </p>
      );
  }
};

const Delivered: FC<{ object: ObjectView; jobId: number }> = ({ object, jobId }) => (
  <Notice kind="ok" title="The first object is in your bucket">
    <p>
      <a href={`/jobs/${jobId}/objects/${object.number}`}>
        <Foreign text={object.key} max={1_024} />
      </a>
    </p>
    <p>
      {plural(object.records, "record")}, {bytes(object.bytes)}
      {object.uploaded_at !== null && (
        <>
          , uploaded <Time at={object.uploaded_at} />
        </>
      )}
    </p>
  </Notice>
);

const HowTo: FC<Omit<FirstObjectProps, "jobId" | "look">> = ({ selfName, origin, accountId }) => (
  <>
    <p>
      Put the first text into the project file of a function, deploy it, and call it; or send an event by hand, with a
      token that holds <code>events:write</code> in <code>$TOKEN</code>. <a href="/attach">Other ways</a>
    </p>
    <Snippet id="first-attach" label="Project file (JSONC)" text={attachJsonc(selfName)} />
    <Snippet id="first-event" label="One event over HTTP" text={eventsCurl(origin, accountId)} />
  </>
);
