/**
 * Each way in which logs can vanish silently, provoked in the deployed service: the finding in
 * `GET /status`, and when it appears. The service checks on request, and with every cron (five
 * minutes).
 */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { destinationPurpose, encrypt } from "../../../src/formats/secrets/encrypted.ts";
import { gather, SOURCES, type Sources } from "../../../src/operate/status/gather.ts";
import { RHYTHM_SQL, Rhythm } from "../../../src/operate/status/rhythm.ts";
import { findingsOf } from "../../../src/operate/status/rules.ts";
import { SAMPLES_SQL, Samples } from "../../../src/operate/status/samples.ts";
import type { JobsSnapshot } from "../../../src/ship/job/config.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import type { CanaryStatus } from "../../../src/ship/reader/statuses.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { waitingJob } from "../../ship/reader/waiting.ts";
import { ACCOUNT } from "../../support/constants.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob, destinationConf } from "../../support/runtime/api.ts";
import { putOnHold } from "../../support/runtime/hold.ts";
import {
  deliver,
  freshBucket,
  NOON,
  pack,
  runAlarm,
  runCron,
  setClock,
  settle,
} from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { call } from "../../web/api/harness.ts";
import { lookAnew } from "./fresh.ts";
import { kindsOf as kinds, MINUTE_MS, type Said, freshStatus as status } from "./support.ts";

lookAnew();

const HOUR_MS = 60 * MINUTE_MS;
const kindsOf = (): Promise<string[]> => kinds(status());
const at = (ms: number): string => new Date(ms).toISOString();

/** Events of one function, accepted now. */
async function come(oracle: Oracle, clock: { nowMs(): number }, count: number, scriptName = "shop"): Promise<void> {
  await deliver(pack(oracle.mint(count, { at: clock.nowMs(), scriptName }), clock.nowMs()));
}

describe("a service that does its work", () => {
  it("has nothing to say: before anything came, while records wait, and when they are delivered", async () => {
    const clock = setClock(NOON);
    expect(await status()).toEqual({
      ok: true,
      checked_at: at(NOON),
      errors: 0,
      warnings: 0,
      findings: [],
      incidents: [],
      notices: [],
      kept_since: at(NOON - 86_400_000),
    });
    const job = await createJob(freshBucket().name);
    await come(new Oracle({ at: NOON }), clock, 10);
    expect(await kindsOf()).toEqual([]);
    await settle(job, clock);
    expect(await kindsOf()).toEqual([]);
  });
});

describe("a store that does not take records", () => {
  it.each([
    [403, "AccessDenied", /^The key may not write there/],
    [403, "SignatureDoesNotMatch", /^The secret access key does not match/],
    [404, "NoSuchBucket", /^There is no bucket with this name/],
    [400, "AuthorizationHeaderMalformed", /^The bucket is in another region/],
  ])("wrong credentials, a deleted bucket: %i %s is said with the first upload", async (code, word, advice) => {
    const { clock, control, job } = await waitingJob();
    await control.script([rule({ do: "answer", status: code, code: word })]);
    expect(await kindsOf()).toEqual([]);
    clock.advance(30_000);
    await runAlarm(job);
    const expected: Said = {
      kind: "parked",
      severity: "error",
      subject: { type: "job", id: job },
      since: at(NOON + 30_000),
      affected: { count: 10, what: "records" },
      summary: `Job ${job} is parked: the destination answers HTTP ${code} ${word}.`,
      advice: expect.stringMatching(advice),
      // Not yet: it is seen for the first time.
      incident: null,
    };
    expect((await status()).findings).toEqual([expected]);
    // Since the first failure, whatever the number of tries.
    clock.advance(10 * MINUTE_MS);
    await runAlarm(job);
    expect(await status()).toMatchObject({
      ok: false,
      errors: 1,
      warnings: 0,
      findings: [{ ...expected, incident: expect.stringMatching(/^inc_/) }],
    });
    await control.script([]);
    await settle(job, clock);
    expect(await kindsOf()).toEqual([]);
  });

  it("a redirect is said to be one", async () => {
    const { clock, control, job } = await waitingJob();
    await control.script([rule({ do: "redirect", location: "/elsewhere/x" })]);
    clock.advance(30_000);
    await runAlarm(job);
    const [found] = (await status()).findings;
    expect(found).toMatchObject({
      kind: "parked",
      advice: expect.stringMatching(/^The destination is in another region/),
    });
  });

  it("a store that cannot now is said after two minutes", async () => {
    const { clock, control, job } = await waitingJob();
    await control.script([rule({ do: "answer", status: 503, code: "SlowDown" })]);
    clock.advance(30_000);
    await runAlarm(job);
    clock.advance(2 * MINUTE_MS);
    expect(await kindsOf()).toEqual([]);
    clock.advance(1);
    expect((await status()).findings).toMatchObject([
      {
        kind: "failing",
        since: at(NOON + 30_000),
        affected: { count: 10, what: "records" },
        summary: `Uploads of job ${job} fail: the destination answers HTTP 503 SlowDown.`,
      },
    ]);
  });

  it("a log that was full is said at once", async () => {
    const { clock, control, job, oracle } = await waitingJob();
    await control.script([rule({ do: "answer", status: 503 })]);
    await runInDurableObject(nodeAt(env.READERS, job, 0), (log) => {
      log.segmentMaxBytes = 1;
    });
    // With these it is full; the next ones go on.
    await come(oracle, clock, 5);
    await come(oracle, clock, 5);
    expect((await status()).findings).toMatchObject([
      {
        kind: "log_large",
        severity: "error",
        affected: { count: 20, what: "records" },
        summary: expect.stringContaining("continues in 2 segments"),
      },
    ]);
  });

  it("objects that it refuses for what they are, are said at once", async () => {
    const { clock, control, job } = await waitingJob();
    await control.script([rule({ do: "answer", status: 413 }, { method: "PUT", keyIncludes: ".log.gz" })]);
    clock.advance(30_000);
    await runAlarm(job);
    expect((await status()).findings).toMatchObject([{ kind: "objects_set_aside", severity: "error" }]);
    clock.advance(HOUR_MS + 1);
    expect((await status()).findings).toMatchObject([{ kind: "objects_set_aside", severity: "warning" }]);
  });

  it("an alarm that is lost, and nobody fires again, shows as a lag", async () => {
    const { clock, job } = await waitingJob();
    clock.advance(30_000 + 15_000 + 5 * MINUTE_MS);
    expect(await kindsOf()).toEqual([]);
    clock.advance(1);
    expect((await status()).findings).toMatchObject([
      { kind: "lagging", subject: { type: "job", id: job }, since: at(NOON), affected: { count: 10, what: "records" } },
    ]);
  });

  it("a deleted job that cannot deliver what it has is said until it has", async () => {
    const { clock, control, job } = await waitingJob();
    await call("DELETE", `/logship/jobs/${job}`);
    const deletedMs = clock.nowMs();
    expect(await kindsOf()).toEqual(["draining"]);
    await control.script([rule({ do: "answer", status: 404, code: "NoSuchBucket" })]);
    clock.advance(30_000);
    await runAlarm(job);
    expect((await status()).findings).toMatchObject([
      { kind: "draining_stuck", severity: "error", summary: expect.stringContaining("HTTP 404 NoSuchBucket") },
    ]);
    expect(deletedMs).toBeGreaterThanOrEqual(NOON);
    await control.script([]);
    await settle(job, clock);
    expect(await kindsOf()).toEqual([]);
  });
});

describe("a destination that cannot be opened", () => {
  it("a lost key is said at once, before any upload fails on it", async () => {
    const { job } = await waitingJob();
    const other = { current: new Uint8Array(32).fill(7), previous: null };
    await reseal(job, encrypt(destinationConf("x"), destinationPurpose(ACCOUNT), other));
    const { findings } = await status();
    expect(findings).toMatchObject([
      {
        kind: "key_lost",
        severity: "error",
        subject: { type: "job", id: job },
        affected: { count: 10, what: "records" },
      },
    ]);
    expect(JSON.stringify(findings)).not.toContain("test-secret-key");
  });

  it("a secret that is gone is named", async () => {
    const { job } = await waitingJob();
    const config = readConfig(env);
    if (!config.ok) throw new Error("malformed");
    const conf = "s3://bucket/logs?region=auto&endpoint=store.example&credentials=env:DEST_GONE";
    await reseal(job, encrypt(conf, destinationPurpose(ACCOUNT), config.config.keys));
    expect((await status()).findings).toMatchObject([
      { kind: "destination_unusable", summary: expect.stringContaining("there is no secret DEST_GONE") },
    ]);
  });

  it("credentials that end soon are named with the time, and with nothing else of them", async () => {
    const { job } = await waitingJob();
    const config = readConfig(env);
    if (!config.ok) throw new Error("malformed");
    const se = new Date(NOON + 7 * 86_400_000).toISOString();
    const conf = `azure://account.blob.core.windows.net/traces/logs?sv=2021-12-02&sr=c&sp=rcw&se=${se}&sig=SECRET-SIG`;
    await reseal(job, encrypt(conf, destinationPurpose(ACCOUNT), config.config.keys));
    const { findings } = await status();
    expect(findings).toMatchObject([
      { kind: "credentials_expire", severity: "warning", summary: expect.stringContaining(`expire at ${se}`) },
    ]);
    expect(JSON.stringify(findings)).not.toContain("SECRET-SIG");
  });

  async function reseal(job: number, destination: string): Promise<void> {
    await runInDurableObject(controlPlane(env.CONTROL), (_plane, { storage }) => {
      storage.sql.exec("UPDATE job SET config = json_set(config, '$.destination', ?) WHERE id = ?", destination, job);
    });
  }
});

describe("events that reach no job", () => {
  it("not opted in: what is dropped because logging is off is said with the first event", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    await call("PATCH", "/functions/scripts/shop/script-settings", { logship: false });
    const setMs = clock.nowMs();
    clock.advance(MINUTE_MS);
    expect(await kindsOf()).toEqual([]);
    await come(oracle, clock, 7, "shop");
    await come(oracle, clock, 3, "other");
    const [found, ...rest] = (await status()).findings;
    expect(rest).toEqual([]);
    expect(found).toMatchObject({
      kind: "function_off",
      subject: { type: "function", name: "shop" },
      affected: { count: 7, what: "events" },
    });
    expect(Math.abs(Date.parse(found?.since ?? "") - setMs)).toBeLessThanOrEqual(1_000);
    await call("PATCH", "/functions/scripts/shop/script-settings", { logship: true });
    expect(await kindsOf()).toEqual([]);
  });

  it("logging that is on, and no event for an hour", async () => {
    const clock = setClock(NOON);
    await call("PATCH", "/functions/scripts/shop/script-settings", { logship: true });
    clock.advance(HOUR_MS);
    expect(await kindsOf()).toEqual([]);
    clock.advance(1);
    expect(await kindsOf()).toEqual(["function_never_seen"]);
    await createJob(freshBucket().name);
    await come(new Oracle({ at: NOON }), clock, 1, "shop");
    expect(await kindsOf()).toEqual([]);
  });

  it("no job is enabled while events come, with the first of them; and for an hour after the last", async () => {
    const clock = setClock(NOON);
    const oracle = new Oracle({ at: NOON });
    await come(oracle, clock, 4);
    expect((await status()).findings).toMatchObject([
      {
        kind: "no_job_enabled",
        severity: "error",
        affected: { count: 4 },
        summary: expect.stringMatching(/^There is no job/),
      },
    ]);
    await createJob(freshBucket().name, { enabled: false });
    expect((await status()).findings).toMatchObject([{ summary: expect.stringMatching(/^No job is enabled/) }]);
    clock.advance(HOUR_MS);
    await come(oracle, clock, 2);
    expect((await status()).findings).toMatchObject([{ since: at(NOON), affected: { count: 6, what: "events" } }]);
    clock.advance(HOUR_MS + 1_000);
    expect(await kindsOf()).toEqual([]);
  });

  it("a job is enabled, and nothing ever comes, after a quarter of an hour", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const since = clock.nowMs();
    clock.advance(15 * MINUTE_MS - 1_000);
    expect(await kindsOf()).toEqual([]);
    clock.advance(2_000);
    expect((await status()).findings).toMatchObject([{ kind: "no_events", severity: "warning" }]);
    expect(since).toBeGreaterThan(0);
  });

  it("a job that gets nothing while another does, after a quarter of an hour", async () => {
    const clock = setClock(NOON);
    const [one, two] = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
    const oracle = new Oracle({ at: NOON });
    await come(oracle, clock, 3);
    const sinceMs = clock.nowMs();
    clock.advance(16 * MINUTE_MS);
    // The log does not know the other: no code of the service does that.
    const shard = traceLog(env.TRACE_LOG, 0);
    const snapshot = (await controlPlane(env.CONTROL).configSince("")) as JobsSnapshot;
    const [epoch, version, mark] = snapshot.state.split(".");
    const jobs = snapshot.jobs.filter(({ id }) => id !== two);
    await shard.configure({ ...snapshot, jobs, state: `${epoch}.${Number(version) + 1}.${mark}` });
    await come(oracle, clock, 3);
    const { findings } = await status();
    expect(findings.filter(({ kind }) => kind === "nothing_received")).toMatchObject([
      { subject: { type: "job", id: two }, since: at(sinceMs), severity: "error" },
    ]);
    expect(one).not.toBe(two);
  });

  it("a wrong filter, after an hour in which it kept none of twenty", async () => {
    const clock = setClock(NOON);
    const filter = '{"where":{"key":"ScriptName","operator":"eq","value":"shpo"}}';
    const job = await createJob(freshBucket().name, { filter });
    const oracle = new Oracle({ at: NOON });
    await runCron();
    const begunMs = clock.nowMs();
    await come(oracle, clock, 19);
    clock.advance(HOUR_MS + 1);
    expect(await kindsOf()).toEqual([]);
    await come(oracle, clock, 1);
    expect((await status()).findings).toMatchObject([
      {
        kind: "filter_keeps_nothing",
        subject: { type: "job", id: job },
        since: at(begunMs),
        affected: { count: 20, what: "records" },
      },
    ]);
    await call("PUT", `/logship/jobs/${job}`, { filter: "" });
    expect(await kindsOf()).toEqual([]);
  });

  it("a quiet function, after twice the longest pause it usually makes", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    // Two days: "shop" every hour, "steady" every half.
    for (let half = 0; half < 60; half++) {
      clock.advance(30 * MINUTE_MS);
      await come(oracle, clock, 1, "steady");
      if (half % 2 === 0) await come(oracle, clock, 1, "shop");
      await runAlarm(job);
      expect(await kindsOf()).toEqual([]);
    }
    const lastMs = clock.nowMs() - 30 * MINUTE_MS;
    const goesOn = async (): Promise<string[]> => {
      clock.advance(15 * MINUTE_MS);
      await come(oracle, clock, 1, "steady");
      await runAlarm(job);
      return kindsOf();
    };
    // Its longest observed pause is half an hour: the interval of the looks.
    expect(await goesOn()).toEqual([]);
    expect(await goesOn()).toEqual([]);
    expect(await goesOn()).toEqual(["function_quiet"]);
    expect((await status()).findings).toMatchObject([
      { subject: { type: "function", name: "shop" }, since: at(lastMs), severity: "warning" },
    ]);
    // Deleted by the user.
    await call("DELETE", "/functions/scripts/shop");
    expect(await kindsOf()).toEqual([]);
  });

  it("nobody is called quiet for names that a sender makes up, however many: that they crowd out the others is said", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    const both = async (): Promise<string[]> => {
      await come(oracle, clock, 1, "shop");
      await come(oracle, clock, 1, "steady");
      await runAlarm(job);
      return kindsOf();
    };
    for (let half = 0; half < 60; half++) {
      clock.advance(30 * MINUTE_MS);
      expect(await both()).toEqual([]);
    }
    // Before any other function in that hour.
    clock.advance(HOUR_MS);
    const madeUp = Array.from({ length: 2_100 }, (_, n) =>
      oracle.mint(1, { at: clock.nowMs(), scriptName: `made-up-${n}` }),
    );
    await deliver(pack(madeUp.flat(), clock.nowMs(), { perMessage: 100 }));
    for (let quarter = 0; quarter < 3; quarter++) {
      clock.advance(19 * MINUTE_MS);
      expect(await both()).toEqual(["functions_not_watched"]);
    }
  });
});

describe("events on their way in", () => {
  it("what intake lost is said at once, and for a day", async () => {
    const clock = setClock(NOON);
    await traceLog(env.TRACE_LOG, 0).countLost(5);
    expect((await status()).findings).toMatchObject([
      { kind: "intake_lost", severity: "error", affected: { count: 5 } },
    ]);
    clock.advance(24 * HOUR_MS);
    expect(await kindsOf()).toEqual(["intake_lost"]);
    clock.advance(1);
    expect(await kindsOf()).toEqual([]);
  });

  it("messages that have to come again are said after a quarter of an hour", async () => {
    const clock = setClock(NOON);
    await traceLog(env.TRACE_LOG, 0).expectAgain([{ id: "0".repeat(32), takenInMs: NOON, keyed: false }], "returned");
    clock.advance(15 * MINUTE_MS);
    expect(await kindsOf()).toEqual([]);
    clock.advance(1);
    expect((await status()).findings).toMatchObject([{ kind: "queue_old", since: at(NOON) }]);
  });

  it("a message that nobody can read is said at once", async () => {
    const clock = setClock(NOON);
    await putOnHold(new ArrayBuffer(10), "x", "x");
    expect((await status()).findings).toMatchObject([
      {
        ...{ kind: "messages_set_aside", severity: "error" },
        summary: expect.stringContaining("last_complete stands still for every job"),
      },
    ]);
    clock.advance(HOUR_MS + 1);
    expect((await status()).findings).toMatchObject([{ kind: "messages_set_aside", severity: "warning" }]);
  });
});

describe("what others tell of", () => {
  it("a canary that cannot be read back, or not as it was written, is said as soon as it is known", async () => {
    const { job } = await waitingJob();
    const states: [CanaryStatus["state"], string[]][] = [
      ["ok", []],
      ["waiting", []],
      ["failed", ["canary_failed"]],
      ["missing", ["canary_missing"]],
      ["damaged", ["canary_damaged"]],
      ["unreadable", ["canary_unreadable"]],
    ];
    const { status: whole } = JobReader.prototype;
    for (const [state, expected] of states) {
      vi.spyOn(JobReader.prototype, "status").mockImplementation(function (this: JobReader) {
        const status = whole.call(this);
        const canary = { state, sinceMs: NOON - 1, lastOkMs: null, why: "HTTP 403 AccessDenied" };
        return status === null ? null : { ...status, canary };
      });
      const { findings } = await status();
      expect(findings.map(({ kind, since }) => [kind, since])).toEqual(expected.map((kind) => [kind, at(NOON - 1)]));
      expect(findings.map(({ subject }) => subject)).toEqual(expected.map(() => ({ type: "job", id: job })));
    }
  });

  it("an attachment that a later deployment undid, and a replay that waits", async () => {
    setClock(NOON);
    const sources: Sources = {
      attachments: async () => [
        { script: "shop", state: "undone", sinceMs: NOON - 5, why: "its newest deployment has no tail consumer" },
      ],
      replays: async () => [
        { id: "r1", job: 3, sinceMs: NOON - 7, error: "the store answers HTTP 403", objectsLeft: 2 },
      ],
    };
    expect(await found(sources)).toMatchObject([
      { kind: "attachment_undone", severity: "error", subject: { type: "function", name: "shop" }, sinceMs: NOON - 5 },
      { kind: "replay_waiting", severity: "warning", subject: { type: "job", id: 3 }, sinceMs: NOON - 7 },
    ]);
    const broken: Sources = {
      attachments: () => Promise.reject(new Error("x")),
      replays: () => Promise.reject(new Error("y")),
    };
    expect((await found(broken)).map(({ kind }) => kind)).toEqual(["replays_silent", "attachments_silent"]);
    expect(await found(SOURCES)).toEqual([]);
  });

  /** A look with scripted sources and its own memory. */
  function found(sources: Sources, bindings: Partial<Env> = {}) {
    return runInDurableObject(env.READERS.getByName(`memory ${crypto.randomUUID()}`), async (_object, { storage }) => {
      storage.sql.exec(SAMPLES_SQL + RHYTHM_SQL);
      const memory = { samples: new Samples(storage.sql), rhythm: new Rhythm(storage.sql) };
      const facts = await gather({ ...env, ...bindings }, memory, { now: () => NOON }, sources);
      return findingsOf(facts);
    });
  }

  it("a malformed configuration is named, by the watch and by every answer", async () => {
    setClock(NOON);
    const bindings = { SECRETS_KEY: "hunter2" } as Partial<Env>;
    expect(await found(SOURCES, bindings)).toMatchObject([
      { kind: "configuration_malformed", summary: expect.stringContaining("SECRETS_KEY: base64 of 32 random bytes") },
    ]);
    const answer = await call("GET", "/logship/status", undefined, { settings: { SECRETS_KEY: "hunter2" } });
    expect([answer.status, answer.body.errors]).toEqual([
      503,
      [{ code: 1053, message: "configuration: SECRETS_KEY: base64 of 32 random bytes" }],
    ]);
  });
});
