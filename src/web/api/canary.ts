import { unavailable } from "../../base/errors.ts";
import { within } from "../../base/platform.ts";
import { isOpen } from "../../ship/job/windows.ts";
import { jobCanary } from "../../ship/reader/all-readers.ts";
import type { CanaryReport } from "../../ship/reader/canary.ts";
import { type CanaryView, READ_CANARY } from "./docs/canary.ts";
import { isoTime, success } from "./envelope.ts";
import { SILENT, UNCONFIRMED } from "./job-view.ts";
import { requireJob } from "./jobs.ts";
import type { AppContext, Resources } from "./route.ts";

/** How long the job's log may take to answer, in ms. */
const REPORT_MS = 10_000;

export const canaryRoutes: Resources = {
  "/jobs/:job_id/canary": { GET: { permission: "logs:read", doc: READ_CANARY, handle: readCanary } },
};

async function readCanary(c: AppContext): Promise<Response> {
  const { config } = await requireJob(c);
  if (!config.canary) return success(c, none("the job has no canary: its option is off"));
  if (!isOpen(config.windows)) return success(c, none("no canary is sent while the job is disabled"));
  const report = await within(REPORT_MS, jobCanary(c.env, config.id), undefined);
  if (report === undefined) throw unavailable(SILENT);
  if (report === null) throw unavailable(UNCONFIRMED);
  return success(c, present(report));
}

function none(why: string): CanaryView {
  return { enabled: false, state: null, since: null, last_ok: null, last_run: null, next_run: null, key: null, why };
}

function present({ state, sinceMs, lastOkMs, lastRunMs, nextRunMs, key, why }: CanaryReport): CanaryView {
  return {
    enabled: true,
    state,
    since: isoTime(sinceMs),
    last_ok: isoTime(lastOkMs),
    last_run: isoTime(lastRunMs),
    next_run: isoTime(nextRunMs),
    key,
    why,
  };
}
