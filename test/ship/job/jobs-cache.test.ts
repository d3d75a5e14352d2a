import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { JobsSnapshot } from "../../../src/ship/job/config.ts";
import { JobsCache } from "../../../src/ship/job/jobs-cache.ts";
import { job, snapshot } from "../consumer/scripted.ts";

/** A control plane with scripted answers, call by call. */
function control(...answers: unknown[]) {
  const asked: string[] = [];
  return {
    asked,
    configSince(state: string): Promise<unknown> {
      asked.push(state);
      const answer = answers.length > 0 ? answers.shift() : new Error("asked too often");
      if (answer === "hang") return new Promise(() => {});
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };
}

let warned: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  warned = vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
});

/** The jobs of a snapshot, and null for none. */
const jobsOf = async (refreshed: Promise<JobsSnapshot | null>) => (await refreshed)?.jobs ?? null;

describe("the jobs that a consumer knows", () => {
  it("are those of the control plane, asked for changes since the last answer", async () => {
    const cache = new JobsCache();
    const plane = control(
      snapshot("e.1.m", [job(1)]),
      { state: "e.1.m", jobs: null },
      snapshot("e.2.m", [job(1), job(2)]),
    );
    expect(await jobsOf(cache.refresh(plane))).toEqual([job(1)]);
    expect(await jobsOf(cache.refresh(plane))).toEqual([job(1)]);
    expect(await jobsOf(cache.refresh(plane))).toEqual([job(1), job(2)]);
    expect(plane.asked).toEqual(["", "e.1.m", "e.1.m"]);
    expect(warned).not.toHaveBeenCalled();
  });

  it("are the last good ones while the control plane fails, and are asked for again each time", async () => {
    const cache = new JobsCache();
    const plane = control(
      snapshot("e.1.m", [job(1)]),
      new Error("down"),
      new Error("down"),
      snapshot("e.2.m", [job(2)]),
    );
    await cache.refresh(plane);
    expect(await jobsOf(cache.refresh(plane))).toEqual([job(1)]);
    expect(await jobsOf(cache.refresh(plane))).toEqual([job(1)]);
    expect(warned).toHaveBeenCalledTimes(2);
    expect(await jobsOf(cache.refresh(plane))).toEqual([job(2)]);
    expect(plane.asked).toEqual(["", "e.1.m", "e.1.m", "e.1.m"]);
  });

  it("are unknown, which is not none, when the control plane fails a cold isolate", async () => {
    const cache = new JobsCache();
    const plane = control(new Error("down"), snapshot("e.1.m", [job(1)]));
    expect(await jobsOf(cache.refresh(plane))).toBeNull();
    expect(await jobsOf(cache.refresh(plane))).toEqual([job(1)]);
  });

  it("are waited for five seconds and no longer", async () => {
    vi.useFakeTimers();
    const cache = new JobsCache();
    const cold = cache.refresh(control("hang"));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await jobsOf(cold)).toBeNull();
    await cache.refresh(control(snapshot("e.1.m", [job(1)])));
    let answered = false;
    const warm = cache.refresh(control("hang")).finally(() => {
      answered = true;
    });
    await vi.advanceTimersByTimeAsync(4_999);
    expect(answered).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await jobsOf(warm)).toEqual([job(1)]);
    expect(warned).toHaveBeenCalledTimes(2);
  });

  it("of an answer that comes too late are not taken, and are asked for again", async () => {
    vi.useFakeTimers();
    const cache = new JobsCache();
    const late = Promise.withResolvers<JobsSnapshot>();
    const first = cache.refresh(control(late.promise));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await jobsOf(first)).toBeNull();
    late.resolve(snapshot("e.1.m", [job(1)]));
    const plane = control(snapshot("e.2.m", [job(2)]));
    expect(await jobsOf(cache.refresh(plane))).toEqual([job(2)]);
    expect(plane.asked).toEqual([""]);
  });

  const { filter: _filter, ...unfiltered } = job(1);
  it.each<[string, unknown, number[]?]>([
    ["nothing", undefined],
    ["null", null],
    ["an empty object", {}],
    ["jobs that are text", { ...snapshot("e.2.m", []), jobs: "secret-of-a-customer" }],
    ["a job that has lost its filter on the way", { ...snapshot("e.2.m", []), jobs: [unfiltered] }, [1]],
    ["no opt-outs", { ...snapshot("e.2.m", []), optOuts: undefined }],
    ["a version that is no number", snapshot("e.2.m", [job(1, { version: Number.NaN })]), [1]],
    ["a negative time", snapshot("e.2.m", [job(1, { windows: [{ fromMs: -1, untilMs: null }] })]), [1]],
    ["that nothing has changed since something else", { state: "e.0.m", jobs: null }],
  ])(
    "are the last good ones when it says %s, which is logged without what it said",
    async (_what, garbage, unreadable) => {
      const cache = new JobsCache();
      const plane = control(garbage, snapshot("e.1.m", [job(1)]), garbage, snapshot("e.2.m", [job(2)]));
      // A cold isolate has none, so everything is retried that the unreadable jobs may want.
      const cold = await cache.refresh(plane);
      expect(cold?.unreadable?.map(({ id }) => id)).toEqual(unreadable);
      expect(cold?.jobs).toEqual(unreadable && []);
      expect(await jobsOf(cache.refresh(plane))).toEqual([job(1)]);
      expect(await jobsOf(cache.refresh(plane))).toEqual([job(1)]);
      expect(warned).toHaveBeenCalledTimes(2);
      expect(JSON.stringify(warned.mock.calls)).not.toContain("secret-of-a-customer");
      expect(await jobsOf(cache.refresh(plane))).toEqual([job(2)]);
      expect(plane.asked).toEqual(["", "", "e.1.m", "e.1.m"]);
    },
  );

  it("are unknown to who knew none and is told that nothing has changed", async () => {
    expect(await jobsOf(new JobsCache().refresh(control({ state: "", jobs: null })))).toBeNull();
    expect(warned).toHaveBeenCalledOnce();
  });

  it("keep what a newer control plane says of them and this code does not know", async () => {
    const newer = { ...snapshot("e.1.m", [{ ...job(1), colour: "red" } as never]), region: "eu" };
    expect(await new JobsCache().refresh(control(newer))).toEqual(newer);
  });

  it("leave no timer behind", async () => {
    vi.useFakeTimers();
    await new JobsCache().refresh(control(snapshot("e.1.m", [])));
    expect(vi.getTimerCount()).toBe(0);
  });
});
