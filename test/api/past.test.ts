/** Jobs that start in the past, and reruns, as callers see them. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Replay } from "../../src/api/docs/replay.ts";
import { traceLog } from "../../src/trace-log/trace-log.ts";
import { Visitor } from "../dashboard/support.ts";
import { searchFor } from "../search/searched.ts";
import { status } from "../status/support.ts";
import { Oracle } from "../support/oracle.ts";
import { api, createJob, destinationConf } from "../support/runtime/api.ts";
import { deliver, NOON, pack, readAll, runCron, setClock } from "../support/runtime/pipeline.ts";
import { rule } from "../support/s3-script.ts";
import { call, errorsOf, freshBucket, type Job, listJobs } from "./harness.ts";

const HOUR_MS = 3_600_000;
const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Ten events are in the log, an hour ago; no job has taken them. */
async function kept() {
  const clock = setClock(NOON);
  const oracle = new Oracle({ at: NOON });
  const events = [...oracle.mint(6), ...oracle.mint(4, { outcome: "exception" })];
  await deliver(pack(events, NOON));
  clock.advance(HOUR_MS);
  return { clock, events, bucket: freshBucket() };
}

/** Until its object is evicted. */
async function keep(hours: string): Promise<void> {
  await runInDurableObject(traceLog(env.TRACE_LOG, 0), (log) => {
    const { env: bindings } = log as unknown as { env: Env };
    Object.defineProperty(log, "env", { value: { ...bindings, LOG_KEEP_HOURS: hours } });
  });
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
  const refusals: [what: string, fields: object, pointer: string, words: RegExp, keepHours?: string][] = [
    ["no time", { since: "yesterday" }, "/since", /ISO datetime/],
    ["a time without a zone", { since: "2100-11-20T12:00:00" }, "/since", /ISO datetime/],
    ["the future", { since: isoOf(NOON + 2 * HOUR_MS) }, "/since", /^since: is in the future$/],
    ["what is not kept", { since: isoOf(NOON - 24 * HOUR_MS) }, "/since", /kept since 2100-11-19T13:00:00\.000Z$/],
    ["a job that is paused", { since: isoOf(NOON), enabled: false }, "/since", /only an enabled job/],
    ["a malformed option", { logpull_options: "since=noon" }, "/logpull_options", /since must be a time/],
    ["a log that keeps nothing", { since: isoOf(NOON) }, "/since", /nothing is kept: LOG_KEEP_HOURS is 0$/, "0"],
  ];
  it.each(refusals)("is refused for %s", async (_, fields, pointer, words, keepHours) => {
    await kept();
    if (keepHours !== undefined) await keep(keepHours);
    const body = { destination_conf: conf(), enabled: true, ...fields };
    const answer = await call("POST", "/logship/jobs", body);
    expect([answer.status, await listJobs()]).toEqual([400, []]);
    expect(errorsOf(answer)).toEqual([[pointer === "/since" ? 1001 : 1004, pointer, expect.stringMatching(words)]]);
  });

  it.each([
    ["its field", { since: isoOf(NOON) }],
    ["an offset", { since: "2100-11-20T13:00:00+01:00" }],
    ["logpull_options", { logpull_options: "timestamps=unix&since=2100-11-20T12%3A00%3A00Z" }],
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

  it("starts with the first record that was taken in then, not with the one before", async () => {
    const { clock, bucket } = await kept();
    const since = isoOf(NOON + 1);
    const id = await createJob(bucket.name, { enabled: true, since });
    await shipped(clock, id);
    expect((await call("GET", `/logship/jobs/${id}/ledger`)).body.result).toMatchObject({ received: 0 });
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
      // The cron noted it, or does this question.
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

  it.each([
    ["a span that ends before it begins", { since: HOUR.until, until: HOUR.since }, "/until", /later than since/],
    ["an end in the future", { ...HOUR, until: isoOf(NOON + 2 * HOUR_MS) }, "/until", /^until: is in the future$/],
    ["what is not kept", { ...HOUR, since: isoOf(NOON - 24 * HOUR_MS) }, "/since", /kept since 2100-11-19T13:00:00/],
    ["a time that is none", { ...HOUR, since: "noon" }, "/since", /ISO datetime/],
    ["no end", { since: HOUR.since }, "/until", /^until: is missing$/],
    ["an unknown key", { ...HOUR, allow_duplicates: true }, "/allow_duplicates", /^unknown key/],
  ])("is refused for %s", async (_, body, pointer, words) => {
    const { bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const answer = await begin(id, body);
    expect([answer.status, errorsOf(answer)]).toEqual([400, [[1001, pointer, expect.stringMatching(words)]]]);
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
    const words = /^parked: HTTP 403.*; a rerun does not follow its job: cancel it, and begin another$/;
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
    expect((await admin.get("/status")).html).toContain(`<a href="/jobs/${id}/replay">job ${id}</a>`);
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
    const what = { what: `job ${id}`, why: expect.stringMatching(`^what its rerun ${name} ships`) };
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
    expect((await begin(id, HOUR)).status).toBe(202);
    const third = await begin(id, HOUR);
    expect([third.status, errorsOf(third)[0]?.[0]]).toEqual([409, 1009]);
    await shipped(clock, id);
    expect((await begin(id, HOUR)).status).toBe(202);
    // Of the first, that it is over is noted when the next is asked for.
    clock.advance(60_000);
    await readAll();
    expect((await begin(id, HOUR)).status).toBe(202);
  });

  it.each([
    ["a job that is not there", 999, 404, 1000],
    ["a job that was deleted", null, 404, 1000],
  ])("is none of %s", async (_, missing, status, code) => {
    const { bucket } = await kept();
    const id = missing ?? (await createJob(bucket.name, { enabled: true }));
    if (missing === null) await call("DELETE", `/logship/jobs/${id}`);
    const answer = await begin(id, HOUR);
    expect([answer.status, errorsOf(answer)[0]?.[0]]).toEqual([status, code]);
  });

  it("is unknown under another job, and by any other name", async () => {
    const { bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const other = await createJob(freshBucket().name, { enabled: true });
    const { id: name } = (await begin(id, HOUR)).body.result;
    for (const path of [`${other}/replay/${name}`, `${id}/replay/r999`, `${id}/replay/r0`, `${id}/replay/${id}`])
      for (const method of ["GET", "DELETE"])
        expect([path, (await call(method, `/logship/jobs/${path}`)).status]).toEqual([path, 404]);
  });

  it("needs the permission to change jobs, and is in the audit", async () => {
    const { bucket } = await kept();
    const id = await createJob(bucket.name, { enabled: true });
    const reader = (await call<{ value: string }>("POST", "/tokens", { name: "r", permissions: ["logs:read"] })).body
      .result;
    const headers = { authorization: `Bearer ${reader.value}` };
    expect((await begin(id, HOUR, { headers })).status).toBe(403);
    expect((await begin(id, HOUR)).status).toBe(202);
    const actions = (await call<{ action: string }[]>("GET", "/logship/audit")).body.result.map(({ action }) => action);
    expect(actions).toContain("job.rerun");
  });
});

const NOTHING = { objects: 0, records: 0, bytes: 0 };
