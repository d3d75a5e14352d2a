/** The body of a webhook call. */

import type { Finding, Subject } from "../status/finding.ts";
import type { Incident, OverIncident } from "./incidents.ts";
import { linkTo, statusLink } from "./link.ts";

/**
 * Longest text of a finding in a call, and longest name of a function, in UTF-16 units. JSON makes
 * at most six bytes of a unit: a call stays below 32 kB.
 */
const TEXT_MAX = 2_000;
const NAME_MAX = 500;
/** The same of a job's name, which its owner chose. */
const OWN_NAME_MAX = 120;

export type CallType = "incident.opened" | "incident.over";

/**
 * The id of a call: the same on every try, so that a receiver can deduplicate. Has no `.`, which
 * ends the id in the signed text.
 */
export function callId({ id, worse }: Pick<Incident, "id" | "worse">, type: CallType): string {
  return `${id}_${type.slice("incident.".length)}${worse && type === "incident.opened" ? "_worse" : ""}`;
}

/** What a call says, as its body has it. */
export interface CallBody {
  type: CallType | "webhook.test";
  timestamp: string;
  data: {
    summary: string;
    incident?: string;
    kind?: string;
    severity?: Finding["severity"];
    subject?: Subject;
    since?: string;
    over_since?: string | null;
    affected?: Finding["affected"];
    advice?: string;
    /** Of a job that has a name. */
    job_name?: string;
    /** Of a receiver of alerts that fails. */
    receiver?: Finding["receiver"];
    /** The page of the dashboard; absent: its address is unknown. */
    url?: string;
  };
}

/**
 * The body of a call, as text: exactly what is signed is sent, and every try sends the same.
 * @param over null: the incident is open.
 * @param origin of the dashboard; null: unknown.
 */
export function callBody(
  incident: Incident,
  over: Pick<OverIncident, "overMs"> | null,
  nowMs: number,
  origin: string | null,
): string {
  const { id, finding, sinceMs, openedMs, flaps } = incident;
  return JSON.stringify({
    type: (over === null ? "incident.opened" : "incident.over") satisfies CallType,
    timestamp: rfc3339(nowMs),
    data: {
      incident: id,
      kind: finding.kind,
      severity: finding.severity,
      subject: subjectOf(finding.subject),
      since: rfc3339(sinceMs),
      opened_at: rfc3339(openedMs),
      over_since: over === null ? null : rfc3339(over.overMs),
      flaps,
      affected: finding.affected,
      summary: plain(finding.summary),
      advice: plain(finding.advice),
      ...namesOf(finding),
      ...(origin !== null && { url: linkTo(origin, finding) }),
    },
  });
}

/** The body of a test call. @param origin as of {@link callBody}. */
export function testBody(nowMs: number, origin: string | null): string {
  const data = {
    summary: "This is a test call. Nothing is wrong.",
    ...(origin !== null && { url: statusLink(origin) }),
  };
  return JSON.stringify({ type: "webhook.test", timestamp: rfc3339(nowMs), data });
}

function subjectOf(subject: Subject): Subject {
  if (subject.type === "search") return { ...subject, name: plain(subject.name).trim() };
  return subject.type === "function"
    ? { type: "function", name: subject.name.slice(0, NAME_MAX).toWellFormed() }
    : subject;
}

/** What owners call the job or receiver. */
function namesOf({ jobName, receiver }: Finding): Pick<CallBody["data"], "job_name" | "receiver"> {
  return {
    ...(jobName !== undefined && { job_name: plain(jobName).slice(0, OWN_NAME_MAX).toWellFormed().trim() }),
    ...(receiver !== undefined && { receiver: { id: receiver.id, name: plain(receiver.name).trim() } }),
  };
}

/**
 * A sentence for a chat or pager: on one line, without control characters, and without links, as a
 * function may be named like one.
 */
function plain(text: Finding["summary"]): string {
  return text
    .slice(0, TEXT_MAX)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .replaceAll("://", ": //");
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}
