import { beforeEach, describe, expect, inject, it, vi } from "vitest";
import published from "../../fixtures/ownership-answers.json";
import { UNKNOWN_SCHEME } from "../../ship/destinations/context.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { type Action, rule } from "../../support/s3-script.ts";
import {
  type Bucket,
  type CallOptions,
  call,
  errorsOf,
  expectNothingStored,
  expectRefused,
  freshBucket,
  type Job,
  listJobs,
} from "./harness.ts";

const DAY = 86_400_000;
const REQUIRED: CallOptions = { settings: { REQUIRE_OWNERSHIP_CHALLENGE: "true" } };
const WRONG = [[1002, "/ownership_challenge", "incorrect ownership challenge"]];

interface Asked {
  valid: boolean;
  message: string;
  filename: string;
}

let bucket: Bucket;
beforeEach(() => {
  bucket = freshBucket();
});

const ask = (conf: string, options?: CallOptions) =>
  call<Asked>("POST", "/logship/ownership", { destination_conf: conf }, options);

/** The challenge as read from the bucket. */
async function challengeFor(conf: string, { control }: Bucket = bucket, options?: CallOptions): Promise<string> {
  const { result } = (await ask(conf, options)).body;
  const object = await control.object(result.filename);
  if (object === undefined) throw new Error(`no object ${result.filename}: ${result.message}`);
  return new TextDecoder().decode(object);
}

async function validate(conf: string, ownership_challenge: unknown, options?: CallOptions): Promise<boolean> {
  const body = { destination_conf: conf, ownership_challenge };
  const answer = await call<{ valid: boolean }>("POST", "/logship/ownership/validate", body, options);
  expect([answer.status, Object.keys(answer.body.result)]).toEqual([200, ["valid"]]);
  return answer.body.result.valid;
}

const create = (fields: object, options: CallOptions = REQUIRED) =>
  call<Job>("POST", "/logship/jobs", { destination_conf: destinationConf(bucket.name), ...fields }, options);
const put = (fields: object, options: CallOptions = REQUIRED) => call<Job>("PUT", "/logship/jobs/1", fields, options);

describe("asking for a challenge", () => {
  const folders: [path: string, folder: string][] = [
    ["logs/{DATE}", "logs/00010101/"],
    ["", ""],
    ["a b+c!'()*ü/{DATE}", "a b+c!'()*ü/00010101/"],
  ];

  it.each(folders)("writes the token and nothing else below %j, and says where", async (path, folder) => {
    const answer = await ask(destinationConf(bucket.name, path));
    const { filename } = answer.body.result;
    expect(answer.status).toBe(200);
    expect(answer.body.result).toEqual({ valid: true, message: "", filename });
    expect(filename.slice(0, folder.length)).toBe(folder);
    expect(filename.slice(folder.length)).toMatch(/^ownership-challenge-[0-9a-f]{8}\.txt$/);
    const objects = await bucket.control.objects();
    expect(objects.map(({ key, contentType }) => [key, contentType])).toEqual([[filename, "text/plain"]]);
    const token = new TextDecoder().decode(await bucket.control.object(filename));
    expect(token).toMatch(/^1\.\d+\.[A-Za-z0-9_-]{43}$/);
    // The answer does not include the token.
    expect(JSON.stringify(answer.body)).not.toContain(token);
    expect(await validate(destinationConf(bucket.name, path), token)).toBe(true);
  });

  it("works below the vendor's name, with the vendor's scheme, and answers with what its clients read", async () => {
    const keys = `access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`;
    const conf = `r2://${bucket.name}/logs/{DATE}?account-id=a1&${keys}`;
    const asked = await call("POST", "/logpush/ownership", { destination_conf: conf });
    const checked = await call("POST", "/logpush/ownership/validate", {
      destination_conf: conf,
      ownership_challenge: await challengeFor(conf),
    });
    const shape = (result: object) =>
      Object.entries(result)
        .map(([name, value]) => `${name}: ${typeof value}`)
        .sort();
    for (const { path, result } of published.filter(({ path }) => path.startsWith("/ownership"))) {
      expect(shape((path === "/ownership" ? asked : checked).body.result as object)).toEqual(shape(result));
    }
    expect(checked.body.result).toEqual({ valid: true });
  });

  it.each([
    ["an unknown scheme", () => "ftp://traces/logs", UNKNOWN_SCHEME],
    [
      "masked keys",
      () => destinationConf(bucket.name).replace(SECRET_KEY, "****"),
      "a masked secret cannot be used here; send the secret itself",
    ],
    [
      "an address of a private network",
      () => "s3://traces/x?region=auto&endpoint=https://169.254.169.254&access-key-id=a&secret-access-key=b",
      "endpoint must be a public host",
    ],
  ])("is answered with why not, and asks nobody: %s", async (_what, conf, why) => {
    const fetched = vi.fn();
    const platform = { now: () => NOON, random: () => 0.5, fetch: fetched, sleep: async () => {} };
    const answer = await ask(conf(), { platform });
    expect([answer.status, answer.body.result]).toEqual([200, { valid: false, message: why, filename: "" }]);
    expect(fetched).not.toHaveBeenCalled();
  });

  const failures: [what: string, action: Action, words: string][] = [
    [
      "no permission",
      { do: "answer", status: 403, code: "AccessDenied", message: "words of it" },
      "HTTP 403 AccessDenied",
    ],
    ["a success that kept nothing", { do: "discard" }, "HTTP 200, but the object is not there"],
  ];

  it.each(failures)("is answered with the store's status and code alone: %s", async (_what, action, words) => {
    await bucket.control.script([rule(action, { method: "PUT" })]);
    const answer = await ask(destinationConf(bucket.name));
    const message = `error writing object: error uploading: ${words}`;
    expect([answer.status, answer.body.result]).toEqual([200, { valid: false, message, filename: "" }]);
    await expectNothingStored(bucket);
  });

  it.each([
    ["no destination", {}, "/destination_conf", "destination_conf: is missing"],
    ["something unknown", { destination_conf: "x", name: 1 }, "/name", 'unknown key "name"'],
  ])("is refused, 1001, with a body that has %s", async (_what, body, pointer, message) => {
    const answer = await call("POST", "/logship/ownership", body);
    expectRefused(answer, 400, [1001, pointer, message]);
  });

  it("is refused with a body beyond every bound", async () => {
    const big = { destination_conf: "s3://x/".padEnd(300_000, "x") };
    for (const path of ["/logship/ownership", "/logship/ownership/validate"])
      expect((await call("POST", path, big)).status).toBe(413);
    const long = await call("POST", "/logship/ownership", { destination_conf: "s3://x/".padEnd(4_097, "x") });
    expect([long.status, long.body.errors[0]?.source?.pointer]).toEqual([400, "/destination_conf"]);
  });
});

describe("a challenge", () => {
  it("is good for the keys that are masked, other, or not there: it is bound to the place", async () => {
    const conf = destinationConf(bucket.name);
    const token = await challengeFor(conf);
    expect(await validate(conf.replace(SECRET_KEY, "****"), token)).toBe(true);
    expect(await validate(conf.replace(SECRET_KEY, "another"), token)).toBe(true);
    expect(await validate(conf.replace(/&access-key-id.*/, ""), token)).toBe(true);
  });
});

describe("where a challenge is required", () => {
  it("a job is created with it, and it is neither shown nor stored", async () => {
    const token = await challengeFor(destinationConf(bucket.name));
    const created = await create({ ownership_challenge: token });
    expect(created.status).toBe(201);
    expect(JSON.stringify([created.body, await listJobs()])).not.toMatch(/ownership|challenge/);
    expect(JSON.stringify(await listJobs())).not.toContain(token);
  });

  it.each([
    ["none", {}],
    ["null", { ownership_challenge: null }],
    ["an empty one", { ownership_challenge: "" }],
    ["the one of an example", { ownership_challenge: "00000000000000000000" }],
  ])("a job is refused with %s, 1002, and nothing is written", async (_what, fields) => {
    const answer = await create(fields);
    expectRefused(answer, 400, ...WRONG);
    expect(await bucket.control.requests()).toEqual([]);
    await expectNothingStored(bucket);
  });

  it("a job is refused with one for another path, and with one that is too old", async () => {
    const clock = setClock(NOON);
    const other = await challengeFor(destinationConf(bucket.name, "other/{DATE}"));
    expect(errorsOf(await create({ ownership_challenge: other }))).toEqual(WRONG);
    const old = await challengeFor(destinationConf(bucket.name));
    clock.advance(7 * DAY);
    expect(errorsOf(await create({ ownership_challenge: old }))).toEqual(WRONG);
    expect(await listJobs()).toEqual([]);
  });

  it("a job that moves needs one for where it moves to, and stays as it was without", async () => {
    await create({ ownership_challenge: await challengeFor(destinationConf(bucket.name)), name: "before" });
    const elsewhere = freshBucket();
    const conf = destinationConf(elsewhere.name);
    const here = await challengeFor(destinationConf(bucket.name));
    for (const ownership_challenge of [undefined, "", here]) {
      const answer = await put({ destination_conf: conf, name: "after", ownership_challenge });
      expectRefused(answer, 400, ...WRONG);
    }
    expect(errorsOf(await put({ destination_conf: destinationConf(bucket.name, "elsewhere") }))).toEqual(WRONG);
    expect(await elsewhere.control.requests()).toEqual([]);
    expect((await listJobs())[0]).toMatchObject({ name: "before", destination_conf: destinationConf(bucket.name) });
    const moved = await put({ destination_conf: conf, ownership_challenge: await challengeFor(conf, elsewhere) });
    expect([moved.status, moved.body.result.destination_conf]).toEqual([200, conf]);
  });

  it("a job that stays needs none: not for other settings, what was read, another order or other keys", async () => {
    const token = await challengeFor(destinationConf(bucket.name));
    const { result } = (await create({ ownership_challenge: token })).body;
    const conf = destinationConf(bucket.name);
    const stays = [
      { name: "other" },
      { ...result },
      { name: "another", ownership_challenge: "long-over" },
      { destination_conf: conf.replace(SECRET_KEY, "****") },
      { destination_conf: conf.replace("region=auto&", "").concat("&region=auto") },
      {
        destination_conf: `s3://${bucket.name}/logs/{DATE}?region=auto&endpoint=${encodeURIComponent(inject("s3Url"))}&credentials=env:DEST_TEST`,
      },
    ];
    for (const fields of stays) expect((await put(fields)).status, JSON.stringify(fields)).toBe(200);
  });

  it("a job whose old place no key opens needs one for its new destination", async () => {
    await create({ ownership_challenge: await challengeFor(destinationConf(bucket.name)) });
    const rekeyed = { settings: { ...REQUIRED.settings, SECRETS_KEY: btoa("x".repeat(32)) } };
    const conf = destinationConf(bucket.name);
    expect(errorsOf(await put({ destination_conf: conf }, rekeyed))).toEqual(WRONG);
    const token = await challengeFor(conf, bucket, rekeyed);
    expect((await put({ destination_conf: conf, ownership_challenge: token }, rekeyed)).status).toBe(200);
  });

  it("other faults of a body come first", async () => {
    const answer = await create({ output_options: { field_names: ["Nothing"] } });
    expect(answer.body.errors[0]?.code).toBe(1004);
  });
});

describe("where no challenge is required", () => {
  it("a job is created and moved whatever is sent as one", async () => {
    const conf = destinationConf(freshBucket().name);
    for (const REQUIRE_OWNERSHIP_CHALLENGE of [undefined, "false", ""])
      for (const ownership_challenge of [undefined, null, "", "1.1795000000.".padEnd(56, "A")]) {
        const options = { settings: { REQUIRE_OWNERSHIP_CHALLENGE } };
        const { status, body } = await create({ ownership_challenge }, options);
        expect(status).toBe(201);
        const moved = { destination_conf: conf, ownership_challenge };
        expect((await call("PUT", `/logship/jobs/${body.result.id}`, moved, options)).status).toBe(200);
      }
  });
});
