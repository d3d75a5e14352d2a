import type { FC } from "hono/jsx";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { State } from "../../parts/panel.tsx";
import { Ago, plural } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";

/** What a finding or an incident is about. */
export type SubjectView = { type: "account" } | { type: "job"; id: number } | { type: "function"; name: string };

export interface FindingView {
  kind: string;
  severity: "error" | "warning";
  subject: SubjectView;
  since: string | null;
  affected: { count: number; what: "records" | "events" | "messages" | "objects" } | null;
  summary: string;
  advice: string;
}

export interface StatusView {
  ok: boolean;
  checked_at: string;
  errors: number;
  warnings: number;
  findings: readonly FindingView[];
}

export interface IncidentView extends FindingView {
  id: string;
  since: string;
  opened_at: string;
  over_since: string | null;
  flaps: number;
}

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

/** What it is about, with a link for whoever may look at it. */
export const Subject: FC<{ of: SubjectView; viewer: Viewer }> = ({ of, viewer }) => {
  if (of.type === "account") return <>the account</>;
  if (of.type === "job") return <a href={`/jobs/${of.id}`}>job {of.id}</a>;
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
export const Findings: FC<{ findings: readonly FindingView[]; viewer: Viewer; nowMs: number }> = ({
  findings,
  ...who
}) => (
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

const Place: FC<{ kind: string; viewer: Viewer }> = ({ kind, viewer }) => {
  const place = Object.hasOwn(PLACES, kind) && may(viewer, "logs:edit") ? PLACES[kind] : undefined;
  return place === undefined ? null : <a href={place.href}>{place.label}</a>;
};

const One: FC<{ finding: FindingView; viewer: Viewer; nowMs: number }> = ({ finding, viewer, nowMs }) => (
  <li>
    <p class="lead">
      <Severity of={finding.severity} /> <Foreign text={finding.summary} />
    </p>
    <p>
      <Foreign text={finding.advice} />
    </p>
    <p class="beside quiet">
      <span>
        About <Subject of={finding.subject} viewer={viewer} />
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
      <Place kind={finding.kind} viewer={viewer} />
    </p>
  </li>
);
