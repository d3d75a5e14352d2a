import type { PastIncident } from "../status/incident-rows.ts";
import { watch } from "../status/watch.ts";
import { LIST_INCIDENTS } from "./docs/incidents.ts";
import { listed } from "./envelope.ts";
import type { AppContext, Resource } from "./route.ts";
import { presentIncident } from "./status.ts";

/** Incidents of one answer: all open ones fit, and some past ones. */
const SHOWN_MAX = 200;

export const incidentRoutes: readonly Resource[] = [
  { path: "/incidents", methods: { GET: { permission: "logs:read", doc: LIST_INCIDENTS, handle: listIncidents } } },
];

async function listIncidents(c: AppContext): Promise<Response> {
  const incidents: PastIncident[] = await watch(c.env.WATCH).incidents(SHOWN_MAX);
  return listed(c, incidents.map(presentIncident), { page: 1, perPage: SHOWN_MAX, total: incidents.length });
}
