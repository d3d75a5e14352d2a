import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import { TraceLog } from "../../../src/index.ts";
import { Oracle } from "../../support/oracle.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { deliver, logStatus, NOON, pack, readAll, setClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { type Bucket, call, errorsOf, expectRefused, freshBucket, type Job, listJobs } from "./harness.ts";

const after = (ms: number): string => new Date(NOON + ms).toISOString();
const NOON_TEXT = after(0);

async function create(fields: object = {}, bucket: Bucket = freshBucket()): Promise<Job> {
  const answer = await call<Job>("POST", "/logship/jobs", {
    destination_conf: destinationConf(bucket.name),
    ...fields,
  });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body.errors));
  return answer.body.result;
}

const read = async (id: number): Promise<Job> => (await call<Job>("GET", `/logship/jobs/${id}`)).body.result;

async function update(id: number, fields: object): Promise<Job> {
  const answer = await call<Job>("PUT", `/logship/jobs/${id}`, fields);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body.errors));
  return answer.body.result;
}

/** Every field of a job with a non-default value. */
const FULL = {
  name: "everything",
  dataset: "functions_trace_events",
  output_options: {
    field_names: ["EventTimestampMs", "Outcome"],
    output_type: "ndjson",
    sample_rate: 1,
    merge_subrequests: true,
  },
  enabled: true,
  filter: "",
  kind: "",
  frequency: "high",
  logpull_options: "fields=Event&timestamps=unixnano",
  max_upload_bytes: 5_000_000,
  max_upload_records: 1_000,
  max_upload_interval_seconds: 30,
};

describe("a job that is created", () => {
  it("has the defaults of what was not sent, and no options that were never there", async () => {
    setClock(NOON);
    const bucket = freshBucket();
    const answer = await call<Job>("POST", "/logship/jobs", { destination_conf: destinationConf(bucket.name) });
    expect(answer.status).toBe(201);
    const expected = {
      id: 1,
      dataset: "functions_trace_events",
      name: null,
      enabled: false,
      kind: "",
      destination_conf: destinationConf(bucket.name),
      filter: null,
      frequency: null,
      logpull_options: null,
      max_upload_bytes: 0,
      max_upload_records: 0,
      max_upload_interval_seconds: 0,
      last_complete: null,
      last_error: null,
      error_message: null,
      guarantee: "once",
      time_created: NOON_TEXT,
      time_modified: NOON_TEXT,
    };
    expect(answer.body).toEqual({ errors: [], messages: [], result: expected, success: true });
    expect(await read(1)).toEqual(expected);
    expect(await listJobs()).toEqual([expected]);
    expect((await bucket.control.objects()).map(({ key }) => key)).toEqual(["logs/00010101/test.txt.gz"]);
  });

  it("may be sent compressed, and without saying that it is JSON", async () => {
    const text = JSON.stringify({ destination_conf: destinationConf(freshBucket().name), name: "x" });
    for (const [body, headers] of [
      [new Uint8Array(gzipSync(text)), { "content-encoding": "gzip" }],
      [new TextEncoder().encode(text), { "content-type": null }],
      [text, { "content-type": "Application/JSON; charset=utf-8" }],
    ] as const)
      expect((await call("POST", "/logship/jobs", body, { headers })).status).toBe(201);
  });

  it("is one of a hundred at most", async () => {
    const { name } = freshBucket();
    const body = { destination_conf: destinationConf(name) };
    await create({}, { name, control: freshBucket().control });
    await runInDurableObject(env.CONTROL.getByName("control"), (_control, { storage: { sql } }) => {
      for (let id = 1_001; id < 1_099; id++)
        sql.exec(
          `INSERT INTO job SELECT ?1, body, json_set(config, '$.id', ?1), created_ms, modified_ms, deleted_ms
             FROM job WHERE id = 1`,
          id,
        );
    });
    // Several concurrent attempts at the hundredth job.
    const bucket = freshBucket();
    const last = await Promise.all(Array.from({ length: 4 }, () => call("POST", "/logship/jobs", body)));
    expect(last.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403]);
    const answer = await call("POST", "/logship/jobs", { destination_conf: destinationConf(bucket.name) });
    expectRefused(answer, 403, [1004, undefined, "creating a new job is not allowed: exceeded max jobs allowed"]);
    expect(await bucket.control.requests()).toEqual([]);
    expect((await listJobs()).length).toBe(100);
    // Deleting one makes room for one.
    await call("DELETE", "/logship/jobs/1050");
    expect((await call("POST", "/logship/jobs", body)).status).toBe(201);
  });
});

describe("a change that takes something away", () => {
  it("is made, and says what is no longer shipped", async () => {
    const { id } = await create({ enabled: true });
    const put = async (body: object) => {
      const answer = await call("PUT", `/logship/jobs/${id}`, body);
      expect(answer.status).toBe(200);
      return answer.body.messages.map(({ message }) => message);
    };
    expect(await put({ name: "x", output_options: { field_names: ["*"] } })).toEqual([]);
    const most = FIELD_NAMES.filter((name) => name !== "Outcome" && name !== "Event");
    expect(await put({ output_options: { field_names: most } })).toEqual(["no longer shipped: Event, Outcome"]);
    expect(await put({ logpull_options: "fields=*", output_options: null })).toEqual([]);
    expect(await put({ enabled: false, output_options: { sample_rate: 0.5 } })).toEqual([
      "the share of records that is shipped falls from 1 to 0.5",
      "events that arrive while the job is paused are not shipped",
    ]);
    expect(await put({ enabled: true, output_options: {} })).toEqual([]);
  });
});

describe("the list of jobs", () => {
  const ids = (jobs: { id: number }[]) => jobs.map(({ id }) => id);

  it("says how many there are, page by page", async () => {
    for (let n = 0; n < 5; n++) await create();
    const whole = await call<Job[]>("GET", "/logship/jobs");
    expect(whole.body.result_info).toEqual({ count: 5, page: 1, per_page: 100, total_count: 5 });
    expect(ids(whole.body.result)).toEqual([1, 2, 3, 4, 5]);
    const second = await call<Job[]>("GET", "/logship/jobs?page=2&per_page=2");
    expect(second.body.result_info).toEqual({ count: 2, page: 2, per_page: 2, total_count: 5 });
    expect(ids(second.body.result)).toEqual([3, 4]);
    const beyond = await call<Job[]>("GET", "/logship/jobs?page=9&per_page=2");
    expect([beyond.body.result, beyond.body.result_info?.total_count]).toEqual([[], 5]);
  });

  it("is empty at first, and a list all the same", async () => {
    expect((await call("GET", "/logship/jobs")).body).toMatchObject({
      result: [],
      result_info: { count: 0, total_count: 0 },
    });
  });

  it("is the same for its dataset, under either name and below either path, with every job whatever name it was created with", async () => {
    await create();
    await create({ dataset: "workers_trace_events" });
    for (const [path, dataset] of [
      ["logship", "functions_trace_events"],
      ["logpush", "workers_trace_events"],
    ]) {
      const answer = await call<Job[]>("GET", `/${path}/datasets/${dataset}/jobs`);
      expect(answer.body.result).toEqual((await call<Job[]>("GET", `/${path}/jobs`)).body.result);
      expect(answer.body.result_info?.total_count).toBe(2);
    }
  });

  it.each(["http_requests", "firewall_events", "account_abuse_protection_events", "audit_logs_v2"])(
    "is empty for a dataset of the vendor's that is not ours: %s",
    async (dataset) => {
      await create();
      for (const path of ["logship", "logpush"]) {
        const { status, body } = await call<Job[]>("GET", `/${path}/datasets/${dataset}/jobs`);
        expect([status, body.result, body.result_info?.total_count]).toEqual([200, [], 0]);
      }
      expect((await call("GET", `/logpush/datasets/${dataset}/fields`)).status).toBe(404);
    },
  );

  it.each(["worker_trace_events", "HTTP_REQUESTS", "__proto__"])("is none for no dataset: %s", async (dataset) => {
    expect(errorsOf(await call("GET", `/logpush/datasets/${dataset}/jobs`))).toEqual([
      [7003, undefined, "no such dataset"],
    ]);
  });

  it("is refused beyond its pages", async () => {
    for (const query of ["page=0", "per_page=101"]) {
      const answer = await call("GET", `/logship/jobs?${query}`);
      const message = expect.stringMatching(new RegExp(`^${query.split("=")[0]} must be a whole number from 1 to `));
      expectRefused(answer, 400, [1001, undefined, message]);
    }
  });
});

describe("a change of a job", () => {
  it.each([
    [{}],
    [{ name: "other", enabled: false, max_upload_bytes: 0 }],
    [{ output_options: { field_names: ["ScriptName"] } }],
    [{ filter: null, frequency: "low", logpull_options: "fields=Outcome" }],
    [{ dataset: "functions_trace_events", kind: "", max_upload_records: 2_000, max_upload_interval_seconds: 60 }],
  ])("changes what it names, and nothing else: %j", async (change) => {
    const clock = setClock(NOON);
    const before = await create(FULL);
    expect(before).toMatchObject(FULL);
    clock.advance(5_000);
    const changed = await update(before.id, change);
    expect(changed).toEqual({ ...before, ...change, time_modified: after(5_000) });
    expect(await read(before.id)).toEqual(changed);
  });

  it("takes either name of its dataset, and shows the last one that was sent below each path", async () => {
    const seen = async (path: string) => (await call<Job>("GET", `/${path}/jobs/1`)).body.result.dataset;
    await create();
    expect([await seen("logship"), await seen("logpush")]).toEqual(["functions_trace_events", "workers_trace_events"]);
    expect((await update(1, { dataset: "workers_trace_events" })).dataset).toBe("workers_trace_events");
    expect((await update(1, { name: "x" })).dataset).toBe("workers_trace_events");
    const alias = await call<Job>("PUT", "/logpush/jobs/1", { dataset: "functions_trace_events" });
    expect(alias.body.result.dataset).toBe("functions_trace_events");
    expect([await seen("logship"), await seen("logpush")]).toEqual(["workers_trace_events", "functions_trace_events"]);
    expect((await call("PUT", "/logpush/jobs/1", { dataset: "http_requests" })).status).toBe(400);
  });

  it("and its creation ignore what only the server may say", async () => {
    setClock(NOON);
    const said = {
      ...{ id: 99, last_complete: "2030-01-01T00:00:00Z", last_error: NOON_TEXT, error_message: "x" },
      ...{ time_created: "2020-01-01T00:00:00Z", time_modified: 5 },
    };
    const before = await create({ ...FULL, ...said });
    const own = { id: 1, last_complete: null, last_error: null, error_message: null };
    expect(before).toMatchObject({ ...own, time_created: NOON_TEXT, time_modified: NOON_TEXT });
    expect(await update(before.id, said)).toEqual(before);
    expect((await call("GET", "/logship/jobs/99")).status).toBe(404);
  });

  it("is made on what the job is by then, when it meets another one", async () => {
    const bucket = freshBucket();
    const { id } = await create(FULL);
    // The first waits for the probe of its destination; the second does not.
    await bucket.control.script([rule({ do: "hold" }, { method: "PUT" }, 1)]);
    const slow = call<Job>("PUT", `/logship/jobs/${id}`, { destination_conf: destinationConf(bucket.name) });
    await bucket.control.whenHeld(1);
    await update(id, { name: "changed meanwhile", max_upload_bytes: 7_000_000 });
    await bucket.control.release();
    const answer = await slow;
    expect([answer.status, answer.body.result]).toMatchObject([
      200,
      { name: "changed meanwhile", max_upload_bytes: 7_000_000, destination_conf: destinationConf(bucket.name) },
    ]);
  });

  it.each([
    [
      "is a conflict when the job never stands still",
      "conflict",
      409,
      1009,
      "the job is being changed concurrently; try again",
    ],
    ["finds no job that was deleted meanwhile", "gone", 404, 1000, "job not found"],
  ])("%s", async (_what, kind, status, code, message) => {
    const { id } = await create();
    const control = env.CONTROL.getByName("control");
    const CONTROL = { getByName: () => ({ get: (n: number) => control.get(n), update: async () => ({ kind }) }) };
    const answer = await call("PUT", `/logship/jobs/${id}`, { name: "x" }, { settings: { CONTROL } });
    expectRefused(answer, status, [code, undefined, message]);
    expect((await read(id)).name).toBeNull();
  });
});

describe("a job that is not there", () => {
  const missing = ["2", "0", "-1", "01", "1.0", "1e0", "x", "%20", "9007199254740993", "99999999999999999999", "1%00"];

  it("is 404, 1000 on every route", async () => {
    await create();
    for (const id of missing)
      for (const [method, path, body] of [
        ["GET", ""],
        ["PUT", "", { name: "x" }],
        ["DELETE", ""],
        ["GET", "/ledger"],
        ["GET", "/health"],
        ["GET", "/objects"],
        ["POST", "/flush"],
      ] as const) {
        const answer = await call(method, `/logship/jobs/${id}${path}`, body);
        const where = `${method} ${id}${path}`;
        expect([where, answer.status, errorsOf(answer)]).toEqual([where, 404, [[1000, undefined, "job not found"]]]);
      }
    expect((await listJobs()).map((job) => [job.id, job.name])).toEqual([[1, null]]);
  });
});

describe("a job that is deleted", () => {
  it("is gone at once, and answers with its id", async () => {
    const { id } = await create();
    const answer = await call("DELETE", `/logship/jobs/${id}`);
    expect([answer.status, answer.body]).toEqual([200, { errors: [], messages: [], result: { id }, success: true }]);
    expect(await listJobs()).toEqual([]);
    for (const method of ["GET", "DELETE", "PUT"]) {
      const again = await call(method, `/logship/jobs/${id}`, method === "PUT" ? {} : undefined);
      expect([method, again.status, again.body.errors[0]?.code]).toEqual([method, 404, 1000]);
    }
  });

  it("can be deleted again while that is not in force, and is told when it is", async () => {
    setClock(NOON);
    const { id } = await create();
    const unreached = vi.spyOn(TraceLog.prototype, "configure").mockRejectedValue(new Error("out of reach"));
    for (const _ of [1, 2]) expect((await call("DELETE", `/logship/jobs/${id}`)).status).toBe(503);
    expect(await listJobs()).toEqual([]);
    unreached.mockRestore();
    expect((await call("DELETE", `/logship/jobs/${id}`)).body.result).toEqual({ id });
    expect((await call("DELETE", `/logship/jobs/${id}`)).status).toBe(404);
  });

  it("leaves an id that is never used again", async () => {
    await create();
    await create();
    await call("DELETE", "/logship/jobs/2");
    expect((await create()).id).toBe(3);
    await call("DELETE", "/logship/jobs/1");
    await call("DELETE", "/logship/jobs/3");
    expect((await create()).id).toBe(4);
  });

  async function withFive(): Promise<{ id: number; bucket: Bucket }> {
    const clock = setClock(NOON);
    const bucket = freshBucket();
    const { id } = await create({ enabled: true }, bucket);
    await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
    expect((await logStatus(id)).counts).toMatchObject({ received: 5, pending: 5 });
    return { id, bucket };
  }

  it.each(["", "?discard=false"])("drains what it had taken, visibly: DELETE%s", async (query) => {
    const { id } = await withFive();
    expect((await call("DELETE", `/logship/jobs/${id}${query}`)).status).toBe(200);
    expect((await logStatus(id)).counts).toMatchObject({ received: 5, pending: 5, discarded: 0 });
    const { result } = (await call<{ draining: unknown[] }>("GET", "/logship/ledger")).body;
    expect(result.draining).toEqual([{ id, deleted_at: NOON_TEXT, pending: 5, error_message: null }]);
  });

  it("drops what it had taken where that is asked for, and counts it", async () => {
    const { id, bucket } = await withFive();
    expect((await call("DELETE", `/logship/jobs/${id}?discard=true`)).status).toBe(200);
    await readAll();
    expect((await logStatus(id)).counts).toMatchObject({ received: 5, pending: 0, discarded: 5 });
    expect((await call<{ draining: unknown[] }>("GET", "/logship/ledger")).body.result.draining).toEqual([]);
    expect((await bucket.control.objects()).map(({ key }) => key)).toEqual(["logs/00010101/test.txt.gz"]);
  });

  it("can still be discarded while it drains, once, and is gone all the time", async () => {
    const { id } = await withFive();
    await call("DELETE", `/logship/jobs/${id}`);
    const discarded = await call("DELETE", `/logship/jobs/${id}?discard=true`);
    expect([discarded.status, discarded.body.result]).toEqual([200, { id }]);
    await readAll();
    expect((await logStatus(id)).counts).toMatchObject({ received: 5, pending: 0, discarded: 5 });
    for (const query of ["", "?discard=true"]) {
      const again = await call("DELETE", `/logship/jobs/${id}${query}`);
      expectRefused(again, 404, [1000, undefined, "job not found"]);
    }
  });

  it("is not deleted at all for a discard that is neither true nor false", async () => {
    const { id } = await create();
    const answer = await call("DELETE", `/logship/jobs/${id}?discard=yes`);
    expectRefused(answer, 400, [1001, undefined, "discard must be true or false"]);
    expect((await listJobs()).length).toBe(1);
  });
});

describe("what a job tells of its delivery", () => {
  it("is nothing at first: a ledger of zeros, no object", async () => {
    const { id } = await create();
    const { result } = (await call<Record<string, unknown>>("GET", `/logship/jobs/${id}/ledger`)).body;
    const { guarantee, oldest_pending_seconds, next_try, replayed, unread, ...counts } = result;
    expect([guarantee, oldest_pending_seconds, next_try, replayed, unread]).toEqual([
      ...["once", null, null, { objects: 0, records: 0, bytes: 0 }],
      { records: 0, bytes: 0, oldest: null },
    ]);
    expect(Object.entries(counts).filter(([, count]) => count !== 0)).toEqual([]);
    expect((await call("GET", `/logship/jobs/${id}/objects`)).body.result).toEqual([]);
  });

  it("is how often its destination takes a record, on the path of our own alone", async () => {
    vi.spyOn(platform, "fetch").mockImplementation(async () => new Response(null, { status: 204 }));
    const answer = await call<Job & { guarantee: string | null }>("POST", "/logship/jobs", {
      destination_conf: "https://logs.example/in?header_Authorization=Bearer%20x",
    });
    const guarantee = "at least once, id: header Idempotency-Key";
    expect([answer.status, answer.body.result.guarantee]).toEqual([201, guarantee]);
    const { id } = answer.body.result;
    expect((await call("GET", `/logship/jobs/${id}/ledger`)).body.result).toMatchObject({ guarantee });
    expect((await call("GET", `/logpush/jobs/${id}`)).body.result).not.toHaveProperty("guarantee");
  });

  it("is what waits and for how long, then what was delivered, in one list of objects", async () => {
    const clock = setClock(NOON);
    const { id } = await create({ enabled: true });
    await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
    clock.advance(7_400);
    expect((await call("GET", `/logship/jobs/${id}/ledger`)).body.result).toMatchObject({
      received: 5,
      pending: 5,
      oldest_pending_seconds: 7,
    });
    expect((await call("POST", `/logship/jobs/${id}/flush`)).body.result).toEqual({ id, pending_objects: 0 });
    expect((await call("GET", `/logship/jobs/${id}/ledger`)).body.result).toMatchObject({
      received: 5,
      delivered: 5,
      pending: 0,
      oldest_pending_seconds: null,
    });
    const { result } = (await call<{ number: number }[]>("GET", `/logship/jobs/${id}/objects`)).body;
    expect(result).toMatchObject([
      {
        records: 5,
        reason: "manual",
        state: "delivered",
        attempts: 1,
        first_event: NOON_TEXT,
        uploaded_at: after(7_400),
      },
    ]);
    const number = result[0]?.number ?? 0;
    expect((await call("GET", `/logship/jobs/${id}/objects?after=${number}`)).body.result).toEqual([]);
    expect((await call("GET", `/logship/jobs/${id}/objects?after=${number - 1}`)).body.result).toEqual(result);
  });

  it("is a list like any other where it is a list: it says how many there are", async () => {
    const clock = setClock(NOON);
    const { id } = await create({ enabled: true });
    await deliver(pack(new Oracle({ at: NOON }).mint(4, { days: 2 }), clock.nowMs()));
    await call("POST", `/logship/jobs/${id}/flush`);
    const answer = await call("GET", `/logship/jobs/${id}/objects?limit=1`);
    expect(answer.body.result_info).toMatchObject({ count: 1, per_page: 1, total_count: 2 });
  });

  it("is refused for an impossible page", async () => {
    const { id } = await create();
    for (const query of ["after=-1", "limit=0", "limit=1001"]) {
      const answer = await call("GET", `/logship/jobs/${id}/objects?${query}`);
      expect([query, answer.status, answer.body.errors[0]?.code]).toEqual([query, 400, 1001]);
    }
  });

  it("adds up for the account", async () => {
    const clock = setClock(NOON);
    await create({ enabled: true });
    await deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
    await deliver(pack(new Oracle({ at: NOON, name: "early" }).mint(3), NOON - 60_000));
    expect((await call("GET", "/logship/ledger")).body.result).toMatchObject({
      processed: 8,
      routed: 5,
      not_enabled: 0,
      not_routed: 3,
      set_aside: 0,
      intake_lost: 0,
      draining: [],
    });
  });
});
