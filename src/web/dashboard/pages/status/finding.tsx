import type { FC } from "hono/jsx";
import { plural } from "../../../../base/words.ts";
import { firstRecordPath, problemPath } from "../../../../operate/alerts/link.ts";
import { shown } from "../../../../operate/status/finding-text.ts";
import type { InnerApi } from "../../inner-api.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { type Row, Rows, State } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { FindingView, IncidentView, SubjectView } from "../../views/account.ts";
import type { JobView } from "../../views/job.ts";
import { ALERTS_AT, receiverPath } from "../alerts/view.tsx";
import { functionPath, hasPath } from "../functions/logging.tsx";
import { incidentPath } from "../incidents/words.tsx";

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
  if (of.type === "account") return <>Account</>;
  if (of.type === "search") return <a href={`/searches/${of.id}`}>{<Foreign text={of.name} max={80} />}</a>;
  if (of.type === "job")
    return (
      <a href={jobPath(finding, of.id)}>
        <Foreign text={names.get(of.id) ?? `Job ${of.id}`} max={80} />
      </a>
    );
  const name = <Foreign text={of.name} max={200} />;
  return may(viewer, "functions:read") && hasPath(of.name) ? <a href={functionPath(of.name)}>{name}</a> : name;
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

export const Mark: FC<{ of: FindingView["severity"] }> = ({ of }) => (
  <State kind={of === "error" ? "bad" : "warn"}>
    <span class="unseen">{of} </span>
  </State>
);

/**
 * A finding as a row: its subject, what is wrong with it, since when, and where to go on.
 * @param isWhole with what to do about it, and with all that it leads to.
 */
export function rowOf(
  finding: FindingView,
  { viewer, names, nowMs }: Around & { nowMs: number },
  isWhole = false,
): Row {
  const { kind, subject, severity, summary, advice, since, affected } = finding;
  // Its name is there already.
  const own = subject.type === "function" && summary.startsWith(shown(subject.name)) ? shown(subject.name).length : 0;
  const words = summary.slice(own).replace(/^[, ]+| \(problem [0-9a-f]{16}\)/g, "");
  const what = <Foreign text={words} max={400} />;
  return {
    subject: (
      <>
        <Mark of={severity} />
        <Subject of={finding} viewer={viewer} names={names} />
      </>
    ),
    detail: isWhole ? (
      <>
        <p>{what}</p>
        <p class="quiet">
          <Foreign text={advice} />
          {affected !== null && ` ${affectedText(affected)} affected.`} <code>{kind}</code>
        </p>
      </>
    ) : (
      what
    ),
    age: since === null ? "" : <Ago at={since} nowMs={nowMs} />,
    action: <NextOf of={finding} viewer={viewer} isWhole={isWhole} />,
  };
}

/** Findings shown at once; the others fold out. */
const AT_ONCE = 50;

/** Findings, each with its advice. */
export const Findings: FC<{ findings: readonly FindingView[]; nowMs: number } & Around> = ({ findings, ...who }) => (
  <>
    <Rows rows={findings.slice(0, AT_ONCE).map((each) => rowOf(each, who, true))} />
    {findings.length > AT_ONCE && (
      <details>
        <summary>{`${findings.length - AT_ONCE} more`}</summary>
        <Rows rows={findings.slice(AT_ONCE).map((each) => rowOf(each, who, true))} />
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

/** null: nowhere, or the viewer may not. */
export function placeOf(
  { kind, subject }: Pick<FindingView, "kind" | "subject">,
  viewer: Viewer,
): { href: string; label: string } | null {
  if (subject.type === "function" && kind === "function_failing")
    return { href: `${functionPath(subject.name)}#errors`, label: "Its errors" };
  if (!may(viewer, "logs:edit")) return null;
  if (subject.type !== "job") return Object.hasOwn(PLACES, kind) ? (PLACES[kind] ?? null) : null;
  const place = Object.hasOwn(PLACES_OF_JOB, kind) ? PLACES_OF_JOB[kind] : undefined;
  if (place !== undefined) return { ...place, href: `/jobs/${subject.id}${place.href}` };
  return Object.hasOwn(PLACES, kind) ? (PLACES[kind] ?? null) : null;
}

/** Where to go on from a finding: to its cause, or to where it is mended. */
const NextOf: FC<{ of: FindingView; viewer: Viewer; isWhole: boolean }> = ({ of, viewer, isWhole }) => {
  const place = placeOf(of, viewer);
  const fix = place && <a href={place.href}>{place.label}</a>;
  if (isWhole)
    return (
      <div class="ways">
        {fix}
        <LinksOf of={of} />
      </div>
    );
  const { problem, first_record } = of.links ?? {};
  if (problem !== undefined || first_record !== undefined)
    return <LinksOf of={{ kind: of.kind, links: problem === undefined ? { first_record } : { problem } }} />;
  return fix ?? <LinksOf of={{ kind: of.kind, incident: of.incident }} />;
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
          Version <Foreign text={/^[0-9a-f-]{36}$/.test(version) ? version.slice(0, 8) : version} max={80} />
        </span>
      )}
      {incident && <a href={incidentPath(incident)}>Incident</a>}
      {problem !== undefined && <a href={problemPath(problem)}>Problem</a>}
      {place !== undefined && <a href={firstRecordPath(kind, place)}>First record</a>}
    </>
  );
};
