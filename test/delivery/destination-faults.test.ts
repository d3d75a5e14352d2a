import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { describe, it } from "vitest";
import { readConfig } from "../../src/config.ts";
import { segmentOf } from "../../src/delivery/chain.ts";
import { openDestination } from "../../src/destinations/kinds.ts";
import { parseDestination } from "../../src/destinations/parse.ts";
import { destinationPurpose, seal } from "../../src/job/secrets.ts";
import { platform } from "../../src/platform.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { api, createJob, destinationConf } from "../support/runtime/api.ts";
import {
  balance,
  deliver,
  freshBucket,
  jobObjects,
  logStatus,
  NOON,
  pack,
  runAlarm,
  runCron,
  settle,
} from "../support/runtime/pipeline.ts";
import { type Action, type Match, rule } from "../support/s3-script.ts";
import { PUTS, waitingJob } from "./waiting.ts";

describe("a store that cannot now", () => {
  it.for([
    ["503", { do: "answer", status: 503, code: "SlowDown" }, /HTTP 503 SlowDown; it is being tried again/],
    ["429", { do: "answer", status: 429 }, /HTTP 429; it is being tried again/],
    [
      "500 after storing it",
      { do: "answer", status: 500, code: "InternalError", store: true },
      /HTTP 500 InternalError/,
    ],
    ["a reset before the body", { do: "reset", when: "before" }, /connection failed; it is being tried again/],
    ["a reset after it was stored", { do: "reset", when: "after" }, /connection failed; it is being tried again/],
    ["409 while another conditional request runs", { do: "answer", status: 409 }, /HTTP 409; it is being tried again/],
    [
      "400 of the moment",
      { do: "answer", status: 400, code: "RequestTimeout" },
      /HTTP 400 RequestTimeout; it is being tried/,
    ],
  ] as const satisfies readonly (readonly [string, Action, RegExp])[])(
    "answers %s for a while: said while it lasts, nothing lost, nothing twice",
    async ([_name, action, words], { expect }) => {
      const { clock, control, job, view, audit } = await waitingJob();
      await control.script([rule(action, PUTS, 4)]);
      clock.advance(30_000);
      await runAlarm(job);
      expect(await view()).toMatchObject({
        error_message: expect.stringMatching(words),
        last_error: expect.any(String),
      });
      expect((await logStatus(job)).counts).toMatchObject({ delivered: 0, pending: 10 });
      await settle(job, clock);
      expect(await view()).toMatchObject({ error_message: null, last_error: null, last_complete: expect.any(String) });
      assertClean(await audit());
      expect((await control.puts()).filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(1);
      expect(await jobObjects(job)).toMatchObject([{ number: 1, state: "delivered", verified: true }]);
    },
  );

  it("is left alone as long as it asks", async ({ expect }) => {
    const { clock, control, job } = await waitingJob();
    await control.script([rule({ do: "answer", status: 503, headers: { "retry-after": "1800" } }, PUTS, 1)]);
    clock.advance(30_000);
    await runAlarm(job);
    const attempts = async () => (await control.requests()).filter(({ key }) => key.endsWith(".log.gz")).length;
    expect(await attempts()).toBe(1);
    clock.advance(1_799_000);
    await runAlarm(job);
    await runCron();
    expect(await attempts()).toBe(1);
    clock.advance(1_000);
    await runAlarm(job);
    expect((await logStatus(job)).counts.delivered).toBe(10);
  });
});

describe("a destination that is misconfigured", () => {
  it.for([
    [401, "InvalidToken"],
    [403, "AccessDenied"],
    [404, "NoSuchBucket"],
    [405, "MethodNotAllowed"],
    [400, "AuthorizationHeaderMalformed"],
  ] as const)(
    "answers %i %s: the job is parked, keeps everything, and recovers",
    async ([status, code], { expect }) => {
      const { clock, control, job, view, audit } = await waitingJob();
      await control.script([rule({ do: "answer", status, code })]);
      clock.advance(30_000);
      await runAlarm(job);
      expect(await view()).toMatchObject({
        error_message: expect.stringMatching(new RegExp(`^parked: HTTP ${status} ${code}; nothing is lost`)),
      });
      for (let i = 0; i < 20; i++) {
        clock.advance(300_000);
        await runAlarm(job);
        expect(balance(await logStatus(job))).toEqual({ received: 10, accountedFor: 10 });
      }
      const attempts = (await control.requests()).filter(
        ({ method, key }) => method === "PUT" && key.endsWith(".log.gz"),
      ).length;
      expect(attempts).toBeGreaterThan(15);
      expect(attempts).toBeLessThan(30);
      await control.script([]);
      clock.advance(300_000);
      await runAlarm(job);
      expect(await view()).toMatchObject({ error_message: null, last_error: null });
      assertClean(await audit());
    },
  );

  it("is tried at once when the job is changed", async ({ expect }) => {
    const { clock, control, job, view, audit } = await waitingJob();
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    clock.advance(30_000);
    await runAlarm(job);
    await control.script([]);
    clock.advance(1);
    await api("PUT", `/logship/jobs/${job}`, { name: "mended" });
    expect(await runAlarm(job)).toBe(true);
    expect(await view()).toMatchObject({ error_message: null });
    assertClean(await audit());
  });

  it("never gets a request to where it redirects", async ({ expect }) => {
    const { clock, control, job, view } = await waitingJob();
    const elsewhere = freshBucket();
    await control.script([rule({ do: "redirect", location: `/${elsewhere.name}/x` })]);
    clock.advance(30_000);
    await runAlarm(job);
    expect((await view()).error_message).toMatch(/^parked: HTTP 30\d/);
    expect(await elsewhere.control.requests()).toEqual([]);
  });

  it("does not hold up another job", async ({ expect }) => {
    const { clock, control, job } = await waitingJob();
    const other = freshBucket();
    const healthy = await createJob(other.name);
    const events = new Oracle({ at: NOON }).mint(5);
    await control.script([rule({ do: "answer", status: 403 })]);
    await deliver(pack(events, clock.nowMs()));
    clock.advance(300_000);
    await runCron();
    expect((await logStatus(job)).counts).toMatchObject({ delivered: 0, pending: 15 });
    expect((await logStatus(healthy)).counts).toMatchObject({ delivered: 5, pending: 0 });
  });
});

describe("an object that is under its key already", () => {
  it("is ours if size and ETag agree: delivered, not sent twice", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([rule({ do: "answer", status: 503, store: true }, PUTS, 1)]);
    await settle(job, clock);
    assertClean(await audit());
    expect(await jobObjects(job)).toMatchObject([{ number: 1, verified: true, attempts: 2 }]);
  });

  it("is ours if our checksum stands beside it, whatever the ETag", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 503, store: true }, PUTS, 1),
      rule({ do: "wrong-etag" }, { method: "HEAD" }),
    ]);
    await settle(job, clock);
    assertClean(await audit());
    expect(await jobObjects(job)).toMatchObject([{ number: 1, verified: true }]);
  });

  it.for([
    ["with a checksum of its own", null],
    ["with nothing that says whose it is", { do: "drop-meta" }],
  ] as const)(
    "is somebody else's if it differs, %s: it stays, and ours gets a new number and key",
    async ([_what, action], { expect }) => {
      const { clock, name, control, job, oracle } = await waitingJob();
      await control.script([rule({ do: "answer", status: 503 }, PUTS, 1)]);
      clock.advance(30_000);
      await runAlarm(job);
      const [{ key = "" } = {}] = await jobObjects(job);
      if (action !== null) await control.script([rule(action)]);
      const theirs = await putForeign(name, key);
      await settle(job, clock);
      const objects = await jobObjects(job);
      expect(objects).toMatchObject([{ number: 2, state: "delivered", verified: true, records: 10 }]);
      expect(await control.objects()).toEqual(
        expect.arrayContaining([expect.objectContaining({ key, puts: 1, sha256: theirs })]),
      );
      const ours = (await control.contents()).filter((object) => object.key === objects[0]?.key);
      assertClean(oracle.audit("job", ours, { path: "logs/{DATE}" }));
    },
  );

  it("counts as delivered and unverified if the store will not show it", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 503, store: true }, PUTS, 1),
      rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "HEAD" }),
    ]);
    await settle(job, clock);
    assertClean(await audit());
    expect(await jobObjects(job)).toMatchObject([{ number: 1, state: "delivered", verified: false }]);
  });

  it("is not asked about without end where the store claims it of every key", async ({ expect }) => {
    const { clock, control, job } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 412, code: "PreconditionFailed" }, PUTS),
      rule({ do: "answer", status: 200, headers: { etag: `"${"0".repeat(32)}"` } }, { method: "HEAD" }),
    ]);
    for (let i = 0; i < 10; i++) {
      clock.advance(60_000);
      await runAlarm(job);
    }
    const puts = (await control.requests()).filter(({ method, key }) => method === "PUT" && key.endsWith(".log.gz"));
    expect(puts.length).toBeLessThan(15);
    expect((await logStatus(job)).counts).toMatchObject({ pending: 10 });
  });
});

describe("a store that does not know If-None-Match", () => {
  const conditional: Match = { conditional: true };

  it("answers 501: asked again without it, and remembered", async ({ expect }) => {
    const { clock, control, job, oracle, audit } = await waitingJob();
    await control.script([rule({ do: "answer", status: 501, code: "NotImplemented" }, conditional)]);
    await settle(job, clock);
    const more = oracle.mint(10);
    oracle.acknowledged("job", more);
    await deliver(pack(more, clock.nowMs()));
    await settle(job, clock);
    assertClean(await audit());
    const refused = (await control.requests()).filter(({ status }) => status === 501);
    expect(refused).toHaveLength(1);
  });

  it("loses an answer: the same bytes under the same key, once", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 501, code: "NotImplemented" }, conditional),
      rule({ do: "reset", when: "after" }, PUTS, 2),
    ]);
    await settle(job, clock);
    assertClean(await audit());
    expect((await control.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(1);
  });

  it("ignores it, and loses an answer: the same bytes under the same key", async ({ expect }) => {
    const { clock, control, job, audit } = await waitingJob();
    await control.script([
      rule({ do: "answer", status: 503, store: true }, PUTS, 2),
      rule({ do: "ignore-conditional" }, PUTS),
    ]);
    await settle(job, clock);
    assertClean(await audit());
    expect(
      new Set((await control.puts()).filter(({ key }) => key.endsWith(".log.gz")).map(({ sha256 }) => sha256)).size,
    ).toBe(1);
  });
});

describe("an object that the store refuses for itself", () => {
  it.for([
    [400, "InvalidArgument"],
    [413, "EntityTooLarge"],
  ] as const)("with %i %s is set aside, said, and blocks no other", async ([status, code], { expect }) => {
    const { clock, control, job, oracle, view } = await waitingJob();
    await control.script([rule({ do: "answer", status, code }, PUTS, 1)]);
    clock.advance(30_000);
    await runAlarm(job);
    expect((await view()).error_message).toBe(`an object was set aside: HTTP ${status} ${code}`);
    const more = oracle.mint(7);
    await deliver(pack(more, clock.nowMs()));
    await settle(job, clock);
    const status2 = await logStatus(job);
    expect(status2.counts).toMatchObject({ received: 17, set_aside: 10, delivered: 7, pending: 0 });
    expect(await jobObjects(job)).toMatchObject([
      { state: "set_aside", error: expect.stringContaining(code) },
      { state: "delivered" },
    ]);
  });

  it("is not set aside when the store would refuse anything: that is the destination's fault", async ({ expect }) => {
    const { clock, control, job, view, audit } = await waitingJob();
    await control.script([rule({ do: "answer", status: 400, code: "InvalidRequest" })]);
    clock.advance(30_000);
    await runAlarm(job);
    expect((await view()).error_message).toMatch(/^parked: HTTP 400 InvalidRequest/);
    await control.script([]);
    await settle(job, clock);
    assertClean(await audit());
  });
});

describe("among many objects", () => {
  it("one that always fails does not hold up the others", async ({ expect }) => {
    const { clock, control, job, oracle } = await waitingJob();
    // Three days make three objects; the middle one is always refused.
    const events = oracle.mint(30, { at: NOON + 86_400_000, days: 3 });
    await deliver(pack(events, clock.nowMs()));
    await control.script([rule({ do: "answer", status: 500 }, { method: "PUT", keyIncludes: "/21001122/2" })]);
    for (let i = 0; i < 10; i++) {
      clock.advance(60_000);
      await runAlarm(job);
    }
    expect((await logStatus(job)).counts).toMatchObject({ delivered: 30, pending: 10 });
    await control.script([]);
    await settle(job, clock);
    expect((await logStatus(job)).counts).toMatchObject({ delivered: 40, pending: 0 });
  });

  it("an outage that ends is over for all of them at once", async ({ expect }) => {
    const { clock, control, job, oracle } = await waitingJob();
    await control.script([rule({ do: "answer", status: 503 }, PUTS)]);
    for (let i = 0; i < 6; i++) {
      await deliver(pack(oracle.mint(5), clock.nowMs()));
      clock.advance(31_000);
      await runAlarm(job);
    }
    for (let i = 0; i < 20; i++) {
      clock.advance(300_000);
      await runAlarm(job);
    }
    await control.script([]);
    clock.advance(900_000);
    await runAlarm(job);
    expect((await logStatus(job)).counts).toMatchObject({ pending: 0, delivered: 40 });
  });
});

it("parks a job whose destination no key opens, and says so", async ({ expect }) => {
  const { clock, job, view, audit } = await waitingJob();
  const log = segmentOf(env.LOG, job, 0);
  const other = { current: new Uint8Array(32).fill(7), previous: null };
  const resealed = seal(destinationConf("x"), destinationPurpose("test-account"), other);
  const swap = (to: string) =>
    runInDurableObject(log, (_log, { storage }) => {
      const before = JSON.parse(String(storage.sql.exec("SELECT job FROM log").one().job)) as { destination: string };
      storage.sql.exec("UPDATE log SET job = ?", JSON.stringify({ ...before, destination: to }));
      return before.destination;
    });
  const original = await swap(resealed);
  clock.advance(30_000);
  await runAlarm(job);
  expect((await view()).error_message).toMatch(/^parked: neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens/);
  expect((await logStatus(job)).counts.pending).toBe(10);
  await swap(original);
  await settle(job, clock);
  assertClean(await audit());
});

/** Puts another service's object under a key. @returns its SHA-256. */
async function putForeign(bucket: string, key: string): Promise<string> {
  const config = readConfig(env);
  if (!config.ok) throw new Error(config.faults.join("; "));
  const destination = parseDestination(destinationConf(bucket), config.config.destinations);
  if (!destination.ok) throw new Error(destination.why);
  const body = new TextEncoder().encode("somebody else's");
  const sha256 = createHash("sha256").update(body).digest("hex");
  const object = { key, bytes: body.length, sha256, contentType: "text/plain" };
  const failure = await openDestination(destination.value, platform).overwrite(object, body);
  if (failure !== null) throw new Error(failure.words);
  return sha256;
}
