/**
 * A job starts in the past, and is run again, while a part dies, refuses, loses its answer or
 * hangs.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect } from "vitest";
import { ControlPlane, JobReader, TraceLog } from "../../src/index.ts";
import { Attempts } from "../../src/ship/reader/attempts.ts";
import { jobStatus } from "../../src/ship/reader/job-status.ts";
import { controlPlane } from "../../src/state/control/plane.ts";
import type { Replay } from "../../src/web/api/docs/replay.ts";
import type { Minted } from "../support/oracle.ts";
import { api } from "../support/runtime/api.ts";
import { type Breakage, PROMPT_BREAKAGES } from "../support/runtime/breakage.ts";
import { putOnHold } from "../support/runtime/hold.ts";
import type { World } from "../support/runtime/world.ts";
import { rule } from "../support/s3-script.ts";
import { rows, steps } from "./crashes.ts";
import type { Fault } from "./fault.ts";
import { row } from "./row.ts";
import { arrive, controlOf, expectSettled, pass } from "./stores.ts";

const MINUTE_MS = 60_000;
const FILTER = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "exception" } });
const isException = ({ record }: Minted): boolean => record.Outcome === "exception";
const isoOf = (ms: number): string => new Date(ms).toISOString();

/** The job that reads the past takes what a change of a job takes to be confirmed. */
async function patient(world: World): Promise<void> {
  world.jobs.tries = 5;
  await runInDurableObject(controlPlane(env.CONTROL), ({ patience }) => {
    Object.assign(patience, { oneMs: 50, allMs: 100 });
  });
}

/** Events that no job is offered, in several shards and some of them of a function that is off. */
async function before(world: World, shards: string): Promise<{ sinceMs: number; events: Minted[] }> {
  Object.assign(world.env, { LOG_SHARDS: shards });
  await arrive(world, world.mint(20), 4);
  world.clock.advance(15 * MINUTE_MS);
  const sinceMs = world.clock.nowMs();
  const events = [...world.mint(30, { days: 2 }), ...world.mint(10, { outcome: "exception" })];
  await world.take(events, 4);
  await world.jobs.setLogging("quiet", false);
  world.clock.advance(MINUTE_MS);
  await arrive(world, world.mint(8, { scriptName: "quiet" }), 4);
  world.clock.advance(45 * MINUTE_MS);
  return { sinceMs, events };
}

/** Begins with what was taken in before it was, while more comes. */
const begun = async (world: World, fault: Fault): Promise<void> => {
  await patient(world);
  const { sinceMs, events } = await before(world, "4");
  fault.begin();
  const job = await world.createJob({ fields: { enabled: true, since: isoOf(sinceMs) } });
  world.jobs.owes(job, events);
  await world.take(world.mint(20), 5);
  await fault.meet(() => world.deliverDue(), "the platform");
  world.clock.advance(MINUTE_MS);
  await fault.meet(() => world.runAlarms(), "the platform");
};

/** Is run again with another filter, while more comes. */
const rerun = async (world: World, fault: Fault): Promise<void> => {
  await patient(world);
  const { sinceMs, events } = await before(world, "2");
  const job = await world.createJob({
    fields: { enabled: true, since: isoOf(sinceMs), filter: FILTER },
    keeps: isException,
  });
  world.jobs.owes(job, events);
  await world.settle();
  await world.jobs.refilter(job, null, () => true, new Map());
  fault.begin();
  await world.jobs.rerun(job, sinceMs, world.clock.nowMs(), events);
  await world.take(world.mint(20), 5);
  await fault.meet(() => world.deliverDue(), "the platform");
  world.clock.advance(MINUTE_MS);
  await fault.meet(() => world.runAlarms(), "the platform");
};

describe("a job that starts in the past, or runs again", () => {
  const both = (of: { prototype: object }, methods: readonly string[], breakages?: readonly Breakage[]) => [
    ...steps(of, methods as never, begun, breakages, ", as a job begins in the past"),
    ...steps(of, methods as never, rerun, breakages, ", of a rerun"),
  ];
  rows("log", both(TraceLog, ["read", "configure"]));
  rows("reader", [...both(JobReader, ["pull"]), ...both(Attempts, ["settle"], PROMPT_BREAKAGES)]);
  const UNTOLD = ["dies after, on disk", "lost"] as const;
  rows("control plane", [
    ...steps(ControlPlane, ["create"], begun, UNTOLD, ", as a job begins in the past"),
    ...steps(ControlPlane, ["rerun"], rerun, UNTOLD, ", of a rerun"),
  ]);
});

row("a copy of a request is shipped once by a job that starts before the first one", async (world) => {
  const events = world.mint(10);
  await arrive(world, events, 10, { key: "once" });
  world.clock.advance(MINUTE_MS);
  const sinceMs = world.clock.nowMs() - 2 * MINUTE_MS;
  const job = await world.createJob({ fields: { enabled: true, since: isoOf(sinceMs) } });
  world.jobs.owes(job, events);
  await world.take([...events], 10, { key: "once" });
  world.injected();
  await expectSettled(world, job, { received: 10, delivered: 10 });
});

row("a rerun that is cancelled while its store refuses all of it leaves nothing behind", async (world) => {
  const { sinceMs, events } = await before(world, "1");
  const job = await world.createJob({ fields: { enabled: true, since: isoOf(sinceMs) } });
  world.jobs.owes(job, events);
  await world.settle();
  await controlOf(job).script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
  const { id } = await world.jobs.rerun(job, sinceMs, world.clock.nowMs(), []);
  await pass(world, MINUTE_MS);
  const read = async () => (await api<Replay>("GET", `/logship/jobs/${job.id}/replay/r${id}`)).body.result;
  expect(await read()).toMatchObject({ state: "waiting", left: { records: 40 } });
  const cancelled = await api<Replay>("DELETE", `/logship/jobs/${job.id}/replay/r${id}`);
  expect([cancelled.status, cancelled.body.result.state]).toEqual([200, "cancelled"]);
  await controlOf(job).script([]);
  await world.settle();
  expect(await read()).toMatchObject({ state: "cancelled", done: { objects: 0 }, left: { records: 40 } });
  // Its pages of the log are free, and another one may begin.
  const status = await jobStatus(env, id);
  expect([status?.counts.pending, status?.unread.records]).toEqual([0, 0]);
});

row("a message that was on hold when a job began in the past is shipped once by it", async (world) => {
  const sinceMs = world.clock.nowMs();
  const events = world.mint(5);
  await world.take(events);
  for (const { body } of world.queue.held.splice(0)) await putOnHold(body.slice().buffer);
  // They are counted when they are sent again: there is a job by then, as for the last event.
  world.accountLeftOut.routed = 6;
  const job = await world.createJob({ fields: { enabled: true, since: isoOf(sinceMs) } });
  world.jobs.owes(job, events);
  world.injected();
  const { result } = (await api<{ id: string }[]>("GET", "/logship/set-aside")).body;
  for (const { id } of result) await api("POST", `/logship/set-aside/${id}/resend`);
  await expectSettled(world, job, { received: 5, delivered: 5 });
});
