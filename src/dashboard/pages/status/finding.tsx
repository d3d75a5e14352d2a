import type { FC } from "hono/jsx";
import type { InnerApi } from "../../inner-api.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { State } from "../../parts/panel.tsx";
import { Ago, plural } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { FindingView, SubjectView } from "../../views/account.ts";
import type { JobView } from "../../views/job.ts";

/** Kinds that say that somebody does not answer: what they alone know is missing. */
const SILENT: ReadonlySet<string> = new Set([
  "control_silent",
  "ledger_silent",
  "outbox_silent",
  "replays_silent",
  "attachments_silent",
  "log_silent",
  "look_failed",
]);

export const isSilent = ({ kind }: FindingView): boolean => SILENT.has(kind);

export const Severity: FC<{ of: FindingView["severity"] }> = ({ of }) =>
  of === "error" ? <State kind="bad">error</State> : <State kind="warn">warning</State>;

/** What jobs are called, by their ids, as far as they are called anything. */
export type JobNames = ReadonlyMap<number, string>;

/** What is shown of findings, beside what they say. */
interface Around {
  viewer: Viewer;
  names: JobNames;
}

/** Asked for only where a job is spoken of. Without names there are numbers: it never fails. */
export async function jobNames(api: InnerApi, about: readonly { subject: SubjectView }[]): Promise<JobNames> {
  if (!about.some(({ subject }) => subject.type === "job")) return new Map();
  const listed = await api.list<JobView>("/logship/jobs").catch(() => ({ items: [] }));
  return new Map(listed.items.flatMap(({ id, name }) => (name === null || name.trim() === "" ? [] : [[id, name]])));
}

/** Where a job is shown. One that is deleted has no page any more: it stands below the others until it has delivered. */
export function jobPath({ kind }: Pick<FindingView, "kind">, id: number): string {
  return kind.startsWith("draining") ? "/jobs#draining" : `/jobs/${id}`;
}

/** What it is about, with a link for whoever may look at it. */
export const Subject: FC<{ of: Pick<FindingView, "kind" | "subject"> } & Around> = ({ of: finding, viewer, names }) => {
  const of = finding.subject;
  if (of.type === "account") return <>the account</>;
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
  if (!may(viewer, "functions:read")) return <>function {name}</>;
  return <a href={`/functions/${encodeURIComponent(of.name.toWellFormed())}`}>function {name}</a>;
};

/** `12 records`, in the words of the API. */
export function affectedText({ count, what }: NonNullable<FindingView["affected"]>): string {
  return plural(count, what.replace(/s$/, ""), what);
}

/** How many stand there at once; the others are one click away. */
const AT_ONCE = 50;

/** Findings one below the other, each with what to do about it. */
export const Findings: FC<{ findings: readonly FindingView[]; nowMs: number } & Around> = ({ findings, ...who }) => (
  <>
    <ul class="findings">
      {findings.slice(0, AT_ONCE).map((each) => (
        <One finding={each} {...who} />
      ))}
    </ul>
    {findings.length > AT_ONCE && (
      <details>
        <summary>{plural(findings.length - AT_ONCE, "further one", "further ones")}</summary>
        <ul class="findings">
          {findings.slice(AT_ONCE).map((each) => (
            <One finding={each} {...who} />
          ))}
        </ul>
      </details>
    )}
  </>
);

/** Where something can be done about it, but for where its subject is. */
const PLACES: Readonly<Record<string, { href: string; label: string }>> = {
  messages_set_aside: { href: "/set-aside", label: "What is set aside" },
  objects_set_aside: { href: "/set-aside", label: "What is set aside" },
  webhook_failing: { href: "/status/webhook", label: "The webhook" },
};

const DESTINATION = { href: "/edit#destination", label: "Change the destination" };

/** The same of a job, below its page. */
const PLACES_OF_JOB: Readonly<Record<string, { href: string; label: string }>> = {
  key_lost: DESTINATION,
  destination_unusable: DESTINATION,
  parked: DESTINATION,
  failing: DESTINATION,
  canary_failed: DESTINATION,
  canary_unreadable: DESTINATION,
  filter_keeps_nothing: { href: "/edit#records", label: "Change the filter" },
  sample_keeps_nothing: { href: "/edit#records", label: "Change the sample" },
  replay_waiting: { href: "/replay", label: "Its replays" },
};

const Place: FC<{ of: FindingView; viewer: Viewer }> = ({ of: { kind, subject }, viewer }) => {
  if (!may(viewer, "logs:edit")) return null;
  if (subject.type === "job" && Object.hasOwn(PLACES_OF_JOB, kind)) {
    const place = PLACES_OF_JOB[kind];
    return <a href={`/jobs/${subject.id}${place?.href}`}>{place?.label}</a>;
  }
  const place = Object.hasOwn(PLACES, kind) ? PLACES[kind] : undefined;
  return place === undefined ? null : <a href={place.href}>{place.label}</a>;
};

const One: FC<{ finding: FindingView; nowMs: number } & Around> = ({ finding, viewer, names, nowMs }) => (
  <li>
    <p class="lead">
      <Severity of={finding.severity} /> <Foreign text={finding.summary} />
    </p>
    <p>
      <Foreign text={finding.advice} />
    </p>
    <p class="beside quiet">
      <span>
        About <Subject of={finding} viewer={viewer} names={names} />
      </span>
      <span>
        Since{" "}
        {finding.since === null ? (
          "it was first seen; before that nobody knows"
        ) : (
          <Ago at={finding.since} nowMs={nowMs} />
        )}
      </span>
      {finding.affected !== null && <span>{affectedText(finding.affected)} affected</span>}
      <code>{finding.kind}</code>
      <Place of={finding} viewer={viewer} />
    </p>
  </li>
);
