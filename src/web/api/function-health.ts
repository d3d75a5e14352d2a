import type * as z from "zod";
import type { Platform } from "../../base/platform.ts";
import { HOUR_MS, hourOf } from "../../base/time.ts";
import type { Config } from "../../config.ts";
import { fairly } from "../../formats/record/shares.ts";
import {
  addedHealth,
  type Health,
  invocations,
  NO_HEALTH,
  problemsOf,
  quantile,
} from "../../ship/log/function-health.ts";
import { FUNCTION_HEALTH_HOURS, type HourHealth } from "../../ship/log/function-health-hours.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import type { Problem } from "../../ship/log/problems.ts";
import { ERRORS_SHOWN, type FunctionHealth, type FunctionSum, READ_FUNCTION_HEALTH } from "./docs/function-health.ts";
import { isoTime, success } from "./envelope.ts";
import { requireFunction, scriptName } from "./functions.ts";
import { hoursAsked } from "./health.ts";
import { recordOf } from "./problems.ts";
import type { AppContext, Resources } from "./route.ts";

export const functionHealthRoutes: Resources = {
  "/:script_name/health": { GET: { permission: "logs:read", doc: READ_FUNCTION_HEALTH, handle: readFunctionHealth } },
};

async function readFunctionHealth(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const name = scriptName(c);
  const nowMs = platform.now();
  const asked = hoursAsked(c, nowMs);
  const now = hourOf(nowMs);
  const since = Math.max(asked.since, now - FUNCTION_HEALTH_HOURS + 1);
  const until = Math.max(since, Math.min(asked.until, now + 1));
  const log = new LogShards(c.env);
  const [found, { problems }] = await Promise.all([
    log.functionHealth(name, since, until),
    // A shard of the release before does not tell them: the counts stand without.
    log.problems({ scriptName: name }).catch(() => ({ problems: [] })),
  ]);
  if (found.length === 0) await requireFunction(c);
  return success(c, presentHealth(found, problems, since, until));
}

/**
 * @param found in any order; several of the same hour are summed.
 * @param problems of the function.
 */
function presentHealth(
  found: readonly HourHealth[],
  problems: readonly Problem[],
  since: number,
  until: number,
): FunctionHealth {
  const byHour = Map.groupBy(found, ({ hour }) => hour);
  const hours = Array.from({ length: until - since }, (_, i) => {
    const parts = byHour.get(since + i) ?? [];
    const sum = parts.reduce((all, { health }) => addedHealth(all, health), NO_HEALTH);
    return {
      hour: isoTime((since + i) * HOUR_MS),
      ...presentSum(sum),
      partial: parts.some(({ isPartial }) => isPartial),
    };
  });
  const all = found.reduce((sum, { health }) => addedHealth(sum, health), NO_HEALTH);
  const counts = new Map<string, number>();
  for (const [id, count] of found.flatMap(({ health }) => problemsOf(health)))
    counts.set(id, count + (counts.get(id) ?? 0));
  const errors = problems
    .flatMap((problem) => ({ problem, count: counts.get(problem.id) ?? 0 }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || b.problem.lastMs - a.problem.lastMs);
  return {
    since: isoTime(since * HOUR_MS),
    until: isoTime(until * HOUR_MS),
    total: presentSum(all),
    hours,
    errors: fairly(errors, ERRORS_SHOWN, ({ problem }) => problem.source)
      .sort((a, b) => b.count - a.count)
      .map(({ problem, count }) => presentError(problem, count)),
  };
}

function presentSum(health: Health): z.infer<typeof FunctionSum> {
  return {
    invocations: invocations(health),
    failed: health.failed,
    outcomes: health.outcomes.map(({ outcome, count }) => ({ outcome, count })).sort((a, b) => b.count - a.count),
    server_errors: health.serverErrors,
    wall_ms: quantiles(health.wall),
    cpu_ms: quantiles(health.cpu),
  };
}

function quantiles(sketch: Health["wall"]): { p50: number; p95: number; p99: number } | null {
  const [p50, p95, p99] = [quantile(sketch, 0.5), quantile(sketch, 0.95), quantile(sketch, 0.99)];
  return p50 === null || p95 === null || p99 === null ? null : { p50, p95, p99 };
}

function presentError(problem: Problem, count: number): FunctionHealth["errors"][0] {
  const { id, scriptName, name, message, firstMs, lastMs, lastRay } = problem;
  const record = recordOf(scriptName, lastMs, lastRay);
  return { ...{ id, name, message, count, record }, first: isoTime(firstMs), last: isoTime(lastMs) };
}
