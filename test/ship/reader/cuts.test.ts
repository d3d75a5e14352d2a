import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { readStoredMaxBytes } from "../../../src/config.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { jobStatus } from "../../../src/ship/reader/job-status.ts";
import type { ObjectEntry } from "../../../src/ship/reader/statuses.ts";
import { noise } from "../../formats/record/samples.ts";
import { assertClean, Oracle } from "../../support/oracle.ts";
import { api, createJob, destinationConf } from "../../support/runtime/api.ts";
import {
  deliver,
  freshBucket,
  jobObjects,
  logStatus,
  NOON,
  pack,
  readAll,
  runAlarm,
  runCron,
  setClock,
  settle,
} from "../../support/runtime/pipeline.ts";
import { append, configure, cutObjects, fill, fragmentsOf, inLog, jobInto, prepared, shard } from "./direct.ts";

const reasons = async (job: number) => (await jobObjects(job)).map(({ reason, records }) => [reason, records]);

describe("a batch is cut", () => {
  it("by records: no object has more than the job allows, and a full one does not wait", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name, { max_upload_records: 1_000 });
    const oracle = new Oracle({ at: NOON });
    const events = oracle.mint(3_300);
    oracle.acknowledged("job", events);
    for (const message of pack(events, clock.nowMs(), { perMessage: 550 })) await deliver([message]);
    expect(await runAlarm(job)).toBe(true);
    const cut = await reasons(job);
    expect(cut.every(([reason, records]) => reason === "records" && Number(records) <= 1_000)).toBe(true);
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
  });

  it("by bytes as stored: none has more than one request may send, whatever the job allows", async ({ expect }) => {
    setClock(NOON);
    const job = jobInto("nowhere");
    await inLog(job, async (log, storage) => {
      log.storedMaxBytes = () => 2_000_000;
      await configure(job);
      // Some appends of several fragments, and some of one.
      for (const records of [120, 120, 30, 30, 30, 30, 30, 30])
        await append(
          job,
          fragmentsOf(
            NDJSON,
            Array.from({ length: records }, (_, i) => noise(20_000, i)),
          ),
        );
      const cut = cutObjects(storage);
      expect(cut.length).toBeGreaterThan(2);
      for (const { row, bytes } of cut) {
        expect(row.reason).toBe("bytes");
        expect(bytes.length).toBeLessThanOrEqual(2_000_000);
        // A fragment more, of at most a megabyte, would not have fitted.
        expect(bytes.length).toBeGreaterThan(1_000_000);
      }
    });
  });

  it("not by bytes as stored where it compresses well", async ({ expect }) => {
    setClock(NOON);
    const job = jobInto("nowhere");
    await inLog(job, async (log, storage) => {
      log.storedMaxBytes = () => 1_000_000;
      await configure(job);
      for (let i = 0; i < 10; i++) await append(job, fragmentsOf(NDJSON, [`${i}`.repeat(900_000)]));
      expect(cutObjects(storage)).toEqual([]);
    });
  });

  it("at 95 MB as stored, unless it is configured otherwise", ({ expect }) => {
    expect(readStoredMaxBytes({})).toBe(95_000_000);
    expect(readStoredMaxBytes({ OBJECT_STORED_MAX_BYTES: "" })).toBe(95_000_000);
    expect(readStoredMaxBytes({ OBJECT_STORED_MAX_BYTES: "500000000" })).toBe(500_000_000);
  });

  it("by the age of its oldest record, counted from intake and not from arrival", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name } = freshBucket();
    const job = await createJob(name, { max_upload_interval_seconds: 60 });
    const old = pack(new Oracle({ at: NOON }).mint(5), clock.nowMs());
    clock.advance(40_000);
    await deliver(old);
    clock.advance(19_999);
    await runAlarm(job);
    expect(await reasons(job)).toEqual([]);
    clock.advance(1);
    await runAlarm(job);
    expect(await reasons(job)).toEqual([["interval", 5]]);
  });

  it("a little later where it has company: what follows is on its way through the queue", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    const old = pack(oracle.mint(5), clock.nowMs());
    clock.advance(10_000);
    await deliver([...old, ...pack(oracle.mint(5), clock.nowMs())]);
    clock.advance(10_000);
    await deliver(pack(oracle.mint(5), clock.nowMs()));
    clock.advance(10_000);
    await runAlarm(job);
    // Half a minute after the oldest: the third of three batches of the queue is just about to
    // come.
    expect(await reasons(job)).toEqual([]);
    await deliver(pack(oracle.mint(5), clock.nowMs()));
    clock.advance(4_999);
    await runAlarm(job);
    expect(await reasons(job)).toEqual([]);
    clock.advance(1);
    await runAlarm(job);
    // An upload has to start within fifteen seconds of the interval.
    expect(await reasons(job)).toEqual([["interval", 20]]);
  });

  it("once for a whole backlog that is late already", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name } = freshBucket();
    const job = await createJob(name);
    const messages = pack(new Oracle({ at: NOON }).mint(50), clock.nowMs(), { perMessage: 5 });
    clock.advance(3_600_000);
    for (const message of messages) {
      await deliver([message]);
      await runAlarm(job);
      clock.advance(100);
    }
    expect(await reasons(job)).toEqual([]);
    clock.advance(5_000);
    await runAlarm(job);
    expect(await reasons(job)).toEqual([["interval", 50]]);
  });

  it("by the cron and by hand", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    await deliver(pack(oracle.mint(5), clock.nowMs()));
    await runCron();
    await deliver(pack(oracle.mint(7), clock.nowMs()));
    const flush = await api("POST", `/logship/jobs/${job}/flush`);
    expect(flush.body.result).toEqual({ id: job, pending_objects: 0 });
    expect(await reasons(job)).toEqual([
      ["scheduled", 5],
      ["manual", 7],
    ]);
  });
});

describe("an object", () => {
  it("has its own key, type, checksum, and no content encoding", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name, { destination_conf: destinationConf(name, "a b/date={DATE}/+") });
    await deliver(pack(new Oracle({ at: NOON }).mint(3, { stepMs: 1_500 }), clock.nowMs()));
    await settle(job, clock);
    const object = (await control.objects()).find(({ key }) => key.endsWith(".log.gz"));
    expect(object?.key).toMatch(/^a b\/date=21001120\/\+\/21001120T120000Z_21001120T120003Z_[0-9a-f]{8}\.log\.gz$/);
    expect(object).toMatchObject({ contentType: "application/x-ndjson", contentEncoding: null });
    const put = (await control.requests()).find(({ key }) => key.endsWith(".log.gz"));
    expect(put?.headers["if-none-match"]).toBe("*");
  });

  it("of many small appends compresses as one stream does, in few rows", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    const events = oracle.mint(3_000);
    oracle.acknowledged("job", events);
    const messages = pack(events, clock.nowMs(), { perMessage: 10 });
    for (let i = 0; i < messages.length; i += 10) await deliver(messages.slice(i, i + 10));
    const rows = await runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) =>
      Number(storage.sql.exec("SELECT count(*) AS n FROM chunk").one().n),
    );
    expect(rows).toBeLessThan(15);
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
    const [object] = await jobObjects(job);
    const { gzipSync } = await import("node:zlib");
    const bytes = (await control.contents()).find(({ key }) => key === object?.key)?.bytes;
    const { gunzipSync } = await import("node:zlib");
    const whole = gzipSync(gunzipSync(bytes ?? new Uint8Array()), { level: 6 });
    expect(object?.bytes).toBeLessThan(whole.length * 1.1);
  });
});

describe("a segment that is full", () => {
  it("hands on to the next, which takes nothing that the first holds; both deliver", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    const events = oracle.mint(40);
    oracle.acknowledged("job", events);
    const messages = pack(events, clock.nowMs(), { perMessage: 10 });
    await deliver(messages.slice(0, 2));
    await fill({ id: job });
    await deliver(messages.slice(1, 3), 2);
    const { acked } = await deliver(messages, 2);
    expect(acked).toHaveLength(4);
    expect(await logStatus(job, 0)).toMatchObject({ sealed: true, counts: { received: 30 } });
    expect((await logStatus(job, 1)).counts.received).toBe(10);
    const [first, open] = [await logStatus(job, 0), await logStatus(job, 1)];
    expect(await jobStatus(env, job)).toMatchObject({
      segments: 2,
      storedBytes: first.storedBytes + open.storedBytes,
    });
    await deliver([...messages].reverse(), 3);
    expect((await api("GET", `/logship/jobs/${job}/ledger`)).body.result).toMatchObject({
      received: 40,
      pending: 40,
      delivered: 0,
    });
    await api("PUT", `/logship/jobs/${job}`, { name: "both segments hear of it" });
    clock.advance(300_000);
    await runCron();
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
    expect((await api("GET", `/logship/jobs/${job}/ledger`)).body.result).toMatchObject({
      received: 40,
      pending: 0,
      delivered: 40,
    });
    const numbers = (await jobObjects(job)).map(({ number }) => number);
    expect(numbers).toEqual([1, 1_000_000_001]);
    expect((await api<unknown[]>("GET", `/logship/jobs/${job}/objects?after=1`)).body.result).toHaveLength(1);
    const newest = async (query: string): Promise<number[]> => {
      const { result } = (await api<ObjectEntry[]>("GET", `/logship/jobs/${job}/objects?before=${query}`)).body;
      return result.map(({ number }) => number);
    };
    expect(await newest(`${Number.MAX_SAFE_INTEGER}`)).toEqual([1_000_000_001, 1]);
    expect(await newest(`${Number.MAX_SAFE_INTEGER}&limit=1`)).toEqual([1_000_000_001]);
    expect(await newest("1000000001")).toEqual([1]);
    for (const number of numbers)
      expect((await api("GET", `/logship/jobs/${job}/objects/${number}`)).body.result).toMatchObject({ number });
    await deliver(pack(oracle.mint(5), clock.nowMs()));
    expect((await logStatus(job, 1)).counts.received).toBe(15);
  });

  it("passes no record by, though its shard has not heard that it is full", async ({ expect }) => {
    setClock(NOON);
    const job = jobInto(freshBucket().name);
    await configure(job);
    await fill(job);
    const { pull } = JobReader.prototype;
    vi.spyOn(JobReader.prototype, "pull").mockImplementationOnce(async function (this: JobReader, how) {
      await pull.call(this, how);
      throw new Error("its answer is lost");
    });
    await prepared(job, fragmentsOf(NDJSON, ["a\n"]));
    await shard().drive();
    expect(await inLog(job, (log) => log.following())).toEqual({ sealed: true });
    await prepared(job, fragmentsOf(NDJSON, ["b\n"]));
    for (let turn = 0; turn < 3; turn++) await shard().drive();
    expect((await jobStatus(env, job.id))?.counts).toMatchObject({ received: 2, pending: 2 });
    expect(await inLog(job, (log) => log.status()?.counts.received, 1)).toBe(1);
  });
});

it("forgets the log of a job that was deleted long ago, and never uses its id again", async ({ expect }) => {
  const clock = setClock(NOON);
  const { name } = freshBucket();
  const job = await createJob(name);
  const oracle = new Oracle({ at: NOON });
  await deliver(pack(oracle.mint(5), clock.nowMs()));
  await api("DELETE", `/logship/jobs/${job}`);
  await readAll();
  clock.advance(60_000);
  await runCron();
  expect((await logStatus(job)).counts.delivered).toBe(5);
  clock.advance(16 * 86_400_000);
  // The queue may hold something of it until it says otherwise.
  await runCron();
  expect(await nodeAt(env.READERS, job, 0).status()).not.toBe(null);
  await deliver(pack(oracle.mint(1), clock.nowMs()));
  await runCron();
  expect(await nodeAt(env.READERS, job, 0).status()).toBe(null);
  expect(await createJob(freshBucket().name)).toBe(job + 1);
});
