import { notFound, unavailable } from "../../base/errors.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import type { IncidentEvent } from "../../operate/alerts/incident-events.ts";
import type { PastIncident } from "../../operate/alerts/incident-rows.ts";
import { overAtMs, stateOf } from "../../operate/alerts/incidents.ts";
import { type ShownFinding, type Snapshot, watch } from "../../operate/alerts/watch.ts";
import type { Finding, Links } from "../../operate/status/finding.ts";
import {
  type Finding as FindingView,
  type Incident,
  type IncidentDetails,
  LIST_INCIDENTS,
  READ_INCIDENT,
  READ_STATUS,
} from "./docs/status.ts";
import { isoTime, listed, success } from "./envelope.ts";
import type { AppContext, Resources } from "./route.ts";

/** How long a check may take, in ms; its own bounds are shorter. Tests override it. */
export const LOOK_PATIENCE = { ms: 25_000 };

/** Incidents of one answer: all open ones fit, and some past ones. */
const SHOWN_MAX = 400;

export const statusRoutes: Resources = {
  "/status": { GET: { permission: "logs:read", doc: READ_STATUS, handle: readStatus } },
  "/incidents": { GET: { permission: "logs:read", doc: LIST_INCIDENTS, handle: listIncidents } },
  "/incidents/:incident_id": { GET: { permission: "logs:read", doc: READ_INCIDENT, handle: readIncident } },
};

async function readStatus(c: AppContext): Promise<Response> {
  const { checkedMs, findings, incidents, notices, keptSinceMs } = await look(c.env.WATCH);
  const errors = findings.filter(({ severity }) => severity === "error").length;
  return success(c, {
    ok: findings.length === 0,
    checked_at: isoTime(checkedMs),
    errors,
    warnings: findings.length - errors,
    findings: findings.map(present),
    incidents: incidents.map(presentIncident),
    notices,
    kept_since: isoTime(keptSinceMs ?? null),
  });
}

/** @throws ApiError 503: a check that did not run is not a check that found nothing. */
async function look(namespace: Env["WATCH"]): Promise<Snapshot> {
  try {
    const seen = await answered("the watch", LOOK_PATIENCE.ms, watch(namespace).snapshot());
    if (seen !== null) return seen;
    throw new Error("it could not check");
  } catch (error) {
    log.error("the watch did not answer", { error: errorText(error) });
    throw unavailable("the watch does not answer, so the status is unknown; repeat the request");
  }
}

function present({ sinceMs, incidentId, ...finding }: ShownFinding): FindingView {
  return { ...presentFinding(finding), since: isoTime(sinceMs), incident: incidentId ?? null };
}

async function listIncidents(c: AppContext): Promise<Response> {
  const incidents: PastIncident[] = await watch(c.env.WATCH).incidents(SHOWN_MAX);
  return listed(c, incidents.map(presentIncident), { page: 1, perPage: SHOWN_MAX, total: incidents.length });
}

async function readIncident(c: AppContext): Promise<Response> {
  const found: { incident: PastIncident; events: IncidentEvent[] } | null = await watch(c.env.WATCH).incident(
    c.req.param("incident_id") ?? "",
  );
  if (found === null) throw notFound("there is no such incident, or it has been over for 30 days");
  return success(c, { ...presentIncident(found.incident), events: found.events.map(presentEvent) });
}

function presentEvent(event: IncidentEvent): IncidentDetails["events"][number] {
  const { type } = event;
  const at = isoTime(event.atMs);
  switch (type) {
    case "said":
    case "worse":
      return { at, type, summary: event.summary };
    case "gone":
    case "returned":
      return { at, type };
    case "muted":
      return { at, type, by: event.by, until: isoTime(event.untilMs) };
    case "unmuted":
      return { at, type, by: event.by };
  }
}

function presentIncident(incident: PastIncident): Incident {
  const { id, finding, sinceMs, openedMs, well, overMs, flaps, mutedUntilMs, mutedBy, told = [] } = incident;
  const state = overMs === null ? stateOf(incident) : "over";
  return {
    id,
    state,
    ...presentFinding(finding),
    since: isoTime(sinceMs),
    opened_at: isoTime(openedMs),
    recovering_since: state === "recovering" ? isoTime(well?.sinceMs ?? null) : null,
    over_at: state === "recovering" ? isoTime(overAtMs(incident)) : null,
    over_since: isoTime(overMs),
    flaps,
    muted_until: isoTime(mutedUntilMs ?? null),
    muted_by: mutedBy ?? null,
    told: told.map(({ atMs, taken: accepted, ...rest }) => ({ at: isoTime(atMs), accepted, ...rest })),
  };
}

function presentFinding({ kind, severity, affected, summary, advice, ...of }: Omit<Finding, "sinceMs" | "jobName">) {
  return {
    kind: kind as FindingView["kind"],
    severity,
    subject: of.subject,
    ...(of.rerun !== undefined && { rerun: of.rerun }),
    ...(of.receiver !== undefined && { receiver: of.receiver }),
    ...(of.eventKind !== undefined && { event_kind: of.eventKind }),
    ...(of.sender !== undefined && { sender: of.sender }),
    ...(of.problem !== undefined && { problem: of.problem }),
    affected,
    summary,
    advice,
    ...(of.links !== undefined && { links: presentLinks(of.links) }),
  };
}

function presentLinks({ problem, firstRecord, version }: Links): NonNullable<FindingView["links"]> {
  const at = firstRecord;
  return {
    ...(problem !== undefined && { problem }),
    ...(at && { first_record: { script_name: at.script, event_timestamp_ms: at.atMs, ray_id: at.rayId } }),
    ...(version !== undefined && { version }),
  };
}
