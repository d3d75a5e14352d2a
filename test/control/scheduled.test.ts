import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import worker from "../../src/index.ts";
import type { JobConfig } from "../../src/job/config.ts";
import { handleScheduled, type ScheduledContext } from "../../src/scheduled.ts";
import { job } from "../pipeline/scripted.ts";
import { DAY_MS, NOON } from "../record/samples.ts";

const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** What the log of a job does; calls that are left out succeed. */
interface Log {
  status?: (segment: number) => Promise<unknown>;
  drive?: () => Promise<unknown>;
  retire?: () => Promise<boolean>;
}

const CHORES = ["ledger", "control plane", "replays", "attachments", "watch"];

/** The status of an empty log. */
const EMPTY = { sealed: false, counts: { pending: 0 }, setAside: { objects: 0 } };

interface World extends ScheduledContext {
  /** What was completed, in order. */
  readonly done: string[];
}

function world(jobs: JobConfig[] | null, logs: Record<number, Log> = {}): World {
  const done: string[] = [];
  const ends = (what: string) => async () => void done.push(what);
  const getByName = (name: string) => {
    const [, id = 0, , segment = 0] = name.split(" ").map(Number);
    const { status, ...log } = logs[id] ?? {};
    return {
      status: async () => (status === undefined ? EMPTY : status(segment)),
      holds: async () => (status === undefined ? EMPTY : status(segment)),
      async drive() {
        done.push(`drive ${id}`);
        return { pendingObjects: 0 };
      },
      async retire() {
        // Any other is a child that a split may have been begun for.
        if (segment === 0) done.push(`retire ${id}`);
        return true;
      },
      ...log,
    };
  };
  return {
    done,
    jobs: async () => jobs,
    debts: async () => ({ jobs: new Map(), storedBytes: 0 }),
    logs: { getByName } as never,
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
  const REST = [...CHORES, "drive 1", "drive 3"].toSorted();

  it.each<[string, Log]>([
    ["does not say how it is", { status: never }],
    ["does not say whether it was driven", { drive: never }],
    ["fails", { drive: () => Promise.reject(new Error("out of reach")) }],
  ])("drives every log but the one that %s, says which, and ends", async (_what, log) => {
    const it_ = world([job(1), job(2), job(3)], { 2: log });
    expect(await lasts(handleScheduled(it_))).toBeLessThanOrEqual(30_000);
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
    expect(it_.done.toSorted()).toEqual(["drive 1", "drive 2", "retire 1"]);
    expect(failed()).toEqual(["job 1", ...CHORES]);
  });

  it("forgets a job whose log has gone, and no other", async () => {
    const deletedMs = NOON - 16 * DAY_MS;
    const it_ = world([job(1, { deletedMs }), job(2, { deletedMs }), job(3, { deletedMs: NOON })], {
      2: { retire: async () => false },
    });
    await lasts(handleScheduled(it_));
    expect(it_.done.filter((what) => what.startsWith("forget"))).toEqual(["forget 1"]);
  });

  it.for([
    ["waits", { counts: { pending: 1 } }],
    ["is set aside", { setAside: { objects: 1 } }],
  ] as const)("lets go of no part of a log in any part of which something %s", async ([, held]) => {
    const status = async (segment: number) => (segment === 0 ? { ...EMPTY, sealed: true, ...held } : EMPTY);
    const it_ = world([job(1, { deletedMs: NOON - 16 * DAY_MS })], { 1: { status } });
    await lasts(handleScheduled(it_));
    expect(it_.done).not.toContain("retire 1");
  });

  it("sees to ledger, control plane and all the rest where the jobs cannot be read, and counts as failed", async () => {
    const it_ = world(null);
    const run = handleScheduled(it_);
    const refused = expect(run).rejects.toThrow("the control plane does not answer");
    await lasts(run);
    await refused;
    expect(it_.done.toSorted()).toEqual(CHORES.toSorted());
  });

  it("names what is wrong with the configuration, though something hangs", async () => {
    const hanging = { getByName: () => ({ sweep: never, drive: never, owedNoted: never }) };
    const control = {
      getByName: () => ({
        configSince: async () => ({ state: "e.1", jobs: [], optOuts: [], optOutVersion: 0 }),
        drive: never,
      }),
    };
    // Not real ones: their delays would wait for a clock that stands still, and end in another
    // object's context.
    const idle = { getByName: () => ({ check: async () => {}, drive: async () => {} }) };
    const scripted = {
      ...env,
      ...{ ACCOUNT: hanging, CONTROL: control, WATCH: idle, REPLAYS: idle },
      SECRETS_KEY: "no key",
    };
    const run = worker.scheduled(createScheduledController(), scripted as never);
    const refused = expect(run).rejects.toThrow("SECRETS_KEY");
    // The debts have ten seconds, and then everything else has thirty.
    expect(await lasts(run)).toBe(40_000);
    await refused;
    expect(failed()).toEqual(["debts", "ledger", "control plane"]);
  });
});
