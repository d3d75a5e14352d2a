import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import published from "../../fixtures/ownership-answers.json";
import { NOON } from "../../formats/record/samples.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { createJob, destinationConf } from "../../support/runtime/api.ts";
import { type Bucket, type CallOptions, call, expectRefused, freshBucket } from "./harness.ts";

interface Verdict {
  valid: boolean;
  message: string;
}

let bucket: Bucket;
beforeEach(() => {
  bucket = freshBucket();
});

const keys = `access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`;

async function ask<T>(path: string, body: unknown, options?: CallOptions): Promise<T> {
  const answer = await call<T>("POST", `/logship/validate${path}`, body, options);
  expect(answer.status, JSON.stringify(answer.body.errors)).toBe(200);
  return answer.body.result;
}

const exists = async (destination_conf: string, options?: CallOptions): Promise<unknown> =>
  ask("/destination/exists", { destination_conf }, options);
const origin = (logpull_options: unknown, rest: object = {}) => ask<Verdict>("/origin", { logpull_options, ...rest });

describe("validating a destination", () => {
  it("writes what creation writes, and says yes", async () => {
    const answer = await ask<Verdict>("/destination", { destination_conf: destinationConf(bucket.name) });
    expect(answer).toEqual({ valid: true, message: "" });
    const probes = await bucket.control.puts();
    expect(probes.map(({ key }) => key)).toEqual(["logs/00010101/test.txt.gz"]);
    await createJob(bucket.name);
    const all = await bucket.control.puts();
    expect([all.length, all[1]?.sha256]).toEqual([2, probes[0]?.sha256]);
  });

  it.each([
    [
      "masked keys",
      "access-key-id=****&secret-access-key=****",
      "a masked secret cannot be used here; send the secret itself",
    ],
    ["a private network", `endpoint=10.0.0.1&${keys}`, "endpoint must be a public host"],
  ])("says no to what is none: %s", async (_what, parameters, message) => {
    const destination_conf = `s3://traces/x?region=auto&${parameters}`;
    expect(await ask("/destination", { destination_conf })).toEqual({ valid: false, message });
  });
});

describe("a store that hangs", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["/ownership", 200, "error writing object: error uploading: no answer in time"],
    ["/validate/destination", 200, "error writing object: error uploading: no answer in time"],
    [
      "/jobs",
      400,
      "creating a new job is not allowed: error validating destination: error writing object: error uploading: no answer in time",
    ],
  ])("is told of before the request is given up, in words: %s", async (path, status, message) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const fetch = () => {
      // The probe is in progress now.
      vi.advanceTimersByTime(20_000);
      return new Promise<Response>(() => {});
    };
    const platform = { now: () => NOON, random: () => 0.5, fetch, sleep: async () => {} };
    const body = { destination_conf: destinationConf(bucket.name) };
    const answer = await call<Verdict | null>("POST", `/logship${path}`, body, { platform });
    expect([answer.status, answer.body.result?.message ?? answer.body.errors[0]?.message]).toEqual([status, message]);
  });
});

describe("whether a destination exists", () => {
  it("is whether a job ships to the same folder, whatever its keys and its other parameters", async () => {
    const conf = `objstore://${bucket.name}/logs/{DATE}?account-id=a1&${keys}`;
    expect(await exists(conf)).toEqual({ exists: false });
    expect(await bucket.control.requests()).toEqual([]);
    const answer = await call<{ id: number }>("POST", "/logship/jobs", { destination_conf: conf });
    expect(answer.status).toBe(201);
    const same = [
      conf,
      conf.replace("objstore:", "r2:"),
      conf.replace(SECRET_KEY, "****"),
      `objstore://${bucket.name}//logs/{DATE}/?account-id=a1`,
      `${destinationConf(bucket.name)}&sse=AES256`,
    ];
    for (const other of same) expect(await exists(other), other).toEqual({ exists: true });
    const others = [
      conf.replace("logs/", "log/"),
      conf.replace("{DATE}", "00010101"),
      conf.replace(bucket.name, freshBucket().name),
      destinationConf(bucket.name).replace(/endpoint=[^&]*/, "endpoint=store.example"),
      "gs://traces/logs",
      "nothing",
    ];
    for (const other of others) expect(await exists(other), other).toEqual({ exists: false });
    await call("DELETE", `/logship/jobs/${answer.body.result.id}`);
    expect(await exists(conf)).toEqual({ exists: false });
  });

  it("is not known, 503, when that depends on a job that no key opens", async () => {
    await createJob(bucket.name);
    const rekeyed = { settings: { SECRETS_KEY: btoa("x".repeat(32)) } };
    const body = { destination_conf: destinationConf(bucket.name) };
    const answer = await call("POST", "/logship/validate/destination/exists", body, rekeyed);
    expectRefused(answer, 503, [1053, undefined, "no key opens the stored destination of a job that may ship there"]);
    expect(await exists(destinationConf(bucket.name, "elsewhere"), rekeyed)).toEqual({ exists: false });
  });
});

describe("validating logpull_options", () => {
  it.each([
    "",
    null,
    "fields=Event,Outcome&sample=0.1&timestamps=rfc3339&CVE-2021-44228=true",
    "fields=EventTimestampMs%2COutcome",
  ])("says yes to what a job may have: %s", async (text) => {
    expect(await origin(text)).toEqual({ valid: true, message: "" });
    expect(await origin(text, { dataset: "workers_trace_events" })).toEqual({ valid: true, message: "" });
  });

  it.each([
    ["an unknown field", "fields=RayID", 'unknown field "RayID"'],
    [
      "two faults",
      "sample=2&colour=red",
      'logpull_options: sample must be a number above 0, at most 1; logpull_options: unknown option "colour"',
    ],
  ])("says what is wrong with %s, as creation does", async (_what, text, message) => {
    expect(await origin(text)).toEqual({ valid: false, message });
    const refused = await call("POST", "/logship/jobs", {
      destination_conf: destinationConf(bucket.name),
      logpull_options: text,
    });
    expect(refused.body.errors.map((error) => error.message.replace(/^creating .* allowed: /, "")).join("; ")).toBe(
      message,
    );
  });

  it("says no to a dataset that is not ours", async () => {
    const message = "dataset: must be one of functions_trace_events, workers_trace_events";
    expect(await origin("", { dataset: "http_requests" })).toEqual({ valid: false, message });
  });

  it("is refused, 1001, for what is no text or too long a one", async () => {
    for (const logpull_options of [5, {}, "x".repeat(4_097), undefined]) {
      const answer = await call("POST", "/logship/validate/origin", { logpull_options });
      expect([answer.status, answer.body.errors.map(({ code, source }) => [code, source?.pointer])]).toEqual([
        400,
        [[1001, "/logpull_options"]],
      ]);
    }
  });
});

it("answers the vendor's documented requests with the keys and types that its clients read", async () => {
  const cases = published.filter(({ path, request }) => path.startsWith("/validate") && request !== null);
  expect(cases.length).toBeGreaterThan(1);
  for (const { path, request, result } of cases) {
    const answer = await call<object>("POST", `/logpush${path}`, request);
    const types = (value: object) => Object.entries(value).map(([name, one]) => [name, typeof one]);
    expect([answer.status, types(answer.body.result)]).toEqual([200, types(result)]);
  }
});
