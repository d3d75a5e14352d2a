import { errorText, log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import { LOG_PRICES } from "../../base/prices.ts";
import { hourOf } from "../../base/time.ts";
import type { Config } from "../../config.ts";
import { rulesOf } from "../../ship/job/build.ts";
import { billOf, type Jobs, type Operation, type OperationName } from "../../ship/log/bill.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import { monthName, monthOf, NO_USE } from "../../ship/log/month-use.ts";
import { jobHealth } from "../../ship/reader/all-readers.ts";
import { emptyHour, type HealthHour, sumOf } from "../../ship/reader/upload-health.ts";
import { controlPlane, type StoredJob } from "../../state/control/plane.ts";
import { type Operations, READ_USAGE } from "./docs/usage.ts";
import { isoTime, success } from "./envelope.ts";
import type { AppContext, Resources } from "./route.ts";

/** How long a job's log may take to report its uploads, in ms. Tests override it. */
export const USAGE_PATIENCE = { ms: 3_000 };

/** Notes on the numbers, shown with them. */
const ASSUMPTIONS: readonly string[] = [
  `List prices are the public ones of December 2026; your account may pay less. Log lines are billed by size: each counts as ${LOG_PRICES.eventKb} kB, the average event of Workers Logs.`,
  "Rows written and requests of Durable Objects are derived from the counts by factors from the benchmark; they are within 25 % of what it measured.",
  "CPU time is that of the benchmark's machine, for records of 800 bytes, with the rules that the jobs have now: those of equal rules share the work. The active time of Durable Objects cannot be measured here.",
  "Not included: events sent over HTTP, the API and the dashboard, replays, canaries, redelivered messages, Cloudflare's own overhead, and storage.",
  "Uploads are counted for 30 days: on the 31st, those of the 1st are missing. Uploads of deleted jobs are missing, too.",
];

export const usageRoutes: Resources = {
  "/usage": { GET: { permission: "logs:read", doc: READ_USAGE, handle: readUsage } },
};

/** How much of the work the enabled jobs share. */
function sharing(jobs: readonly StoredJob[]): Jobs {
  const enabled = jobs.filter(({ config }) => config.windows.at(-1)?.untilMs === null);
  const rules = new Set(enabled.map(({ config }) => rulesOf(config) ?? config.id));
  return { all: jobs.length, enabled: enabled.length, rules: rules.size };
}

async function readUsage(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const nowMs = platform.now();
  const [kept, jobs] = await Promise.all([
    new LogShards(c.env).monthUse(),
    controlPlane(c.env.CONTROL).list() as Promise<StoredJob[]>,
  ]);
  // The log's clock and this one may disagree about the month; the log's month counts.
  const use = kept ?? { ...NO_USE, month: monthOf(nowMs), sinceMs: nowMs };
  const ids = jobs.map(({ config }) => config.id);
  const { sum, silent } = await uploadsOf(c.env, ids, use.sinceMs, nowMs);
  const { ok, retried, failed, records, bytes } = sum;
  const bill = billOf(use, { uploads: { ok, retried, failed }, records }, sharing(jobs), nowMs);
  return success(c, {
    month: monthName(use.month),
    since: kept === null ? null : isoTime(use.sinceMs),
    until: isoTime(nowMs),
    counted: {
      events: use.events,
      messages: use.messages,
      batches: use.batches,
      records_offered: use.offered,
      entries: use.entries,
      uploads: { ok, retried, failed },
      records_delivered: records,
      bytes_delivered: bytes,
    },
    silent_jobs: silent,
    operations: present(bill.operations),
    list_price_usd: bill.dollars,
    beyond_plan_usd: bill.beyondPlanDollars,
    vendor_price_usd: bill.vendor.dollars,
    vendor_beyond_plan_usd: bill.vendor.beyondPlanDollars,
    assumptions: ASSUMPTIONS,
  });
}

/**
 * The uploads of these jobs, summed, and the jobs whose logs do not answer. All are asked at once.
 */
async function uploadsOf(
  env: Env,
  ids: readonly number[],
  sinceMs: number,
  nowMs: number,
): Promise<{ sum: HealthHour; silent: number[] }> {
  const silent: number[] = [];
  const hours = await Promise.all(
    ids.map(async (id) => {
      try {
        const asked = jobHealth(env, id, hourOf(sinceMs), hourOf(nowMs) + 1);
        return await answered(`the log of job ${id}`, USAGE_PATIENCE.ms, asked);
      } catch (error) {
        log.warn("a log did not report its uploads", { job: id, error: errorText(error) });
        silent.push(id);
        return [];
      }
    }),
  );
  return { sum: hours.flat().reduce(sumOf, emptyHour(0)), silent: silent.sort((a, b) => a - b) };
}

function present(operations: { readonly [name in OperationName]: Operation }): Operations {
  const of = ({ amount, basis, dollars }: Operation) => ({ amount, basis, list_price_usd: dollars });
  return {
    queue_operations: of(operations.queueOperations),
    rows_written: of(operations.rowsWritten),
    object_requests: of(operations.objectRequests),
    object_gb_seconds: of(operations.objectGbSeconds),
    puts: of(operations.storeClassA),
    cpu_ms: of(operations.cpuMs),
    invocations: of(operations.requests),
    log_lines: of(operations.logEvents),
  };
}
