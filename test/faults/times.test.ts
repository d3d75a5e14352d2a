/** Events with unusual times, and events taken, cut and uploaded around midnight. */
import { describe, expect } from "vitest";
import { TIME_MAX_MS } from "../../src/base/limits.ts";
import { cells } from "../support/matrix.ts";
import { NOON } from "../support/runtime/pipeline.ts";
import type { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { jobRow, row } from "./row.ts";
import { controlOf, countsOf, pass } from "./stores.ts";

const DAY_MS = 86_400_000;
const MIDNIGHT = Date.parse("2100-11-21T00:00:00Z");

/** The day in the key of each object, in order. */
async function days(job: WorldJob): Promise<string[]> {
  const keys = (await controlOf(job).objects()).map(({ key }) => key).filter((key) => key.endsWith(".log.gz"));
  return keys.map((key) => key.split("/")[1] ?? "").sort();
}

function at(world: World, timeMs: number): void {
  world.clock.advance(timeMs - world.clock.nowMs());
}

async function takeOf(world: World, ...timesMs: number[]): Promise<void> {
  await world.take(timesMs.flatMap((time) => world.mint(1, { at: time })));
  world.injected(timesMs.length);
}

describe("around midnight", () => {
  const intakes = [
    ["before", MIDNIGHT - 1],
    ["at", MIDNIGHT],
    ["after", MIDNIGHT + 1],
  ] as const;
  const cuts = [
    ["before", MIDNIGHT - 1],
    ["after", MIDNIGHT + 1],
    ["a day after", MIDNIGHT + DAY_MS + 1],
  ] as const;
  for (const [[taken, takenMs], [cut, cutMs]] of cells(intakes, cuts)) {
    if (cutMs < takenMs) continue;
    row(`the last and the first event of two days are taken in ${taken} midnight, and cut ${cut}`, async (world) => {
      const job = await world.createJob();
      at(world, takenMs);
      await takeOf(world, MIDNIGHT - 1, MIDNIGHT);
      await world.deliverDue();
      at(world, cutMs);
      await world.runCron();
      expect(await days(job)).toEqual(["21001120", "21001121"]);
      expect((await countsOf(job)).delivered).toBe(2);
    });
  }

  jobRow("the intake of one request, its appends and its cut are in three days", async (world, job) => {
    at(world, MIDNIGHT - 1);
    await takeOf(world, MIDNIGHT - DAY_MS - 1, MIDNIGHT - 1, MIDNIGHT);
    at(world, MIDNIGHT + 1);
    await world.deliverDue();
    at(world, MIDNIGHT + DAY_MS);
    await world.runAlarms();
    expect(await days(job)).toEqual(["21001119", "21001120", "21001121"]);
  });

  row("an interval of 300 s spans midnight", async (world) => {
    const job = await world.createJob({ fields: { max_upload_interval_seconds: 300 } });
    await world.runAlarms();
    for (const offsetMs of [-150_000, -1, 0, 149_000]) {
      at(world, MIDNIGHT + offsetMs);
      await takeOf(world, world.clock.nowMs());
      await world.deliverDue();
      await world.runAlarms();
    }
    // Both days are due 5 min 5 s after the oldest record: the interval, plus 5 s because there are
    // several appends.
    at(world, MIDNIGHT + 150_000 + 5_000 - 1);
    await world.runAlarms();
    expect(await days(job)).toEqual([]);
    at(world, MIDNIGHT + 150_000 + 5_000);
    await world.runAlarms();
    expect(await days(job)).toEqual(["21001120", "21001121"]);
    expect((await countsOf(job)).delivered).toBe(4);
  });

  jobRow("events pour in for an hour around midnight, of both days all the time", async (world, job) => {
    at(world, MIDNIGHT - 1_800_000);
    for (let minute = 0; minute < 60; minute += 3) {
      const now = world.clock.nowMs();
      await takeOf(world, now, now - 3_600_000, now + 3_600_000);
      await world.deliverDue();
      await world.runAlarms();
      world.clock.advance(180_000);
    }
    await world.runCron();
    expect(new Set(await days(job))).toEqual(new Set(["21001120", "21001121"]));
    expect(await countsOf(job)).toMatchObject({ delivered: 60, pending: 0 });
  });
});

describe("events of odd times", () => {
  const TIMES: Record<string, { times: number[]; days: string[] }> = {
    "of three days in one batch": {
      times: [NOON, NOON - DAY_MS, NOON + DAY_MS, NOON - DAY_MS + 1, NOON + 1],
      days: ["21001119", "21001120", "21001121"],
    },
    "of the first and the last millisecond there may be": {
      times: [0, TIME_MAX_MS, 1, TIME_MAX_MS - 1],
      days: ["19700101", "99991231"],
    },
    "of the year 9999": {
      times: [Date.parse("9999-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59Z")],
      days: ["99990101", "99991231"],
    },
    "of leap days, and of a day that is none": {
      times: [
        "2000-02-29T23:59:59.999Z",
        "2096-02-29T00:00:00Z",
        "2100-02-28T23:59:59.999Z",
        "2100-03-01T00:00:00Z",
      ].map((time) => Date.parse(time)),
      days: ["20000229", "20960229", "21000228", "21000301"],
    },
    "of years ago, before its job, the account and this program": {
      times: [Date.parse("1999-12-31T23:59:59.999Z"), Date.parse("2000-01-01T00:00:00Z")],
      days: ["19991231", "20000101"],
    },
    "of tomorrow and of a hundred years from now": {
      times: [NOON + DAY_MS, NOON + 36_525 * DAY_MS],
      days: ["21001121", "22001121"],
    },
    "one for each of thirty-one days": {
      times: Array.from({ length: 31 }, (_, i) => Date.parse("2100-10-01T23:59:59.999Z") + i * DAY_MS),
      days: Array.from({ length: 31 }, (_, i) => `210010${String(i + 1).padStart(2, "0")}`),
    },
  };
  const ways = ["request", "invocation of tail()", "call of ship()"] as const;
  for (const [[which, { times, days: expected }], way] of cells(Object.entries(TIMES), ways)) {
    jobRow(`events ${which} come in one ${way}, with one of now`, async (world, job) => {
      const form = way === "request" ? "record" : "trace";
      const events = times.flatMap((time) => world.mint(1, { at: time, form }));
      const now = world.mint(1, { at: Date.parse("2100-12-24T12:00:00Z"), form });
      world.injected(times.length);
      if (way === "request") for (const part of [events, now]) await world.take(part);
      else if (way === "call of ship()") for (const part of [events, now]) expect(await world.ship(part)).toBe(true);
      else await world.tail([...events, ...now]);
      await world.deliverDue();
      // Age is counted from the intake, so old and future events wait exactly as long as others.
      await pass(world, 29_999);
      expect(await days(job)).toEqual([]);
      await pass(world, 8_001);
      expect(await days(job)).toEqual([...expected, "21001224"].sort());
      expect((await countsOf(job)).pending).toBe(0);
    });
  }

  jobRow("an old event joins the batch of today, and its object keeps to its own day", async (world, job) => {
    await takeOf(world, NOON);
    await world.deliverDue();
    world.clock.advance(20_000);
    await takeOf(world, NOON - 20_000 * DAY_MS);
    await world.deliverDue();
    await pass(world, 10_000);
    expect(await days(job)).toEqual(["21001120"]);
    await pass(world, 20_000);
    expect(await days(job)).toEqual(["20460216", "21001120"]);
  });
});
