import { createExecutionContext, createMessageBatch, getQueueResult, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import worker, { TraceLog } from "../../../src/index.ts";
import type { PackedMessage } from "../../../src/ship/intake/packing.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import {
  deliver,
  freshBucket,
  logStatus,
  NOON,
  pack,
  readAll,
  runAlarm,
  runCron,
  setClock,
} from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { until } from "../../support/until.ts";

const PUTS = { method: "PUT", keyIncludes: ".log.gz" } as const;
const DAY_MS = 86_400_000;

describe("while uploads hang", () => {
  it("one that hangs after a failure holds the others up for fifteen seconds, and no longer", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    await runInDurableObject(nodeAt(env.READERS, job, 0), (log) => {
      log.alarmWaitMs = 0;
    });
    await deliver(pack(oracle.mint(5), clock.nowMs()));
    const first = { method: "PUT", keyIncludes: "logs/21001120/" };
    await control.script([rule({ do: "answer", status: 503 }, first, 1), rule({ do: "hold" }, first)]);
    clock.advance(30_000);
    await runAlarm(job);
    await until(async () => (await logStatus(job)).errorMessage !== null);
    clock.advance(5_000);
    await runAlarm(job);
    await control.whenHeld(1);
    await deliver(pack(oracle.mint(5, { at: NOON + DAY_MS }), clock.nowMs() - 30_000));
    clock.advance(14_000);
    await runAlarm(job);
    expect((await logStatus(job)).counts.delivered).toBe(0);
    clock.advance(1_000);
    await runAlarm(job);
    await until(async () => (await logStatus(job)).counts.delivered === 5);
    await control.release();
    await until(async () => (await logStatus(job)).counts.delivered === 10);
  });
});

it("claims completeness for nothing that has to come again", async ({ expect }) => {
  const clock = setClock(NOON);
  const job = await createJob(freshBucket().name);
  const oracle = new Oracle({ at: NOON });
  // An empty backlog, as the queue says it while a message waits for its retry.
  const run = async (messages: readonly PackedMessage[]) => {
    const batch = createMessageBatch(
      "logship-events",
      messages.map(({ body }, i) => ({ id: `${i}`, timestamp: new Date(), attempts: 1, body: body.slice().buffer })),
    );
    await worker.queue(batch, env);
    await readAll();
    return getQueueResult(batch, createExecutionContext());
  };
  clock.advance(600_000);
  vi.spyOn(TraceLog.prototype, "append").mockImplementationOnce(() => {
    throw new Error("one bad moment");
  });
  const late = pack(oracle.mint(5), clock.nowMs());
  expect((await run(late)).retryMessages).toHaveLength(1);
  const takenIn = clock.nowMs();
  clock.advance(600_000);
  await run(pack(oracle.mint(5), clock.nowMs()));
  await nodeAt(env.READERS, job, 0).drive("manual", 5_000);
  const complete = async () => {
    const { last_complete } = (await api<{ last_complete: string }>("GET", `/logship/jobs/${job}`)).body.result;
    return Date.parse(last_complete);
  };
  expect(await complete()).toBeLessThanOrEqual(takenIn);
  await run(late);
  await nodeAt(env.READERS, job, 0).drive("manual", 5_000);
  expect(await complete()).toBeGreaterThan(takenIn);
});

it("claims no completeness where a part of the log does not answer", async ({ expect }) => {
  const clock = setClock(NOON);
  const job = await createJob(freshBucket().name);
  const oracle = new Oracle({ at: NOON });
  const complete = async () =>
    (await api<{ last_complete: string | null }>("GET", `/logship/jobs/${job}`)).body.result.last_complete;
  const pass = async () => {
    clock.advance(600_000);
    await deliver(pack(oracle.mint(5), clock.nowMs()));
    await nodeAt(env.READERS, job, 0).drive("manual", 5_000);
  };
  await pass();
  const first = await complete();
  expect(first).not.toBeNull();
  await pass();
  vi.spyOn(TraceLog.prototype, "status").mockImplementationOnce(() => {
    throw new Error("out of reach");
  });
  expect(await complete()).toBeNull();
  expect(Date.parse((await complete()) ?? "")).toBeGreaterThan(Date.parse(first ?? ""));
});

it("counts an object that was under way when its job was discarded as what became of it", async ({ expect }) => {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name);
  const oracle = new Oracle({ at: NOON });
  await deliver(pack(oracle.mint(5), clock.nowMs()));
  await control.script([rule({ do: "hold" }, PUTS)]);
  clock.advance(30_000);
  const alarm = runAlarm(job);
  await control.whenHeld(1);
  await deliver(pack(oracle.mint(7), clock.nowMs()));
  await api("DELETE", `/logship/jobs/${job}?discard=true`);
  await readAll();
  expect((await logStatus(job)).counts).toMatchObject({ pending: 5, discarded: 7 });
  await control.release();
  await alarm;
  await until(async () => (await logStatus(job)).counts.pending === 0);
  expect((await logStatus(job)).counts).toMatchObject({ received: 12, delivered: 5, discarded: 7 });
});

it("discards a job that is gone, but whose log cannot drain", async ({ expect }) => {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name);
  await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
  await control.script([rule({ do: "answer", status: 403 })]);
  await api("DELETE", `/logship/jobs/${job}`);
  clock.advance(300_000);
  await runCron();
  expect((await logStatus(job)).counts).toMatchObject({ pending: 5 });
  expect((await api("DELETE", `/logship/jobs/${job}`)).status).toBe(404);
  expect((await api("DELETE", `/logship/jobs/${job}?discard=true`)).status).toBe(200);
  await readAll();
  expect((await logStatus(job)).counts).toMatchObject({ pending: 0, discarded: 5 });
  expect((await api("DELETE", `/logship/jobs/${job}?discard=true`)).status).toBe(404);
});
