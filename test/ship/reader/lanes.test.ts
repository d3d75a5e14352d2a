/** Objects of far-away days have a lane of their own, behind those of about today. */
import { describe, expect, it } from "vitest";
import { FragmentBuilder } from "../../../src/formats/object/fragment.ts";
import { dayStamp } from "../../../src/formats/object/keys.ts";
import { batchTexts, NDJSON } from "../../../src/formats/output/format.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { Objects } from "../../../src/ship/reader/objects.ts";
import type { ObjectRow } from "../../../src/ship/reader/reader-rows.ts";
import { ReaderState } from "../../../src/ship/reader/reader-state.ts";
import { Uploads } from "../../../src/ship/reader/uploads.ts";
import { freshBucket, logStatus, NOON, runAlarm, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { until } from "../../support/until.ts";
import { append, configure, DAY, inLog, isShipped, jobInto } from "./direct.ts";

/** Commits a record of each of these days, taken in at noon of {@link DAY}. */
function appendDays(job: JobConfig, days: readonly number[]): Promise<void> {
  const builder = new FragmentBuilder(batchTexts(NDJSON).delimiter);
  for (const day of days) builder.add("x\n", day, day * 86_400_000, NOON);
  return append(job, builder.finish());
}

/** Commits a record of each of these days, and cuts them. */
async function cutDays(job: JobConfig, version: number, days: readonly number[]): Promise<void> {
  await appendDays(job, days);
  await configure({ ...job, version: version + 1, outputVersion: version + 1 });
}

const farDays = (count: number): number[] => Array.from({ length: count }, (_, n) => DAY - 3_000 + n);
const FAR = farDays(60);
const NEAR = [DAY - 1, DAY, DAY + 1];

/** Cuts far days, then near ones. @returns the days of the uploads, in the order they begin. */
function order(failing: boolean): Promise<number[]> {
  setSteadyClock(NOON);
  const job = jobInto(freshBucket().name);
  return inLog(job, async (_log, { sql }) => {
    await configure(job);
    await cutDays(job, 1, FAR);
    await cutDays(job, 2, NEAR);
    if (failing) sql.exec("UPDATE reader SET failures = 1");
    const state = new ReaderState(sql, "");
    const days: number[] = [];
    const uploads = new Uploads(state, new Objects(sql, state), async ({ number, day }: ObjectRow) => {
      days.push(day);
      sql.exec("UPDATE object SET state = 'discarded' WHERE number = ?", number);
    });
    await uploads.run();
    return days;
  });
}

describe("the order of uploads", () => {
  it.each([
    ["side by side", false],
    ["one at a time after a failure", true],
  ])("has about today first, and one of four of a far day: %s", async (_how, failing) => {
    const days = await order(failing);
    expect(days.slice(0, 4)).toEqual([...NEAR, FAR[0]]);
    expect(days.slice(4)).toEqual(FAR.slice(1));
  });

  it("does not hold up a far day for good, however much of today comes", async () => {
    setSteadyClock(NOON);
    const job = jobInto(freshBucket().name);
    await inLog(job, async (_log, { sql }) => {
      await configure(job);
      await cutDays(job, 1, FAR.slice(0, 5));
      await cutDays(job, 2, NEAR);
      const state = new ReaderState(sql, "");
      const days: number[] = [];
      const uploads = new Uploads(state, new Objects(sql, state), async ({ number, day }: ObjectRow) => {
        days.push(day);
        // For each of today that goes another one comes.
        const comes = !FAR.includes(day) && days.length < 40;
        sql.exec(
          `UPDATE object SET ${comes ? "number = number + 100" : "state = 'discarded'"} WHERE number = ?`,
          number,
        );
      });
      await uploads.run();
      const far = days.flatMap((day, i) => (FAR.includes(day) ? [i] : []));
      expect(far).toEqual([3, 7, 11, 15, 19]);
    });
  });
});

describe("far days that take every place they get", () => {
  /** Three of twenty are being uploaded, and the store does not answer. */
  async function heldUp() {
    const clock = setSteadyClock(NOON);
    const { name, control } = freshBucket();
    const job = jobInto(name);
    await control.script([rule({ do: "hold" }, { method: "PUT", keyIncludes: ".log.gz" }, 3)]);
    await inLog(job, async (log) => {
      log.alarmWaitMs = 0;
      await configure(job);
      await appendDays(job, farDays(20));
    });
    clock.advance(30_000);
    expect(await runAlarm(job.id)).toBe(true);
    await control.whenHeld(3);
    return { clock, control, job };
  }

  it("leave one to today: its object goes out before all others that wait", async () => {
    const { clock, control, job } = await heldUp();
    await appendDays(job, [DAY]);
    clock.advance(30_000);
    expect(await runAlarm(job.id)).toBe(true);
    await until(async () => (await logStatus(job.id)).counts.delivered === 1);
    const written = (await control.objects()).filter(isShipped).map(({ key }) => key);
    expect(written).toEqual([expect.stringMatching(`^logs/${dayStamp(DAY)}/`)]);
    await control.release();
    await until(async () => (await logStatus(job.id)).counts.pending === 0);
    expect((await control.objects()).filter(isShipped)).toHaveLength(21);
  });

  it("are looked at again when one ends, not at once and over and over", async () => {
    const { clock, control, job } = await heldUp();
    const next = await inLog(job, (_log, storage) => storage.getAlarm());
    expect(next).toBe(clock.nowMs() + 15_000);
    await control.release();
    await until(async () => (await logStatus(job.id)).counts.pending === 0);
  });

  it("have three places, also after a failure: what was tried in vain keeps to that, too", async () => {
    setSteadyClock(NOON);
    const job = jobInto(freshBucket().name);
    await inLog(job, async (_log, { sql }) => {
      await configure(job);
      await cutDays(job, 1, FAR);
      sql.exec("UPDATE object SET attempts = 1");
      const state = new ReaderState(sql, "");
      const end = Promise.withResolvers<void>();
      let begun = 0;
      const uploads = new Uploads(state, new Objects(sql, state), async ({ number }: ObjectRow) => {
        begun += 1;
        await end.promise;
        sql.exec("UPDATE object SET state = 'discarded' WHERE number = ?", number);
      });
      const run = uploads.run();
      expect(begun).toBe(3);
      expect(uploads.nextMs(state.requireRow(), NOON)).toBe(NOON + 15_000);
      end.resolve();
      await run;
      expect(begun).toBe(FAR.length);
    });
  });
});

it("a day is far from that of intake, not from that of the cut: what comes late is not far", async () => {
  const clock = setSteadyClock(NOON);
  const job = jobInto(freshBucket().name);
  await inLog(job, async (_log, { sql }) => {
    await configure(job);
    clock.advance(10 * 86_400_000);
    await cutDays(job, 1, [DAY - 2, ...NEAR, DAY + 2]);
    const lanes = sql.exec<{ day: number; far: number }>("SELECT day, far FROM object ORDER BY day").toArray();
    expect(lanes.map(({ day, far }) => [day - DAY, far])).toEqual([
      [-2, 1],
      [-1, 0],
      [0, 0],
      [1, 0],
      [2, 1],
    ]);
  });
});

describe("the cuts of thousands of far days", () => {
  /** 1,100 far days wait, and then today: the newest batch. The store takes nothing. */
  async function open() {
    const clock = setSteadyClock(NOON);
    const { name, control } = freshBucket();
    await control.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
    const job = jobInto(name);
    await inLog(job, async (log) => {
      log.alarmWaitMs = 0;
      await configure(job);
      await appendDays(job, [...farDays(1_100), DAY]);
    });
    clock.advance(30_000);
    const cut = () =>
      inLog(job, (_log, { sql }) =>
        sql
          .exec<{ day: number }>("SELECT day FROM object ORDER BY number")
          .toArray()
          .map(({ day }) => day),
      );
    return { clock, job, cut };
  }

  it("are made in turns, today first, each in an alarm of its own", async () => {
    const { clock, job, cut } = await open();
    for (const count of [1_000, 1_101]) {
      expect(await inLog(job, (_log, storage) => storage.getAlarm())).toBeLessThanOrEqual(clock.nowMs());
      expect(await runAlarm(job.id)).toBe(true);
      expect(await cut()).toHaveLength(count);
    }
    expect((await cut())[0]).toBe(DAY);
  });

  it("are all made by cron and flush", async () => {
    const { job, cut } = await open();
    await inLog(job, (log) => log.drive("manual", 0));
    expect(await cut()).toHaveLength(1_101);
    expect((await cut())[0]).toBe(DAY);
  });
});
