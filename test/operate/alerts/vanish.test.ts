/**
 * Each way in which logs can vanish silently, provoked in the deployed service: the finding in
 * `GET /status`, and when it appears. The service checks on request, and with every cron (five
 * minutes).
 */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type Config, readConfig } from "../../../src/config.ts";
import { destinationPurpose, encrypt } from "../../../src/formats/secrets/encrypted.ts";
import { gather } from "../../../src/operate/status/gather.ts";
import { KIND_RHYTHM_SQL, RHYTHM_SQL, Rhythm } from "../../../src/operate/status/rhythm.ts";
import { findingsOf } from "../../../src/operate/status/rules.ts";
import { SAMPLES_SQL, Samples } from "../../../src/operate/status/samples.ts";
import type { JobsSnapshot } from "../../../src/ship/job/config.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
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
import { kindsOf as kinds, MINUTE_MS, type Said, freshStatus as status } from "../status/support.ts";
import { lookAnew } from "./fresh.ts";

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
  it("wrong credentials are said with the first upload", async () => {
    const { clock, control, job } = await waitingJob();
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    expect(await kindsOf()).toEqual([]);
    clock.advance(30_000);
    await runAlarm(job);
    const expected: Said = {
      kind: "parked",
      severity: "error",
      subject: { type: "job", id: job },
      since: at(NOON + 30_000),
      affected: { count: 10, what: "records" },
      summary: `Delivery of job ${job} is paused: the destination answers HTTP 403 AccessDenied.`,
      advice: expect.stringMatching(/^The key may not write there/),
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
    expect(await kindsOf()).toEqual(["draining"]);
    await control.script([rule({ do: "answer", status: 404, code: "NoSuchBucket" })]);
    clock.advance(30_000);
    await runAlarm(job);
    expect((await status()).findings).toMatchObject([
      { kind: "draining_stuck", severity: "error", summary: expect.stringContaining("HTTP 404 NoSuchBucket") },
    ]);
    await control.script([]);
    await settle(job, clock);
    expect(await kindsOf()).toEqual([]);
  });
});

describe("a destination that cannot be opened, or not for long,", () => {
  const { keys } = (readConfig(env) as { config: Config }).config;
  const soon = new Date(NOON + 7 * 86_400_000).toISOString();

  it.each<[string, string, typeof keys, object]>([
    [
      "a lost key is said at once, before any upload fails on it",
      destinationConf("x"),
      { current: new Uint8Array(32).fill(7), previous: null },
      { kind: "key_lost", severity: "error", affected: { count: 10, what: "records" } },
    ],
    [
      "a secret that is gone is named",
      "s3://bucket/logs?region=auto&endpoint=store.example&credentials=env:DEST_GONE",
      keys,
      { kind: "destination_unusable", summary: expect.stringContaining("there is no secret DEST_GONE") },
    ],
    [
      "credentials that end soon are named with the time, and with nothing else of them",
      `azure://account.blob.core.windows.net/traces?sv=2021-12-02&sr=c&sp=rcw&se=${soon}&sig=test-secret-key`,
      keys,
      { kind: "credentials_expire", severity: "warning", summary: expect.stringContaining(`expire at ${soon}`) },
    ],
  ])("%s", async (_what, conf, sealedWith, found) => {
    const { job } = await waitingJob();
    const sealed = encrypt(conf, destinationPurpose(ACCOUNT), sealedWith);
    await runInDurableObject(controlPlane(env.CONTROL), (_plane, { storage }) => {
      storage.sql.exec("UPDATE job SET config = json_set(config, '$.destination', ?) WHERE id = ?", sealed, job);
    });
    const { findings } = await status();
    expect(findings).toMatchObject([{ subject: { type: "job", id: job }, ...found }]);
    expect(JSON.stringify(findings)).not.toContain("test-secret-key");
  });
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
    clock.advance(15 * MINUTE_MS - 1_000);
    expect(await kindsOf()).toEqual([]);
    clock.advance(2_000);
    expect((await status()).findings).toMatchObject([{ kind: "no_events", severity: "warning" }]);
  });

  it("a job that gets nothing while another does, after a quarter of an hour", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const two = await createJob(freshBucket().name);
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

  it("a quiet function, half an hour after its last event", async () => {
    const clock = setClock(NOON);
    const job = await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    const look = async (afterMs: number, ...names: string[]): Promise<string[]> => {
      clock.advance(afterMs);
      for (const name of names) await come(oracle, clock, 1, name);
      await runAlarm(job);
      return kindsOf();
    };
    // More than a day.
    for (let n = 0; n < 7; n++) expect(await look(5 * HOUR_MS, "steady", "shop")).toEqual([]);
    const lastMs = clock.nowMs();
    expect(await look(29 * MINUTE_MS, "steady")).toEqual([]);
    expect(await look(2 * MINUTE_MS, "steady")).toEqual(["function_quiet"]);
    expect((await status()).findings).toMatchObject([
      { subject: { type: "function", name: "shop" }, since: at(lastMs), severity: "warning" },
    ]);
    // Deleted by the user.
    await call("DELETE", "/functions/scripts/shop");
    expect(await kindsOf()).toEqual([]);
  });

  it("names that a sender makes up, so many that they crowd out others", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    const oracle = new Oracle({ at: NOON });
    const madeUp = Array.from({ length: 2_100 }, (_, n) => oracle.mint(1, { scriptName: `made-up-${n}` }));
    await deliver(pack(madeUp.flat(), clock.nowMs(), { perMessage: 100 }));
    expect(await kindsOf()).toEqual(["functions_not_watched", "sender_crowds"]);
  });
});

describe("events on their way in", () => {
  it("what intake lost is said at once, and for a day", async () => {
    const clock = setClock(NOON);
    await traceLog(env.TRACE_LOG, 0).countLost(5, "lost");
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

it("a malformed configuration is named, by the watch and by every answer", async () => {
  setClock(NOON);
  const settings = { SECRETS_KEY: "hunter2" };
  const findings = await runInDurableObject(env.READERS.getByName("memory"), async (_object, { storage }) => {
    storage.sql.exec(SAMPLES_SQL + RHYTHM_SQL + KIND_RHYTHM_SQL);
    const memory = {
      samples: new Samples(storage.sql),
      rhythm: new Rhythm(storage.sql),
      kinds: new Rhythm(storage.sql, "kinds"),
      problems: { all: () => [] },
    };
    return findingsOf(await gather({ ...env, ...settings } as Env, memory, { now: () => NOON }));
  });
  expect(findings).toMatchObject([
    { kind: "configuration_malformed", summary: expect.stringContaining("SECRETS_KEY: base64 of 32 random bytes") },
  ]);
  const answer = await call("GET", "/logship/status", undefined, { settings });
  expect([answer.status, answer.body.errors]).toEqual([
    503,
    [{ code: 1053, message: "configuration: SECRETS_KEY: base64 of 32 random bytes" }],
  ]);
});
