import type { PastIncident } from "../status/incident-rows.ts";
import { watch } from "../status/watch.ts";
import { LIST_INCIDENTS } from "./docs/incidents.ts";
import { listed } from "./envelope.ts";
import type { Resource } from "./route.ts";

/** So many are shown: all that go on, and then some. */
const SHOWN_MAX = 200;

export const incidentRoutes: readonly Resource[] = [
  {
    path: "/incidents",
    methods: {
      GET: {
        permission: "logs:read",
        doc: LIST_INCIDENTS,
        async handle(c) {
          const incidents: PastIncident[] = await watch(c.env.WATCH).incidents(SHOWN_MAX);
          return listed(c, incidents.map(present), { page: 1, perPage: SHOWN_MAX, total: incidents.length });
        },
      },
    },
  },
];

function present({ id, finding, sinceMs, openedMs, overMs, flaps }: PastIncident): object {
  const { kind, severity, subject, affected, summary, advice } = finding;
  return {
    id,
    kind,
    severity,
    subject,
    since: new Date(sinceMs).toISOString(),
    opened_at: new Date(openedMs).toISOString(),
    over_since: overMs === null ? null : new Date(overMs).toISOString(),
    flaps,
    affected,
    summary,
    advice,
  };
}
