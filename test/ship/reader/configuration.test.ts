import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { DEDUP_MS } from "../../../src/base/limits.ts";
import { type JobReader, TraceLog } from "../../../src/index.ts";
import { api, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, logStatus, NOON, readAll, setClock } from "../../support/runtime/pipeline.ts";
import { configure, inLog, jobInto } from "./direct.ts";

it("a change that the log does not confirm is answered 503, stored, and brought there by the alarm", async () => {
  const clock = setClock(NOON);
  const spy = vi.spyOn(TraceLog.prototype, "configure").mockImplementation(() => {
    throw new Error("out of reach");
  });
  const { name } = freshBucket();
  const answer = await api("POST", "/logship/jobs", { destination_conf: destinationConf(name), enabled: true });
  expect(answer).toMatchObject({
    status: 503,
    body: { errors: [{ code: 1053, message: expect.stringContaining("not yet in force in log 0") }] },
  });
  expect(answer.headers.get("retry-after")).toBe("60");
  spy.mockRestore();
  clock.advance(10_000);
  expect(await runDurableObjectAlarm(env.CONTROL.getByName("control"))).toBe(true);
  await readAll();
  expect((await logStatus(1)).counts.received).toBe(0);
  expect(await runDurableObjectAlarm(env.CONTROL.getByName("control"))).toBe(false);
});

it.for([
  ["was never configured", async () => {}],
  [
    "is retired",
    async (log: JobReader) => {
      await configure(jobInto("x", { windows: [], deletedMs: NOON - DEDUP_MS - 1 }));
      expect(log.status()).not.toBeNull();
      expect(await log.retire()).toBe(true);
    },
  ],
] as const)("a log that %s holds nothing, and no segment follows it", ([_what, begin]) => {
  setClock(NOON);
  return inLog({ id: 1 }, async (log) => {
    await begin(log);
    const span = { sinceMs: 0, untilMs: NOON, askedMs: NOON };
    expect([log.status(), log.objectsBefore(9, 9), log.asideObject(1), log.asideBytes(1)]).toEqual([
      null,
      [],
      null,
      null,
    ]);
    expect([log.asideResend(1), log.asideDiscard(1), log.replayName(1, 2)]).toEqual([null, null, null]);
    expect(log.objects(0, 9)).toEqual({ entries: [], total: 0, sealed: false });
    expect(log.asideObjects(0, 9)).toEqual({ entries: [], total: 0, unmade: [], sealed: false });
    expect(log.health(0, NOON)).toEqual({ hours: [], sealed: false });
    expect(log.canaryReport()).toEqual({ report: null, sealed: false });
    expect(log.replayable(span)).toEqual({ objects: 0, records: 0, bytes: 0, keys: [], sealed: false });
    expect(log.replayPage(span, 0, 9)).toEqual({ sources: [], next: null });
    expect(await log.drive("manual", 0)).toEqual({ pendingObjects: 0 });
  });
});
