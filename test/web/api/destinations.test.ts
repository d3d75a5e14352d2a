import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, inject, it } from "vitest";
import inTheWild from "../../fixtures/destination-conf.json";
import { UNKNOWN_SCHEME } from "../../ship/destinations/context.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { bucketControl } from "../../support/s3-control.ts";
import { type Action, rule } from "../../support/s3-script.ts";
import { type Bucket, call, errorsOf, expectNothingStored, freshBucket, type Job, listJobs } from "./harness.ts";

let bucket: Bucket;
beforeEach(() => {
  bucket = freshBucket();
});
const endpoint = () => encodeURIComponent(inject("s3Url"));
const keys = `access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`;
const NOT = "creating a new job is not allowed: ";
const PROBE = "error validating destination: error writing object: error uploading: ";

async function create(conf: string, fields: object = {}): Promise<Job> {
  const answer = await call<Job>("POST", "/logship/jobs", { destination_conf: conf, ...fields });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body.errors));
  return answer.body.result;
}

const put = (fields: object) => call<Job>("PUT", "/logship/jobs/1", fields);
const read = async (): Promise<Job> => (await call<Job>("GET", "/logship/jobs/1")).body.result;

describe("a destination that cannot be read", () => {
  const wrong: [what: string, conf: string, why: string][] = [
    ["no destination", "traces", "destination_conf must be <scheme>://<bucket>/<path>?<parameters>"],
    ["an unknown scheme", "ftp://traces/logs", UNKNOWN_SCHEME],
    [
      "an unknown parameter",
      `s3://traces/x?region=auto&colour=red&${keys}`,
      "unknown parameter; known for this scheme are region, endpoint, sse, access-key-id, secret-access-key, credentials",
    ],
    ["no keys", "s3://traces/x?region=auto", "access-key-id is missing"],
    ["one key", "s3://traces/x?region=auto&access-key-id=AKID", "secret-access-key is missing"],
    ["no region", `s3://traces/x?${keys}`, "region is missing"],
    ["no account", `objstore://traces/x?${keys}`, "account-id is missing"],
    [
      "an account that is a host",
      `r2://traces/x?account-id=evil.example/x?&${keys}`,
      "account-id must be 1 to 64 letters, digits or dashes",
    ],
    [
      "user information in its bucket",
      `s3://u:p@traces/x?region=auto&${keys}`,
      "the bucket must be 2 to 255 letters, digits, dots, dashes or underscores",
    ],
    [
      "user information in its endpoint",
      `s3://traces/x?region=auto&endpoint=https://u:p@store.example&${keys}`,
      "endpoint must not contain user information",
    ],
    [
      "plain http to elsewhere",
      `s3://traces/x?region=auto&endpoint=http://store.example&${keys}`,
      "endpoint must use https",
    ],
    [
      "its bucket in its endpoint's host",
      `s3://traces/x?region=auto&endpoint=https://traces.store.example&${keys}`,
      "endpoint must not contain the bucket: it is added to the path of each request. Use https://store.example",
    ],
    [
      "its bucket in its endpoint's path",
      `s3://traces/x?region=auto&endpoint=https://store.example/traces&${keys}`,
      "endpoint must not contain the bucket: it is added to the path of each request. Use https://store.example",
    ],
    [
      "a way up in its path",
      `s3://traces/a/../x?region=auto&${keys}`,
      "the path must not contain . or .. as a segment",
    ],
    [
      "masked keys",
      "s3://traces/x?region=auto&access-key-id=****&secret-access-key=****",
      "a masked secret cannot be used here; send the secret itself",
    ],
    [
      "the admin's token for its keys",
      "s3://traces/x?region=auto&credentials=env:ADMIN_TOKEN",
      "credentials must be env:DEST_<NAME>",
    ],
    [
      "another setting for its keys",
      "s3://traces/x?region=auto&credentials=env:SECRETS_KEY",
      "credentials must be env:DEST_<NAME>",
    ],
    [
      "a secret that is not there",
      "s3://traces/x?region=auto&credentials=env:DEST_NONE",
      "there is no secret DEST_NONE",
    ],
    [
      "a secret for another host",
      "s3://traces/x?region=auto&endpoint=evil.example&credentials=env:DEST_TEST",
      "the secret DEST_TEST is for another host than this destination's",
    ],
  ];

  it.each(wrong)("is refused, 1004, and nothing is stored: %s", async (_what, conf, why) => {
    const answer = await call("POST", "/logship/jobs", { destination_conf: conf });
    expect([answer.status, errorsOf(answer)]).toEqual([400, [[1004, "/destination_conf", NOT + why]]]);
    await expectNothingStored(bucket);
  });

  it.each(wrong.filter(([what]) => what !== "masked keys"))(
    "is refused in a change, and the old one stays: %s",
    async (_what, conf, why) => {
      const before = await create(destinationConf(bucket.name));
      const answer = await put({ destination_conf: conf, name: "x" });
      expect([answer.status, errorsOf(answer)]).toEqual([
        400,
        [[1004, "/destination_conf", `updating job 1 is not allowed: ${why}`]],
      ]);
      expect(await read()).toEqual(before);
    },
  );

  it("may be a loopback address only where that is allowed", async () => {
    const settings = { ALLOW_LOOPBACK_DESTINATIONS: "false", OBJSTORE_ENDPOINT: "https://{account-id}.store.example" };
    const answer = await call(
      "POST",
      "/logship/jobs",
      { destination_conf: destinationConf(bucket.name) },
      { settings },
    );
    expect([answer.status, errorsOf(answer)]).toEqual([
      400,
      [[1004, "/destination_conf", `${NOT}endpoint must be a public host`]],
    ]);
    expect(await bucket.control.requests()).toEqual([]);
    await expectNothingStored(bucket);
  });

  it.each(inTheWild.filter(({ conf }) => !conf.startsWith("r2://terraform")))(
    "is refused without its secrets when it is one in the wild: $conf",
    async ({ conf }) => {
      const answer = await call("POST", "/logship/jobs", { destination_conf: conf });
      expect([answer.status, answer.body.errors.map(({ code, source }) => [code, source?.pointer])]).toEqual([
        400,
        [[1004, "/destination_conf"]],
      ]);
      const secrets = conf.split("?")[1] ?? "no parameters";
      expect(answer.body.errors[0]?.message).not.toContain(secrets);
      await expectNothingStored(bucket);
    },
  );
});

describe("a destination that cannot be written to", () => {
  const answers: [what: string, action: Action, words: string, requests?: number][] = [
    [
      "no permission",
      { do: "answer", status: 403, code: "AccessDenied", message: "words of the store" },
      "HTTP 403 AccessDenied",
      2,
    ],
    ["no bucket", { do: "answer", status: 404, code: "NoSuchBucket" }, "HTTP 404 NoSuchBucket"],
    ["no credentials", { do: "answer", status: 401 }, "HTTP 401"],
    ["a failure", { do: "answer", status: 500, code: "InternalError" }, "HTTP 500 InternalError", 2],
    [
      "too much to do",
      { do: "answer", status: 503, code: "SlowDown", headers: { "retry-after": "60" } },
      "HTTP 503 SlowDown",
    ],
    ["a page of a proxy", { do: "answer", status: 502, body: "<html>words of the store</html>" }, "HTTP 502", 2],
    ["a code that is none", { do: "answer", status: 400, body: "<Code>words of the store</Code>" }, "HTTP 400", 4],
    ["a redirect", { do: "redirect", location: "http://127.0.0.1:1/elsewhere" }, "HTTP 307 TemporaryRedirect"],
    ["a reset", { do: "reset", when: "before" }, "connection failed"],
  ];

  it.each(answers)(
    "is refused with the store's status and code, and nothing is stored: %s",
    async (_what, action, words, requests = 1) => {
      await bucket.control.script([rule(action, { method: "PUT" })]);
      const answer = await call("POST", "/logship/jobs", { destination_conf: destinationConf(bucket.name) });
      expect([answer.status, errorsOf(answer)]).toEqual([400, [[1004, "/destination_conf", NOT + PROBE + words]]]);
      expect(JSON.stringify(answer.body)).not.toContain("words of the store");
      expect((await bucket.control.requests()).length).toBe(requests);
      await expectNothingStored(bucket);
      // No id was used up.
      await bucket.control.script([]);
      expect((await create(destinationConf(bucket.name))).id).toBe(1);
    },
  );

  it("is tried once more after a failure, and taken if that was of the moment", async () => {
    await bucket.control.script([rule({ do: "answer", status: 500, code: "InternalError" }, { method: "PUT" }, 1)]);
    expect((await create(destinationConf(bucket.name))).id).toBe(1);
    expect((await bucket.control.requests()).map(({ status }) => status)).toEqual([500, 200]);
  });

  it("is refused with a wrong secret, which is not repeated", async () => {
    const conf = destinationConf(bucket.name).replace(SECRET_KEY, "another-secret-of-the-tests");
    const answer = await call("POST", "/logship/jobs", { destination_conf: conf });
    expect([answer.status, errorsOf(answer)]).toEqual([
      400,
      [[1004, "/destination_conf", `${NOT + PROBE}HTTP 403 SignatureDoesNotMatch`]],
    ]);
    expect(JSON.stringify(answer.body)).not.toContain("another-secret-of-the-tests");
    await expectNothingStored(bucket);
  });

  it("is refused in a change, and the old one stays in force, everything else of the change included", async () => {
    const before = await create(destinationConf(bucket.name), { name: "before" });
    const other = freshBucket();
    await other.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    const answer = await put({ destination_conf: destinationConf(other.name), name: "after", enabled: true });
    expect([answer.status, errorsOf(answer)]).toEqual([
      400,
      [[1004, "/destination_conf", `updating job 1 is not allowed: ${PROBE}HTTP 403 AccessDenied`]],
    ]);
    expect(await read()).toEqual(before);
    expect(await other.control.objects()).toEqual([]);
  });

  it("does not keep a job from being changed otherwise", async () => {
    await create(destinationConf(bucket.name));
    await bucket.control.script([rule({ do: "answer", status: 403 })]);
    expect((await put({ name: "x", destination_conf: destinationConf(bucket.name) })).status).toBe(200);
    expect((await bucket.control.requests()).length).toBe(1);
  });
});

describe("a destination that can be written to", () => {
  const confs: [what: string, path: string, probe: string][] = [
    ["a day as a folder", "logs/{DATE}", "logs/00010101/test.txt.gz"],
    ["a day in a name", "date={DATE}/x", "date=00010101/x/test.txt.gz"],
    ["no day", "logs", "logs/test.txt.gz"],
    ["no path", "", "test.txt.gz"],
    ["odd letters", "a b+c!'()*ü/{DATE}", "a b+c!'()*ü/00010101/test.txt.gz"],
  ];

  it.each(confs)("gets a probe, and is read back exactly as it was sent: %s", async (_what, path, probe) => {
    const conf = destinationConf(bucket.name, path);
    expect((await create(conf)).destination_conf).toBe(conf);
    expect((await read()).destination_conf).toBe(conf);
    expect((await listJobs())[0]?.destination_conf).toBe(conf);
    expect((await bucket.control.objects()).map(({ key }) => key)).toEqual([probe]);
  });

  it.each(["objstore", "r2"])(
    "may be the platform's own storage, under its name %s, which is echoed",
    async (scheme) => {
      const conf = `${scheme}://${bucket.name}/{DATE}?account-id=some-account&${keys}`;
      expect((await create(conf)).destination_conf).toBe(conf);
      expect((await bucket.control.objects()).map(({ key }) => key)).toEqual(["00010101/test.txt.gz"]);
    },
  );

  it("may take its keys from a secret of the deployment, whose values nobody sees", async () => {
    const conf = `s3://${bucket.name}/{DATE}?region=auto&endpoint=${endpoint()}&credentials=env:DEST_TEST`;
    const job = await create(conf);
    expect(job.destination_conf).toBe(conf);
    expect((await bucket.control.requests())[0]).toMatchObject({ accessKeyId: ACCESS_KEY, stored: true });
    expect(JSON.stringify([job, await listJobs()])).not.toContain(SECRET_KEY);
  });

  it("is kept encrypted", async () => {
    await create(destinationConf(bucket.name));
    const kept = JSON.stringify([
      await env.CONTROL.getByName("control").list(),
      await env.CONTROL.getByName("control").configSince(""),
    ]);
    expect(kept).toContain('"path":"logs/{DATE}"');
    expect(kept).not.toContain(SECRET_KEY);
    expect(kept).not.toContain(ACCESS_KEY);
  });

  it("is probed again when it is changed, and only then", async () => {
    await create(destinationConf(bucket.name));
    await put({ name: "x" });
    await put({ destination_conf: destinationConf(bucket.name) });
    expect((await bucket.control.requests()).length).toBe(1);
    const answer = await put({ destination_conf: destinationConf(bucket.name, "other/{DATE}") });
    expect(answer.body.result.destination_conf).toBe(destinationConf(bucket.name, "other/{DATE}"));
    expect((await bucket.control.objects()).map(({ key }) => key)).toEqual([
      "logs/00010101/test.txt.gz",
      "other/00010101/test.txt.gz",
    ]);
  });
});

describe("a masked secret in a change", () => {
  const masked = (conf: string) =>
    conf
      .replace(`access-key-id=${ACCESS_KEY}`, "access-key-id=****")
      .replace(`secret-access-key=${SECRET_KEY}`, "secret-access-key=****");

  it("keeps the stored one, and the destination stays as it was", async () => {
    const conf = destinationConf(bucket.name);
    await create(conf);
    const answer = await put({ destination_conf: masked(conf), name: "x" });
    expect(answer.body.result).toMatchObject({ name: "x", destination_conf: conf });
    expect((await bucket.control.requests()).length).toBe(1);
  });

  it("may be one of the two", async () => {
    const conf = destinationConf(bucket.name);
    await create(conf);
    expect((await put({ destination_conf: conf.replace(SECRET_KEY, "****") })).body.result.destination_conf).toBe(conf);
    expect((await put({ destination_conf: conf.replace(ACCESS_KEY, "****") })).body.result.destination_conf).toBe(conf);
  });

  it("keeps the stored one for another path of the same bucket, which is probed with it", async () => {
    await create(destinationConf(bucket.name));
    const answer = await put({ destination_conf: masked(destinationConf(bucket.name, "other/{DATE}")) });
    expect(answer.body.result.destination_conf).toBe(destinationConf(bucket.name, "other/{DATE}"));
    expect((await bucket.control.objects()).map(({ key }) => key)).toContain("other/00010101/test.txt.gz");
  });

  const SAME =
    "a masked secret is kept only for the same scheme, endpoint, account and bucket, or host and path; send it again";

  const moves: [what: string, from: (name: string) => string, to: (name: string) => string][] = [
    ["another bucket", (name) => destinationConf(name), (name) => destinationConf(`${name}-other`)],
    [
      "another endpoint",
      (name) => destinationConf(name),
      (name) => destinationConf(name).replace("127.0.0.1", "localhost"),
    ],
    [
      "another prefix of the endpoint",
      (name) => destinationConf(name),
      (name) => destinationConf(name).replace(endpoint(), `${endpoint()}%2Fprefix`),
    ],
    [
      "another scheme",
      (name) => destinationConf(name),
      (name) => `objstore://${name}/logs/{DATE}?account-id=a&${keys}`,
    ],
    [
      "the alias of the scheme",
      (name) => `objstore://${name}/x?account-id=a&${keys}`,
      (name) => `r2://${name}/x?account-id=a&${keys}`,
    ],
    [
      "another account",
      (name) => `objstore://${name}/x?account-id=a&${keys}`,
      (name) => `objstore://${name}/x?account-id=b&${keys}`,
    ],
  ];

  it.each(moves)("is refused for another place, to which the stored one never goes: %s", async (_what, from, to) => {
    const before = await create(from(bucket.name));
    const answer = await put({ destination_conf: masked(to(bucket.name)), name: "x" });
    expect([answer.status, errorsOf(answer)]).toEqual([
      400,
      [[1004, "/destination_conf", `updating job 1 is not allowed: ${SAME}`]],
    ]);
    expect(await read()).toEqual(before);
    expect((await bucket.control.requests()).length).toBe(1);
    expect(await bucketControl(inject("s3Url"), `${bucket.name}-other`).requests()).toEqual([]);
  });
  it("stands for nothing where the stored one comes from a secret of the deployment, and is not tried as one", async () => {
    await create(`s3://${bucket.name}/{DATE}?region=auto&endpoint=${endpoint()}&credentials=env:DEST_TEST`);
    const answer = await put({ destination_conf: masked(destinationConf(bucket.name)) });
    expect(answer.status).toBe(400);
    expect((await bucket.control.requests()).length).toBe(1);
  });
});

describe("a rotation of the key that destinations are encrypted with", () => {
  const [old = "", next = "", other = ""] = [
    String(Reflect.get(env, "SECRETS_KEY")),
    btoa("n".repeat(32)),
    btoa("o".repeat(32)),
  ];
  const under = (SECRETS_KEY: string, SECRETS_KEY_PREVIOUS?: string) => ({
    settings: { SECRETS_KEY, SECRETS_KEY_PREVIOUS },
  });

  it("leaves every job readable while the old key is there, and re-encrypts what is changed", async () => {
    const conf = destinationConf(bucket.name);
    await create(conf);
    const during = await call<Job>("GET", "/logship/jobs/1", undefined, under(next, old));
    expect(during.body.result.destination_conf).toBe(conf);
    expect((await call("PUT", "/logship/jobs/1", { name: "x" }, under(next, old))).status).toBe(200);
    expect((await call<Job>("GET", "/logship/jobs/1", undefined, under(next))).body.result.destination_conf).toBe(conf);
    expect((await bucket.control.requests()).length).toBe(1);
  });

  it("that left the old key out leaves a job that can be read but for its destination, and mended by sending that again", async () => {
    const conf = destinationConf(bucket.name);
    await create(conf, { name: "kept" });
    const lost = await call<Job>("GET", "/logship/jobs/1", undefined, under(other));
    expect([lost.status, lost.body.result]).toMatchObject([200, { id: 1, name: "kept" }]);
    expect(JSON.stringify(lost.body)).not.toContain(SECRET_KEY);

    const changed = await call("PUT", "/logship/jobs/1", { name: "x" }, under(other));
    expect([changed.status, errorsOf(changed)]).toEqual([
      400,
      [
        [
          1004,
          "/destination_conf",
          "updating job 1 is not allowed: no key opens the stored destination; send destination_conf again",
        ],
      ],
    ]);
    const half = await call(
      "PUT",
      "/logship/jobs/1",
      { destination_conf: conf.replace(SECRET_KEY, "****") },
      under(other),
    );
    expect([half.status, errorsOf(half)]).toEqual([
      400,
      [[1004, "/destination_conf", "updating job 1 is not allowed: no key opens the stored secret; send it again"]],
    ]);
    const mended = await call<Job>("PUT", "/logship/jobs/1", { destination_conf: conf }, under(other));
    expect([mended.status, mended.body.result.destination_conf, mended.body.result.name]).toEqual([200, conf, "kept"]);
  });
});

describe("the placeholders of a path", () => {
  const conf = (path: string) => destinationConf(bucket.name, path);

  it("are filled in the probe", async () => {
    await create(conf("{SCRIPT}/dt={DATE_ISO}/{YYYY}-{MM}-{DD}/hour={HOUR}/{DATE}"));
    const keys = (await bucket.control.objects()).map(({ key }) => key);
    expect(keys).toEqual(["_test/dt=0001-01-01/0001-01-01/hour=00/00010101/test.txt.gz"]);
  });

  it("are refused where they are misspelt, on creation and on a change", async () => {
    const why = "{Hour} in the path is not a placeholder; write {HOUR}";
    const refused = await call("POST", "/logship/jobs", { destination_conf: conf("logs/{Hour}") });
    expect([refused.status, errorsOf(refused)]).toEqual([400, [[1004, "/destination_conf", `${NOT}${why}`]]]);
    await create(conf("logs/{DATE}"));
    expect((await put({ destination_conf: conf("logs/{Hour}") })).status).toBe(400);
    expect((await put({ destination_conf: conf("logs/{tenant}") })).status).toBe(200);
  });
});
