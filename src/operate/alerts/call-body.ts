/** The body of a webhook call. */

import { crc32 } from "node:zlib";
import type { Source } from "../../formats/record/source.ts";
import type { Finding, Subject } from "../status/finding.ts";
import type { Incident, OverIncident } from "./incidents.ts";
import { linkTo, pageLinks, statusLink } from "./link.ts";

/**
 * Longest text of a finding in a call, and longest name of a function, in UTF-16 units. JSON makes
 * at most six bytes of a unit: a call stays below 32 kB.
 */
const TEXT_MAX = 2_000;
const NAME_MAX = 500;
/** The same of a job's name, which its owner chose. */
const OWN_NAME_MAX = 120;

/** Incidents that a message lists beside the first, and how long each text of theirs is. */
const ALSO_MAX = 10;
const ALSO_TEXT_MAX = 300;

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
    /** Of what a sender of events names: who. */
    sender?: Source;
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
    /** Further pages of it: the problem, and the first record. */
    links?: ReturnType<typeof pageLinks>;
    /** The deployed version in which it began. */
    version?: string;
    /** Further incidents that the same message tells of, the worst first. */
    also?: Also[];
    /** How many more of them are not listed. */
    also_more?: number;
  };
}

/** What a message says of each of its further incidents. */
export type Also = Pick<CallBody["data"], "summary"> & {
  [name in "incident" | "kind" | "subject" | "severity" | "job_name" | "receiver"]?: CallBody["data"][name] | undefined;
};

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
      ...(finding.sender !== undefined && { sender: finding.sender }),
      since: rfc3339(sinceMs),
      opened_at: rfc3339(openedMs),
      over_since: over === null ? null : rfc3339(over.overMs),
      flaps,
      affected: finding.affected,
      summary: plain(finding.summary),
      advice: plain(finding.advice),
      ...namesOf(finding),
      ...(origin !== null && { url: linkTo(origin, finding), links: pageLinks(origin, finding) }),
      ...(finding.links?.version !== undefined && { version: plain(finding.links.version).slice(0, OWN_NAME_MAX) }),
    },
  });
}

/**
 * Calls of one type as one: the first by {@link worstFirst} as it is, and the others in its `also`.
 * Its id tells which: it is the same on each try, and another where it tells of others.
 * @param calls at least one; one alone stays as it is, to the byte.
 */
export function joinedCall(calls: readonly { id: string; body: string }[]): { id: string; body: string } {
  const parsed = calls.map((each) => ({ ...each, call: JSON.parse(each.body) as CallBody }));
  const [first, ...others] = parsed.sort((a, b) => worstFirst(a.call.data, b.call.data));
  if (first === undefined) throw new Error("no call");
  if (others.length === 0) return { id: first.id, body: first.body };
  const more = others.length - ALSO_MAX;
  const data: CallBody["data"] = {
    ...first.call.data,
    also: others.slice(0, ALSO_MAX).map(({ call }) => alsoOf(call.data)),
    ...(more > 0 && { also_more: more }),
  };
  const mark = crc32(others.map(({ id }) => id).join()).toString(16);
  return { id: `${first.id}_and_${mark}`, body: JSON.stringify({ ...first.call, data }) };
}

/** Errors first; what senders name, which they may make up, last of each; then what began first. */
function worstFirst(a: CallBody["data"], b: CallBody["data"]): number {
  const rank = ({ severity, sender, since = "" }: CallBody["data"]): string =>
    `${severity === "error" ? 0 : 1}${sender === undefined ? 0 : 1}${since}`;
  return rank(a) < rank(b) ? -1 : Number(rank(a) > rank(b));
}

/** What is not there is left out of the JSON. */
function alsoOf({ incident, kind, subject, severity, summary, job_name, receiver }: CallBody["data"]): Also {
  const names = { subject: subject && subjectOf(subject, OWN_NAME_MAX), job_name, receiver };
  return { incident, kind, severity, summary: summary.slice(0, ALSO_TEXT_MAX).toWellFormed(), ...names };
}

/** The body of a test call. @param origin as of {@link callBody}. */
export function testBody(nowMs: number, origin: string | null): string {
  const data = {
    summary: "This is a test call. Nothing is wrong.",
    ...(origin !== null && { url: statusLink(origin) }),
  };
  return JSON.stringify({ type: "webhook.test", timestamp: rfc3339(nowMs), data });
}

function subjectOf(subject: Subject, most = NAME_MAX): Subject {
  return "name" in subject ? { ...subject, name: subject.name.slice(0, most).toWellFormed() } : subject;
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
