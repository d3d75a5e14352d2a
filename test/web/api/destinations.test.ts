import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, inject, it } from "vitest";
import { UNKNOWN_SCHEME } from "../../ship/destinations/context.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { bucketControl } from "../../support/s3-control.ts";
import { type Action, rule } from "../../support/s3-script.ts";
import {
  type Bucket,
  call,
  errorsOf,
  expectNothingStored,
  expectRefused,
  freshBucket,
  type Job,
  listJobs,
} from "./harness.ts";

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
      "a misspelt placeholder",
      `s3://traces/{Hour}?region=auto&${keys}`,
      "{Hour} in the path is not a placeholder; write {HOUR}",
    ],
    ["one key", "s3://traces/x?region=auto&access-key-id=AKID", "secret-access-key is missing"],
    [
      "the admin's token for its keys",
      "s3://traces/x?region=auto&credentials=env:ADMIN_TOKEN",
      "credentials must be env:DEST_<NAME>",
    ],
  ];

  it.each(wrong)("is refused, 1004, at first and in a change, and nothing is stored: %s", async (_what, conf, why) => {
    const answer = await call("POST", "/logship/jobs", { destination_conf: conf });
    expectRefused(answer, 400, [1004, "/destination_conf", NOT + why]);
    await expectNothingStored(bucket);
    const before = await create(destinationConf(bucket.name));
    const changed = await put({ destination_conf: conf, name: "x" });
    expectRefused(changed, 400, [1004, "/destination_conf", `updating job 1 is not allowed: ${why}`]);
    expect(await read()).toEqual(before);
  });

  it("is refused with masked keys where none are stored", async () => {
    const conf = "s3://traces/x?region=auto&access-key-id=****&secret-access-key=****";
    expect(errorsOf(await call("POST", "/logship/jobs", { destination_conf: conf }))).toEqual([
      [1004, "/destination_conf", `${NOT}a masked secret cannot be used here; send the secret itself`],
    ]);
  });

  it("may be a loopback address only where that is allowed", async () => {
    const settings = { ALLOW_LOOPBACK_DESTINATIONS: "false", OBJSTORE_ENDPOINT: "https://{account-id}.store.example" };
    const answer = await call(
      "POST",
      "/logship/jobs",
      { destination_conf: destinationConf(bucket.name) },
      { settings },
    );
    expectRefused(answer, 400, [1004, "/destination_conf", `${NOT}endpoint must be a public host`]);
    expect(await bucket.control.requests()).toEqual([]);
    await expectNothingStored(bucket);
  });
});

describe("a destination that cannot be written to", () => {
  const answers = (status: number, code: string): Action => ({
    ...{ do: "answer", status, code, message: "words of the store" },
  });
  const failures: [what: string, action: Action, words: string, requests?: number][] = [
    ["no permission", answers(403, "AccessDenied"), "HTTP 403 AccessDenied", 2],
    ["no bucket", answers(404, "NoSuchBucket"), "HTTP 404 NoSuchBucket"],
    ["no credentials", { do: "answer", status: 401 }, "HTTP 401"],
    ["a failure", answers(500, "InternalError"), "HTTP 500 InternalError", 2],
    [
      "too much to do",
      { ...answers(503, "SlowDown"), headers: { "retry-after": "60" } } as Action,
      "HTTP 503 SlowDown",
    ],
    ["a page of a proxy", { do: "answer", status: 502, body: "<html>words of the store</html>" }, "HTTP 502", 2],
    ["a code that is none", { do: "answer", status: 400, body: "<Code>words of the store</Code>" }, "HTTP 400", 4],
    ["a redirect", { do: "redirect", location: "http://127.0.0.1:1/elsewhere" }, "HTTP 307 TemporaryRedirect"],
    ["a reset", { do: "reset", when: "before" }, "connection failed"],
  ];

  it.each(failures)(
    "is refused with the store's status and code, and nothing is stored: %s",
    async (_what, action, words, requests = 1) => {
      await bucket.control.script([rule(action, { method: "PUT" })]);
      const answer = await call("POST", "/logship/jobs", { destination_conf: destinationConf(bucket.name) });
      expectRefused(answer, 400, [1004, "/destination_conf", NOT + PROBE + words]);
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
    expectRefused(answer, 400, [1004, "/destination_conf", `${NOT + PROBE}HTTP 403 SignatureDoesNotMatch`]);
    expect(JSON.stringify(answer.body)).not.toContain("another-secret-of-the-tests");
    await expectNothingStored(bucket);
  });

  it("is refused in a change, and the old one stays in force, everything else of the change included", async () => {
    const before = await create(destinationConf(bucket.name), { name: "before" });
    const other = freshBucket();
    await other.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    const answer = await put({ destination_conf: destinationConf(other.name), name: "after", enabled: true });
    expectRefused(answer, 400, [
      1004,
      "/destination_conf",
      `updating job 1 is not allowed: ${PROBE}HTTP 403 AccessDenied`,
    ]);
    expect(await read()).toEqual(before);
    expect(await other.control.objects()).toEqual([]);
  });
});

describe("a destination that can be written to", () => {
  const confs: [what: string, path: string, probe: string][] = [
    ["a day as a folder", "logs/{DATE}", "logs/00010101/test.txt.gz"],
    ["a day in a name", "date={DATE}/x", "date=00010101/x/test.txt.gz"],
    ["no day", "logs", "logs/test.txt.gz"],
    ["no path", "", "test.txt.gz"],
    [
      "every placeholder",
      "{SCRIPT}/dt={DATE_ISO}/{YYYY}-{MM}-{DD}/hour={HOUR}/{DATE}",
      "_test/dt=0001-01-01/0001-01-01/hour=00/00010101/test.txt.gz",
    ],
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
});

describe("a masked secret in a change", () => {
  const masked = (conf: string) =>
    conf
      .replace(`access-key-id=${ACCESS_KEY}`, "access-key-id=****")
      .replace(`secret-access-key=${SECRET_KEY}`, "secret-access-key=****");

  it("keeps the stored one, both or one of them, and the destination stays as it was", async () => {
    const conf = destinationConf(bucket.name);
    await create(conf);
    for (const sent of [masked(conf), conf.replace(SECRET_KEY, "****"), conf.replace(ACCESS_KEY, "****")]) {
      const answer = await put({ destination_conf: sent, name: "x" });
      expect(answer.body.result).toMatchObject({ name: "x", destination_conf: conf });
    }
    expect((await bucket.control.requests()).length).toBe(1);
  });

  it("keeps the stored one for another path of the same bucket, which is probed with it", async () => {
    await create(destinationConf(bucket.name));
    const answer = await put({ destination_conf: masked(destinationConf(bucket.name, "other/{DATE}")) });
    expect(answer.body.result.destination_conf).toBe(destinationConf(bucket.name, "other/{DATE}"));
    expect((await bucket.control.objects()).map(({ key }) => key)).toContain("other/00010101/test.txt.gz");
  });

  const SAME =
    "a masked secret is kept only for the same scheme, endpoint, account and bucket, or host and path; send it again";

  const ofAccount = (account: string) => (name: string) => `objstore://${name}/x?account-id=${account}&${keys}`;
  const moves: [what: string, from: (name: string) => string, to: (name: string) => string][] = [
    ["another bucket", (name) => destinationConf(name), (name) => destinationConf(`${name}-other`)],
    [
      "another endpoint",
      (name) => destinationConf(name),
      (name) => destinationConf(name).replace("127.0.0.1", "localhost"),
    ],
    ["another account", ofAccount("a"), ofAccount("b")],
  ];

  it.each(moves)("is refused for another place, to which the stored one never goes: %s", async (_what, from, to) => {
    const before = await create(from(bucket.name));
    const answer = await put({ destination_conf: masked(to(bucket.name)), name: "x" });
    expectRefused(answer, 400, [1004, "/destination_conf", `updating job 1 is not allowed: ${SAME}`]);
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
    expect([lost.status, lost.body.result]).toMatchObject([
      200,
      {
        ...{ id: 1, name: "kept", destination_conf: "", guarantee: null },
        error_message: expect.stringMatching(/neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens/),
      },
    ]);
    const ledger = await call("GET", "/logship/jobs/1/ledger", undefined, under(other));
    expect(ledger.body.result).toMatchObject({ guarantee: null });
    expect(JSON.stringify(lost.body)).not.toContain(SECRET_KEY);

    const changed = await call("PUT", "/logship/jobs/1", { name: "x" }, under(other));
    expectRefused(changed, 400, [
      1004,
      "/destination_conf",
      "updating job 1 is not allowed: no key opens the stored destination; send destination_conf again",
    ]);
    const half = await call(
      "PUT",
      "/logship/jobs/1",
      { destination_conf: conf.replace(SECRET_KEY, "****") },
      under(other),
    );
    expectRefused(half, 400, [
      1004,
      "/destination_conf",
      "updating job 1 is not allowed: no key opens the stored secret; send it again",
    ]);
    const mended = await call<Job>("PUT", "/logship/jobs/1", { destination_conf: conf }, under(other));
    expect([mended.status, mended.body.result.destination_conf, mended.body.result.name]).toEqual([200, conf, "kept"]);
  });
});
