import { errorText, log } from "../../../../base/logger.ts";
import { within } from "../../../../base/platform.ts";
import { type InnerApi, InnerFailure } from "../../inner-api.ts";
import type { FunctionDayView, StatusView } from "../../views/account.ts";
import type { JobView, LedgerView } from "../../views/job.ts";

/** Jobs shown with details; a link leads to the others. */
export const DETAILED_MAX = 25;

/** How long one job may delay a page, in ms. Tests override it. */
export const ROW_PATIENCE = { ms: 1_500 };

/** How long the status may delay the page, in ms. Tests override it. */
export const LOOK_PATIENCE = { ms: 8_000 };

/** What waits for a job; null: its log does not answer. */
export type Waiting = Pick<LedgerView, "pending" | "oldest_pending_seconds"> | null;

export interface Jobs {
  rows: readonly { job: JobView; waiting: Waiting }[];
  /** Including those without a row. */
  all: readonly JobView[];
}

/** The jobs, failing ones first. Asked in parallel, each with a deadline. */
async function askJobs(api: InnerApi): Promise<Jobs> {
  const { items } = await api.list<JobView>("/logship/jobs");
  const detailed = items.toSorted((a, b) => urgency(a) - urgency(b)).slice(0, DETAILED_MAX);
  const rows = await Promise.all(detailed.map(async (job) => ({ job, waiting: await askWaiting(api, job.id) })));
  return { rows, all: items };
}

/** null: unavailable. */
export function askJobsOrNot(api: InnerApi): Promise<Jobs | null> {
  return orNull(askJobs(api), (error) => log.error("the jobs could not be asked for", { error }));
}

/** null: it is refused, or fails, which is logged. */
async function orNull<T>(asked: Promise<T>, complain: (error: string) => void): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof InnerFailure)) complain(errorText(error));
    return null;
  }
}

function urgency({ error_message, enabled }: JobView): number {
  return error_message !== null ? 0 : enabled ? 1 : 2;
}

export function askWaiting(api: InnerApi, id: number): Promise<Waiting> {
  const asked = api.get<LedgerView>(`/logship/jobs/${id}/ledger`);
  // A late failure is ignored.
  asked.catch(() => {});
  return orNull(within(ROW_PATIENCE.ms, asked, null), (error) =>
    log.warn("a job's row could not be made", { job: id, error }),
  );
}

/** null: unavailable. */
export function askStatus(api: InnerApi): Promise<StatusView | null> {
  const asked = within(LOOK_PATIENCE.ms, api.get<StatusView>("/logship/status"), null);
  return orNull(asked, (error) => log.error("the status could not be asked for", { error }));
}

/** Workers of the last day, the worst first, and how many there are. null: unavailable. */
export interface Workers {
  days: readonly FunctionDayView[];
  total: number;
}

export async function askWorkers(api: InnerApi): Promise<Workers | null> {
  const asked = api.list<FunctionDayView>("/logship/functions", { per_page: DETAILED_MAX });
  const answer = await orNull(asked, (error) => log.error("the Workers could not be asked for", { error }));
  return answer && { days: answer.items, total: answer.info.total_count };
}
