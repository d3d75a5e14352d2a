import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { controlPlane } from "../../src/control/plane.ts";
import { PATIENCE } from "../../src/control/rollout.ts";
import { nodeAt } from "../../src/delivery/job-nodes.ts";
import { JobReader, TraceLog } from "../../src/index.ts";
import type { JobConfig } from "../../src/job/config.ts";
import { Oracle } from "../support/oracle.ts";
import { api, createJob } from "../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, runAlarm, setClock } from "../support/runtime/pipeline.ts";
import { rule } from "../support/s3-script.ts";

const control = () => controlPlane(env.CONTROL);

const alarmAt = (): Promise<number | null> =>
  runInDurableObject(control(), (_control, { storage }) => storage.getAlarm());

const set = (name: string, logship: boolean) => api("PATCH", `/functions/scripts/${name}/script-settings`, { logship });

/** A job in its log's copy. */
const logJob = (id: number): Promise<JobConfig> =>
  runInDurableObject(
    nodeAt(env.READERS, id, 0),
    (_log, { storage: { sql } }) => JSON.parse(String(sql.exec("SELECT job FROM reader").one().job)) as JobConfig,
  );

/** The log of a job hangs until it is released. */
function hang(...ids: number[]): { release: () => void; calls: () => number } {
  const configure = JobReader.prototype.configure;
  let calls = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  vi.spyOn(JobReader.prototype, "configure").mockImplementation(async function (
    this: JobReader,
    job: JobConfig,
    segment: number,
  ) {
    if (ids.includes(job.id)) {
      calls += 1;
      await released;
    }
    return configure.call(this, job, segment);
  } as never);
  return { release, calls: () => calls };
}

it("leaves a second of the five in which a change is answered, whatever hangs", () => {
  expect(PATIENCE.allMs).toBeLessThanOrEqual(4_000);
});

describe("the alarm that repeats what was not confirmed", () => {
  it("is not postponed by changes that are", async () => {
    const clock = setClock(NOON);
    const [left, other] = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    clock.advance(60_000);
    await runDurableObjectAlarm(control());
    vi.spyOn(JobReader.prototype, "configure").mockImplementationOnce(() => {
      throw new Error("out of reach");
    });
    expect((await api("PUT", `/logship/jobs/${left}`, { max_upload_interval_seconds: 120 })).status).toBe(503);
    const due = clock.nowMs() + 10_000;
    expect(await alarmAt()).toBe(due);
    for (const _ of [1, 2, 3]) {
      clock.advance(8_000);
      expect((await api("PUT", `/logship/jobs/${other}`, { name: `at ${clock.nowMs()}` })).status).toBe(200);
      // The second time it is overdue, and must not be postponed either.
      expect(await alarmAt()).toBe(due);
    }
    expect(await runDurableObjectAlarm(control())).toBe(true);
    expect((await logJob(left)).limits.intervalMs).toBe(120_000);
  });

  it("is set anew by the next change where it should have fired long ago and did not", async () => {
    const clock = setClock(NOON);
    const id = await createJob(freshBucket().name);
    expect(await alarmAt()).toBe(NOON + 10_000);
    clock.advance(10_000 + 60_000);
    await api("PUT", `/logship/jobs/${id}`, { name: "x" });
    expect(await alarmAt()).toBe(clock.nowMs() + 10_000);
  });

  it("is known to be set by an instance that did not set it, and to be rolled back with a change that fails", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    await runDurableObjectAlarm(control());
    const version = (): Promise<unknown> =>
      runInDurableObject(
        control(),
        (_c, { storage: { sql } }) => sql.exec("SELECT version FROM control").one().version,
      );
    const before = await version();
    await runInDurableObject(control(), (_control, { storage }) => {
      const transaction = storage.transactionSync.bind(storage);
      vi.spyOn(storage, "transactionSync").mockImplementationOnce(((change: () => unknown) =>
        transaction(() => {
          change();
          throw new Error("it could not be written");
        })) as never);
    });
    expect((await set("shop", false)).status).toBe(503);
    expect([await version(), await alarmAt()]).toEqual([before, null]);
    await set("shop", false);
    const due = await alarmAt();
    expect(due).toBe(clock.nowMs() - 500 + 10_000);
    await evictDurableObject(control());
    clock.advance(1_000);
    await set("shop", true);
    expect(await alarmAt()).toBe(due);
  });
});

describe("logs that do not answer", () => {
  it("keep nobody waiting for longer than all of them together may take, are asked once at a time, and the rest get the change", async () => {
    const clock = setClock(NOON);
    const ids: number[] = [];
    for (let i = 0; i < 10; i++) ids.push(await createJob(freshBucket().name));
    await runInDurableObject(control(), ({ patience }) => {
      patience.allMs = 100;
    });
    const silent = ids.slice(0, 3);
    const hung = hang(...silent);
    const answer = await set("shop", false);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
    const { optOutVersion } = await logJob(ids.at(-1) ?? 0);
    expect(optOutVersion).toBeGreaterThan(0);
    expect(hung.calls()).toBe(silent.length);
    // The first pass still waits for them: a second one would only double the calls.
    clock.advance(10_000);
    expect(await runDurableObjectAlarm(control())).toBe(true);
    expect(hung.calls()).toBe(silent.length);
    expect(await alarmAt()).toBe(clock.nowMs() + 10_000);
    hung.release();
    await vi.waitUntil(async () => (await set("shop", false)).status === 200);
    for (const id of ids) expect((await logJob(id)).optOutVersion).toBe(optOutVersion);
  });
});

describe("a log or a ledger that answers nonsense", () => {
  const nonsense = [undefined, null, {}, "x", "0.0.0", -1, 0, Number.NaN, 2 ** 60];

  it.each([
    [
      "log",
      (answer: unknown) =>
        vi.spyOn(JobReader.prototype, "configure").mockReturnValue({ sealed: false, version: answer } as never),
    ],
    ["ledger", (answer: unknown) => vi.spyOn(TraceLog.prototype, "keepJobs").mockReturnValue(answer as never)],
  ])("has confirmed nothing, and takes no version with it: %s", async (_who, answering) => {
    const clock = setClock(NOON);
    const id = await createJob(freshBucket().name);
    const versions = (): Promise<unknown> =>
      runInDurableObject(control(), (_c, { storage: { sql } }) =>
        sql.exec("SELECT version, in_force FROM control JOIN job").one(),
      );
    const before = await versions();
    for (const [i, answer] of nonsense.entries()) {
      const spy = answering(answer);
      expect((await api("PUT", `/logship/jobs/${id}`, { name: `${i}` })).status, String(answer)).toBe(503);
      expect(await versions()).toEqual({ ...(before as object), version: i + 2 });
      expect(await alarmAt()).not.toBeNull();
      spy.mockRestore();
    }
    clock.advance(10_000);
    await runDurableObjectAlarm(control());
    const version = nonsense.length + 1;
    expect(await versions()).toEqual({ version, in_force: version });
  });
});

describe("what waits after a failure", () => {
  it("waits on when logging of some function is switched, and is tried at once when its job's owner changes the job, or says it again", async () => {
    const clock = setClock(NOON);
    const { name, control: bucket } = freshBucket();
    const id = await createJob(name);
    await bucket.script([rule({ do: "answer", status: 503, headers: { "retry-after": "3600" } }, { method: "PUT" })]);
    await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
    clock.advance(30_000);
    await runAlarm(id);
    const waitsUntil = (): Promise<{ log: unknown; object: unknown }> =>
      runInDurableObject(nodeAt(env.READERS, id, 0), (_log, { storage: { sql } }) => ({
        log: sql.exec("SELECT resume_ms FROM reader").one().resume_ms,
        object: sql.exec("SELECT next_attempt_ms FROM object").one().next_attempt_ms,
      }));
    const before = await waitsUntil();
    expect(before).toEqual({ log: clock.nowMs() + 3_600_000, object: clock.nowMs() + 3_600_000 });
    expect((await set("unrelated", false)).status).toBe(200);
    expect(await waitsUntil()).toEqual(before);
    expect((await api("PUT", `/logship/jobs/${id}`, {})).status).toBe(200);
    expect(await waitsUntil()).toEqual({ log: 0, object: 0 });
  });
});
