import { reset } from "cloudflare:test";
import { afterEach, describe, it, vi } from "vitest";
import { DeliveryLog } from "../../src/index.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { createJob } from "../support/runtime/api.ts";
import { deliver, freshBucket, logStatus, pack, runAlarm, runCron, setClock } from "../support/runtime/pipeline.ts";

const NOON = Date.parse("2026-11-20T12:00:00Z");

afterEach(async () => {
  vi.restoreAllMocks();
  await reset();
});

describe("one event, then silence", () => {
  it("is delivered by the alarm alone, and not before its interval is over", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    const events = oracle.mint(1);
    await deliver(pack(events, clock.nowMs()));
    oracle.acknowledged("job", events);
    clock.advance(29_999);
    expect(await runAlarm(job)).toBe(true);
    expect((await logStatus(job)).counts.delivered).toBe(0);
    clock.advance(1);
    expect(await runAlarm(job)).toBe(true);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
    expect((await logStatus(job)).counts).toMatchObject({ received: 1, delivered: 1, pending: 0 });
  });

  it("is delivered by the cron alone when no alarm ever fires", async ({ expect }) => {
    vi.spyOn(DeliveryLog.prototype, "alarm").mockResolvedValue();
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    const events = oracle.mint(1);
    await deliver(pack(events, clock.nowMs()));
    oracle.acknowledged("job", events);
    clock.advance(300_000);
    await runCron();
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
    expect((await logStatus(job)).counts).toMatchObject({ received: 1, delivered: 1, pending: 0 });
  });
});
