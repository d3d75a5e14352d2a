/** The addresses of each page pattern in a seeded shipper. */
import { MARK } from "./hostile-text.ts";
import type { Seeded } from "./seed.ts";

const odd = ({ functions }: Seeded): string => encodeURIComponent(functions.odd);
const delivering = (rest: string) => (seeded: Seeded) => [`/jobs/${seeded.jobs.delivering}${rest}`];

/** A time that covers what the seed delivers. */
const SPAN = "since=2026-01-01&until=2999-01-01";

/** By the patterns of src/web/dashboard/pages.ts; places.test.ts reports missing ones. */
export const PLACES: Readonly<Record<string, (seeded: Seeded) => readonly string[]>> = {
  "/": () => ["/"],
  "/cost": () => ["/cost"],
  "/find": () => ["/find", "/find?q=o"],
  "/jobs": () => ["/jobs"],
  "/jobs/new": ({ jobs }) => ["/jobs/new", `/jobs/new?from=${jobs.odd}`],
  "/jobs/:job_id": ({ jobs }) => [
    ...Object.values(jobs).map((id) => `/jobs/${id}`),
    `/jobs/${jobs.delivering}?range=30d`,
  ],
  "/jobs/:job_id/edit": ({ jobs }) => [jobs.paused, jobs.odd].map((id) => `/jobs/${id}/edit`),
  "/jobs/:job_id/delete": delivering("/delete"),
  "/jobs/:job_id/objects": delivering("/objects"),
  "/jobs/:job_id/objects/:number": (seeded) => delivering(`/objects/${seeded.object}`)(seeded),
  "/jobs/:job_id/objects/:number/download": (seeded) => delivering(`/objects/${seeded.object}/download`)(seeded),
  "/jobs/:job_id/replay": (seeded) => ["/replay", `/replay?${SPAN}`].flatMap((rest) => delivering(rest)(seeded)),
  "/jobs/:job_id/replay/destination": (seeded) =>
    ["", "&scheme=s3"].flatMap((scheme) => delivering(`/replay/destination?${SPAN}${scheme}`)(seeded)),
  "/jobs/:job_id/rerun": delivering("/rerun"),
  "/jobs/:job_id/replay/:replay_id": (seeded) => delivering(`/replay/${seeded.replay}`)(seeded),
  "/functions": () => ["/functions"],
  "/functions/:name": (seeded) => ["/functions/shop", `/functions/${odd(seeded)}`, "/functions/never-called"],
  "/problems": () => ["/problems", `/problems?state=ignored&worker=${MARK}`],
  "/problems/:problem_id": ({ problem }) => [`/problems/${problem}`, `/problems/${problem}?range=30d`],
  "/attach": () => ["/attach"],
  // The second has a fault.
  "/live": () => ["/live", "/live?q=%28a"],
  // The second has more than one page, the third a fault; the last opens what is hostile.
  "/search": ({ jobs }) => [
    "/search",
    "/search?q=a",
    "/search?q=%28a",
    `/search?text=${MARK}&last=own&${SPAN}&job=${jobs.delivering}`,
  ],
  "/search/counts": ({ jobs }) => [
    "/search/counts?last=1h",
    `/search/counts?last=own&${SPAN}&job=${jobs.delivering}&pins=Event.Request.URL,Fields.${MARK}`,
  ],
  "/search/export": () => ["/search/export?q=a"],
  "/live/recent": () => ["/live/recent"],
  "/searches": () => ["/searches"],
  "/searches/new": () => ["/searches/new", `/searches/new?query=${MARK}`],
  "/searches/:search_id": () => ["/searches/1", "/searches/2?saved"],
  "/searches/:search_id/delete": () => ["/searches/1/delete"],
  "/set-aside": () => ["/set-aside"],
  "/set-aside/:id": ({ aside }) => [`/set-aside/${aside}`],
  "/set-aside/:id/download": ({ aside }) => [`/set-aside/${aside}/download`],
  "/set-aside/:id/elsewhere": ({ aside }) => ["", "?scheme=s3"].map((query) => `/set-aside/${aside}/elsewhere${query}`),
  "/set-aside/:id/delete": ({ aside }) => [`/set-aside/${aside}/delete`],
  "/status": () => ["/status"],
  "/status/alerts": () => ["/status/alerts"],
  "/status/alerts/:alert_id": () => ["/status/alerts/2"],
  "/status/webhook": () => ["/status/webhook"],
  "/incidents": () => ["/incidents"],
  "/incidents/:incident_id": () => [],
  "/alerts": () => ["/alerts", "/alerts?format=pagerduty"],
  "/alerts/:alert_id": () => ["/alerts/2", "/alerts/2?added&note=path"],
  "/alerts/:alert_id/delete": () => ["/alerts/2/delete"],
  "/alerts/webhook": () => ["/alerts/webhook"],
  "/alerts/webhook/delete": () => ["/alerts/webhook/delete"],
  "/access": () => ["/access"],
  "/access/tokens": () => ["/access/tokens"],
  "/access/tokens/:id/delete": ({ tokens }) => [`/access/tokens/${tokens.reader.id}/delete`],
  "/access/members": () => ["/access/members"],
  "/access/members/:id": ({ member }) => [`/access/members/${member}`],
  "/access/members/:id/delete": ({ member }) => [`/access/members/${member}/delete`],
  "/access/audit": () => ["/access/audit"],
  "/session": () => ["/session"],
};

/** Patterns that give a file, not a page. */
export const FILES: readonly string[] = [
  "/search/export",
  "/jobs/:job_id/objects/:number/download",
  "/live/recent",
  "/set-aside/:id/download",
];

/** Addresses at which nothing exists. */
export const NOTHING = ["/nothing-here", "/jobs/999999", "/problems/0123456789abcdef"];
