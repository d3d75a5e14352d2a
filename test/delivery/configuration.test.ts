import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { JobReader, TraceLog } from "../../src/index.ts";
import { ID_MEMORY_MS } from "../../src/limits.ts";
import { id } from "../pipeline/scripted.ts";
import { api, destinationConf } from "../support/runtime/api.ts";
import { freshBucket, logStatus, NOON, setClock } from "../support/runtime/pipeline.ts";
import { configure, inLog, jobInto } from "./direct.ts";

const outOfReach = () => {
  throw new Error("out of reach");
};

describe("a change that is not confirmed", () => {
  it.for([
    ["by the job's log", () => vi.spyOn(JobReader.prototype, "configure").mockImplementation(outOfReach)],
    ["by the ledger", () => vi.spyOn(TraceLog.prototype, "keepJobs").mockImplementation(outOfReach)],
  ] as const)("%s is answered 503, stored, and brought there by the alarm", async ([_who, fail]) => {
    const clock = setClock(NOON);
    const spy = fail();
    const { name } = freshBucket();
    const answer = await api("POST", "/logship/jobs", { destination_conf: destinationConf(name), enabled: true });
    expect(answer).toMatchObject({
      status: 503,
      body: { errors: [{ code: 1053, message: expect.stringContaining("not in force yet") }] },
    });
    expect(answer.headers.get("retry-after")).toBe("60");
    spy.mockRestore();
    clock.advance(10_000);
    expect(await runDurableObjectAlarm(env.CONTROL.getByName("control"))).toBe(true);
    expect((await logStatus(1)).counts.received).toBe(0);
    expect(await runDurableObjectAlarm(env.CONTROL.getByName("control"))).toBe(false);
  });
});

it("a log keeps its configuration against another one of its version, and asks for the version after it", ({
  expect,
}) => {
  setClock(NOON);
  const job = jobInto("x", { version: 3 });
  return inLog(job, (log) => {
    const other = { ...job, path: "elsewhere" };
    const versions = [job, job, other, { ...other, version: 2 }].map((each) => log.configure(each, 0).version);
    expect(versions).toEqual([3, 3, 4, 3]);
    const older = { version: 2, messages: [], fragments: [], queueDoneMs: 0 };
    expect(log.append(older)).toEqual({ kind: "stale", job });
    expect(log.configure({ ...other, version: 4 }, 0).version).toBe(4);
  });
});

it.for([
  ["was never configured", async () => {}],
  [
    "is retired",
    async (log: JobReader) => {
      await configure(jobInto("x", { windows: [], deletedMs: NOON - ID_MEMORY_MS - 1 }));
      expect(log.status()).not.toBeNull();
      expect(await log.retire()).toBe(true);
    },
  ],
] as const)("a log that %s holds nothing, and no segment follows it", ([_what, begin]) => {
  setClock(NOON);
  return inLog({ id: 1 }, async (log) => {
    await begin(log);
    const taken = [{ id: id(1), takenInMs: NOON, keyed: false }];
    const span = { sinceMs: 0, untilMs: NOON, askedMs: NOON };
    expect([log.status(), log.objectsBefore(9, 9), log.asideObject(1), log.asideBytes(1)]).toEqual([
      null,
      [],
      null,
      null,
    ]);
    expect([log.asideResend(1), log.asideDiscard(1), log.replayName(1, 2)]).toEqual([null, null, null]);
    expect(log.holds(taken)).toEqual({ ids: [], forgotten: [], sealed: false });
    expect(log.keepIds(taken)).toEqual({ forgotten: [], sealed: false });
    expect(log.objects(0, 9)).toEqual({ entries: [], total: 0, sealed: false });
    expect(log.asideObjects(0, 9)).toEqual({ entries: [], total: 0, sealed: false });
    expect(log.health(0, NOON)).toEqual({ hours: [], sealed: false });
    expect(log.canaryReport()).toEqual({ report: null, sealed: false });
    expect(log.replayable(span)).toEqual({ objects: 0, records: 0, bytes: 0, keys: [], sealed: false });
    expect(log.replayPage(span, 0, 9)).toEqual({ sources: [], next: null });
    expect(await log.drive("manual", 0)).toEqual({ pendingObjects: 0 });
    expect(log.append({ version: 1, messages: [], fragments: [], queueDoneMs: 0 })).toEqual({ kind: "behind" });
  });
});
