/** Which jobs have a canary, and when; and what a crash leaves. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { DEDUP_MS } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { CLOCK_SKEW_MS, type JobConfig } from "../../../src/ship/job/config.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { jobStatus } from "../../../src/ship/reader/job-status.ts";
import { freshBucket, NOON } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { CANARY_GET, CANARY_PUT, canaryWorld, ended, sealed, tick } from "./canary-world.ts";
import { append, configure, fill, fragmentsOf, inLog, read } from "./direct.ts";

const HOUR_MS = 3_600_000;
const disabled = [{ fromMs: NOON, untilMs: NOON + CLOCK_SKEW_MS }];

const WITHOUT: [what: string, fields: Partial<JobConfig>][] = [
  ["that knows of none", {}],
  ["that is told to have none", { canary: false }],
  ["that is disabled", { canary: true, windows: disabled }],
  ["that is never enabled", { canary: true, windows: [] }],
  ["that is deleted", { canary: true, deletedMs: NOON }],
];

describe("a job without a canary", () => {
  it.each(WITHOUT)("sends none any more: one %s from now on", async (_what, fields) => {
    const { state, report, configure, tick, control, clock } = await canaryWorld();
    await tick();
    expect((await state())?.state).toBe("ok");
    await configure({ canary: false, ...fields });
    expect([await state(), await report()]).toEqual([null, null]);
    clock.advance(2 * HOUR_MS);
    await tick();
    await inLog({ id: 1 }, (log) => log.drive("scheduled", 0));
    await ended(1);
    expect((await control.puts()).length).toBe(1);
    // The alarm that was set for it came, and none is set after it.
    expect(await tick()).toBe(false);
  });
});

describe("a canary begins anew", () => {
  it("when it is switched on again, and when its job is enabled again", async () => {
    const { clock, tick, state, configure, control, nextHour } = await canaryWorld();
    await control.script([rule({ do: "answer", status: 403 }, CANARY_GET)]);
    await tick();
    expect((await state())?.state).toBe("unreadable");
    for (const off of [{ canary: false }, { windows: disabled }]) {
      await configure(off);
      clock.advance(90_000);
      await configure({ canary: true, windows: [...disabled, { fromMs: clock.nowMs(), untilMs: null }] });
      expect(await state()).toEqual({ state: "waiting", sinceMs: clock.nowMs(), lastOkMs: null, why: null });
      await tick();
      expect((await state())?.state).toBe("unreadable");
    }
    await control.script([]);
    expect((await nextHour())?.state).toBe("ok");
  });

  it("when its job is moved: of the new destination nothing is known, and it is asked at once", async () => {
    const { clock, tick, state, configure, control, report } = await canaryWorld();
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, CANARY_PUT)]);
    await tick();
    expect((await state())?.state).toBe("failed");
    const other = freshBucket();
    clock.advance(1_000);
    await configure({ destinationVersion: 2, destination: sealed(other.name, "new/{DATE}"), path: "new/{DATE}" });
    expect(await state()).toEqual({ state: "waiting", sinceMs: NOON + 1_000, lastOkMs: null, why: null });
    await tick();
    expect(await state()).toMatchObject({ state: "ok", sinceMs: NOON + 1_000 });
    expect((await other.control.objects()).map(({ key }) => key)).toEqual([(await report())?.key]);
  });

  it("not when anything else of its job is changed", async () => {
    const { clock, tick, state, configure, asked } = await canaryWorld();
    await tick();
    clock.advance(1_000);
    await configure({ outputVersion: 2, modifiedVersion: 2, filter: null });
    await tick();
    expect(await state()).toMatchObject({ state: "ok", lastOkMs: NOON });
    expect((await asked()).length).toBe(2);
  });

  it("and what the old destination says then, counts no more", async () => {
    const { tick, state, configure, control, job } = await canaryWorld();
    await control.script([rule({ do: "hold" }, CANARY_PUT, 1)]);
    await inLog(job, (log) => log.alarm());
    await control.whenHeld(1);
    const other = freshBucket();
    await configure({ destinationVersion: 2, destination: sealed(other.name, "logs/{DATE}") });
    await control.script([rule({ do: "answer", status: 403 }, CANARY_GET)]);
    await control.release();
    await ended(job.id);
    expect((await state())?.state).toBe("waiting");
    await tick();
    expect((await state())?.state).toBe("ok");
    expect((await other.control.objects()).length).toBe(1);
  });

  it("and one that comes back after it was switched off leaves nothing", async () => {
    const { state, configure, control, job } = await canaryWorld();
    await control.script([rule({ do: "hold" }, CANARY_PUT, 1)]);
    await inLog(job, (log) => log.alarm());
    await control.whenHeld(1);
    await configure({ canary: false });
    await control.release();
    await ended(job.id);
    expect(await state()).toBeNull();
  });
});

describe("who asks for a flush", () => {
  it("has a canary sent that is not well, and not one that is", async () => {
    const { clock, tick, state, control, job, asked } = await canaryWorld();
    const flush = async (): Promise<void> => {
      await inLog(job, (log) => log.drive("manual", 10_000));
      await ended(job.id);
    };
    await tick();
    await flush();
    expect((await asked()).length).toBe(2);
    await control.script([rule({ do: "answer", status: 403 }, CANARY_PUT)]);
    clock.advance(HOUR_MS);
    await tick();
    expect((await state())?.state).toBe("failed");
    await control.script([]);
    clock.advance(1_000);
    await flush();
    expect(await state()).toMatchObject({ state: "ok", sinceMs: clock.nowMs() });
  });
});

describe("a log that dies with a canary under way", () => {
  const SEAMS = [
    ["before it is written", "PUT", "before"],
    ["when it was written", "PUT", "after"],
    ["before it is read", "GET", "before"],
    ["when it was read", "GET", "after"],
  ] as const;

  it.each(SEAMS.flatMap((seam) => (["alarm", "cron"] as const).map((by) => [...seam, by] as const)))(
    "sends it again: %s (%s, %s), by the %s",
    async (_what, method, when, by) => {
      const { clock, job, state, control } = await canaryWorld();
      const state0 = await runInDurableObject(nodeAt(env.READERS, job.id, 0), (_log, ctx) => ctx);
      let died = 0;
      const real = fetch;
      vi.spyOn(platform, "fetch").mockImplementation(async (url, init) => {
        const dies = died === 0 && init.method === method;
        if (dies && when === "before") die();
        const response = await real(url, init);
        if (dies) die();
        return response;
      });
      const die = (): never => {
        died += 1;
        state0.abort("dies");
        throw new Error("dead");
      };
      await inLog(job, async (log) => {
        await log.alarm();
        await log.canary.running;
      }).catch(() => {});
      expect(died).toBe(1);
      expect((await state())?.state).toBe("waiting");
      clock.advance(300_000);
      if (by === "cron") await inLog(job, (log) => log.drive("scheduled", 0));
      else await inLog(job, (log) => log.alarm());
      await ended(job.id);
      expect(await state()).toEqual({ state: "ok", sinceMs: NOON + 300_000, lastOkMs: NOON + 300_000, why: null });
      expect((await control.objects()).length).toBe(1);
    },
  );

  it("sends it again if what it came to could not be written down", async () => {
    const { clock, job, state, tick, asked } = await canaryWorld();
    const errors: unknown[] = [];
    vi.spyOn(console, "error").mockImplementation((line) => void errors.push(line));
    await inLog(job, async (log, storage) => {
      const prototype = Object.getPrototypeOf(storage) as DurableObjectStorage;
      await log.alarm();
      const broken = vi.spyOn(prototype, "transactionSync").mockImplementation(() => {
        throw new Error("the disk is full");
      });
      await log.canary.running;
      broken.mockRestore();
    });
    expect(errors).toMatchObject([{ message: "canary broke", job: 1, error: "Error: the disk is full" }]);
    expect((await state())?.state).toBe("waiting");
    clock.advance(1_000);
    await tick();
    expect((await state())?.state).toBe("ok");
    expect(await asked()).toEqual(["PUT 200", "GET 200", "PUT 200", "GET 200"]);
  });

  it("reads again, after it was evicted between two tries, what it had written", async () => {
    const { clock, tick, state, control, evict, asked, report } = await canaryWorld();
    await control.script([rule({ do: "answer", status: 404 }, CANARY_GET, 1)]);
    await tick();
    await evict();
    clock.advance(((await report())?.nextRunMs ?? 0) - NOON);
    await tick();
    expect(await state()).toMatchObject({ state: "ok", lastOkMs: NOON + 15_000 });
    expect(await asked()).toEqual(["PUT 200", "GET 404", "GET 200"]);
  });
});

describe("of several segments", () => {
  it("the newest alone sends any, under the key of the first", async () => {
    const { clock, job, tick, report, control } = await canaryWorld();
    await tick();
    const key = (await report())?.key;
    await fill(job);
    await append(job, fragmentsOf(NDJSON, ["x\n"]));
    await read(job);
    expect(await report()).toMatchObject({ state: "waiting", key });
    clock.advance(2 * HOUR_MS);
    await tick();
    await inLog(job, (log) => log.drive("scheduled", 0));
    await ended(job.id);
    const canaries = async () => (await control.objects()).filter((object) => object.key === key);
    expect(await canaries()).toMatchObject([{ puts: 1 }]);
    await tickSegment();
    expect(await report()).toMatchObject({ state: "ok", key });
    expect((await jobStatus(env, job.id))?.canary).toMatchObject({ state: "ok", sinceMs: clock.nowMs() });
    expect(await canaries()).toMatchObject([{ puts: 2 }]);
    // A new configuration brings none back in the sealed one.
    await configure({ ...job, version: 2, destinationVersion: 2 });
    expect(await inLog(job, (log) => log.canaryReport())).toMatchObject({ report: null, sealed: true });
    expect(await inLog(job, (_log, { sql }) => sql.exec("SELECT * FROM canary").toArray())).toEqual([]);
  });

  const tickSegment = (): Promise<boolean> => tick(1, 1);
});

it("a log that is retired while a canary is under way stays so", async () => {
  const errors = vi.spyOn(console, "error");
  const { clock, job, configure, control } = await canaryWorld();
  await control.script([rule({ do: "hold" }, CANARY_PUT, 1)]);
  await inLog(job, (log) => log.alarm());
  await control.whenHeld(1);
  await configure({ deletedMs: NOON, windows: [] });
  clock.advance(DEDUP_MS + 1);
  const retired = await inLog(job, async (log, storage) => {
    const gone = await log.retire();
    await control.release();
    await log.canary.running;
    const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name IN ('log', 'canary')").toArray();
    return { gone, tables, status: log.status(), report: log.canaryReport(), alarm: await storage.getAlarm() };
  });
  expect(retired).toEqual({
    gone: true,
    tables: [],
    status: null,
    report: { report: null, sealed: false },
    alarm: null,
  });
  // Its outcome is dropped, and is no error.
  expect(errors).not.toHaveBeenCalled();
});
