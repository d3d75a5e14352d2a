import type { PastIncident } from "../status/incident-rows.ts";
import { watch } from "../status/watch.ts";
import { type Incident, LIST_INCIDENTS } from "./docs/incidents.ts";
import { isoTime, listed } from "./envelope.ts";
import type { AppContext, Resource } from "./route.ts";

/** Incidents of one answer: all open ones fit, and some past ones. */
const SHOWN_MAX = 200;

export const incidentRoutes: readonly Resource[] = [
  { path: "/incidents", methods: { GET: { permission: "logs:read", doc: LIST_INCIDENTS, handle: listIncidents } } },
];

async function listIncidents(c: AppContext): Promise<Response> {
  const incidents: PastIncident[] = await watch(c.env.WATCH).incidents(SHOWN_MAX);
  return listed(c, incidents.map(present), { page: 1, perPage: SHOWN_MAX, total: incidents.length });
}

function present({ id, finding, sinceMs, openedMs, overMs, flaps }: PastIncident): Incident {
  return {
    id,
    kind: finding.kind as Incident["kind"],
    severity: finding.severity,
    subject: finding.subject,
    since: isoTime(sinceMs),
    opened_at: isoTime(openedMs),
    over_since: isoTime(overMs),
    flaps,
    affected: finding.affected,
    summary: finding.summary,
    advice: finding.advice,
  };
}
