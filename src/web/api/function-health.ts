import type * as z from "zod";
import type { Platform } from "../../base/platform.ts";
import { HOUR_MS, hourOf } from "../../base/time.ts";
import type { Config } from "../../config.ts";
import { eventMs } from "../../formats/record/record.ts";
import { fairly } from "../../formats/record/shares.ts";
import { byWorst, type Counts, sumOfDay } from "../../ship/log/function-days.ts";
import {
  addedHealth,
  type Health,
  invocations,
  NO_HEALTH,
  pairsOf,
  problemsOf,
  quantile,
} from "../../ship/log/function-health.ts";
import { VERSIONS_KEPT } from "../../ship/log/function-versions.ts";
import type { RanIn } from "../../ship/log/health-keys.ts";
import { FUNCTION_HEALTH_HOURS, SLOT_MS, SLOTS_KEPT } from "../../ship/log/health-slots.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import type { Problem } from "../../ship/log/problems.ts";
import { type FunctionDay, LIST_FUNCTION_DAYS } from "./docs/function-days.ts";
import {
  ERRORS_SHOWN,
  type FunctionHealth,
  type FunctionSum,
  type FunctionVersion,
  LIST_VERSIONS,
  READ_FUNCTION_HEALTH,
} from "./docs/function-health.ts";
import { isoTime, listed, success } from "./envelope.ts";
import { requireFunction, scriptName } from "./functions.ts";
import { hoursAsked, spanAsked } from "./health.ts";
import { recordOf } from "./problems.ts";
import { pageOf, queryOf } from "./query.ts";
import type { AppContext, Resources } from "./route.ts";

export const functionHealthRoutes: Resources = {
  "/:script_name/health": { GET: { permission: "logs:read", doc: READ_FUNCTION_HEALTH, handle: readFunctionHealth } },
};

/** Of all functions at once. */
export const functionDayRoutes: Resources = {
  "/functions": { GET: { permission: "logs:read", doc: LIST_FUNCTION_DAYS, handle: listDays } },
};

/** Below `/workers/scripts`, Cloudflare has versions of its own. */
export const versionRoutes: Resources = {
  "/:script_name/versions": { GET: { permission: "logs:read", doc: LIST_VERSIONS, handle: listVersions } },
};

/** Five minutes shown by default: six hours. */
const SLOTS_SHOWN = 72;

async function readFunctionHealth(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const name = scriptName(c);
  const { every } = queryOf(c, { query: READ_FUNCTION_HEALTH.query.pick({ every: true }) });
  const nowMs = platform.now();
  const isSlots = every === "5m";
  const stepMs = isSlots ? SLOT_MS : HOUR_MS;
  const asked = isSlots ? spanAsked(c, nowMs, stepMs, SLOTS_SHOWN) : hoursAsked(c, nowMs);
  const now = Math.floor(nowMs / stepMs);
  const since = Math.max(asked.since, now - (isSlots ? SLOTS_KEPT : FUNCTION_HEALTH_HOURS) + 1);
  const until = Math.max(since, Math.min(asked.until, now + 1));
  const log = new LogShards(c.env);
  const [found, versions, { problems }] = await Promise.all([
    isSlots ? log.functionSlots(name, since, until) : log.functionHours(name, since, until),
    log.functionVersions(name),
    // A shard of the release before does not tell them: the counts stand without.
    log.problems(name).catch(() => ({ problems: [] })),
  ]);
  if (found.length === 0) await requireFunction(c);
  const pieces = piecesOf(found, since, until, stepMs);
  return success(c, {
    since: isoTime(since * stepMs),
    until: isoTime(until * stepMs),
    total: presentSum(sumOf(found)),
    hours: isSlots ? [] : pieces.map(({ at, ...rest }) => ({ hour: at, ...rest })),
    ...(isSlots && { slots: pieces.map(({ at, ...rest }) => ({ slot: at, ...rest })) }),
    deployments: versions
      .filter(({ firstMs }) => firstMs >= since * stepMs && firstMs < until * stepMs)
      .map(({ version, tag, firstMs }) => ({ version, tag, at: isoTime(firstMs) })),
    errors: errorsIn(found, problems),
  } satisfies FunctionHealth);
}

async function listDays(c: AppContext): Promise<Response> {
  const days = (await new LogShards(c.env).functionDays()).sort(byWorst);
  const { shown, info } = pageOf(queryOf(c, LIST_FUNCTION_DAYS), days);
  const views = shown.map((day): FunctionDay => {
    const { scriptName: id, now, wall, lastMs, version, tag } = day;
    const { p95 = null } = quantiles(wall) ?? {};
    return {
      ...{ id, ...presentCounts(sumOfDay(day)), now: presentCounts(now), p95_ms: p95 },
      ...{ hours: day.hours.map(presentCounts), last_event: isoTime(lastMs), version, tag },
    };
  });
  return listed(c, views, info);
}

function presentCounts({ events: invocations, failed }: Counts) {
  return { invocations, failed };
}

async function listVersions(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const name = scriptName(c);
  const now = hourOf(platform.now());
  const log = new LogShards(c.env);
  const [found, versions] = await Promise.all([
    log.functionHours(name, now - FUNCTION_HEALTH_HOURS + 1, now + 1),
    log.functionVersions(name),
  ]);
  if (found.length === 0 && versions.length === 0) await requireFunction(c);
  const all = versions.map(({ version, tag, firstMs, lastMs }): FunctionVersion => {
    const own = found.filter((each) => each.version === version);
    const { invocations: requests, failed, wall_ms, cpu_ms } = presentSum(sumOf(own));
    const lastSeenMs = Math.max(lastMs, ...own.map(({ health }) => health.lastMs));
    return {
      ...{ version, tag, first_seen: isoTime(firstMs), last_seen: isoTime(lastSeenMs) },
      ...{ requests, failed, wall_ms, cpu_ms },
    };
  });
  return listed(c, all, { page: 1, perPage: VERSIONS_KEPT, total: all.length });
}

/** @param found in any order; several of the same time are summed. */
function piecesOf(found: readonly RanIn[], since: number, until: number, stepMs: number) {
  const byTime = Map.groupBy(found, ({ at }) => at);
  return Array.from({ length: until - since }, (_, i) => {
    const parts = byTime.get(since + i) ?? [];
    const versions = [...Map.groupBy(parts, ({ version }) => version)].map(([version, own]) => {
      const { invocations: count, failed } = presentSum(sumOf(own));
      return { version, invocations: count, failed };
    });
    const partial = parts.some(({ isPartial }) => isPartial);
    return { at: isoTime((since + i) * stepMs), ...presentSum(sumOf(parts)), versions, partial };
  });
}

function sumOf(found: readonly RanIn[]): Health {
  return found.reduce<Health>((sum, { health }) => addedHealth(sum, health), NO_HEALTH);
}

/** The problems of a function in some time, the most frequent first. */
function errorsIn(found: readonly RanIn[], problems: readonly Problem[]): FunctionHealth["errors"] {
  const counts = new Map<string, number>();
  for (const [id, count] of found.flatMap(({ health }) => problemsOf(health)))
    counts.set(id, count + (counts.get(id) ?? 0));
  const errors = problems
    .flatMap((problem) => ({ problem, count: problem.ids.reduce((sum, id) => sum + (counts.get(id) ?? 0), 0) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count || eventMs(b.problem.lastMs) - eventMs(a.problem.lastMs));
  return fairly(errors, ERRORS_SHOWN, ({ problem }) => problem.source)
    .sort((a, b) => b.count - a.count)
    .map(({ problem, count }) => presentError(problem, count));
}

function presentSum(health: Health): z.infer<typeof FunctionSum> {
  const { statuses = [] } = health;
  return {
    invocations: invocations(health),
    failed: health.failed,
    outcomes: health.outcomes.map(({ outcome, count }) => ({ outcome, count })).sort((a, b) => b.count - a.count),
    server_errors: health.serverErrors,
    statuses: pairsOf(statuses).map(([status, count]) => ({ status, count })),
    wall_ms: quantiles(health.wall),
    cpu_ms: quantiles(health.cpu),
  };
}

function quantiles(sketch: Health["wall"]): { p50: number; p95: number; p99: number } | null {
  const [p50, p95, p99] = [quantile(sketch, 0.5), quantile(sketch, 0.95), quantile(sketch, 0.99)];
  return p50 === null || p95 === null || p99 === null ? null : { p50, p95, p99 };
}

function presentError(problem: Problem, count: number): FunctionHealth["errors"][0] {
  const { id, scriptName, name, message, firstMs, firstRay, lastMs, lastRay } = problem;
  return {
    ...{ id, name, message, count, first: isoTime(eventMs(firstMs)), last: isoTime(eventMs(lastMs)) },
    first_record: recordOf(scriptName, firstMs, firstRay),
    record: recordOf(scriptName, lastMs, lastRay),
  };
}
