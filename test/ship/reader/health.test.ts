import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { hourOf } from "../../../src/base/time.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { jobHealth } from "../../../src/ship/reader/all-readers.ts";
import { jobStatus } from "../../../src/ship/reader/job-status.ts";
import { jobObjects } from "../../../src/ship/reader/object-pages.ts";
import { emptyHour, Health, type HealthHour, sumOf } from "../../../src/ship/reader/upload-health.ts";
import { freshBucket, logStatus, NOON, runAlarm, setSteadyClock } from "../../support/runtime/pipeline.ts";
import type { BucketControl } from "../../support/s3-control.ts";
import { rule } from "../../support/s3-script.ts";
import { append, configure, cutObjects, fill, fragmentsOf, inLog, isShipped, jobInto } from "./direct.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOUR = hourOf(NOON);

/** Hours with something in them, as the chain tells them. */
const hoursOf = ({ id }: Pick<JobConfig, "id">): Promise<HealthHour[]> =>
  jobHealth(env, id, 0, Number.MAX_SAFE_INTEGER);

const sums = async (job: JobConfig): Promise<HealthHour> => (await hoursOf(job)).reduce(sumOf, emptyHour(0));

const put = (status: number, code?: string) => [
  rule({ do: "answer", status, ...(code !== undefined && { code }) }, { method: "PUT", keyIncludes: ".log.gz" }),
];

interface World {
  clock: ReturnType<typeof setSteadyClock>;
  control: BucketControl;
  job: JobConfig;
}

async function world(): Promise<World> {
  const clock = setSteadyClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name);
  await configure(job);
  return { clock, control, job };
}

const record = (job: JobConfig, text = "x\n"): Promise<void> => append(job, fragmentsOf(NDJSON, [text]));

const drive = (job: JobConfig): Promise<unknown> => inLog(job, async (log) => log.drive("manual", 10_000));

describe("the hours of a log", () => {
  it("count an upload with what was in it, and how long it took", async () => {
    const { clock, job } = await world();
    await record(job, "one\n");
    await record(job, "two\n");
    vi.spyOn(platform, "fetch").mockImplementation((url, init) => {
      clock.advance(40);
      return fetch(url, init);
    });
    await drive(job);
    await record(job, "three\n");
    await drive(job);
    const { deliveredBytes: bytes, deliveredRawBytes: rawBytes } = await logStatus(job.id);
    expect([rawBytes, bytes > 0]).toEqual([14, true]);
    // The first one had to find out what the store does with a condition, in two requests.
    const counted = { ...emptyHour(HOUR), ok: 2, records: 3, bytes, rawBytes, totalMs: 160, longestMs: 120 };
    expect(await hoursOf(job)).toEqual([counted]);
  });

  it.each<[string, number, string | undefined, Partial<HealthHour>]>([
    ["busy", 503, "SlowDown", { retried: 2, causes: { 503: 2 } }],
    ["not allowed", 403, "AccessDenied", { failed: 2, causes: { 403: 2 } }],
    ["refused for itself", 413, undefined, { failed: 1, causes: { 413: 1 } }],
  ])("count what is %s, by its status", async (_what, status, code, expected) => {
    const { clock, control, job } = await world();
    await record(job);
    await control.script(put(status, code));
    for (let tries = 0; tries < 2; tries++) {
      await drive(job);
      clock.advance(10 * 60_000);
    }
    expect(await hoursOf(job)).toEqual([{ ...emptyHour(HOUR), ...expected }]);
  });

  it.each<[string, Parameters<typeof rule>[0], Record<string, number>, "retried" | "failed"]>([
    ["a reset", { do: "reset", when: "before" }, { connection_failed: 1 }, "retried"],
    ["a store that keeps nothing", { do: "discard" }, { not_kept: 1 }, "retried"],
  ])("count %s by a word", async (_what, action, causes, end) => {
    const { control, job } = await world();
    await record(job);
    await control.script([rule(action, { method: "PUT", keyIncludes: ".log.gz" })]);
    await drive(job);
    expect(await hoursOf(job)).toEqual([{ ...emptyHour(HOUR), [end]: 1, causes }]);
  });

  it("count a key that is taken, and the next one", async () => {
    const { control, job } = await world();
    await record(job);
    const foreign = { etag: `"${"f".repeat(32)}"` };
    await control.script([
      rule({ do: "answer", status: 412 }, { method: "PUT", keyIncludes: ".log.gz" }, 1),
      rule({ do: "answer", status: 200, headers: foreign }, { method: "HEAD" }, 1),
    ]);
    await drive(job);
    expect(await hoursOf(job)).toMatchObject([{ ok: 1, retried: 1, failed: 0, causes: { key_taken: 1 } }]);
  });

  it("count nothing of an attempt that the job no longer waits for", async () => {
    const { job } = await world();
    await record(job);
    await inLog(job, async (log, storage) => {
      await configure({ ...job, version: 2, outputVersion: 2 });
      const [cut] = cutObjects(storage);
      if (cut === undefined) throw new Error("nothing was cut");
      const moved = { ...job, version: 3, outputVersion: 2, destinationVersion: 2 };
      await configure(moved);
      const error = { kind: "busy", words: "HTTP 503", retryAfterS: null, cause: 503 } as const;
      log.attempts.settle(cut.row, { kind: "failed", error }, job, NOON);
      log.attempts.settle(cut.row, { kind: "delivered", verified: true }, moved, NOON);
      log.attempts.settle(cut.row, { kind: "delivered", verified: true }, moved, NOON);
      log.attempts.settle(cut.row, { kind: "failed", error }, moved, NOON);
    });
    expect(await hoursOf(job)).toMatchObject([{ ok: 1, retried: 0, failed: 0, records: 1, causes: {} }]);
  });

  it("belong to the time at which an attempt ends, to the ms", async () => {
    const { clock, job } = await world();
    clock.advance(HOUR_MS - 1);
    await record(job);
    await drive(job);
    clock.advance(1);
    await record(job);
    await drive(job);
    await record(job);
    vi.spyOn(platform, "fetch").mockImplementation((url, init) => {
      clock.advance(HOUR_MS);
      return fetch(url, init);
    });
    await drive(job);
    expect((await hoursOf(job)).map(({ hour, ok }) => [hour - HOUR, ok])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
    ]);
  });

  it("stand or fall with what they count", async () => {
    const { control, job } = await world();
    await record(job);
    const broken = vi.spyOn(Health.prototype, "note").mockImplementation(() => {
      throw new Error("the disk is full");
    });
    await drive(job).catch(() => {});
    expect([(await control.objects()).filter(isShipped).length, (await logStatus(job.id)).counts]).toMatchObject([
      1,
      { delivered: 0, pending: 1 },
    ]);
    broken.mockRestore();
    await drive(job);
    expect([(await logStatus(job.id)).counts.delivered, await sums(job)]).toMatchObject([1, { ok: 1, records: 1 }]);
  });

  it.each([
    ["gathered", 1],
    ["a row", 2],
  ])("are kept for 720 hours, and go where the other rows go: %s", async (_what, hours) => {
    const { clock, job } = await world();
    for (let hour = 0; hour < hours; hour++) {
      clock.advance(HOUR_MS);
      await record(job);
      await drive(job);
    }
    const rows = async () => (await hoursOf(job)).map(({ hour }) => hour - HOUR);
    clock.advance(30 * DAY_MS - hours * HOUR_MS);
    await drive(job);
    expect(await rows()).toEqual(hours === 1 ? [1] : [1, 2]);
    clock.advance(DAY_MS);
    await drive(job);
    expect([await rows(), (await logStatus(job.id)).counts.delivered]).toEqual([[], hours]);
  });

  it("lose nothing to a clock that goes back, or to release 1, which gathers nothing", async () => {
    const { clock, job } = await world();
    const deliver = async () => {
      await record(job);
      await drive(job);
    };
    await deliver();
    for (const ms of [HOUR_MS, -HOUR_MS, HOUR_MS]) {
      clock.advance(ms);
      await deliver();
    }
    const known = async () =>
      [...Map.groupBy(await hoursOf(job), ({ hour }) => hour)].map(([hour, all]) => [
        hour - HOUR,
        all.reduce(sumOf).ok,
        all.reduce(sumOf).records,
      ]);
    expect(await known()).toEqual([
      [0, 2, 2],
      [1, 2, 2],
    ]);
    // An attempt of release 1 in the hour that is being gathered.
    await inLog(job, (_log, { sql }) => {
      sql.exec("UPDATE health_hour SET ok = ok + 5, records = records + 5 WHERE hour = ?", HOUR + 1);
    });
    const both = [
      [0, 2, 2],
      [1, 7, 7],
    ];
    expect([await known(), (await logStatus(job.id)).lastDay.objects]).toEqual([both, 9]);
    clock.advance(HOUR_MS);
    await deliver();
    expect(await known()).toEqual([...both, [2, 1, 1]]);
  });

  it("are summed over the segments of a chain", async () => {
    const { clock, control, job } = await world();
    await record(job);
    await control.script(put(503));
    await drive(job);
    await fill(job);
    await record(job);
    await control.script([]);
    await append(job, fragmentsOf(NDJSON, ["y\n", "z\n"]));
    clock.advance(60_000);
    await drive(job);
    expect(await runAlarm(job.id, 1)).toBe(true);
    expect((await hoursOf(job)).map(({ ok, retried }) => [ok, retried])).toEqual([
      [2, 1],
      [1, 0],
    ]);
    expect(await sums(job)).toMatchObject({ ok: 3, retried: 1, records: 4, causes: { 503: 1 } });
    expect((await jobStatus(env, job.id))?.counts.delivered).toBe(4);
  });
});

describe("whatever happens", () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant("append" as const), records: fc.integer({ min: 1, max: 5 }) }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("drive" as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(2 * HOUR_MS) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("script" as const),
        rules: fc.constantFrom(
          [],
          put(503),
          put(403, "AccessDenied"),
          put(413),
          [rule({ do: "answer", status: 500, store: true }, { method: "PUT" }, 1)],
          [rule({ do: "reset", when: "after" }, { method: "PUT" }, 1)],
          [rule({ do: "truncate" }, { method: "PUT", keyIncludes: ".log.gz" }, 1)],
        ),
      }),
    },
  );

  it("the hours add up to the ledger and to the list of objects", async () => {
    let id = 100;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const clock = setSteadyClock(NOON);
        const { name, control } = freshBucket();
        const job = jobInto(name, { id: ++id });
        await configure(job);
        for (const each of steps) {
          if (each.do === "wait") clock.advance(each.ms);
          if (each.do === "script") await control.script(each.rules);
          if (each.do === "drive") await drive(job);
          if (each.do === "append") {
            const texts = Array.from({ length: each.records }, (_, n) => `${n}\n`);
            await append(job, fragmentsOf(NDJSON, texts));
          }
        }
        const sum = await sums(job);
        const { counts, deliveredBytes, deliveredRawBytes } = await logStatus(job.id);
        expect([sum.records, sum.bytes, sum.rawBytes]).toEqual([counts.delivered, deliveredBytes, deliveredRawBytes]);
        const { entries } = await jobObjects(env, job.id, 0, 1_000);
        expect(sum.ok).toBe(entries.filter(({ state }) => state === "delivered").length);
        expect(sum.ok + sum.retried + sum.failed).toBe(entries.reduce((n, { attempts }) => n + attempts, 0));
        expect(Object.values(sum.causes).reduce((n, count) => n + count, 0)).toBe(sum.retried + sum.failed);
      }),
      { numRuns: 10 },
    );
  });
});
