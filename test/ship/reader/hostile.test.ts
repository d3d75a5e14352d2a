import {
  abortAllDurableObjects,
  createExecutionContext,
  createMessageBatch,
  evictDurableObject,
  getQueueResult,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import worker, { ControlPlane, TraceLog } from "../../../src/index.ts";
import type { PackedMessage } from "../../../src/ship/intake/packing.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob, destinationConf } from "../../support/runtime/api.ts";
import {
  deliver,
  freshBucket,
  jobObjects,
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
  const alarmOf = (job: number): Promise<number | null> =>
    runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) => storage.getAlarm());

  it("the alarm is not set for now over and over, though more objects wait", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    await deliver(pack(new Oracle({ at: NOON }).mint(12, { days: 6 }), clock.nowMs()));
    await control.script([rule({ do: "hold" }, PUTS)]);
    await nodeAt(env.READERS, job, 0).drive("manual", 0);
    await control.whenHeld(4);
    clock.advance(1_000);
    await runAlarm(job);
    expect((await alarmOf(job)) ?? 0).toBeGreaterThanOrEqual(clock.nowMs() + 10_000);
    await control.release();
    await until(async () => (await control.requests()).filter(({ state }) => state === "held").length === 2);
    await control.release();
  });

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

it("takes thousands of days at once without reading them all for each", async ({ expect }) => {
  const clock = setClock(NOON);
  const job = await createJob(freshBucket().name);
  const oracle = new Oracle({ at: NOON });
  const messages: PackedMessage[] = [];
  for (let i = 0; i < 60; i++)
    messages.push(...pack(oracle.mint(31, { at: i * 31 * DAY_MS, days: 31 }), clock.nowMs()));
  await deliver(messages);
  const log = nodeAt(env.READERS, job, 0);
  expect((await logStatus(job)).counts.pending).toBe(60 * 31);
  const readRows = await runInDurableObject(log, (_log, { storage }) => {
    const cursor = storage.sql.exec("SELECT * FROM batch WHERE day = ? LIMIT 1", 31);
    cursor.toArray();
    return cursor.rowsRead;
  });
  expect(readRows).toBeLessThan(5);
});

describe("a change of a job", () => {
  it("is brought to the log by the alarm that was set with it, whatever becomes of the call that made it", async ({
    expect,
  }) => {
    setClock(NOON);
    const job = await createJob(freshBucket().name);
    // The call that made it is still under way, and dies with everything else.
    vi.spyOn(TraceLog.prototype, "configure").mockImplementationOnce((() => new Promise(() => {})) as never);
    const elsewhere = freshBucket();
    const answer = api("PUT", `/logship/jobs/${job}`, { destination_conf: destinationConf(elsewhere.name, "moved") });
    await until(async () =>
      (await api<{ destination_conf: string }>("GET", `/logship/jobs/${job}`)).body.result.destination_conf.includes(
        "moved",
      ),
    );
    await abortAllDurableObjects();
    expect((await answer).status).toBe(503);
    expect(await runDurableObjectAlarm(env.CONTROL.getByName("control"))).toBe(true);
    await readAll();
    const path = await runInDurableObject(
      nodeAt(env.READERS, job, 0),
      (_log, { storage }) => JSON.parse(String(storage.sql.exec("SELECT job FROM reader").one().job)).path,
    );
    expect(path).toBe("moved");
  });

  it("counts even after the control plane was restored to an earlier time, and no id is used twice", async ({
    expect,
  }) => {
    const clock = setClock(NOON);
    const [first, second, third] = [freshBucket(), freshBucket(), freshBucket()];
    const job = await createJob(first.name);
    const control = env.CONTROL.getByName("control");
    const rows = await runInDurableObject(control, (_control, { storage: { sql } }) => ({
      control: sql.exec<{ version: number; next_id: number }>("SELECT version, next_id FROM control").one(),
      config: String(sql.exec("SELECT config FROM job").one().config),
    }));
    const forgotten = await createJob(second.name);
    for (let i = 0; i < 5; i++) await api("PUT", `/logship/jobs/${job}`, { name: `name ${i}` });
    await runInDurableObject(control, (_control, { storage: { sql } }) => {
      sql.exec("UPDATE control SET version = ?, next_id = ?", rows.control.version, rows.control.next_id);
      sql.exec("DELETE FROM job WHERE id = ?", forgotten);
      sql.exec("UPDATE job SET config = ?", rows.config);
    });
    await evictDurableObject(control);
    clock.advance(60_000);
    const fresh = await createJob(third.name);
    expect(fresh).toBeGreaterThan(forgotten);
    await api("PUT", `/logship/jobs/${job}`, { output_options: { field_names: ["EventTimestampMs"] } });
    await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
    clock.advance(30_000);
    await runAlarm(job);
    await runAlarm(fresh);
    expect((await logStatus(fresh)).counts.delivered).toBe(5);
    expect((await third.control.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(1);
    expect((await jobObjects(job))[0]?.raw_bytes).toBe(5 * '{"EventTimestampMs":4130395200000}\n'.length);
  });
});

describe("a repeated request", () => {
  it("reaches a job that was enabled for the first copy only, though both come in one batch", async ({ expect }) => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    clock.advance(60_000);
    const events = new Oracle({ at: NOON }).mint(5);
    const first = pack(events, clock.nowMs(), { key: "k" });
    clock.advance(1_000);
    await api("PUT", `/logship/jobs/${job}`, { enabled: false });
    clock.advance(1_000);
    const second = pack(events, clock.nowMs(), { key: "k" });
    expect((await deliver([...first, ...second])).acked).toHaveLength(2);
    expect((await logStatus(job)).counts.received).toBe(5);
  });
});

describe("the edges of the time in which a job is enabled", () => {
  it.for([
    ["a clock 200 ms ahead, just before it is disabled", 200, false, 5],
    ["a clock 200 ms behind, just after that was answered", -200, true, 0],
  ] as const)("an event stamped by %s", async ([_name, skewMs, afterwards, received], { expect }) => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    clock.advance(60_000);
    const take = () => pack(new Oracle({ at: NOON }).mint(5), clock.nowMs() + skewMs);
    let messages = take();
    await api("PUT", `/logship/jobs/${job}`, { enabled: false });
    if (afterwards) messages = take();
    await deliver(messages);
    expect((await logStatus(job)).counts.received).toBe(received);
  });
});

describe("a store that answers 501 to the condition", () => {
  it("gets a large object without it in the same attempt", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const events = new Oracle({ at: NOON }).mint(60).map((minted) => {
      const noise = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(45_000))));
      return { ...minted, event: { ...minted.event, ScriptTags: [noise] } };
    });
    await deliver(pack(events, clock.nowMs(), { perMessage: 1 }));
    await control.script([rule({ do: "answer", status: 501, code: "NotImplemented" }, { conditional: true })]);
    await nodeAt(env.READERS, job, 0).drive("manual", 15_000);
    expect((await logStatus(job)).counts).toMatchObject({ delivered: 60, pending: 0 });
    expect((await jobObjects(job))[0]?.bytes).toBeGreaterThan(2_000_000);
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

it("says so when a store claims another object under every key", async ({ expect }) => {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name);
  await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
  await control.script([
    rule({ do: "answer", status: 412, code: "PreconditionFailed" }, PUTS),
    rule({ do: "answer", status: 200, headers: { etag: `"${"0".repeat(32)}"` } }, { method: "HEAD" }),
  ]);
  for (let i = 0; i < 5; i++) {
    clock.advance(60_000);
    await runAlarm(job);
  }
  expect((await logStatus(job)).errorMessage).toMatch(/every key/);
});

it("forgets the failures of an old destination with the destination", async ({ expect }) => {
  const clock = setClock(NOON);
  const [bad, good] = [freshBucket(), freshBucket()];
  const job = await createJob(bad.name);
  await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
  await bad.control.script([rule({ do: "answer", status: 503 }, PUTS)]);
  for (let i = 0; i < 20; i++) {
    clock.advance(900_000);
    await runAlarm(job);
  }
  await good.control.script([rule({ do: "answer", status: 503 }, PUTS, 1)]);
  await api("PUT", `/logship/jobs/${job}`, { destination_conf: destinationConf(good.name) });
  await readAll();
  await nodeAt(env.READERS, job, 0).drive("scheduled", 5_000);
  clock.advance(5_000);
  await runAlarm(job);
  expect((await logStatus(job)).counts.delivered).toBe(5);
});

it("routes two batches by one stale configuration, and lets neither miss the job that was created since", async ({
  expect,
}) => {
  const clock = setClock(NOON);
  const oracle = new Oracle({ at: NOON });
  await createJob(freshBucket().name);
  await deliver(pack(oracle.mint(1), clock.nowMs()));
  const second = await createJob(freshBucket().name);
  clock.advance(1_000);
  vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(() => {
    throw new Error("out of reach");
  });
  await Promise.all([deliver(pack(oracle.mint(5), clock.nowMs())), deliver(pack(oracle.mint(5), clock.nowMs()))]);
  expect((await logStatus(second)).counts.received).toBe(10);
});
