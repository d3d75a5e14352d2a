/**
 * For any facts: a finding contains no text of a record or secret, and the same facts give the same
 * findings.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { destinationPurpose, encrypt } from "../../../src/formats/secrets/encrypted.ts";
import type { Facts, JobFacts } from "../../../src/operate/status/facts.ts";
import { keyOf } from "../../../src/operate/status/finding.ts";
import { KINDS } from "../../../src/operate/status/kinds.ts";
import { knownJob } from "../../../src/operate/status/known-jobs.ts";
import { findingsOf, isUnknown } from "../../../src/operate/status/rules.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import type { CanaryStatus } from "../../../src/ship/reader/statuses.ts";
import { NOON } from "../../formats/record/samples.ts";
import { job as plainJob } from "../../ship/consumer/scripted.ts";
import { account, facts, fn, job, log, mark } from "./samples.ts";

/** Stands for the text of a record, wherever a log or a store may repeat it. */
const RECORD = "xRECORDx";

const time = fc.integer({ min: NOON - 40 * 86_400_000, max: NOON });
const maybeTime = fc.option(time);
const count = fc.oneof(fc.constant(0), fc.nat(10_000));
const message = fc.oneof(
  fc.constant(null),
  fc.constantFrom(
    "delivery paused: HTTP 403 AccessDenied; …",
    "upload failed: timeout; …",
    `upload failed: ${RECORD}`,
    `HTTP 500 <${RECORD}>`,
    `delivery paused: ${RECORD} HTTP 404`,
  ),
);

const anyLog = fc
  .record({
    counts: fc.record({
      received: count,
      filtered: count,
      sampled_out: count,
      delivered: count,
      pending: count,
      set_aside: count,
      discarded: count,
    }),
    oldestPendingTakenMs: maybeTime,
    errorMessage: message,
    lastReceivedMs: maybeTime,
    failingSinceMs: maybeTime,
    parked: fc.boolean(),
    storedBytes: fc.constantFrom(1, 5_000_000_000),
    segments: fc.constantFrom(1, 2),
    openBytes: fc.constantFrom(1, 5_000_000_000),
    setAside: fc.record({ objects: count, records: count, oldestMs: maybeTime }),
    unread: fc.record({ records: count, bytes: count, oldestMs: maybeTime, sinceMs: maybeTime }),
    unmade: fc.record({
      ...{ poison: count, newer: count, entries: count, oldestTakenMs: maybeTime, oldestAtMs: maybeTime },
    }),
    canary: fc.option(
      fc.record({
        state: fc.constantFrom<CanaryStatus["state"]>("ok", "waiting", "failed", "missing", "damaged", "unreadable"),
        sinceMs: time,
        lastOkMs: maybeTime,
        why: message,
      }),
    ),
  })
  .map(log);

const kept = fc.record({ version: fc.nat(), kept: count, sinceMs: time, given: count, refused: count });
const anyMark = fc.tuple(maybeTime, count).map(([ms, by]) => mark(ms, by));

const anyJob: fc.Arbitrary<JobFacts> = fc
  .record({
    id: fc.integer({ min: 1, max: 5 }),
    enabledSinceMs: maybeTime,
    deletedMs: maybeTime,
    hasFilter: fc.boolean(),
    sampleRate: fc.constantFrom(1, 0.1),
    destination: fc.constantFrom<JobFacts["destination"]>(
      { kind: "ok" },
      { kind: "lost" },
      { kind: "unknown" },
      { kind: "unusable", why: "there is no secret DEST_X" },
    ),
    status: fc.oneof(fc.constant("silent" as const), fc.constant(null), anyLog),
    past: fc.record({ filter: fc.option(kept), sample: fc.option(kept), setAside: fc.option(anyMark) }),
  })
  .map(job);

const usual = fc.option(fc.record({ lastMs: time, longestGapMs: fc.nat(10 * 86_400_000) }));
const anyFunction = fc
  .record({
    name: fc.string({ unit: "binary", minLength: 1, maxLength: 255 }),
    logging: fc.constantFrom("on" as const, "off" as const, "unset" as const),
    setMs: maybeTime,
    dropped: count,
    lastEventMs: maybeTime,
    usual,
  })
  .map(fn);

const asideMessages = fc.record({ messages: count, events: count, oldestMs: maybeTime, stopsClaims: fc.boolean() });

const anySource = fc.constantFrom("tail", "rpc", "", "http:ci", `http:${RECORD.length} "x`);

const anyAccount = fc
  .record({
    status: fc.record({
      counts: fc.record({
        processed: count,
        routed: count,
        not_enabled: count,
        not_routed: count,
        set_aside: count,
        discarded: count,
      }),
      intakeLost: count,
      intakeUnfit: count,
      crowded: fc.array(fc.record({ source: anySource, what: fc.constantFrom("refused" as const, "summed" as const) })),
      oldestUnfinishedMs: maybeTime,
      queueBacklog: fc.option(count),
      queueBytes: fc.option(fc.constantFrom(0, 12_500_000_000, 25_000_000_000)),
      queueSeenMs: maybeTime,
      storedBytes: fc.constantFrom(1, 5_000_000_000, 9_000_000_000),
      load: fc.constantFrom(
        { parts: 75, bytes: 4_000_000 },
        { parts: 75.01, bytes: 0 },
        { parts: 0, bytes: 4_000_001 },
        null,
      ),
      failing: fc.constant([]),
      problems: fc.constant([]),
      inSeconds: fc.array(fc.record({ source: fc.constantFrom("", "rpc", "http:ci"), events: count, lastMs: time }), {
        maxLength: 3,
      }),
      restored: fc.option(
        fc.record({ who: fc.constantFrom("shard" as const, "reader" as const), job: count, atMs: time }),
      ),
      setAsideMessages: asideMessages,
      keptSinceMs: maybeTime,
    }),
    setAside: asideMessages,
    past: fc.record({ notRouted: anyMark, intakeLost: anyMark, intakeUnfit: anyMark, setAside: anyMark }),
    backlogSinceMs: maybeTime,
    usual,
  })
  .map(account);

const silent = fc.constant("silent" as const);
const anyFacts: fc.Arbitrary<Facts> = fc
  .record({
    configFaults: fc.constantFrom([], ["SECRETS_KEY: base64 of 32 random bytes"]),
    controlAnswered: fc.boolean(),
    jobs: fc.uniqueArray(anyJob, { selector: ({ id }) => id, maxLength: 5 }),
    account: fc.oneof(silent, anyAccount),
    functions: fc.oneof(
      silent,
      fc.record({
        countedUntilMs: time,
        each: fc.uniqueArray(anyFunction, { selector: ({ name }) => name, maxLength: 4 }),
        unnamedMs: maybeTime,
        notWatched: count,
      }),
    ),
  })
  .map(facts);

describe("findings", () => {
  it("hold no text of a record, are whole sentences of the closed list, and each is told apart", () => {
    fc.assert(
      fc.property(anyFacts, (world) => {
        const found = findingsOf(world);
        expect(JSON.stringify(found)).not.toContain(RECORD);
        for (const { kind, severity, sinceMs, affected, summary, advice } of found) {
          expect(KINDS).toContain(kind);
          expect(["error", "warning"]).toContain(severity);
          for (const words of [summary, advice]) {
            expect(words).toMatch(/^[^\p{Cc}]+\.$/u);
            expect(words.isWellFormed()).toBe(true);
            expect(words.length).toBeLessThan(500);
            expect(words).not.toMatch(/undefined|null|NaN|Infinity/);
          }
          if (sinceMs !== null) expect(Number.isInteger(sinceMs) && sinceMs <= NOON).toBe(true);
          if (affected !== null) expect(Number.isInteger(affected.count) && affected.count >= 0).toBe(true);
        }
        const told = found.map(keyOf);
        expect(new Set(told).size).toBe(told.length);
      }),
      { numRuns: 300 },
    );
  });

  it("depend on nothing but the facts, and not on their order", () => {
    fc.assert(
      fc.property(anyFacts, (world) => {
        const found = findingsOf(world);
        expect(findingsOf(structuredClone(world))).toEqual(found);
        expect(findingsOf({ ...world, jobs: world.jobs.toReversed() })).toEqual(found);
      }),
    );
  });

  it("are never untold themselves: what is found is known", () => {
    fc.assert(
      fc.property(anyFacts, (world) => {
        const all = { ...world, controlAnswered: true };
        for (const finding of findingsOf(all))
          expect([finding.kind, isUnknown(all, finding)]).toEqual([finding.kind, false]);
      }),
    );
  });
});

describe("what is known of a job", () => {
  const settings = {
    ACCOUNT_ID: "account",
    ADMIN_TOKEN: "a".repeat(32),
    SECRETS_KEY: btoa("0123456789abcdef0123456789abcdef"),
  };
  const secret = fc.stringMatching(/^[0-9A-Za-z]{16,40}$/);

  it("opens nothing, whatever is wrong with its destination", () => {
    const conf = fc
      .tuple(
        secret,
        secret,
        fc.constantFrom("", "&region=auto", "&endpoint=http://127.0.0.1", "&sse=none", "&region=auto&x=1"),
      )
      .map(([id, key, rest]) => ({
        id,
        key,
        text: `s3://bucket/logs?access-key-id=${id}&secret-access-key=${key}${rest}`,
      }));
    fc.assert(
      fc.property(conf, fc.boolean(), fc.boolean(), ({ id, key, text }, fits, configured) => {
        const config = readConfig(configured ? settings : { ...settings, SECRETS_KEY: "typo" });
        const good = readConfig(settings);
        if (!good.ok) throw new Error(good.faults.join());
        const keys = fits ? good.config.keys : { current: new Uint8Array(32), previous: null };
        const sealed = encrypt(text, destinationPurpose("account"), keys);
        const stored: JobConfig = { ...plainJob(1), destination: sealed };
        const known = knownJob(stored, config);
        const said = JSON.stringify([known, findingsOf(facts({ jobs: [{ ...job(), ...known }] }))]);
        for (const word of [id, key, sealed]) expect(said).not.toContain(word);
        if (configured && !fits) expect(known.destination).toEqual({ kind: "lost" });
        if (!configured) expect(known.destination).toEqual({ kind: "unknown" });
        if (configured && fits) expect(known.destination.kind).toBe(text.endsWith("region=auto") ? "ok" : "unusable");
      }),
    );
  });
});
