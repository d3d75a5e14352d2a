import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { CLOCK_SKEW_MS, type Window } from "../../../src/ship/job/config.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { freshBucket, NOON, setClock } from "../../support/runtime/pipeline.ts";

const windowsOf = async (id: number): Promise<Window[]> => {
  const { jobs } = await env.CONTROL.getByName("control").configSince("");
  return jobs?.find((job) => job.id === id)?.windows ?? [];
};

const enable = (id: number, enabled: boolean) => api("PUT", `/logship/jobs/${id}`, { enabled });

describe("the windows of a job", () => {
  it("begin a little before it is enabled and end a little after it is disabled, as clocks differ", async () => {
    const clock = setClock(NOON);
    const id = await createJob(freshBucket().name);
    expect(await windowsOf(id)).toEqual([{ fromMs: NOON - CLOCK_SKEW_MS, untilMs: null }]);
    clock.advance(60_000);
    await enable(id, false);
    expect(await windowsOf(id)).toEqual([{ fromMs: NOON - CLOCK_SKEW_MS, untilMs: NOON + 60_000 + CLOCK_SKEW_MS }]);
  });

  it.each([
    ["is disabled", (id: number) => enable(id, false)],
    ["is deleted", (id: number) => api("DELETE", `/logship/jobs/${id}`)],
    ["is discarded", (id: number) => api("DELETE", `/logship/jobs/${id}?discard=true`)],
  ])("make the answer wait when a job %s, and no other change", async (_what, end) => {
    const clock = setClock(NOON);
    const id = await createJob(freshBucket().name);
    await api("PUT", `/logship/jobs/${id}`, { name: "x" });
    await enable(id, true);
    expect(clock.nowMs()).toBe(NOON);
    expect((await end(id)).status).toBe(200);
    expect(clock.nowMs()).toBe(NOON + 2 * CLOCK_SKEW_MS);
    expect(vi.mocked(platform.sleep).mock.calls).toEqual([[2 * CLOCK_SKEW_MS]]);
  });

  it("are forgotten once no queue can hold an event of theirs", async () => {
    const clock = setClock(NOON);
    const id = await createJob(freshBucket().name);
    await enable(id, false);
    clock.advance(16 * 86_400_000);
    await enable(id, true);
    expect(await windowsOf(id)).toEqual([{ fromMs: clock.nowMs() - CLOCK_SKEW_MS, untilMs: null }]);
  });

  it("of a job that is deleted stay for what is under way, and of one that is discarded do not", async () => {
    const clock = setClock(NOON);
    const [kept, dropped] = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    clock.advance(60_000);
    await api("DELETE", `/logship/jobs/${kept}`);
    const end = NOON + 60_000 + CLOCK_SKEW_MS;
    await api("DELETE", `/logship/jobs/${dropped}?discard=true`);
    expect(await windowsOf(kept)).toEqual([{ fromMs: NOON - CLOCK_SKEW_MS, untilMs: end }]);
    expect(await windowsOf(dropped)).toEqual([]);
  });
});
