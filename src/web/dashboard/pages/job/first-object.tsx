import type { Child, FC } from "hono/jsx";
import { UPLOAD_INTERVAL_S } from "../../../../base/limits.ts";
import { bytes, count, plural } from "../../../../base/words.ts";
import { readIntakeConfig } from "../../../../config.ts";
import type { PageContext } from "../../page.ts";
import { termsOfConf } from "../../parts/destination-entry.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { type Kind, Notice, Panel, Snippet, State } from "../../parts/panel.tsx";
import { Time } from "../../parts/values.tsx";
import type { JobView, LedgerView, ObjectView } from "../../views/job.ts";
import { attachJsonc, eventsCurl, LOCAL_TOKEN } from "../functions/snippets.ts";
import { STARTS_WITHIN_S } from "./job-text.ts";

const REFRESH_S = 3;

/** What the page of a new job says about its first object. */
export type FirstLook =
  | { kind: "nothing" }
  | { kind: "paused" }
  | { kind: "dropped"; filtered: number; sampledOut: number }
  /** `startsInS` null: the upload is due. */
  | { kind: "waiting"; records: number; startsInS: number | null }
  | { kind: "failing"; records: number; message: string }
  | { kind: "delivered"; object: ObjectView };

export interface FirstObjectProps {
  jobId: number;
  look: FirstLook;
  /** The destination is a store, not a receiver. */
  isStore: boolean;
  /** The service that functions name as their tail consumer. */
  selfName: string;
  origin: string;
  accountId: string;
  /** In local development. */
  isLocal: boolean;
}

/** A log that does not know its new job yet counts as empty. @throws InnerFailure */
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
    isStore: termsOfConf(job.destination_conf, config.destinations)?.isReadable ?? true,
    selfName: readIntakeConfig(env).selfName ?? "logship",
    origin,
    accountId: config.accountId,
    isLocal: config.localFunctions !== null,
  };
}

/** @param ledger null: not known yet. */
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

/** Refreshes itself until the first object is delivered. */
export const FirstObject: FC<FirstObjectProps> = ({ jobId, look, isStore, ...here }) => (
  <Panel
    id="first-object"
    title={isStore ? "First object" : "First batch"}
    refresh={look.kind === "delivered" || look.kind === "paused" ? undefined : REFRESH_S}
  >
    <Look look={look} jobId={jobId} isStore={isStore} />
    {(look.kind === "nothing" || look.kind === "dropped") && <HowTo {...here} />}
    {look.kind !== "delivered" && look.kind !== "paused" && (
      <p class="quiet">
        Refreshes every {REFRESH_S} seconds. Without scripts, <a href={`/jobs/${jobId}?created`}>refresh</a> the page.
      </p>
    )}
  </Panel>
);

const Look: FC<Pick<FirstObjectProps, "look" | "jobId" | "isStore">> = ({ look, jobId, isStore }): Child => {
  switch (look.kind) {
    case "delivered":
      return <Delivered object={look.object} jobId={jobId} isStore={isStore} />;
    case "failing":
      return (
        <Notice kind="bad" title="Upload failed; retrying">
          <Foreign as="p" text={look.message} max={500} />
          <p>{plural(look.records, "record")} waiting; nothing is lost.</p>
        </Notice>
      );
    case "waiting": {
      const start = look.startsInS === null ? "is due" : `starts within ${look.startsInS} s`;
      return stated("info", "on its way", `${plural(look.records, "record")} waiting; the upload ${start}.`);
    }
    case "dropped": {
      const how = `${count(look.filtered)} filtered, ${count(look.sampledOut)} sampled out. `;
      const edit = <a href={`/jobs/${jobId}/edit`}>Edit the job</a>;
      return stated("warn", "none kept", `The job kept none of the events: ${how}`, edit);
    }
    case "paused":
      return stated("quiet", "paused", "The job takes no events until you resume it.");
    case "nothing":
      return stated("quiet", "waiting", "No events yet.");
  }
};

function stated(kind: Kind, state: string, words: string, link: Child = null): Child {
  return (
    <p>
      <State kind={kind}>{state}</State> {words}
      {link}
    </p>
  );
}

const Delivered: FC<{ object: ObjectView; jobId: number; isStore: boolean }> = ({ object, jobId, isStore }) => (
  <Notice kind="ok" title={isStore ? "Delivered to your bucket" : "Delivered to the log service"}>
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

const HowTo: FC<Omit<FirstObjectProps, "jobId" | "look" | "isStore">> = ({ selfName, origin, accountId, isLocal }) => (
  <>
    <p>
      Call an attached Worker: its next event ships here. To attach one, add this to its project file and deploy it; or
      send an event yourself, with a token that has <code>events:write</code>. <a href="/attach">Other ways</a>
    </p>
    <Snippet id="first-attach" label="Project file (JSONC)" text={attachJsonc(selfName)} />
    <Snippet
      id="first-event"
      label={isLocal ? "One event over HTTP, from the folder of this project" : "One event over HTTP"}
      text={`${isLocal ? `${LOCAL_TOKEN}\n` : ""}${eventsCurl(origin, accountId)}`}
    />
  </>
);
