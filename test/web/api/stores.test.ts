/** Jobs that ship to Google's store, into a bound bucket and into a container, over the API. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { maskDestination } from "../../../src/ship/destinations/parse.ts";
import { ALL, shippedJob } from "../../operate/replay/shipped.ts";
import { tick } from "../../ship/reader/canary-world.ts";
import { Oracle } from "../../support/oracle.ts";
import { azureConf, boundConf, googleConf } from "../../support/runtime/api.ts";
import {
  deliver,
  jobObjects,
  logStatus,
  NOON,
  pack,
  readAll,
  runAlarm,
  setClock,
} from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { type Bucket, type CallOptions, call, errorsOf, freshBucket, type Job } from "./harness.ts";

const REQUIRED: CallOptions = { settings: { REQUIRE_OWNERSHIP_CHALLENGE: "true" } };

let bucket: Bucket;
beforeEach(() => {
  bucket = freshBucket();
});

const KINDS = [
  {
    kind: "a bucket of Google",
    conf: () => googleConf(bucket.name),
    read: async (key: string) => bucket.control.object(key),
  },
  {
    kind: "a bound bucket",
    conf: () => boundConf(""),
    read: async (key: string) => (await env.TRACES.get(key))?.bytes(),
  },
  {
    kind: "a container of Azure",
    conf: () => azureConf(bucket.name, "logs/{DATE}"),
    read: async (key: string) => bucket.control.object(key),
  },
];

const create = (destination_conf: string, fields: object = {}, options?: CallOptions) =>
  call<Job>("POST", "/logship/jobs", { name: "store", destination_conf, enabled: true, ...fields }, options);

describe.each(KINDS)("a job that ships to $kind", ({ conf, read }) => {
  it("is created when the probe is written, and delivers once what it is given", async () => {
    const clock = setClock(NOON);
    const { status, body } = await create(conf());
    expect([status, body.errors, body.messages]).toEqual([201, [], []]);
    expect(await read("logs/00010101/test.txt.gz")).toBeDefined();
    await deliver(pack(new Oracle({ at: NOON }).mint(20), clock.nowMs()));
    clock.advance(60_000);
    await runAlarm(body.result.id);
    const [object] = await jobObjects(body.result.id);
    expect(object).toMatchObject({ state: "delivered", verified: true, records: 20 });
    expect(await read(object?.key ?? "")).toBeDefined();
    const shown = await call<{ records: unknown[] }>("GET", `/logship/jobs/${body.result.id}/objects/1/records`);
    expect([shown.status, JSON.stringify(shown.body.result)]).toEqual([
      200,
      expect.stringContaining("EventTimestampMs"),
    ]);
  });

  it("reads its canary back", async () => {
    const clock = setClock(NOON);
    const { id } = (await create(conf(), { canary: true })).body.result;
    await readAll();
    clock.advance(1_000);
    expect(await tick(id)).toBe(true);
    const { result } = (await call<{ state: string; key: string }>("GET", `/logship/jobs/${id}/canary`)).body;
    expect(result).toMatchObject({ state: "ok", why: null });
    expect(await read(result.key)).toBeDefined();
    // The next one is written over it.
    clock.advance(2 * 3_600_000);
    await tick(id);
    expect((await call("GET", `/logship/jobs/${id}/canary`)).body.result).toMatchObject({ state: "ok" });
  });

  it("can be told to prove that the bucket is the caller's", async () => {
    expect((await create(conf(), {}, REQUIRED)).status).toBe(400);
    const asked = await call<{ valid: boolean; filename: string }>("POST", "/logship/ownership", {
      destination_conf: conf(),
    });
    expect(asked.body.result).toMatchObject({ valid: true, message: "" });
    const ownership_challenge = new TextDecoder().decode(await read(asked.body.result.filename));
    expect((await create(conf(), { ownership_challenge }, REQUIRED)).status).toBe(201);
  });
});

describe.each([
  ["a bucket of Google", googleConf],
  ["a bound bucket", (_name: string, path = "logs/{DATE}") => boundConf("", path)],
] as const)("what was shipped to %s", (_kind, conf) => {
  it("is shipped again from there, and to there", async () => {
    const shipped = await shippedJob(3, undefined, conf);
    const there = conf(shipped.name, "again/{DATE}");
    const { id } = await shipped.begin({ ...ALL, destination_conf: there });
    const ended = await shipped.settle(id);
    expect(ended).toMatchObject({ state: "done", done: { objects: 3 }, problems: [] });
    const { copies } = await shipped.objects();
    expect(copies.map(({ state, verified }) => [state, verified])).toEqual(copies.map(() => ["delivered", true]));
  });
});

describe("a job that ships to a bucket of Google", () => {
  it("is not created where Google refuses, and keeps a masked key for the same bucket alone", async () => {
    await bucket.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    expect(errorsOf(await create(googleConf(bucket.name)))).toMatchObject([
      [expect.any(Number), "/destination_conf", expect.stringMatching(/HTTP 403 AccessDenied$/)],
    ]);
    await bucket.control.script([]);
    const { id } = (await create(googleConf(bucket.name))).body.result;
    const masked = maskDestination(googleConf(bucket.name));
    expect(masked).toMatch(/access-key-id=\*{4}&secret-access-key=\*{4}$/);
    const change = (conf: string) => call<Job>("PUT", `/logship/jobs/${id}`, { destination_conf: conf });
    expect((await change(masked.replace("/logs/", "/other/"))).status).toBe(200);
    expect((await bucket.control.objects()).map(({ key }) => key)).toContain("other/00010101/test.txt.gz");
    expect((await change(masked.replace(bucket.name, "another-bucket"))).status).toBe(400);
  });
});

describe("a binding", () => {
  it.each([
    ["SECRETS_KEY", "DESTINATION_BINDINGS does not name SECRETS_KEY"],
    ["GONE", "this service has no binding GONE"],
    ["EVENTS", "the binding EVENTS is not an R2 bucket"],
  ])("that cannot be shipped to is refused, in words: %s", async (name, why) => {
    expect(errorsOf(await create(`binding://${name}/logs`))).toEqual([
      [1004, "/destination_conf", `creating a new job is not allowed: ${why}`],
    ]);
  });

  it("that is gone parks its jobs, which go on once it is back", async () => {
    const clock = setClock(NOON);
    const { id } = (await create(boundConf(""))).body.result;
    const events = new Oracle({ at: NOON }).mint(10);
    await deliver(pack(events, clock.nowMs()));
    const { TRACES } = env;
    Reflect.set(env, "TRACES", undefined);
    try {
      clock.advance(60_000);
      await runAlarm(id);
      const job = (await call<{ error_message: string }>("GET", `/logship/jobs/${id}`)).body.result;
      expect(job.error_message).toMatch(/^delivery paused: .*this service has no binding TRACES/);
      expect((await logStatus(id)).counts).toMatchObject({ pending: 10, delivered: 0 });
    } finally {
      Reflect.set(env, "TRACES", TRACES);
    }
    clock.advance(600_000);
    await runAlarm(id);
    expect((await logStatus(id)).counts).toMatchObject({ pending: 0, delivered: 10 });
  });
});
