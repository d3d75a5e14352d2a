import type { FC } from "hono/jsx";
import { plural } from "../../../../base/words.ts";
import { firstRecordPath, problemPath } from "../../../../operate/alerts/link.ts";
import type { InnerApi } from "../../inner-api.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { State } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { FindingView, IncidentView, SubjectView } from "../../views/account.ts";
import type { JobView } from "../../views/job.ts";
import { ALERTS_AT, receiverPath } from "../alerts/view.tsx";
import { functionPath } from "../functions/logging.tsx";

/** Kinds of parts that do not answer: what only they know is missing. */
const SILENT: ReadonlySet<string> = new Set([
  "control_silent",
  "ledger_silent",
  "replays_silent",
  "attachments_silent",
  "log_silent",
  "look_failed",
]);

export const isSilent = ({ kind }: FindingView): boolean => SILENT.has(kind);

export const Severity: FC<{ of: FindingView["severity"] }> = ({ of }) =>
  of === "error" ? <State kind="bad">error</State> : <State kind="warn">warning</State>;

/** Names of jobs by id; jobs without a name are absent. */
export type JobNames = ReadonlyMap<number, string>;

/** What the components of a finding need beside it. */
interface Around {
  viewer: Viewer;
  names: JobNames;
}

/**
 * Asked for only where a finding is about a job. Never fails: without names, jobs are shown by
 * number.
 */
export async function jobNames(api: InnerApi, about: readonly { subject: SubjectView }[]): Promise<JobNames> {
  if (!about.some(({ subject }) => subject.type === "job")) return new Map();
  const listed = await api.list<JobView>("/logship/jobs").catch(() => ({ items: [] }));
  return new Map(listed.items.flatMap(({ id, name }) => (name === null || name.trim() === "" ? [] : [[id, name]])));
}

/** The page of a job. A deleted one has none: it is listed on /jobs until it has delivered. */
export function jobPath({ kind, rerun }: Pick<FindingView, "kind" | "rerun">, id: number): string {
  return kind.startsWith("draining") ? "/jobs#draining" : `/jobs/${id}${rerun === undefined ? "" : "/replay"}`;
}

/** The subject, as a link if the viewer may open it. */
export const Subject: FC<{ of: Pick<FindingView, "kind" | "subject" | "rerun" | "receiver"> } & Around> = ({
  of: finding,
  viewer,
  names,
}) => {
  const of = finding.subject;
  const { receiver } = finding;
  if (receiver !== undefined) {
    const which =
      receiver.id === 1 ? (
        "the webhook"
      ) : (
        <>
          the alert <Foreign text={receiver.name} max={80} />
        </>
      );
    return <a href={receiverPath(receiver.id)}>{which}</a>;
  }
  if (of.type === "account") return <>the account</>;
  if (of.type === "search")
    return (
      <>
        search <Foreign text={of.name} max={80} />
      </>
    );
  if (of.type === "job") {
    const name = names.get(of.id);
    return (
      <>
        <a href={jobPath(finding, of.id)}>job {of.id}</a>
        {name !== undefined && (
          <>
            {" "}
            (<Foreign text={name} max={80} />)
          </>
        )}
      </>
    );
  }
  const name = <Foreign text={of.name} max={200} />;
  if (!may(viewer, "functions:read")) return <>Worker {name}</>;
  return <a href={functionPath(of.name)}>Worker {name}</a>;
};

/** `1 incident is recovering`; null: none is. */
export function recoveringWords(incidents: readonly IncidentView[]): string | null {
  const recovering = incidents.filter(({ state }) => state === "recovering").length;
  return recovering === 0 ? null : plural(recovering, "incident is recovering", "incidents are recovering");
}

/** `12 records`. */
export function affectedText({ count, what }: NonNullable<FindingView["affected"]>): string {
  return plural(count, what.replace(/s$/, ""), what);
}

/** Findings shown at once; the others fold out. */
const AT_ONCE = 50;

/** Findings, each with its advice. */
export const Findings: FC<{ findings: readonly FindingView[]; nowMs: number } & Around> = ({ findings, ...who }) => (
  <>
    <ul class="findings">
      {findings.slice(0, AT_ONCE).map((each) => (
        <One finding={each} {...who} />
      ))}
    </ul>
    {findings.length > AT_ONCE && (
      <details>
        <summary>{`${findings.length - AT_ONCE} more`}</summary>
        <ul class="findings">
          {findings.slice(AT_ONCE).map((each) => (
            <One finding={each} {...who} />
          ))}
        </ul>
      </details>
    )}
  </>
);

/** Where to fix a kind of finding, unless at its subject. */
const PLACES: Readonly<Record<string, { href: string; label: string }>> = {
  messages_set_aside: { href: "/set-aside", label: "Entries on hold" },
  objects_set_aside: { href: "/set-aside", label: "Entries on hold" },
  webhook_failing: { href: ALERTS_AT, label: "Alerts" },
};

const DESTINATION = { href: "/edit#destination", label: "Change the destination" };

/** The same for a job, below its page. */
const PLACES_OF_JOB: Readonly<Record<string, { href: string; label: string }>> = {
  key_lost: DESTINATION,
  destination_unusable: DESTINATION,
  credentials_expire: DESTINATION,
  parked: DESTINATION,
  failing: DESTINATION,
  canary_failed: DESTINATION,
  canary_unreadable: DESTINATION,
  manifest_failing: DESTINATION,
  filter_keeps_nothing: { href: "/edit#records", label: "Change the filter" },
  sample_keeps_nothing: { href: "/edit#records", label: "Change the sample" },
  replay_waiting: { href: "/replay", label: "Replays" },
};

export const Place: FC<{ of: Pick<FindingView, "kind" | "subject">; viewer: Viewer }> = ({
  of: { kind, subject },
  viewer,
}) => {
  if (!may(viewer, "logs:edit")) return null;
  if (subject.type === "job" && Object.hasOwn(PLACES_OF_JOB, kind)) {
    const place = PLACES_OF_JOB[kind];
    return <a href={`/jobs/${subject.id}${place?.href}`}>{place?.label}</a>;
  }
  if (subject.type === "function" && kind === "function_failing")
    return <a href={`${functionPath(subject.name)}#health`}>Its errors</a>;
  const place = Object.hasOwn(PLACES, kind) ? PLACES[kind] : undefined;
  return place === undefined ? null : <a href={place.href}>{place.label}</a>;
};

/** The version, and links to the incident, the problem and the first record. */
export const LinksOf: FC<{ of: Pick<FindingView, "kind" | "links"> & { incident?: string | null } }> = ({ of }) => {
  const { kind, links, incident } = of;
  const { problem, first_record: first, version } = links ?? {};
  const place = first && { script: first.script_name, atMs: first.event_timestamp_ms, rayId: first.ray_id };
  return (
    <>
      {version !== undefined && (
        <span>
          Version <Foreign text={version} max={80} />
        </span>
      )}
      {incident && <a href={`/incidents/${incident}`}>Incident</a>}
      {problem !== undefined && <a href={problemPath(problem)}>Problem</a>}
      {place !== undefined && <a href={firstRecordPath(kind, place)}>First record</a>}
    </>
  );
};

const One: FC<{ finding: FindingView; nowMs: number } & Around> = ({ finding, viewer, names, nowMs }) => (
  <li>
    <p class="lead">
      <Severity of={finding.severity} /> <Foreign text={finding.summary} />
    </p>
    <Foreign as="p" text={finding.advice} />
    <p class="beside quiet">
      <span>
        About <Subject of={finding} viewer={viewer} names={names} />
      </span>
      <span>Since {finding.since === null ? "first seen" : <Ago at={finding.since} nowMs={nowMs} />}</span>
      {finding.affected !== null && <span>{affectedText(finding.affected)} affected</span>}
      <code>{finding.kind}</code>
      <Place of={finding} viewer={viewer} />
      <LinksOf of={finding} />
    </p>
  </li>
);
