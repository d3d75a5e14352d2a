import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { TraceLog } from "../../../src/index.ts";
import { Oracle } from "../../support/oracle.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { deliver, logStatus, NOON, pack, readAll, setClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { type Bucket, call, errorsOf, freshBucket, type Job, listJobs } from "./harness.ts";

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

/** All fields that a declarative tool compares. */
const settingsOf = ({ time_modified: _time, ...job }: Job) => job;

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

  it("is read back as it was sent", async () => {
    const job = await create(FULL);
    expect(job).toMatchObject(FULL);
    expect(await read(job.id)).toEqual(job);
  });

  const echoed: [what: string, fields: object][] = [
    [
      "null everywhere",
      {
        name: null,
        output_options: null,
        filter: null,
        frequency: null,
        logpull_options: null,
        max_upload_bytes: null,
        max_upload_records: null,
        max_upload_interval_seconds: null,
      },
    ],
    ["empty texts", { name: "", filter: "", frequency: "", logpull_options: "" }],
    ["empty options", { output_options: {} }],
    ["options that are null", { output_options: { field_names: null, sample_rate: null } }],
    ["the vendor's name of the dataset", { dataset: "workers_trace_events" }],
    [
      "the bounds",
      { max_upload_bytes: 1_000_000_000, max_upload_records: 1_000_000, max_upload_interval_seconds: 300 },
    ],
    ["a filter, blanks and all", { filter: '{ "where": {"key":"Outcome","operator":"!eq","value":"ok"} }' }],
    [
      "another format, and a sample",
      { output_options: { output_type: "csv", record_template: '{{ .Outcome }}{{ "," }}', sample_rate: 0.25 } },
    ],
    ["the longest name", { name: "n".repeat(512) }],
    ["a name of any letters", { name: 'ü€\u{1f600}<script>"\\' }],
  ];

  it.each(echoed)("invents nothing, and changes nothing: %s", async (_what, fields) => {
    const job = await create(fields);
    expect(job).toMatchObject(fields);
    if ("output_options" in fields) expect(job.output_options).toEqual(fields.output_options);
    else expect(job).not.toHaveProperty("output_options");
  });

  it("does not show its ownership challenge, ever", async () => {
    const job = await create({ ownership_challenge: "a-challenge-of-the-tests" });
    expect(JSON.stringify([job, await read(job.id), await listJobs()])).not.toContain("challenge");
  });

  it("ignores what only the server may say", async () => {
    setClock(NOON);
    const said = {
      id: 77,
      last_complete: "x",
      last_error: 5,
      error_message: {},
      time_created: "2020-01-01T00:00:00Z",
      time_modified: null,
    };
    expect(await create(said)).toMatchObject({
      id: 1,
      last_complete: null,
      last_error: null,
      error_message: null,
      time_created: NOON_TEXT,
      time_modified: NOON_TEXT,
    });
  });

  it("may be sent compressed, and without saying that it is JSON", async () => {
    const text = JSON.stringify({ destination_conf: destinationConf(freshBucket().name), name: "x" });
    const gzip = new Uint8Array(
      await new Response(new Response(text).body?.pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
    );
    expect((await call("POST", "/logship/jobs", gzip, { headers: { "content-encoding": "gzip" } })).status).toBe(201);
    expect(
      (await call("POST", "/logship/jobs", new TextEncoder().encode(text), { headers: { "content-type": null } }))
        .status,
    ).toBe(201);
    expect(
      (await call("POST", "/logship/jobs", text, { headers: { "content-type": "Application/JSON; charset=utf-8" } }))
        .status,
    ).toBe(201);
  });

  it("is one of a hundred at most", async () => {
    const { name } = freshBucket();
    const body = { destination_conf: destinationConf(name) };
    for (let made = 0; made < 99; made += 33) {
      const answers = await Promise.all(Array.from({ length: 33 }, () => call("POST", "/logship/jobs", body)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    }
    // Several concurrent attempts at the hundredth job.
    const bucket = freshBucket();
    const last = await Promise.all(Array.from({ length: 4 }, () => call("POST", "/logship/jobs", body)));
    expect(last.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403]);
    const answer = await call("POST", "/logship/jobs", { destination_conf: destinationConf(bucket.name) });
    expect([answer.status, errorsOf(answer)]).toEqual([
      403,
      [[1004, undefined, "creating a new job is not allowed: exceeded max jobs allowed"]],
    ]);
    expect(await bucket.control.requests()).toEqual([]);
    expect((await listJobs()).length).toBe(100);
    // Deleting one makes room for one.
    await call("DELETE", "/logship/jobs/50");
    expect((await call("POST", "/logship/jobs", body)).status).toBe(201);
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

  it.each(["page=0", "page=-1", "page=x", "page=", "page=1.5", "per_page=0", "per_page=101", "per_page=1e2"])(
    "is refused for %s",
    async (query) => {
      const answer = await call("GET", `/logship/jobs?${query}`);
      expect([answer.status, answer.body.errors[0]?.code]).toEqual([400, 1001]);
      expect(answer.body.errors[0]?.message).toMatch(
        new RegExp(`^${query.split("=")[0]} must be a whole number from 1 to `),
      );
    },
  );
});

describe("a change of a job", () => {
  const changes: [what: string, change: object][] = [
    ["nothing", {}],
    ["its name", { name: "other" }],
    ["whether it is enabled", { enabled: false }],
    ["its options", { output_options: { field_names: ["ScriptName"] } }],
    ["its filter", { filter: null }],
    ["its frequency", { frequency: "low" }],
    ["its older options", { logpull_options: "fields=Outcome" }],
    ["its bytes", { max_upload_bytes: 6_000_000 }],
    ["its records", { max_upload_records: 2_000 }],
    ["its interval", { max_upload_interval_seconds: 60 }],
    ["several", { name: "other", enabled: false, max_upload_bytes: 0 }],
    ["its dataset, as it is", { dataset: "functions_trace_events" }],
    ["its kind, as it is", { kind: "" }],
  ];

  it.each(changes)("changes what it names, and nothing else: %s", async (_what, change) => {
    const clock = setClock(NOON);
    const before = await create(FULL);
    clock.advance(5_000);
    const changed = await update(before.id, change);
    expect(changed).toEqual({ ...before, ...change, time_modified: after(5_000) });
    expect(await read(before.id)).toEqual(changed);
  });

  const clearings: [field: string, values: unknown[]][] = [
    ["name", [null, ""]],
    ["output_options", [null, {}]],
    ["filter", [null, ""]],
    ["frequency", [null, ""]],
    ["logpull_options", [null, ""]],
    ["max_upload_bytes", [null, 0]],
    ["max_upload_records", [null, 0]],
    ["max_upload_interval_seconds", [null, 0]],
  ];

  it.each(clearings)('clears %s with null, "" or 0, and shows what was sent', async (field, values) => {
    for (const value of values) {
      const { id } = await create(FULL);
      expect((await update(id, { [field]: value }))[field]).toEqual(value);
      expect((await read(id))[field]).toEqual(value);
    }
  });

  it("replaces its options as a whole", async () => {
    const { id } = await create(FULL);
    expect((await update(id, { output_options: { sample_rate: 1 } })).output_options).toEqual({ sample_rate: 1 });
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

  it("ignores what only the server may say", async () => {
    setClock(NOON);
    const before = await create(FULL);
    const said = {
      id: 99,
      last_complete: "2030-01-01T00:00:00Z",
      last_error: NOON_TEXT,
      error_message: "x",
      time_created: "x",
      time_modified: 5,
    };
    expect(await update(before.id, said)).toEqual(before);
    expect((await call("GET", "/logship/jobs/99")).status).toBe(404);
  });

  const jobs: [what: string, fields: object][] = [
    ["with nothing but a destination", {}],
    ["with everything", FULL],
    ["with nulls", { name: null, output_options: null, filter: null, max_upload_bytes: null }],
    ["with the vendor's dataset", { dataset: "workers_trace_events" }],
    ["with empty options", { output_options: {} }],
  ];

  it.each(jobs)("to what was read changes nothing and invents nothing: a job %s", async (_what, fields) => {
    const bucket = freshBucket();
    const created = await create(fields, bucket);
    const first = await read(created.id);
    expect(first).toEqual(created);
    await update(created.id, first);
    const second = await read(created.id);
    expect(settingsOf(second)).toEqual(settingsOf(first));
    expect(Object.keys(second)).toEqual(Object.keys(first));
    await update(created.id, second);
    expect(settingsOf(await read(created.id))).toEqual(settingsOf(first));
    // The destination is unchanged, so it is not probed again.
    expect((await bucket.control.requests()).length).toBe(1);
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

  it("is a conflict, 409, when the job never stands still", async () => {
    const { id } = await create();
    const control = env.CONTROL.getByName("control");
    const restless = {
      getByName: () => ({ get: (n: number) => control.get(n), update: async () => ({ kind: "conflict" }) }),
    };
    const answer = await call("PUT", `/logship/jobs/${id}`, { name: "x" }, { settings: { CONTROL: restless } });
    expect([answer.status, errorsOf(answer)]).toEqual([
      409,
      [[1009, undefined, "the job is being changed concurrently; try again"]],
    ]);
    expect((await read(id)).name).toBeNull();
  });

  it("finds no job that was deleted meanwhile", async () => {
    const { id } = await create();
    const control = env.CONTROL.getByName("control");
    const gone = { getByName: () => ({ get: (n: number) => control.get(n), update: async () => ({ kind: "gone" }) }) };
    const answer = await call("PUT", `/logship/jobs/${id}`, { name: "x" }, { settings: { CONTROL: gone } });
    expect([answer.status, errorsOf(answer)]).toEqual([404, [[1000, undefined, "job not found"]]]);
  });
});

describe("a job that is not there", () => {
  const missing = ["2", "0", "-1", "01", "1.0", "1e0", "x", "%20", "9007199254740993", "99999999999999999999", "1%00"];

  it.each(missing)("is 404, 1000 on every route: %s", async (id) => {
    await create();
    for (const [method, path, body] of [
      ["GET", ""],
      ["PUT", "", { name: "x" }],
      ["DELETE", ""],
      ["GET", "/ledger"],
      ["GET", "/objects"],
      ["POST", "/flush"],
    ] as const) {
      const answer = await call(method, `/logship/jobs/${id}${path}`, body);
      expect([method, path, answer.status, errorsOf(answer)]).toEqual([
        method,
        path,
        404,
        [[1000, undefined, "job not found"]],
      ]);
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

  it("drains what it had taken, visibly", async () => {
    const { id } = await withFive();
    expect((await call("DELETE", `/logship/jobs/${id}`)).status).toBe(200);
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
      expect([again.status, errorsOf(again)]).toEqual([404, [[1000, undefined, "job not found"]]]);
    }
  });

  it.each(["yes", "1", "", "TRUE"])("is not deleted at all for discard=%s", async (value) => {
    const { id } = await create();
    const answer = await call("DELETE", `/logship/jobs/${id}?discard=${value}`);
    expect([answer.status, errorsOf(answer)]).toEqual([400, [[1001, undefined, "discard must be true or false"]]]);
    expect((await listJobs()).length).toBe(1);
  });

  it("drains for discard=false", async () => {
    const { id } = await withFive();
    expect((await call("DELETE", `/logship/jobs/${id}?discard=false`)).status).toBe(200);
    expect((await logStatus(id)).counts).toMatchObject({ pending: 5, discarded: 0 });
  });
});

describe("what a job tells of its delivery", () => {
  it("is nothing at first: a ledger of zeros, no object", async () => {
    const { id } = await create();
    expect((await call("GET", `/logship/jobs/${id}/ledger`)).body.result).toEqual({
      received: 0,
      filtered: 0,
      sampled_out: 0,
      delivered: 0,
      pending: 0,
      set_aside: 0,
      discarded: 0,
      pending_objects: 0,
      oldest_pending_seconds: null,
      bytes_raw: 0,
      bytes_compressed: 0,
      replayed: { objects: 0, records: 0, bytes: 0 },
      unread: { records: 0, bytes: 0, oldest: null },
      guarantee: "once",
      resent_in_doubt: 0,
    });
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

  it("says nothing of a destination that no key opens", async () => {
    const { id } = await create();
    for (const path of [`/logship/jobs/${id}`, `/logship/jobs/${id}/ledger`]) {
      const answer = await call("GET", path, undefined, { settings: { SECRETS_KEY: btoa("x".repeat(32)) } });
      expect([path, answer.body.result]).toMatchObject([path, { guarantee: null }]);
    }
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

  it.each(["after=-1", "after=x", "after=1.5", "limit=0", "limit=1001", "limit="])(
    "is refused for %s",
    async (query) => {
      const { id } = await create();
      const answer = await call("GET", `/logship/jobs/${id}/objects?${query}`);
      expect([answer.status, answer.body.errors[0]?.code]).toEqual([400, 1001]);
    },
  );

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

describe("a job whose stored destination no key opens", () => {
  it("says so when it is read, and can be mended by sending the destination again", async () => {
    const bucket = freshBucket();
    const { id } = await create({}, bucket);
    await runInDurableObject(env.CONTROL.getByName("control"), (_control, { storage: { sql } }) => {
      const config = JSON.parse(String(sql.exec("SELECT config FROM job WHERE id = ?", id).one().config)) as object;
      sql.exec("UPDATE job SET config = ? WHERE id = ?", JSON.stringify({ ...config, destination: "1.AAAA.AAAA" }), id);
    });
    const read = (await call<{ destination_conf: string; error_message: string }>("GET", `/logship/jobs/${id}`)).body
      .result;
    expect(read.destination_conf).toBe("");
    expect(read.error_message).toMatch(/neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens/);
    expect((await call("PUT", `/logship/jobs/${id}`, { name: "still sealed" })).status).toBe(400);
    const mended = await call<{ error_message: null }>("PUT", `/logship/jobs/${id}`, {
      destination_conf: destinationConf(bucket.name),
    });
    expect([mended.status, mended.body.result.error_message]).toEqual([200, null]);
  });
});
