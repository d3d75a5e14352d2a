import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { TraceLog } from "../../../src/index.ts";
import { PATIENCE } from "../../../src/state/control/rollout.ts";
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
  setClock,
} from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { until } from "../../support/until.ts";
import { beforeChanges, control, copyOf, joinShards, set, snapshot } from "./copies.ts";

const alarmAt = (): Promise<number | null> =>
  runInDurableObject(control(), (_control, { storage }) => storage.getAlarm());

it("leaves a second of the five in which a change is answered, whatever hangs", () => {
  expect(PATIENCE.allMs).toBeLessThanOrEqual(4_000);
});

describe("the alarm that repeats what was not confirmed", () => {
  it("is not postponed by changes that are", async () => {
    const clock = setClock(NOON);
    const [left, other] = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    clock.advance(60_000);
    await runDurableObjectAlarm(control());
    vi.spyOn(TraceLog.prototype, "configure").mockRejectedValueOnce(new Error("out of reach"));
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
    expect((await copyOf()).jobs[0]?.limits.intervalMs).toBe(120_000);
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

describe("shards that do not answer", () => {
  it("hold up a change no longer than all of them together may, are asked once at a time, and the rest get it", async () => {
    const clock = setClock(NOON);
    const shards = Array.from({ length: 10 }, (_, n) => n);
    await joinShards(...shards);
    await runInDurableObject(control(), ({ patience }) => {
      patience.allMs = 100;
    });
    const silent = [0, 1, 2];
    const released = Promise.withResolvers<void>();
    let hung = 0;
    beforeChanges((shard) => {
      if (!silent.includes(shard)) return;
      hung += 1;
      return released.promise;
    });
    const answer = await set("shop", false);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(answer.body.errors[0]?.message).toContain("not yet in force in log 0, 1, 2;");
    const { state } = await snapshot();
    expect((await copyOf(9)).state).toBe(state);
    expect(hung).toBe(silent.length);
    // The first pass still waits for them: a second one would only double the calls.
    clock.advance(10_000);
    expect(await runDurableObjectAlarm(control())).toBe(true);
    expect(hung).toBe(silent.length);
    expect(await alarmAt()).toBe(clock.nowMs() + 10_000);
    released.resolve();
    await until(async () => (await set("shop", false)).status === 200);
    for (const shard of shards) expect((await copyOf(shard)).state).toBe(state);
  });
});

it("a shard that answers nonsense has confirmed nothing, and gives no version with it", async () => {
  const clock = setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
  const id = await createJob(freshBucket().name);
  const versions = (): Promise<unknown> =>
    runInDurableObject(control(), (_c, { storage: { sql } }) =>
      sql.exec("SELECT version, confirmed_version FROM control").one(),
    );
  const nonsense = [undefined, null, {}, "x", "0.0.0", -1, 0, Number.NaN, 2 ** 60];
  for (const [i, answer] of nonsense.entries()) {
    const spy = vi.spyOn(TraceLog.prototype, "configure").mockResolvedValue(answer as never);
    expect((await api("PUT", `/logship/jobs/${id}`, { name: `${i}` })).status, String(answer)).toBe(503);
    expect(await versions()).toEqual({ version: i + 2, confirmed_version: 1 });
    expect(await alarmAt()).not.toBeNull();
    spy.mockRestore();
  }
  clock.advance(10_000);
  await runDurableObjectAlarm(control());
  const version = nonsense.length + 1;
  expect(await versions()).toEqual({ version, confirmed_version: version });
});

it("what waits after a failure waits on when logging of some function is switched, and is tried at once when its job's owner changes the job, or says it again", async () => {
  const clock = setClock(NOON);
  const { name, control: bucket } = freshBucket();
  const id = await createJob(name);
  await bucket.script([rule({ do: "answer", status: 503, headers: { "retry-after": "3600" } }, { method: "PUT" })]);
  await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
  clock.advance(30_000);
  await runAlarm(id);
  await bucket.script([]);
  expect((await set("unrelated", false)).status).toBe(200);
  await readAll();
  await runAlarm(id);
  expect((await logStatus(id)).counts).toMatchObject({ pending: 5, delivered: 0 });
  expect((await api("PUT", `/logship/jobs/${id}`, {})).status).toBe(200);
  await readAll();
  await until(async () => (await logStatus(id)).counts.delivered === 5);
});
