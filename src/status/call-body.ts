/** What a call of the webhook says. */
import type { Incident, OverIncident } from "./incidents.ts";
import type { Finding, Subject } from "./types.ts";

/** Longest text of a finding in a call, in UTF-16 units; and longest name of a function. JSON makes at most six bytes of one: all together stay below 32 kB. */
const TEXT_MAX = 2_000;
const NAME_MAX = 500;

export type CallType = "incident.opened" | "incident.over";

/** The id of a call: the same whenever it is made for the same incident, so that a receiver knows it again. Without a `.`, as it is signed. */
export function callId(incidentId: string, type: CallType): string {
  return `${incidentId}_${type.slice("incident.".length)}`;
}

/**
 * The body of a call, as text: what is sent is what was signed.
 * @param over the incident is over since `overMs`; null: it is not.
 */
export function callBody(incident: Incident, over: Pick<OverIncident, "overMs"> | null, nowMs: number): string {
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
    },
  });
}

/** The body of a call that only tests. */
export function testBody(nowMs: number): string {
  const data = { summary: "A test of the webhook: nothing is wrong, and nothing has to be done." };
  return JSON.stringify({ type: "webhook.test", timestamp: rfc3339(nowMs), data });
}

function subjectOf(subject: Subject): Subject {
  return subject.type === "function"
    ? { type: "function", name: subject.name.slice(0, NAME_MAX).toWellFormed() }
    : subject;
}

/** A sentence as any chat or pager may show it: on one line, in the order in which it stands, and without a link, as functions may be named like one. */
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
