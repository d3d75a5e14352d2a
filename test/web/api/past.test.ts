/** Jobs that start in the past, and reruns, as callers see them. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { RERUNS_REMEMBERED_MAX } from "../../../src/base/limits.ts";
import { TraceLog, traceLog } from "../../../src/ship/log/trace-log.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import type { Replay } from "../../../src/web/api/docs/replay.ts";
import { searchFor } from "../../operate/search/searched.ts";
import { status } from "../../operate/status/support.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob, destinationConf } from "../../support/runtime/api.ts";
import { deliver, NOON, pack, readAll, runCron, setClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { Visitor } from "../dashboard/support.ts";
import { call, errorsOf, expectRefused, freshBucket, type Job, listJobs } from "./harness.ts";

const HOUR_MS = 3_600_000;
const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Ten events are in the log, an hour ago; no job has taken them. */
async function kept() {
  const clock = setClock(NOON);
  const oracle = new Oracle({ at: NOON });
  const events = [...oracle.mint(6), ...oracle.mint(4, { outcome: "exception" })];
  await deliver(pack(events, NOON));
  clock.advance(HOUR_MS);
  return { clock, oracle, events, bucket: freshBucket() };
}

/** Until its object is evicted. */
async function keep(hours: string): Promise<void> {
  await runInDurableObject(traceLog(env.TRACE_LOG, 0), (log) => {
    const { env: bindings } = log as unknown as { env: Env };
    Object.defineProperty(log, "env", { value: { ...bindings, LOG_KEEP_HOURS: hours } });
  });
}

/** The first upload meanwhile takes ten seconds. */
async function slow(
  clock: ReturnType<typeof setClock>,
  { control }: ReturnType<typeof freshBucket>,
  run: () => Promise<void>,
): Promise<void> {
  await control.script([rule({ do: "hold" }, { method: "PUT" }, 1)]);
  const running = run();
  await control.whenHeld(1);
  clock.advance(10_000);
  await control.release();
  await running;
}

/** Everything is read and uploaded. */
async function shipped(clock: ReturnType<typeof setClock>, ...jobs: number[]): Promise<void> {
  clock.advance(60_000);
  await readAll();
  for (const id of jobs) await api("POST", `/logship/jobs/${id}/flush`);
  await runCron();
}

describe("a job with since", () => {
  const conf = () => destinationConf(freshBucket().name);
  const option = (hours: number) => `since=${isoOf(NOON + hours * HOUR_MS)}`;
  const refusals: [what: string, fields: object, pointer: string, words: RegExp, keepHours?: string][] = [
    ["no time", { since: "yesterday" }, "/since", /ISO datetime/],
    ["a time without a zone", { since: "2100-11-20T12:00:00" }, "/since", /ISO datetime/],
    [
      "the future",
      { since: isoOf(NOON + 2 * HOUR_MS) },
      "/since",
      /^since: is in the future; kept since 2100-11-19T13:00:00\.000Z$/,
    ],
    ["what is not kept", { since: isoOf(NOON - 24 * HOUR_MS) }, "/since", /kept since 2100-11-19T13:00:00\.000Z$/],
    ["a job that is paused", { since: isoOf(NOON), enabled: false }, "/since", /only an enabled job/],
    ["a malformed option", { logpull_options: "since=noon" }, "/logpull_options", /since must be a time/],
    ["a log that keeps nothing", { since: isoOf(NOON) }, "/since", /not kept; LOG_KEEP_HOURS is 0$/, "0"],
    ["an option that names the future", { logpull_options: option(2) }, "/logpull_options", /is in the future/],
    ["an option of what is not kept", { logpull_options: option(-24) }, "/logpull_options", /is not kept/],
    ["an option, paused", { logpull_options: option(0), enabled: false }, "/logpull_options", /only an enabled job/],
  ];
  it("is refused for a time that is none, or is not kept", async () => {
    await kept();
    for (const [what, fields, pointer, words, keepHours] of refusals) {
      await keep(keepHours ?? "24");
      const body = { destination_conf: conf(), enabled: true, ...fields };
      const answer = await call("POST", "/logship/jobs", body);
      const code = words.source.includes("must be") ? 1004 : 1001;
      expect([what, answer.status, errorsOf(answer)]).toEqual([
        what,
        400,
        [[code, pointer, expect.stringMatching(words)]],
      ]);
    }
    expect(await listJobs()).toEqual([]);
  });

  it.each([
    ["its field", { since: "2100-11-20T13:00:00+01:00" }],
    ["logpull_options", { logpull_options: "timestamps=unix&sinc%65=2100-11-20T12%3A00%3A00Z" }],
  ])("ships what is kept from there on, by %s, and never says it again", async (_, fields) => {
    const { clock, bucket } = await kept();
    const body = { destination_conf: destinationConf(bucket.name), enabled: true, ...fields };
    const created = await call<Job>("POST", "/logship/jobs", body);
    const { id } = created.body.result;
    expect([created.status, created.body.result.since]).toEqual([201, undefined]);
    await shipped(clock, id);
    const { result } = (await call("GET", `/logship/jobs/${id}/ledger`)).body;
    expect(result).toMatchObject({ received: 10, delivered: 10, pending: 0 });
    // Sent back as it was, as declarative clients do.
    const put = await call<Job>("PUT", `/logship/jobs/${id}`, { ...fields, name: "later" });
    expect([put.status, put.body.result.name, put.body.result.since]).toEqual([200, "later", undefined]);
  });

  it("is refused if what it asks for is gone by the time its destination has answered", async () => {
    const { clock, bucket } = await kept();
    const since = isoOf(NOON - 23 * HOUR_MS);
    await slow(clock, bucket, async () => {
      const created = await call("POST", "/logship/jobs", {
        ...{ destination_conf: destinationConf(bucket.name), enabled: true, since },
      });
      expectRefused(created, 400, [1001, "/since", expect.stringMatching(/not kept/)]);
    });
    expect(await listJobs()).toEqual([]);
  });
});

describe("a rerun", () => {
  const HOUR = { since: isoOf(NOON), until: isoOf(NOON + HOUR_MS) };
  const begin = (id: number, body: object, options = {}) =>
    call<Replay>("POST", `/logship/jobs/${id}/rerun`, body, options);

  it("ships again what is kept, whether the job was there or not, under its present filter; it is a replay to its users", async () => {
    const { clock, bucket } = await kept();
    const where = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "exception" } });
    const id = await createJob(bucket.name, { enabled: true, filter: where });
    const begun = await begin(id, HOUR);
    expect([begun.status, begun.body.result]).toEqual([
      202,
      {
        ...{ id: expect.stringMatching(/^r\d+$/), kind: "rerun", job_id: id, ...HOUR, destination_conf: null },
        state: "running",
        planned: { objects: 0, records: 10, bytes: 0 },
        left: { objects: 0, records: 10, bytes: 0 },
        ...Object.fromEntries(["done", "missing", "damaged", "failed"].map((name) => [name, NOTHING])),
        ...{ filtered: 0, sampled_out: 0, error_message: null, next_attempt: null },
        ...{ started_at: isoOf(clock.nowMs()), ended_at: null },
      },
    ]);
    const { id: name } = begun.body.result;
    await shipped(clock, id);
    clock.advance(60_000);
    await readAll();
    const done = (await call<Replay>("GET", `/logship/jobs/${id}/replay/${name}`)).body.result;
    expect(done).toMatchObject({
      state: "done",
      done: { objects: 1, records: 4 },
      left: { objects: 0, records: 0, bytes: 0 },
      filtered: 6,
      // CheckResult by the cron, or now.
      ended_at: expect.stringMatching(/T13:0[12]:00/),
      problems: [],
    });
    expect((await call("GET", `/logship/jobs/${id}/replay`)).body.result).toMatchObject([{ id: name, state: "done" }]);
    const keys = (await bucket.control.objects()).map(({ key }) => key).filter((key) => key.startsWith("logs/2100"));
    expect(keys).toEqual([expect.stringMatching(new RegExp(`_[0-9a-f]{8}_${name}\\.log\\.gz$`))]);
    // Apart from the job's own counts, and no job to anyone.
    expect((await call("GET", `/logship/jobs/${id}/ledger`)).body.result).toMatchObject({
      ...{ received: 0, delivered: 0, replayed: { objects: 1, records: 4 } },
    });
    expect([(await listJobs()).length, (await call("GET", `/logship/jobs/${name.slice(1)}`)).status]).toEqual([1, 404]);
    expect((await call("GET", "/logship/ledger")).body.result).toMatchObject({ draining: [], not_routed: 10 });
    // It stays as it is.
    const cancelled = await call<Replay>("DELETE", `/logship/jobs/${id}/replay/${name}`);
    expect([cancelled.status, cancelled.body.result.state]).toEqual([200, "done"]);
  });

  it("goes elsewhere if it is told to, with the secrets of the job in its bucket, which are not shown", async () => {
    const { clock, bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const masked = destinationConf(bucket.name, "again/{DATE}").replace(
      /access-key-id=.*$/,
      "access-key-id=****&secret-access-key=****",
    );
    const begun = await begin(id, { ...HOUR, destination_conf: masked });
    expect([begun.status, begun.body.result.destination_conf]).toEqual([202, masked]);
    await shipped(clock, id);
    const keys = (await bucket.control.objects()).map(({ key }) => key);
    expect(keys.filter((key) => key.startsWith("again/2100"))).toHaveLength(1);
  });

  it("is refused for a span that is none, or is not kept", async () => {
    const { bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    for (const [body, pointer, words] of [
      [{ since: HOUR.until, until: HOUR.since }, "/until", /later than since/],
      [{ ...HOUR, until: isoOf(NOON + 2 * HOUR_MS) }, "/until", /^until: is in the future$/],
      [{ ...HOUR, since: isoOf(NOON - 24 * HOUR_MS) }, "/since", /kept since 2100-11-19T13:00:00/],
      [{ ...HOUR, since: "noon" }, "/since", /ISO datetime/],
      [{ since: HOUR.since }, "/until", /^until: is missing$/],
      [{ ...HOUR, allow_duplicates: true }, "/allow_duplicates", /^unknown key/],
    ] as const) {
      const answer = await begin(id, body);
      expectRefused(answer, 400, [1001, pointer, expect.stringMatching(words)]);
    }
    expect((await call("GET", `/logship/jobs/${id}/replay`)).body.result).toEqual([]);
  });

  it("keeps the destination that it began with, and says so where that is wrong", async () => {
    const { clock, bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    await bucket.control.script([rule({ do: "answer", status: 403 }, { method: "PUT", keyIncludes: "_r" })]);
    const { id: name } = (await begin(id, HOUR)).body.result;
    await shipped(clock, id);
    const failing = async () => (await call<Replay>("GET", `/logship/jobs/${id}/replay/${name}`)).body.result;
    expect(await failing()).toMatchObject({ state: "waiting", left: { records: 10 } });
    const words = /^delivery paused: HTTP 403.*; a rerun does not follow its job: cancel it, and begin another$/;
    expect((await failing()).error_message).toMatch(words);
    await call("PUT", `/logship/jobs/${id}`, { destination_conf: destinationConf(freshBucket().name) });
    await shipped(clock, id);
    expect((await failing()).state).toBe("waiting");
  });

  it("tells what the destination refuses of it: a finding, and what is set aside, name it and its job", async () => {
    const { clock, bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const { id: name } = (await begin(id, HOUR)).body.result;
    await bucket.control.script([rule({ do: "answer", status: 400 }, { method: "PUT", keyIncludes: "_r" })]);
    await shipped(clock, id);
    // The cron's look may have been before the upload.
    clock.advance(60_000);
    const { findings } = await status();
    expect(findings).toMatchObject([{ kind: "objects_set_aside", subject: { type: "job", id }, rerun: name }]);
    const entry = { id: `object-${name.slice(1)}-1`, job: id, rerun: name, number: 1, records: 10 };
    expect((await call("GET", "/logship/set-aside")).body.result).toMatchObject([entry]);
    expect((await call("GET", `/logship/set-aside/${entry.id}`)).body.result).toMatchObject(entry);
    const admin = await Visitor.signedIn();
    const link = `<a href="/jobs/${id}/replay">object of job ${id}, rerun ${name}</a>`;
    expect((await admin.get("/set-aside")).html).toContain(link);
    expect((await admin.get("/status")).html).toContain(
      `<a href="/jobs/${id}/replay"><bdi class="foreign">Job ${id}</bdi></a>`,
    );
    await bucket.control.script([]);
    const sent = await call("POST", `/logship/set-aside/${entry.id}/resend`);
    expect(sent.body.result).toMatchObject({ id: entry.id, job: id, rerun: name, records: 10, sent_to: null });
    await shipped(clock, id);
    const { result } = (await call<Replay>("GET", `/logship/jobs/${id}/replay/${name}`)).body;
    expect(result).toMatchObject({ state: "done", done: { records: 10 }, failed: { records: 0 } });
  });

  it("is named by a search of its time, while it is under way and when it has shipped, and by no other", async () => {
    const { clock, bucket } = await kept();
    const where = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "none" } });
    const id = await createJob(bucket.name, { enabled: true, filter: where });
    const other = await createJob(freshBucket().name, { enabled: true });
    await call("PUT", `/logship/jobs/${id}`, { filter: null });
    const { id: name } = (await begin(id, HOUR)).body.result;
    const asked = async (fields: object = {}) => (await searchFor({ ...HOUR, ...fields })).end;
    const what = { what: `job ${id}`, why: expect.stringMatching(`^rerun ${name} may ship`) };
    const named = { complete: false, not_searched: [what] };
    expect(await asked()).toMatchObject(named);
    await shipped(clock, id);
    clock.advance(60_000);
    await readAll();
    await runCron();
    expect(await asked()).toMatchObject(named);
    expect(await asked({ job_id: id, order: "oldest" })).toMatchObject(named);
    const estimate = (await call("POST", "/logship/search", { ...HOUR, dry_run: true })).body.result;
    expect(estimate).toMatchObject({ objects: 0, not_searched: [what] });
    const whole = { complete: true, not_searched: [] };
    expect(await asked({ job_id: other })).toMatchObject(whole);
    expect(await asked({ since: HOUR.until, until: isoOf(NOON + 2 * HOUR_MS) })).toMatchObject(whole);
  });

  it("is one of two at most of a job, which reads the past that it starts in as well", async () => {
    const { clock, bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true, since: HOUR.since });
    const until = (minute: number) => ({ ...HOUR, until: isoOf(NOON + minute * 60_000) });
    expect((await begin(id, HOUR)).status).toBe(202);
    const third = await begin(id, until(1));
    expectRefused(third, 409, [1009, undefined, expect.stringMatching(/twice|2 times/)]);
    await shipped(clock, id);
    expect((await begin(id, until(1))).status).toBe(202);
    // Of the first, that it is over is noted when the next is asked for.
    clock.advance(60_000);
    await readAll();
    expect((await begin(id, until(2))).status).toBe(202);
  });

  it("is begun once, however often it is asked for until it is over, and again then", async () => {
    const { clock, bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    // The log does not confirm it in time.
    const broken = vi.spyOn(TraceLog.prototype, "configure").mockRejectedValue(new Error("busy"));
    const first = await begin(id, HOUR);
    expect([first.status, errorsOf(first)[0]?.[2]]).toEqual([503, expect.stringMatching(/^r\d+ is stored; not yet/)]);
    broken.mockRestore();
    const [name] = `${errorsOf(first)[0]?.[2]}`.split(" ");
    const second = await begin(id, HOUR);
    const same = [1009, undefined, `the same rerun is in progress: ${name}`];
    expectRefused(second, 409, same);
    // To another place it is another one.
    const elsewhere = { ...HOUR, destination_conf: destinationConf(freshBucket().name) };
    expect((await begin(id, elsewhere)).status).toBe(202);
    expect(errorsOf(await begin(id, elsewhere))[0]?.[0]).toBe(1009);
    await call("DELETE", `/logship/jobs/${id}/replay/${name}`);
    expect((await begin(id, HOUR)).status).toBe(202);
    await shipped(clock, id);
    clock.advance(60_000);
    await readAll();
    expect((await begin(id, HOUR)).status).toBe(202);
  });

  it("is cancelled with its job, and by its own name alone", async () => {
    const { clock, bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const { id: name } = (await begin(id, HOUR)).body.result;
    for (const query of ["", "?discard=true"])
      expect((await call("DELETE", `/logship/jobs/${name.slice(1)}${query}`)).status).toBe(404);
    expect((await call<Replay>("GET", `/logship/jobs/${id}/replay/${name}`)).body.result.state).toBe("running");
    expect((await call("DELETE", `/logship/jobs/${id}`)).status).toBe(200);
    await shipped(clock);
    expect((await bucket.control.objects()).filter(({ key }) => key.startsWith("logs/2100"))).toEqual([]);
  });

  it("says so if its end is not in force everywhere", async () => {
    const { bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const { id: name } = (await begin(id, HOUR)).body.result;
    const cancel = () => call<Replay>("DELETE", `/logship/jobs/${id}/replay/${name}`);
    const broken = vi.spyOn(TraceLog.prototype, "configure").mockRejectedValue(new Error("busy"));
    for (let times = 0; times < 2; times++)
      expect(errorsOf(await cancel())[0]?.[2]).toMatch(/^the end of r\d+ is stored; not yet in force in log 0/);
    broken.mockRestore();
    const cancelled = await cancel();
    expect([cancelled.status, cancelled.body.result.state]).toEqual([200, "cancelled"]);
  });

  it("stays as it ended; what came late is counted, and what does not answer is as it was", async () => {
    const { clock, bucket, oracle } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const { id: name } = (await begin(id, HOUR)).body.result;
    const now = async () => (await call<Replay>("GET", `/logship/jobs/${id}/replay/${name}`)).body.result;
    const ledger = async () => {
      const { status, body } = await call<{ replayed: object } | null>("GET", `/logship/jobs/${id}/ledger`);
      return [status, body.result?.replayed];
    };
    const silent = () => vi.spyOn(JobReader.prototype, "status").mockRejectedValue(new Error("busy"));
    let broken = silent();
    expect([(await now()).error_message, (await ledger())[0]]).toEqual(["a part of the log does not answer", 503]);
    broken.mockRestore();
    await shipped(clock, id);
    clock.advance(60_000);
    await readAll();
    const ended = await now();
    expect([ended.state, ended.done.records]).toEqual(["done", 10]);
    await deliver(pack(oracle.mint(2), NOON + 1));
    const late = { ...ended, planned: { ...ended.planned, records: 12 }, left: { ...ended.left, records: 2 } };
    expect(await now()).toEqual(late);
    await shipped(clock, id);
    expect(await now()).toMatchObject({ state: "done", ended_at: ended.ended_at, done: { records: 12 } });
    broken = silent();
    expect(await now()).toEqual(ended);
    broken.mockRestore();
    expect(await ledger()).toMatchObject([200, { records: 12 }]);
  });

  it("is refused where too many are remembered, which take no job's place", async () => {
    const { bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    await begin(id, HOUR);
    await runInDurableObject(controlPlane(env.CONTROL), (_plane, { storage: { sql } }) => {
      for (let n = 1_000; n < 999 + RERUNS_REMEMBERED_MAX; n++)
        sql.exec(
          `INSERT INTO job SELECT ?1, body, json_set(config, '$.id', ?1, '$.discard', json('true')), created_ms,
             modified_ms, deleted_ms FROM job WHERE deleted_ms IS NOT NULL LIMIT 1`,
          n,
        );
    });
    const refused = await begin(id, { ...HOUR, until: isoOf(NOON + 1) });
    expect([refused.status, errorsOf(refused)[0]?.[2]]).toEqual([403, expect.stringMatching(/100 are remembered/)]);
    expect((await call("POST", "/logship/jobs", { destination_conf: destinationConf(bucket.name) })).status).toBe(201);
  });

  it("is refused if what it asks for is gone by the time its destination has answered", async () => {
    const { clock, bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const elsewhere = { destination_conf: destinationConf(bucket.name, "again/{DATE}") };
    await slow(clock, bucket, async () => {
      const answer = await begin(id, { ...HOUR, since: isoOf(NOON - 23 * HOUR_MS), ...elsewhere });
      expectRefused(answer, 400, [1001, "/since", expect.stringMatching(/not kept/)]);
    });
  });

  it("is none of a job that is not there, and unknown under another job and by any other name", async () => {
    const { bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const other = await createJob(freshBucket().name, { enabled: true });
    const { id: name } = (await begin(id, HOUR)).body.result;
    for (const path of [`${other}/replay/${name}`, `${id}/replay/r999`, `${id}/replay/r0`, `${id}/replay/${id}`])
      for (const method of ["GET", "DELETE"])
        expect([path, (await call(method, `/logship/jobs/${path}`)).status]).toEqual([path, 404]);
    const actions = (await call<{ action: string }[]>("GET", "/logship/audit")).body.result.map(({ action }) => action);
    expect(actions[0]).toBe("job.rerun");
    await call("DELETE", `/logship/jobs/${other}`);
    for (const missing of [999, other]) {
      const answer = await begin(missing, HOUR);
      expect([answer.status, errorsOf(answer)[0]?.[0]]).toEqual([404, 1000]);
    }
  });
});

const NOTHING = { objects: 0, records: 0, bytes: 0 };
