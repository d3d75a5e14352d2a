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
  balance,
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
import { rule } from "../../support/s3-script.ts";
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

  it("by bytes before compression", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name, { max_upload_bytes: 5_000_000 });
    const oracle = new Oracle({ at: NOON });
    const events = oracle.mint(600, { padding: 20_000 });
    oracle.acknowledged("job", events);
    for (const message of pack(events, clock.nowMs(), { perMessage: 20 })) await deliver([message]);
    const objects = await jobObjects(job);
    expect(objects.length).toBeGreaterThanOrEqual(2);
    for (const object of objects) {
      expect(object.reason).toBe("bytes");
      expect(object.raw_bytes).toBeLessThanOrEqual(5_000_000);
      expect(object.raw_bytes).toBeGreaterThan(4_000_000);
    }
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
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
  it("never mixes UTC days, with {DATE} in the path or without", async ({ expect }) => {
    const clock = setClock(NOON);
    const dated = freshBucket();
    const plain = freshBucket();
    const one = await createJob(dated.name);
    const two = await createJob(plain.name, { destination_conf: destinationConf(plain.name, "") });
    const oracle = new Oracle({ at: Date.parse("2026-11-20T23:59:59.998Z") });
    // 23:59:59.998, .999, then three days at once, the epoch's first moment and the last one that
    // has a four-digit year.
    const events = [
      ...oracle.mint(2),
      ...oracle.mint(30, { days: 3 }),
      ...oracle.mint(1, { at: 0 }),
      ...oracle.mint(1, { at: 253_402_300_799_999 }),
    ];
    oracle.acknowledged("one", events);
    oracle.acknowledged("two", events);
    await deliver(pack(events, clock.nowMs()));
    await settle(one, clock);
    await settle(two, clock);
    assertClean(oracle.audit("one", await dated.control.contents(), { path: "logs/{DATE}" }));
    assertClean(oracle.audit("two", await plain.control.contents(), { path: "" }));
    const folders = (await dated.control.objects()).map(({ key }) => key.split("/")[1]);
    expect([...new Set(folders)]).toEqual(["00010101", "19700101", "20261120", "20261121", "20261122", "99991231"]);
    expect((await plain.control.objects()).map(({ key }) => key).filter((key) => key.includes("/"))).toEqual([]);
  });

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

  it("of many megabytes is streamed row by row", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    // Random text, so that it stays large: about 6 MB compressed.
    const events = oracle.mint(800).map((minted) => {
      const noise = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(8_000))));
      const ScriptTags = [noise];
      return { ...minted, event: { ...minted.event, ScriptTags }, record: { ...minted.record, ScriptTags } };
    });
    oracle.acknowledged("job", events);
    for (const message of pack(events, clock.nowMs(), { perMessage: 8 })) await deliver([message]);
    await settle(job, clock);
    const objects = await jobObjects(job);
    expect(objects).toHaveLength(1);
    expect(objects[0]?.bytes).toBeGreaterThan(5_000_000);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
  });
});

describe("a change of the job", () => {
  async function jobWithFive() {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    const before = oracle.mint(5);
    oracle.acknowledged("job", before);
    await deliver(pack(before, clock.nowMs()));
    const change = (body: object) => api("PUT", `/logship/jobs/${job}`, body);
    return { clock, name, control, job, oracle, change };
  }

  it("of fields never mixes the two formats in an object", async ({ expect }) => {
    const { clock, control, job, oracle, change } = await jobWithFive();
    await change({ output_options: { field_names: ["EventTimestampMs", "Outcome"] } });
    const after = oracle.mint(5);
    oracle.acknowledged("job", after);
    await deliver(pack(after, clock.nowMs()));
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}", idOf: oracle.idByTime }));
    expect((await reasons(job)).map(([reason]) => reason)).toEqual(["config", "interval"]);
    for (const { key, bytes } of await control.contents()) {
      if (!key.endsWith(".log.gz")) continue;
      const { gunzipSync } = await import("node:zlib");
      const shapes = new TextDecoder()
        .decode(gunzipSync(bytes))
        .trim()
        .split("\n")
        .map((line) => Object.keys(JSON.parse(line)).length);
      expect(new Set(shapes).size).toBe(1);
    }
  });

  it("of destination applies to everything not yet delivered, cut or not", async ({ expect }) => {
    const { clock, control, job, oracle, change } = await jobWithFive();
    await control.script([rule({ do: "answer", status: 503 })]);
    clock.advance(30_000);
    await runAlarm(job);
    await deliver(pack(oracle.mint(3), clock.nowMs()));
    const elsewhere = freshBucket();
    const answer = await change({ destination_conf: destinationConf(elsewhere.name, "moved/{DATE}") });
    expect(answer.status).toBe(200);
    await settle(job, clock);
    expect((await control.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toEqual([]);
    const objects = await jobObjects(job);
    expect(objects.map(({ records }) => records)).toEqual([5, 3]);
    expect(objects.every(({ key }) => key.startsWith("moved/21001120/"))).toBe(true);
    expect((await elsewhere.control.objects()).map(({ key }) => key)).toEqual(
      expect.arrayContaining(objects.map(({ key }) => key)),
    );
  });

  it("to disabled takes nothing new, but delivers what it had taken and what was taken in before", async ({
    expect,
  }) => {
    const { clock, control, job, oracle, change } = await jobWithFive();
    const onTheWay = oracle.mint(5);
    oracle.acknowledged("job", onTheWay);
    const late = pack(onTheWay, clock.nowMs());
    clock.advance(10);
    await change({ enabled: false });
    clock.advance(10);
    await deliver(late);
    const { acked } = await deliver(pack(oracle.mint(5), clock.nowMs()));
    expect(acked).toHaveLength(1);
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
    expect((await logStatus(job)).counts).toMatchObject({ received: 10, delivered: 10 });
  });

  it("to deleted drains in the background, visibly, and forgets nothing that was on its way", async ({ expect }) => {
    const { clock, control, job, oracle } = await jobWithFive();
    const onTheWay = oracle.mint(5);
    oracle.acknowledged("job", onTheWay);
    const late = pack(onTheWay, clock.nowMs());
    await control.script([rule({ do: "answer", status: 503 })]);
    clock.advance(10);
    expect((await api("DELETE", `/logship/jobs/${job}`)).body.result).toEqual({ id: job });
    expect((await api("GET", `/logship/jobs/${job}`)).status).toBe(404);
    await deliver(late);
    expect((await api("GET", "/logship/ledger")).body.result).toMatchObject({ draining: [{ id: job, pending: 10 }] });
    await control.script([]);
    await settle(job, clock);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
    expect((await api("GET", "/logship/ledger")).body.result).toMatchObject({ draining: [] });
  });

  it("to deleted with discard drops what waits, counted", async ({ expect }) => {
    const { clock, control, job, oracle } = await jobWithFive();
    const late = pack(oracle.mint(5), clock.nowMs());
    clock.advance(10);
    await api("DELETE", `/logship/jobs/${job}?discard=true`);
    await deliver(late);
    clock.advance(60_000);
    await runCron();
    const status = await logStatus(job);
    expect(status.counts).toMatchObject({ received: 5, discarded: 5, pending: 0, delivered: 0 });
    expect(balance(status).accountedFor).toBe(5);
    expect((await control.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toEqual([]);
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
