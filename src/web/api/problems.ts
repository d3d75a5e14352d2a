import { badValue, notFound } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import { HOUR_MS, hourOf } from "../../base/time.ts";
import type { Config } from "../../config.ts";
import { watch } from "../../operate/alerts/watch.ts";
import { decidedOf, standingOf } from "../../operate/status/problem-rules.ts";
import type { ProblemState } from "../../operate/status/problem-states.ts";
import { problemsOf } from "../../ship/log/function-health.ts";
import type { RanIn } from "../../ship/log/health-keys.ts";
import { FUNCTION_HEALTH_HOURS, SLOT_MS, SLOTS_KEPT, slotOf } from "../../ship/log/health-slots.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import type { Problem } from "../../ship/log/problems.ts";
import { bodyOf } from "./body.ts";
import type { ProblemRecord } from "./docs/function-health.ts";
import { LIST_PROBLEMS, type Problem as ProblemView, READ_PROBLEM, UPDATE_PROBLEM } from "./docs/problems.ts";
import { isoTime, listed, success } from "./envelope.ts";
import { pageOf, queryOf } from "./query.ts";
import type { AppContext, Resources } from "./route.ts";

export const problemRoutes: Resources = {
  "/problems": { GET: { permission: "logs:read", doc: LIST_PROBLEMS, handle: listProblems } },
  "/problems/:problem_id": {
    GET: { permission: "logs:read", doc: READ_PROBLEM, handle: readProblem },
    PATCH: { permission: "logs:edit", action: "problem.update", doc: UPDATE_PROBLEM, handle: updateProblem },
  },
};

async function listProblems(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const { state, worker: scriptName, since, ...page } = queryOf(c, LIST_PROBLEMS);
  const sinceMs = since === undefined ? 0 : Date.parse(since);
  const [list, states] = await Promise.all([new LogShards(c.env).problems(scriptName), statesOf(c)]);
  const seen = list.problems.filter(({ seenMs }) => seenMs >= sinceMs);
  const all = seen.map((problem) => present(problem, decidedOf(problem, states), platform.now()));
  const isAsked = (one: ProblemView): boolean =>
    state === undefined ||
    one.state === state ||
    (state === "new" && one.new) ||
    (state === "regressed" && one.regressed);
  const { shown, info } = pageOf(page, all.filter(isAsked));
  return listed(c, shown, info, { dropped: list.dropped, other_records: list.others });
}

async function readProblem(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const problem = await requireProblem(c);
  const nowMs = platform.now();
  const [hour, slot] = [hourOf(nowMs), slotOf(nowMs)];
  const log = new LogShards(c.env);
  const [hours, slots, states] = await Promise.all([
    log.functionHours(problem.scriptName, hour - FUNCTION_HEALTH_HOURS + 1, hour + 1),
    log.functionSlots(problem.scriptName, slot - SLOTS_KEPT + 1, slot + 1),
    statesOf(c),
  ]);
  const counts = countsOf(problem, hours).map(({ at, ...rest }) => ({ hour: isoTime(at * HOUR_MS), ...rest }));
  const bySlot = countsOf(problem, slots).map(({ at, ...rest }) => ({ slot: isoTime(at * SLOT_MS), ...rest }));
  return success(c, { ...present(problem, decidedOf(problem, states), nowMs), counts, slots: bySlot });
}

/** By time and version, the oldest first. */
function countsOf({ ids, source }: Problem, found: readonly RanIn[]) {
  const sum = new Map<string, { at: number; version: string | null; count: number }>();
  for (const { at, version, health, ...of } of found)
    for (const [id, count] of of.source === source ? problemsOf(health) : []) {
      const key = `${at} ${version}`;
      if (ids.includes(id)) sum.set(key, { at, version: version || null, count: count + (sum.get(key)?.count ?? 0) });
    }
  return [...sum.values()].sort((a, b) => a.at - b.at);
}

async function updateProblem(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const { state, until = null } = await bodyOf(c, UPDATE_PROBLEM);
  const untilMs = until === null ? null : Date.parse(until);
  if (untilMs !== null && (state !== "ignored" || untilMs <= platform.now()))
    throw badValue("until", state === "ignored" ? "must be later than now" : "goes with ignored alone");
  const problem = await requireProblem(c);
  const { kind, name } = c.var.caller;
  const by = kind === "admin" ? kind : name;
  // Its records are of the clocks of shards: none that is there already is one that came again.
  const atMs = Math.max(platform.now(), problem.seenMs);
  const decided = state === "open" ? null : { state, atMs, by, untilMs };
  // Of one that counts with it, an earlier decision is over.
  for (const id of problem.ids) await watch(c.env.WATCH).setProblem(id, id === problem.id ? decided : null);
  return success(c, present(problem, decided === null ? undefined : { id: problem.id, ...decided }, platform.now()));
}

/** @throws ApiError 404 if there is none. */
async function requireProblem(c: AppContext): Promise<Problem> {
  const id = c.req.param("problem_id") ?? "";
  const { problems } = await new LogShards(c.env).problems();
  const problem = problems.find(({ ids }) => ids.includes(id));
  if (problem === undefined) throw notFound("no such problem");
  return problem;
}

async function statesOf(c: AppContext): Promise<ReadonlyMap<string, ProblemState>> {
  const states: ProblemState[] = await watch(c.env.WATCH).problemStates();
  return new Map(states.map((state) => [state.id, state]));
}

function present(problem: Problem, decided: ProblemState | undefined, nowMs: number): ProblemView {
  const { id, scriptName, source, name, message, frame, count, bornMs, seenMs, versions } = problem;
  const { state, isNew, isRegressed } = standingOf(problem, decided, nowMs);
  return {
    ...{ id, worker: scriptName, source, name, message, frame, count, state },
    ignored_until: state === "ignored" ? isoTime(decided?.untilMs ?? null) : null,
    changed_by: decided?.by ?? null,
    changed_at: isoTime(decided?.atMs ?? null),
    ...{ new: isNew, regressed: isRegressed },
    only_version: versions.length === 1 ? (versions[0] ?? null) : null,
    ...{ first_seen: isoTime(bornMs), last_seen: isoTime(seenMs) },
    first_record: recordOf(scriptName, problem.firstMs, problem.firstRay),
    last_record: recordOf(scriptName, problem.lastMs, problem.lastRay),
  };
}

/** By what a search finds it. */
export function recordOf(script: string, atMs: number, ray: string): ProblemRecord {
  return { script, event_timestamp_ms: atMs, ray_id: ray === "" ? null : ray };
}
