import * as z from "zod";
import { unavailable } from "../../base/errors.ts";
import { within } from "../../base/platform.ts";
import { isOpen } from "../../ship/job/windows.ts";
import { jobCanary } from "../../ship/reader/all-readers.ts";
import type { CanaryReport } from "../../ship/reader/canary.ts";
import { exactly, Time } from "./docs/common.ts";
import { isoTime, success } from "./envelope.ts";
import { SILENT, UNCONFIRMED } from "./job-view.ts";
import { requireJob } from "./jobs.ts";
import type { AppContext, Resources, RouteDoc } from "./route.ts";

const CanaryView = exactly(
  "Canary",
  {
    enabled: z.boolean().describe("Whether canaries are sent: the job has the option `canary` and is enabled."),
    state: z
      .enum(["ok", "waiting", "failed", "missing", "damaged", "unreadable"])
      .nullable()
      .describe(
        "`ok`: the newest was read back unchanged. `waiting`: none was read back yet, and none is overdue. `failed`: it could not be written, or none was sent. " +
          "`missing`: not found, or an older one was. `damaged`: other bytes were found. `unreadable`: the store refuses the read or does not answer. null: no canary.",
      ),
    since: Time.nullable().describe("Start of this state."),
    last_ok: Time.nullable().describe("When one was last read back unchanged."),
    last_run: Time.nullable().describe("When the newest was sent."),
    next_run: Time.nullable().describe("When the next is sent, or the newest is looked for again."),
    key: z.string().nullable().describe("Its key in the bucket; each canary overwrites the one before."),
    why: z.string().nullable().describe("What is wrong, or why there is none; null: nothing is wrong."),
  },
  "A synthetic event that is sent every hour and read back.",
);
type CanaryView = z.infer<typeof CanaryView>;

const READ_CANARY = {
  summary: "Show a job's canary",
  description:
    "Once an hour, a job with the option `canary` writes a synthetic event to its destination, in its own format, as a separate object, and reads it back. No count includes it.",
  result: CanaryView,
} satisfies RouteDoc;

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
