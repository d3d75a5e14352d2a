import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { hourOf } from "../../../src/base/time.ts";
import { noticesOf } from "../../../src/operate/status/notices.ts";
import { intervalAdvice } from "../../../src/ship/job/interval.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import type { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { NOON } from "../../formats/record/samples.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { freshBucket, readAll, setClock } from "../../support/runtime/pipeline.ts";
import { textOf, Visitor } from "../../web/dashboard/support.ts";
import { lookAnew } from "../alerts/fresh.ts";
import { facts, job, log } from "./samples.ts";

lookAnew();

/** 10 events a second at the default interval: as measured. */
const DAY = { objects: 2_700, bytes: 2_700 * 39_400 };

describe("an interval that fits the traffic", () => {
  it("is recommended with what it makes of the same records", () => {
    expect(intervalAdvice(DAY, 30_000)).toEqual({
      objects: 2_700,
      meanBytes: 39_400,
      seconds: 300,
      made: { objects: 286, meanBytes: 371_958 },
    });
    expect(intervalAdvice({ objects: 1_440, bytes: 1_440 }, 60_000)?.made.objects).toBe(288);
    // A record a minute: each object has one, and the next begins with the first after 300 s.
    expect(intervalAdvice({ objects: 1_440, bytes: 1_440 }, 30_000)?.made.objects).toBe(262);
  });

  it.each<[what: string, day: typeof DAY, intervalMs: number]>([
    ["it is the longest", { ...DAY, objects: 2_700 }, 300_000],
    ["objects are few", { objects: 999, bytes: 999 }, 30_000],
    ["there are none", { objects: 0, bytes: 0 }, 30_000],
    ["objects are large", { objects: 2_700, bytes: 2_700 * 1_000_000 }, 30_000],
    ["they are cut for their number of records", { objects: 4_000, bytes: 4_000 }, 30_000],
    ["the interval was changed that day", DAY, 60_000],
  ])("is none where %s", (_what, day, intervalMs) => expect(intervalAdvice(day, intervalMs)).toBeNull());

  it("is a notice of a job that is enabled and tells", () => {
    const told = (fields: Parameters<typeof job>[0]) => noticesOf(facts({ jobs: [job(fields)] }));
    const [notice, ...more] = told({ id: 7, status: log({ lastDay: DAY }) });
    expect(more).toEqual([]);
    expect(notice).toEqual({
      kind: "many_small_objects",
      subject: { type: "job", id: 7 },
      summary:
        "Job 7 has written 2700 objects in the last 24 hours, 39 kB each on average. An interval of 300 seconds would make about 286 of 372 kB.",
      advice: expect.stringMatching(/max_upload_interval_seconds to 300 \(now 30\)/),
    });
    expect(told({ status: log({ lastDay: DAY }), enabledSinceMs: null })).toEqual([]);
    expect(told({ status: log({ lastDay: DAY }), isUnreadable: true })).toEqual([]);
    for (const silent of ["silent", null, log()] as const) expect(told({ status: silent })).toEqual([]);
  });
});

it("is said by status and by the job's page, is no problem, and ends with a longer interval", async () => {
  setClock(NOON);
  const id = await createJob(freshBucket().name);
  await readAll();
  await runInDurableObject<JobReader, void>(nodeAt(env.READERS, id, 0), (_log, { storage }) => {
    for (let n = 0; n < 30; n++)
      storage.sql.exec(
        `INSERT INTO health_hour (hour, ok, retried, failed, causes, records, bytes, raw_bytes, total_ms, longest_ms)
         VALUES (?, 100, 0, 0, '{}', 30000, 3900000, 9000000, 100, 1)`,
        hourOf(NOON) - n,
      );
  });
  const status = async () => (await api<Record<string, unknown>>("GET", "/logship/status")).body.result;
  expect(await status()).toMatchObject({
    ...{ ok: true, errors: 0, warnings: 0, findings: [] },
    notices: [
      { kind: "many_small_objects", subject: { type: "job", id }, summary: expect.stringContaining("2400 objects") },
    ],
  });
  expect((await api("GET", "/logship/incidents")).body.result).toEqual([]);
  const visitor = await Visitor.signedIn();
  const words = "2,400 objects in 24 hours, of 39.0 kB on average";
  expect(textOf((await visitor.get(`/jobs/${id}`)).html)).toContain(words);
  expect(textOf((await visitor.get(`/jobs/${id}?range=7d`)).html)).not.toContain(words);
  expect(textOf((await visitor.get("/status")).html)).toContain("Suggestions");

  // Nothing was changed by itself.
  expect((await api("GET", `/logship/jobs/${id}`)).body.result).toMatchObject({ max_upload_interval_seconds: 0 });
  await api("PUT", `/logship/jobs/${id}`, { max_upload_interval_seconds: 300 });
  expect(await status()).toMatchObject({ notices: [] });
  expect(textOf((await visitor.get(`/jobs/${id}`)).html)).not.toContain(words);
});
