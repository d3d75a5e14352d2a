/** Stores that are down for days, or fail in every way for a day, beside healthy ones. */
import { describe, expect, vi } from "vitest";
import { platform } from "../../src/base/platform.ts";
import { JobReader } from "../../src/index.ts";
import { Random } from "../soak/random.ts";
import { variants } from "../support/matrix.ts";
import { jobObjects } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import { type Action, type Match, type Rule, rule } from "../support/s3-script.ts";
import { until } from "../support/until.ts";
import { asideOf, resend, resendAll } from "./aside.ts";
import { dense } from "./large-event.ts";
import { jobRow, OVER_HTTP, row, STORES, storeRow, TELLS } from "./row.ts";
import {
  arrive,
  attempts,
  controlOf,
  countsOf,
  failingJob,
  HEADS,
  outlast,
  PUTS,
  pass,
  said,
  waitingJob,
  written,
} from "./stores.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Takes some events and lets one interval pass, plus the 8 s that a batch of several appends stays
 * open.
 */
async function interval(world: World, events = 3): Promise<void> {
  await arrive(world, world.mint(events));
  await pass(world, 38_000);
}

describe("one of two jobs' store is down for three days, and the other job delivers within its interval all the while", () => {
  const down: readonly (readonly [name: string, action: Action, match: Match, words: RegExp])[] = [
    ["answers 403", { do: "answer", status: 403, code: "AccessDenied" }, {}, /^delivery paused: HTTP 403/],
    ["answers 503", { do: "answer", status: 503, code: "SlowDown" }, {}, /HTTP 503 SlowDown; logship is retrying/],
    ["breaks every connection", { do: "reset", when: "before" }, {}, /connection failed; logship is retrying/],
    ["has no room left: 507", { do: "answer", status: 507 }, PUTS, /HTTP 507; logship is retrying/],
    ["takes everything and keeps nothing", { do: "discard" }, PUTS, /the object is not there; logship is retrying/],
    ["answers 412 and shows nothing", { do: "answer", status: 412 }, PUTS, /the object is not there/],
  ];
  // A status for which a job is parked, and one for which it is not.
  for (const [name, action, match, words] of variants(down)) {
    row(`one job's store ${name} for three days`, async (world) => {
      const failing = await world.createJob();
      const healthy = await world.createJob();
      await controlOf(failing).script([rule(action, match)]);
      for (let taken = 3; taken <= 72; taken += 3) {
        await interval(world);
        expect(await countsOf(healthy)).toMatchObject({ delivered: taken, pending: 0 });
        expect(await countsOf(failing)).toMatchObject({ delivered: 0, pending: taken });
        expect([await said(healthy), await said(failing)]).toEqual([null, expect.stringMatching(words)]);
        world.clock.advance(3 * HOUR_MS - 38_000);
      }
      // The rate of attempts does not grow with the backlog.
      expect(await attempts(controlOf(failing))).toBeLessThan(2 * 24 + 10);
      // A change of the job retries everything at once.
      await controlOf(failing).script([]);
      await world.jobs.change(failing, { name: "mended" });
      await world.runAlarms();
      expect([await said(failing), (await countsOf(failing)).pending]).toEqual([null, 0]);
    });
  }
});

describe("one of many objects", () => {
  storeRow("one object of three fails for a day: the others pass it, and it is set aside", STORES, async (world) => {
    const job = await world.createJob();
    const minted = world.mint(30, { days: 3 });
    await arrive(world, minted);
    const control = controlOf(job);
    await control.script([rule({ do: "answer", status: 500 }, { ...PUTS, keyIncludes: "/21001122/" })]);
    await pass(world, MINUTE_MS);
    expect(await countsOf(job)).toMatchObject({ delivered: 20, pending: 10 });
    for (let i = 1; i <= 8; i++) {
      await interval(world);
      // One failing object is no outage: new batches start within 15 s of their interval.
      await pass(world, 15_000);
      expect((await countsOf(job)).delivered).toBe(20 + 3 * i);
      await pass(world, MINUTE_MS);
    }
    expect(await countsOf(job)).toMatchObject({ delivered: 44, pending: 0, set_aside: 10 });
    await control.script([]);
    for (const { id } of await asideOf(job)) await resend(id);
  });

  jobRow(
    "four objects always fail: they are tried by their own delays, and set aside one by one",
    async (world, job) => {
      const control = controlOf(job);
      await arrive(world, world.mint(40, { days: 6 }), 10);
      await control.script([rule({ do: "answer", status: 503 }, PUTS)]);
      await pass(world, MINUTE_MS);
      const bad = (await jobObjects(job.id)).slice(0, 4).map(({ key }) => key.split("/").at(-1) ?? "");
      await control.script(
        bad.map((name) => rule({ do: "answer", status: 503 }, { method: "PUT", keyIncludes: name })),
      );
      const tried = async () => (await control.requests()).filter(({ key }) => bad.some((name) => key.endsWith(name)));
      const before = (await tried()).length;
      for (let n = 0; n < 30; n++) await interval(world, 1);
      const { pending, set_aside } = await countsOf(job);
      expect([pending, set_aside > 20]).toEqual([0, true]);
      expect((await tried()).length - before).toBeLessThan(4 * 8);
      await control.script([]);
      for (const { id } of await asideOf(job)) await resend(id);
    },
  );

  storeRow("an outage ends: it is over for all objects at once", STORES, async (world) => {
    const { job, control } = await failingJob(world, rule({ do: "answer", status: 503 }, PUTS));
    for (let i = 0; i < 6; i++) await interval(world);
    for (let i = 0; i < 20; i++) await pass(world, 300_000);
    expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 28 });
    await control.script([]);
    await pass(world, 900_000);
    expect(await countsOf(job)).toMatchObject({ delivered: 28, pending: 0 });
  });

  storeRow("the store is down, and only the cron runs", OVER_HTTP, async (world) => {
    const { job, control } = await waitingJob(world);
    vi.spyOn(JobReader.prototype, "alarm").mockResolvedValue();
    await control.script([rule({ do: "answer", status: 503 }, PUTS)]);
    for (let i = 0; i < 24; i++) {
      world.clock.advance(300_000);
      await world.runCron();
    }
    expect(await said(job)).toMatch(/HTTP 503; logship is retrying/);
    await control.script([]);
    for (let i = 0; i < 3; i++) {
      world.clock.advance(300_000);
      await world.runCron();
    }
    expect(await countsOf(job)).toMatchObject({ delivered: 10, pending: 0 });
  });
});

describe("a store that takes its time", () => {
  for (const [name, action, stored] of [
    ["takes an object, and its answer never comes", { do: "withhold" }, 1],
    ["does not come to reading an object", { do: "hold" }, 0],
  ] as const satisfies readonly (readonly [string, Action, number])[]) {
    row(`the store ${name}`, async (world) => {
      const { job, control } = await failingJob(world, rule(action, PUTS, 1));
      await outlast(world, job.id, () => control.whenHeld(1), [60_000]);
      await until(async () => (await said(job)) !== null);
      expect(await said(job)).toMatch(/no answer in time; logship is retrying/);
      expect([await written(control), (await countsOf(job)).pending]).toEqual([stored, 10]);
      // The late upload has the same bytes, so its arrival changes nothing.
      await control.release();
      await world.settle();
      expect([await written(control), (await countsOf(job)).delivered]).toEqual([1, 10]);
      expect(await jobObjects(job.id)).toMatchObject([{ number: 1, verified: true }]);
    });
  }

  row("the store answers an error, one byte a second: the status decides", async (world) => {
    const { job, control } = await failingJob(world, rule({ do: "trickle", status: 503, code: "SlowDown" }, PUTS, 1));
    await outlast(world, job.id, () => control.whenHeld(1), []);
    await until(async () => (await said(job)) !== null);
    expect(await said(job)).toMatch(/HTTP 503 SlowDown; logship is retrying/);
  });

  row("the store answers 200, one byte a second: HEAD decides", async (world) => {
    const { job } = await failingJob(world, rule({ do: "trickle", status: 200, store: true }, PUTS, 1));
    await pass(world);
    expect(await countsOf(job)).toMatchObject({ delivered: 10, pending: 0 });
    expect(await jobObjects(job.id)).toMatchObject([{ number: 1, verified: true }]);
  });

  storeRow("HEAD is never answered after an answer was lost", STORES, async (world) => {
    const { job, control } = await failingJob(world, [
      rule({ do: "reset", when: "after" }, PUTS, 1),
      rule({ do: "withhold" }, HEADS, 1),
    ]);
    await pass(world);
    expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
    await outlast(world, job.id, () => control.whenHeld(1), [60_000]);
    await world.settle();
    expect([await written(control), (await countsOf(job)).delivered]).toEqual([1, 10]);
  });
});

describe("a large object", () => {
  jobRow("the store refuses a large object before it has read it, and the connection breaks", async (world, job) => {
    await arrive(world, dense(world.mint(10)));
    const control = controlOf(job);
    await control.script([
      rule({ do: "reset", when: "before" }, PUTS),
      rule({ do: "answer", status: 403, code: "AccessDenied" }),
    ]);
    for (let i = 0; i < 6; i++) await pass(world, 300_000);
    // The probe finds the error that the broken connection hid.
    expect(await said(job)).toMatch(/^delivery paused: HTTP 403 AccessDenied/);
    expect(await countsOf(job)).toMatchObject({ delivered: 0, pending: 10 });
    await control.script([]);
    await pass(world, 300_000);
    expect(await countsOf(job)).toMatchObject({ delivered: 10, pending: 0 });
  });

  storeRow("a large object breaks off in its middle, over and over", TELLS, async (world) => {
    const job = await world.createJob();
    await arrive(world, dense(world.mint(10)));
    const control = controlOf(job);
    await control.script([rule({ do: "reset", when: "during" }, PUTS, 5)]);
    await pass(world);
    expect(await said(job)).toMatch(/connection failed; logship is retrying/);
    await world.settle();
    expect(await written(control)).toBe(1);
  });
});

describe("a store that does everything wrong for a day", () => {
  const TO_ANYTHING: readonly Action[] = [
    { do: "answer", status: 502, body: "<html></html>" },
    { do: "answer", status: 503, headers: { "retry-after": "120" } },
    { do: "answer", status: 404, code: "NoSuchBucket" },
    { do: "redirect", location: "/elsewhere/x" },
    { do: "reset", when: "before" },
    { do: "reset", when: "after" },
    { do: "wrong-etag" },
    { do: "no-etag" },
  ];
  const TO_PUTS: readonly Action[] = [
    ...TO_ANYTHING,
    { do: "drop-meta" },
    { do: "answer", status: 500, store: true },
    { do: "answer", status: 403, code: "AccessDenied" },
    { do: "answer", status: 412, code: "PreconditionFailed" },
    { do: "answer", status: 501, code: "NotImplemented" },
    { do: "answer", status: 507 },
    { do: "answer", status: 200, body: "<html></html>" },
    { do: "reset", when: "during" },
    { do: "ignore-conditional" },
    { do: "truncate" },
    { do: "discard" },
  ];
  /**
   * HEAD is never refused and never hides the checksum: otherwise the damage by a store that keeps
   * half of an object cannot be detected.
   */
  function anyRules(random: Random): Rule[] {
    return Array.from({ length: random.int(0, 4) }, () => {
      const times = random.int(1, 3);
      if (random.chance(0.3)) return rule(random.pick(TO_ANYTHING), HEADS, times);
      return rule(random.pick(TO_PUTS), random.pick([PUTS, { method: "PUT" }]), times);
    });
  }

  for (const seed of variants([1, 2, 3])) {
    row(`everything at random, seed ${seed}`, async (world) => {
      const random = new Random(seed);
      vi.spyOn(platform, "random").mockImplementation(() => random.next());
      const jobs = [await world.createJob(), await world.createJob({ fields: { max_upload_interval_seconds: 300 } })];
      for (let halfHours = 0; halfHours < 48; halfHours++) {
        for (const job of jobs) await controlOf(job).script(anyRules(random));
        if (random.chance(0.4)) await world.take(world.mint(random.int(1, 20), { days: random.pick([1, 1, 2]) }));
        await world.deliverDue();
        for (const ms of [40_000, random.int(60, 1_700) * 1_000]) await pass(world, ms);
        if (random.chance(0.3)) await world.runCron();
      }
      // What failed by chance, time after time, while others passed.
      for (const job of jobs) await controlOf(job).script([]);
      await resendAll();
      await world.settle();
    });
  }
});
