/**
 * What the API shows of set-aside data, and what can be done with it. Faults in the course of this
 * are in test/faults/set-aside.test.ts.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ASIDE_SHOWN_BYTES, ASIDE_SHOWN_UNITS } from "../../../src/base/limits.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { JobReader, TraceLog } from "../../../src/index.ts";
import { maskDestination } from "../../../src/ship/destinations/parse.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { traceRecord } from "../../formats/record/samples.ts";
import { id } from "../../ship/consumer/scripted.ts";
import { encodeMessage } from "../../support/message.ts";
import { type Minted, Oracle } from "../../support/oracle.ts";
import { createJob, destinationConf } from "../../support/runtime/api.ts";
import { freshDestination } from "../../support/runtime/destinations.ts";
import { poison, putOnHold } from "../../support/runtime/hold.ts";
import {
  deliver,
  freshBucket,
  logStatus,
  NOON,
  pack,
  readAll,
  runAlarm,
  setSteadyClock,
} from "../../support/runtime/pipeline.ts";
import { type Rule, rule } from "../../support/s3-script.ts";
import { call, errorsOf, expectRefused, raw } from "./harness.ts";

interface Entry {
  id: string;
  [field: string]: unknown;
}

const messageOf = (n: number, lines: readonly string[], takenInMs = NOON): ArrayBuffer =>
  encodeMessage(
    { id: id(n), takenInMs, keyed: false, shards: 1, records: lines.length },
    new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")),
  ).buffer;

const lineOf = (ScriptName: string): string => recordLine(traceRecord({ ScriptName, EventTimestampMs: NOON }));

/** Sets a readable message aside. */
const aside = (n: number, lines: readonly string[]): Promise<void> => putOnHold(messageOf(n, lines));

/** Sets something unreadable aside. */
const unreadable = (bytes: Uint8Array<ArrayBuffer>): Promise<void> =>
  putOnHold(bytes.buffer, "shorter than a header", "shorter than a header");

/** A job whose store refuses some of its objects, one a day, and takes one after each. */
async function refusedObjects(days: number): Promise<number> {
  const { name, control } = freshBucket();
  const job = await createJob(name);
  const events = Map.groupBy(new Oracle({ at: NOON }).mint(days * 2, { days }), ({ day }) => day);
  const ship = async (some: readonly Minted[], rules: readonly Rule[]): Promise<void> => {
    await control.script(rules);
    await deliver(pack(some, clock.nowMs()));
    clock.advance(60_000);
    await runAlarm(job);
  };
  for (const ofDay of events.values()) {
    await ship(ofDay, [
      rule({ do: "answer", status: 413, code: "EntityTooLarge" }, { method: "PUT", keyIncludes: ".log.gz" }),
    ]);
    await ship(new Oracle({ at: NOON }).mint(1), []);
  }
  // Disabled, so that it gets no events of the next job.
  await call("PUT", `/logship/jobs/${job}`, { enabled: false });
  clock.advance(1_000);
  expect((await logStatus(job)).counts.set_aside).toBe(days * 2);
  return job;
}

const list = (query = "") => call<Entry[]>("GET", `/logship/set-aside${query}`);

const file = (path: string): Promise<Response> => raw(`/logship/set-aside/${path}?download=true`);

let clock: ReturnType<typeof setSteadyClock>;
beforeEach(() => {
  clock = setSteadyClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

describe("the list", () => {
  it("is empty where nothing is set aside", async () => {
    await createJob(freshBucket().name);
    const { body } = await list();
    expect([body.result, body.result_info]).toEqual([
      [],
      { count: 0, page: 1, per_page: 100, total_count: 0, unanswered_jobs: [] },
    ]);
  });

  it("has messages and objects, in pages that leave none out and show none twice", async () => {
    for (let n = 1; n <= 3; n++) await aside(n, [lineOf("shop")]);
    const first = await refusedObjects(3);
    const second = await refusedObjects(2);
    const ids = (await list()).body.result.map((entry) => entry.id);
    expect(ids.slice(0, 3)).toEqual(["message-1", "message-2", "message-3"]);
    expect(ids.slice(3).map((each) => each.replace(/-\d+$/, ""))).toEqual([
      ...Array(3).fill(`object-${first}`),
      ...Array(2).fill(`object-${second}`),
    ]);
    for (const size of [1, 2, 3, 5, 7, 100]) {
      const paged: string[] = [];
      for (let page = 1; paged.length < 8; page++) {
        const { result, result_info } = (await list(`?page=${page}&per_page=${size}`)).body;
        expect(result_info).toMatchObject({ count: result.length, page, per_page: size, total_count: 8 });
        expect(result.length).toBe(Math.min(size, 8 - paged.length));
        paged.push(...result.map((entry) => entry.id));
      }
      expect(paged).toEqual(ids);
    }
  });

  it("says of each what it is", async () => {
    await aside(1, [lineOf("shop"), lineOf("till")]);
    await unreadable(new Uint8Array(3));
    const job = await refusedObjects(1);
    const set_aside_at = new Date(NOON).toISOString();
    const message = { kind: "message", set_aside_at, queue: "q", bytes: expect.any(Number) };
    expect((await list()).body.result).toEqual([
      {
        ...message,
        ...{ id: "message-1", taken_in: set_aside_at, why: "failed too often", events: 2 },
        ...{ resendable: true, why_not: null },
      },
      {
        ...message,
        ...{ id: "message-2", taken_in: null, why: "shorter than a header", events: 1 },
        ...{ resendable: false, why_not: "its records cannot be read: shorter than a header" },
      },
      {
        ...{ id: `object-${job}-1`, kind: "object", job, number: 1, records: 2, bytes: expect.any(Number) },
        ...{ set_aside_at: new Date(NOON + 60_000).toISOString(), key: expect.stringMatching(/\.log\.gz$/) },
        ...{ why: "an object is on hold: HTTP 413 EntityTooLarge", resendable: true, why_not: null },
        answer: null,
      },
    ]);
  });

  it("names the jobs whose logs do not answer, and shows the rest", async () => {
    await aside(1, [lineOf("shop")]);
    const silent = await refusedObjects(1);
    const other = await refusedObjects(1);
    const { asideObjects } = JobReader.prototype;
    vi.spyOn(JobReader.prototype, "asideObjects").mockImplementation(function (this: JobReader, ...args) {
      if (this.ctx.id.name === `job ${silent} log 0`) throw new Error("out of reach");
      return asideObjects.apply(this, args);
    });
    const { result, result_info } = (await list()).body;
    expect(result.map((entry) => entry.id)).toEqual(["message-1", `object-${other}-1`]);
    expect(result_info).toMatchObject({ total_count: 2, unanswered_jobs: [silent] });
  });
});

describe("a message", () => {
  it("is shown with its records, as texts", async () => {
    const lines = [lineOf("<script>alert(1)</script>"), lineOf("shop")];
    await aside(1, lines);
    const { result } = (await call<Entry>("GET", "/logship/set-aside/message-1")).body;
    expect(result).toMatchObject({
      events: 2,
      resendable: true,
      content: { records: lines, sources: ["", ""], base64: null, complete: true },
    });
  });

  it("is shown as bytes where it cannot be read, and no more of them than fit an answer", async () => {
    const bytes = new Uint8Array(ASIDE_SHOWN_BYTES + 1).fill(7);
    await unreadable(bytes);
    const { result } = (await call<Entry>("GET", "/logship/set-aside/message-1")).body;
    const shown = btoa("\x07".repeat(ASIDE_SHOWN_BYTES));
    expect(result).toMatchObject({
      resendable: false,
      content: { records: null, sources: null, base64: shown, complete: false },
    });
    expect(result.why_not).toBe("its records cannot be read: not a logship message");
    const response = await file("message-1");
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
  });

  it("shows no more records than fit an answer, and all of them in a file that no browser renders", async () => {
    const long = lineOf("x".repeat(400_000));
    expect(ASIDE_SHOWN_UNITS).toBeLessThan(3 * long.length);
    await aside(1, [long, long, long]);
    const { result } = (await call<{ content: { records: string[] } }>("GET", "/logship/set-aside/message-1")).body;
    expect(result.content).toEqual({ records: [long, long], sources: ["", ""], base64: null, complete: false });
    const response = await file("message-1");
    expect(await response.text()).toBe(`${long}\n`.repeat(3));
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/x-ndjson",
      "content-disposition": 'attachment; filename="message-1.ndjson"',
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
      "cache-control": "no-store",
      "x-request-id": expect.any(String),
    });
  });

  it("with a line that is no record is shown, and not sent again: it stays", async () => {
    const job = await createJob(freshBucket().name);
    const lines = [lineOf("shop"), "{}"];
    await aside(1, lines);
    const { result } = (await call<Entry>("GET", "/logship/set-aside/message-1")).body;
    const words = "its records cannot be read: holds a line that is no record";
    expect(result).toMatchObject({ resendable: false, why_not: words, content: { records: lines } });
    const answer = await call("POST", "/logship/set-aside/message-1/resend");
    expectRefused(answer, 409, [1009, undefined, words]);
    await readAll();
    expect([(await list()).body.result, (await logStatus(job)).counts.received]).toMatchObject([[{}], 0]);
  });

  it("goes nowhere where no job was enabled, and is counted as that", async () => {
    await aside(1, [lineOf("shop")]);
    const { result } = (await call("POST", "/logship/set-aside/message-1/resend")).body;
    const nowhere = { routed: 0, not_enabled: 0, not_routed: 1 };
    expect(result).toEqual({ id: "message-1", kind: "message", jobs: [], gone_jobs: [], events: 1, ...nowhere });
    const counts = (await call("GET", "/logship/ledger")).body.result;
    expect(counts).toMatchObject({ processed: 1, not_routed: 1, set_aside: 0, discarded: 0 });
  });
});

describe("an object", () => {
  it("is shown, and its bytes are a gzip file", async () => {
    const job = await refusedObjects(1);
    const { result } = (await call<Entry>("GET", `/logship/set-aside/object-${job}-1`)).body;
    expect(result).toMatchObject({ job, number: 1, records: 2, cut_at: new Date(NOON + 60_000).toISOString() });
    const response = await file(`object-${job}-1`);
    const name = String(result.key).split("/").at(-1);
    expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
    expect(response.headers.get("content-type")).toBe("application/gzip");
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(bytes.length).toBe(result.bytes);
    const text = new TextDecoder().decode(gunzipSync(bytes));
    expect(text.length).toBe(result.bytes_raw);
    expect(
      text
        .trim()
        .split("\n")
        .map((line) => typeof JSON.parse(line)),
    ).toEqual(["object", "object"]);
  });

  it("of a job that was deleted with all that it had can only be deleted, and the log goes then", async () => {
    const job = await refusedObjects(1);
    await call("DELETE", `/logship/jobs/${job}?discard=true`);
    await readAll();
    const words = "its job was deleted together with its undelivered records; it can only be deleted";
    expect((await list()).body.result).toMatchObject([{ resendable: false, why_not: words }]);
    const answer = await call("POST", `/logship/set-aside/object-${job}-1/resend`);
    expectRefused(answer, 409, [1009, undefined, words]);
    expect((await call("DELETE", `/logship/set-aside/object-${job}-1`)).status).toBe(200);
    expect((await list()).body.result).toEqual([]);
  });
});

describe("an object that is sent elsewhere", () => {
  const SECRET = "of-the-other-destination";
  const REQUIRED = { settings: { REQUIRE_OWNERSHIP_CHALLENGE: "true" } };
  const send = (name: string, body: unknown, options = {}) =>
    call<Entry>("POST", `/logship/set-aside/${name}/resend`, body, options);
  const other = () => {
    const bucket = freshBucket();
    const conf = `${destinationConf(bucket.name, "other/{DATE}")}`.replace(/(secret-access-key=)[^&]*/, `$1${SECRET}`);
    return { ...bucket, conf };
  };
  const object = async (): Promise<{ job: number; name: string }> => {
    const job = await refusedObjects(1);
    return { job, name: `object-${job}-1` };
  };

  it("is there, under the path of that destination, and the list says where", async () => {
    const { job, name } = await object();
    const bucket = freshBucket();
    const conf = destinationConf(bucket.name, "other/{YYYY}/{SCRIPT}");
    const { status, body } = await send(name, { destination_conf: conf });
    const sent_to = maskDestination(conf);
    const key = expect.stringMatching(/^other\/2100\/_mixed\/.*\.log\.gz$/);
    expect([status, body.result]).toEqual([
      200,
      { id: name, kind: "object", job, number: 1, key, records: 2, sent_to },
    ]);
    // Until it is there, it may be sent again.
    expect((await send(name, { destination_conf: conf })).status).toBe(200);
    const entry = () => call("GET", `/logship/jobs/${job}/objects/1`);
    expect((await entry()).body.result).toMatchObject({ state: "waiting", sent_to });
    await runAlarm(job);
    expect((await entry()).body.result).toMatchObject({ state: "delivered", verified: true, sent_to, replay: null });
    const kept = (await bucket.control.contents()).filter(({ key: at }) => at.endsWith(".log.gz"));
    expect(kept).toMatchObject([{ key }]);
    expect((await logStatus(job)).counts).toMatchObject({ delivered: 3, pending: 0, set_aside: 0 });
    // It is not at the job's own destination, to be read or copied.
    const records = await call("GET", `/logship/jobs/${job}/objects/1/records`);
    expect(errorsOf(records)).toEqual([
      [1009, undefined, `the object cannot be read: it was sent to another destination, ${sent_to}`],
    ]);
    const span = { since: new Date(NOON - 86_400_000).toISOString(), until: new Date(NOON + 86_400_000).toISOString() };
    const estimate = await call("GET", `/logship/jobs/${job}/replay/estimate?${new URLSearchParams(span)}`);
    expect(estimate.body.result).toMatchObject({ planned: { objects: 1 } });
  });

  it("leaves its secret nowhere, and nothing sealed once it is there", async () => {
    const { job, name } = await object();
    const lines = (["log", "info", "warn", "error"] as const).map((level) =>
      vi.spyOn(console, level).mockImplementation(() => {}),
    );
    const { conf, control } = other();
    // A wrong secret: the test object is refused.
    const refused = await send(name, { destination_conf: conf });
    expect(errorsOf(refused)).toEqual([[1004, "/destination_conf", expect.stringContaining("HTTP 403")]]);
    const right = freshBucket();
    await control.script([]);
    expect((await send(name, { destination_conf: destinationConf(right.name) })).status).toBe(200);
    const rows = () =>
      runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) =>
        JSON.stringify(storage.sql.exec("SELECT key, error, target, elsewhere FROM object WHERE number = 1").toArray()),
      );
    const [, secret = ""] = /secret-access-key=([^&]*)/.exec(destinationConf(right.name)) ?? [];
    expect(await rows()).toMatch(/"sealed\\":\\"1\./);
    expect(await rows()).not.toContain(secret);
    await runAlarm(job);
    expect(await rows()).toContain('"target":null');
    const said = [
      (await call("GET", "/logship/audit")).body,
      (await call("GET", `/logship/jobs/${job}/objects`)).body,
      refused.body,
      lines.map(({ mock }) => mock.calls),
    ];
    for (const each of [SECRET, secret]) expect(JSON.stringify(said)).not.toContain(each);
    const { result } = (await call<object[]>("GET", "/logship/audit")).body;
    expect(result[0]).toMatchObject({ action: "set-aside.resend", resource: name, outcome: "done" });
  });

  it("is refused what is no destination, is not tested to work, or not proven to be owned, and stays", async () => {
    const { name } = await object();
    const closed = freshBucket();
    await closed.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    for (const [destination_conf, words] of [
      ["s3://b/p?region=auto&access-key-id=a&secret-access-key=****", "a masked secret"],
      ["https://169.254.169.254/latest?header_A=b", "host"],
      ["binding://SECRET_BUCKET/logs", "SECRET_BUCKET"],
      ["nowhere", ""],
      [destinationConf(closed.name), "HTTP 403 AccessDenied"],
    ] as const) {
      const answer = await send(name, { destination_conf });
      expect([destination_conf, answer.status, errorsOf(answer)]).toEqual([
        destination_conf,
        400,
        [[1004, "/destination_conf", expect.stringContaining(words)]],
      ]);
    }
    for (const body of [[], { destination_conf: 7 }, { destination: "x" }, null])
      expect((await send(name, body)).status).toBe(400);
    const unproven = await send(name, { destination_conf: destinationConf(freshBucket().name) }, REQUIRED);
    expect(errorsOf(unproven)).toMatchObject([[1002, "/ownership_challenge", "incorrect ownership challenge"]]);
    expect((await list()).body.result.map((entry) => entry.id)).toEqual([name]);
  });

  it("is refused a destination that does not take its records, which names what they lack", async () => {
    const { conf } = freshDestination("datadog", () => "");
    for (const [output_options, words] of [
      [{ field_names: ["ScriptName", "Logs"] }, "it needs the field EventTimestampMs"],
      [{ output_type: "csv" }, "it takes only NDJSON records"],
    ] as const) {
      const { name: bucket, control } = freshBucket();
      const job = await createJob(bucket, { output_options });
      await control.script([rule({ do: "answer", status: 413 }, { method: "PUT", keyIncludes: ".log.gz" })]);
      clock.advance(1_000);
      await deliver(pack(new Oracle({ at: clock.nowMs() }).mint(2), clock.nowMs()));
      clock.advance(60_000);
      await runAlarm(job);
      await call("PUT", `/logship/jobs/${job}`, { enabled: false });
      const answer = await send(`object-${job}-1`, { destination_conf: conf });
      expect(errorsOf(answer)).toEqual([[1004, "/destination_conf", expect.stringContaining(words)]]);
      // A store takes any.
      expect((await send(`object-${job}-1`, { destination_conf: destinationConf(freshBucket().name) })).status).toBe(
        200,
      );
      await runAlarm(job);
      expect((await logStatus(job)).counts).toMatchObject({ delivered: 2, set_aside: 0 });
    }
  });

  it("is none of a discarded job, nor a message", async () => {
    const { job, name } = await object();
    const destination_conf = destinationConf(freshBucket().name);
    await call("DELETE", `/logship/jobs/${job}?discard=true`);
    await readAll();
    expect((await send(name, { destination_conf })).status).toBe(409);
    await aside(1, [lineOf("shop")]);
    const answer = await send("message-1", { destination_conf });
    expect(errorsOf(answer)).toEqual([
      [
        1004,
        "/destination_conf",
        expect.stringContaining("a message goes to the jobs that were enabled when it arrived"),
      ],
    ]);
    expect((await send("message-1", {})).status).toBe(200);
  });

  it("is set aside again where no key opens its destination any more", async () => {
    const { job, name } = await object();
    await send(name, { destination_conf: destinationConf(freshBucket().name) });
    await runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) => {
      storage.sql.exec("UPDATE object SET target = json_set(target, '$.sealed', '1.AAAA.AAAA') WHERE number = 1");
    });
    await runAlarm(job);
    const [entry] = (await list()).body.result;
    expect(entry).toMatchObject({ id: name, why: expect.stringContaining("opens the stored destination") });
    expect((await send(name, undefined)).status).toBe(200);
    await runAlarm(job);
    expect((await logStatus(job)).counts).toMatchObject({ delivered: 3, set_aside: 0 });
  });
});

describe("records that could not be made", () => {
  async function notMade(n: number): Promise<{ job: number; name: string }> {
    const job = await createJob(freshBucket().name);
    return { job, name: await poison(job, messageOf(n, [lineOf("shop"), lineOf("till")])) };
  }
  const inReader = (job: number, change: (sql: SqlStorage) => void) =>
    runInDurableObject(nodeAt(env.READERS, job, 0), (_log, { storage }) => change(storage.sql));
  const countsOf = async (job: number) => (await call("GET", `/logship/jobs/${job}/ledger`)).body.result;

  it("are listed with why, and are sent again", async () => {
    const { job, name } = await notMade(1);
    const set_aside_at = new Date(NOON).toISOString();
    const entry = {
      ...{ id: name, kind: "entry", job, records: 2, bytes: expect.any(Number), set_aside_at, taken_in: set_aside_at },
      ...{ why: "its reader died with it 3 times", resendable: true, why_not: null },
    };
    expect((await list()).body).toMatchObject({ result: [entry], result_info: { total_count: 1 } });
    expect((await call("GET", `/logship/set-aside/${name}`)).body.result).toEqual(entry);
    expect(await countsOf(job)).toMatchObject({ received: 2, pending: 0, set_aside: 2 });
    const answer = await call("POST", `/logship/set-aside/${name}/resend`);
    expect(answer.body.result).toEqual({ id: name, kind: "entry", records: 2 });
    expect((await call("POST", `/logship/set-aside/${name}/resend`)).status).toBe(404);
    expect([(await list()).body.result, await countsOf(job)]).toMatchObject([
      [],
      { received: 2, pending: 2, set_aside: 0 },
    ]);
  });

  it("stay where they still cannot be made, and can be deleted, also with their job", async () => {
    const { job, name } = await notMade(1);
    await inReader(job, (sql) => sql.exec("UPDATE reader SET job = json_set(job, '$.sampleRate', 'half')"));
    const answer = await call("POST", `/logship/set-aside/${name}/resend`);
    const words = "logship still cannot prepare its records";
    expectRefused(answer, 409, [1009, undefined, words]);
    expect((await call("POST", "/logship/set-aside/resend", { skip: 0 })).body.result).toMatchObject({ stayed: 1 });
    expect((await call("DELETE", `/logship/set-aside/${name}`)).body.result).toEqual({ id: name, discarded: 2 });
    expect((await call("DELETE", `/logship/set-aside/${name}`)).status).toBe(404);
    const [noted] = (await call<object[]>("GET", "/logship/audit")).body.result;
    expect(noted).toMatchObject({ action: "set-aside.delete", resource: name, outcome: "done" });
    expect(await countsOf(job)).toMatchObject({ received: 2, set_aside: 0, discarded: 2 });
    const other = await notMade(2);
    await call("DELETE", `/logship/jobs/${other.job}?discard=true`);
    await readAll();
    expect((await list()).body.result).toEqual([]);
    expect((await logStatus(other.job)).counts).toMatchObject({ received: 2, set_aside: 0, discarded: 2 });
  });
});

describe("everything", () => {
  const resendAll = (skip = 0) => call<Record<string, number>>("POST", "/logship/set-aside/resend", { skip });

  it("is sent again, but for what cannot be", async () => {
    const job = await refusedObjects(2);
    for (let n = 1; n <= 3; n++) await aside(n, [lineOf("shop"), lineOf("till")]);
    await unreadable(new Uint8Array(3));
    const { result } = (await resendAll()).body;
    expect(result).toEqual({ sent: 5, events: 6, records: 4, stayed: 1, left: 0, unanswered_jobs: [] });
    expect((await list()).body.result.map((entry) => entry.id)).toEqual(["message-4"]);
    await readAll();
    // One a day was taken before. The reader's own alarm may have delivered some more meanwhile.
    const { set_aside, pending, delivered } = (await logStatus(job)).counts;
    expect([set_aside, pending + delivered]).toEqual([0, 2 + 4 + 6]);
    expect((await resendAll(1)).body.result).toMatchObject({ sent: 0, stayed: 1, left: 0 });
  });

  it("goes on behind what stays", async () => {
    const job = await createJob(freshBucket().name);
    for (let n = 1; n <= 102; n++) {
      if (n % 2 === 1) await unreadable(new Uint8Array([n]));
      else await aside(n, [lineOf("shop")]);
    }
    const first = (await resendAll()).body.result;
    expect(first).toMatchObject({ sent: 50, events: 50, stayed: 50, left: 2 });
    expect((await resendAll(first.stayed)).body.result).toMatchObject({ sent: 1, stayed: 51, left: 0 });
    await readAll();
    expect((await logStatus(job)).counts.received).toBe(51);
  });

  it("begins nothing more after ten seconds, and says what is left", async () => {
    await createJob(freshBucket().name);
    for (let n = 1; n <= 12; n++) await aside(n, [lineOf("shop")]);
    const { holdResend } = TraceLog.prototype;
    vi.spyOn(TraceLog.prototype, "holdResend").mockImplementation(function (this: TraceLog, ...args) {
      clock.advance(4_000);
      return holdResend.apply(this, args);
    });
    const { result } = (await resendAll()).body;
    expect(result).toMatchObject({ stayed: 0, left: 12 - (result.sent ?? 0) });
    expect(result.left).toBeGreaterThan(0);
  });
});

it("nothing is found under a name of nothing, and nothing comes into being", async () => {
  await createJob(freshBucket().name);
  const constructed = vi.spyOn(JobReader.prototype, "asideObject");
  const names = [
    "7",
    "message-0",
    "message-9",
    "message-1e3",
    "message-99999999999999999999",
    "object-1",
    "object-9-1",
  ];
  names.push(
    "object-1-999999999999999",
    "object-1-5000000001",
    "object--1-1",
    "entry-1-0",
    "entry-1-0-9",
    "entry-9-0-1",
  );
  for (const name of [...names, "%00", "message-1%2Fx", "object-1-1"]) {
    if (name === "object-1-1") expect(constructed).not.toHaveBeenCalled();
    for (const [method, path] of [
      ["GET", name],
      ["GET", `${name}?download=true`],
      ["DELETE", name],
      ["POST", `${name}/resend`],
    ] as const) {
      const answer = await call(method, `/logship/set-aside/${path}`);
      expect([method, path, answer.status, errorsOf(answer)[0]?.[0]]).toEqual([method, path, 404, 7003]);
    }
  }
});
