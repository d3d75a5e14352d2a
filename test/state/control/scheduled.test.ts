import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import worker from "../../../src/index.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { handleScheduled, type ScheduledContext } from "../../../src/ship/scheduled.ts";
import { DAY_MS, NOON } from "../../formats/record/samples.ts";
import { job, snapshot } from "../../ship/consumer/scripted.ts";

const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** What the reader of a job does; calls that are left out succeed. */
interface Reader {
  following?: () => Promise<unknown>;
  drive?: () => Promise<unknown>;
  retire?: () => Promise<boolean>;
}

const CHORES = ["log", "control plane", "replays", "attachments", "watch"];

interface World extends ScheduledContext {
  /** What was completed, in order. */
  readonly done: string[];
}

function world(jobs: JobConfig[] | null, readers: Record<number, Reader> = {}): World {
  const done: string[] = [];
  const ends = (what: string) => async () => void done.push(what);
  const getByName = (name: string) => {
    const id = Number(name.split(" ")[1]);
    return {
      following: async () => ({ sealed: false }),
      async drive() {
        done.push(`drive ${id}`);
        return { pendingObjects: 0 };
      },
      async retire() {
        done.push(`retire ${id}`);
        return true;
      },
      ...readers[id],
    };
  };
  return {
    done,
    jobs: async () => jobs && { jobs, shards: [0] },
    driveLog: ends("drive the log"),
    isOver: async () => true,
    env: { READERS: { getByName }, CONTROL: { getByName: () => ({ shards: async () => [0] }) } } as never,
    forget: async (id) => void done.push(`forget ${id}`),
    chores: CHORES.map((what) => ({ what, run: ends(what) })),
    platform: { now: () => NOON },
  };
}

async function lasts(under: Promise<unknown>): Promise<number> {
  const began = Date.now();
  let ended: number | null = null;
  const end = () => {
    ended = Date.now() - began;
  };
  under.then(end, end);
  for (let s = 0; s < 900 && ended === null; s++) await vi.advanceTimersByTimeAsync(1_000);
  if (ended === null) throw new Error("still under way when the platform ends it");
  return ended;
}

let errors: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  vi.useFakeTimers();
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const failed = () => errors.mock.calls.map(([line]: unknown[]) => (line as { chore: string }).chore);

describe("the scheduled handler", () => {
  const REST = [...CHORES, "drive 1", "drive 3", "drive the log"].toSorted();

  it.each<[string, Reader]>([
    ["does not say how it is", { following: never }],
    ["does not say whether it was driven", { drive: never }],
    ["fails", { drive: () => Promise.reject(new Error("out of reach")) }],
  ])("drives the log, and then every reader but the one that %s, says which, and ends", async (_what, reader) => {
    const it_ = world([job(1), job(2), job(3)], { 2: reader });
    expect(await lasts(handleScheduled(it_))).toBeLessThanOrEqual(30_000);
    expect(it_.done[0]).toBe("drive the log");
    expect(it_.done.toSorted()).toEqual(REST);
    expect(failed()).toEqual(["job 2"]);
  });

  it("waits for uploads that take their twenty seconds", async () => {
    const it_ = world([job(1)], {
      1: { drive: () => new Promise((resolve) => setTimeout(() => resolve({ pendingObjects: 1 }), 20_000)) },
    });
    expect(await lasts(handleScheduled(it_))).toBe(20_000);
    expect(errors).not.toHaveBeenCalled();
  });

  it("is not held by what it does beside: to forget, to sweep, to see to all the rest", async () => {
    const old = job(1, { deletedMs: NOON - 16 * DAY_MS });
    const it_ = world([old, job(2)]);
    it_.forget = never;
    it_.chores = CHORES.map((what) => ({ what, run: never }));
    expect(await lasts(handleScheduled(it_))).toBe(30_000);
    expect(it_.done.toSorted()).toEqual(["drive 1", "drive 2", "drive the log", "retire 1"]);
    expect(failed()).toEqual(["job 1", ...CHORES]);
  });

  it("waits ten seconds for the log, and drives the readers all the same", async () => {
    const it_ = world([job(1)]);
    it_.driveLog = never;
    expect(await lasts(handleScheduled(it_))).toBe(10_000);
    expect(it_.done).toContain("drive 1");
    expect(failed()).toEqual(["the log"]);
  });

  it("forgets a job that is over and whose readers are gone, and no other", async () => {
    const deletedMs = NOON - 16 * DAY_MS;
    const jobs = [1, 2, 4].map((id) => job(id, { deletedMs }));
    const it_ = world([...jobs, job(3, { deletedMs: NOON })], { 2: { retire: async () => false } });
    it_.isOver = async (id) => id !== 4;
    await lasts(handleScheduled(it_));
    expect(it_.done.filter((what) => /forget|retire/.test(what))).toEqual(["retire 1", "forget 1"]);
  });

  it("sees to the log, control plane and all the rest where the jobs cannot be read, and counts as failed", async () => {
    const it_ = world(null);
    const run = handleScheduled(it_);
    const refused = expect(run).rejects.toThrow("the control plane does not answer");
    await lasts(run);
    await refused;
    expect(it_.done.toSorted()).toEqual([...CHORES, "drive the log"].toSorted());
  });

  it("names what is wrong with the configuration, though something hangs", async () => {
    const hanging = { getByName: () => ({ sweep: never, drive: never }) };
    const control = {
      getByName: () => ({ configSince: async () => snapshot("e.1.m", []), drive: never }),
    };
    // Not real ones: their delays would wait for a clock that stands still, and end in another
    // object's context.
    const idle = { getByName: () => ({ check: async () => {}, drive: async () => {} }) };
    const scripted = {
      ...env,
      ...{ TRACE_LOG: hanging, CONTROL: control, WATCH: idle, REPLAYS: idle },
      SECRETS_KEY: "no key",
    };
    const run = worker.scheduled(createScheduledController(), scripted as never);
    const refused = expect(run).rejects.toThrow("SECRETS_KEY");
    // The log has ten seconds, and then everything else has thirty.
    expect(await lasts(run)).toBe(40_000);
    await refused;
    expect(failed()).toEqual(["the log", "log", "control plane", "reruns"]);
  });
});
