/** Each rule: just below its threshold, above it, and its words. */
import { describe, expect, it } from "vitest";
import { linkTo } from "../../../src/operate/alerts/link.ts";
import type {
  AccountFacts,
  Facts,
  FunctionFacts,
  JobFacts,
  KnownAttachment,
} from "../../../src/operate/status/facts.ts";
import type { FailingFunction } from "../../../src/operate/status/failing.ts";
import { type Finding, keyOf } from "../../../src/operate/status/finding.ts";
import { causeIn, parkedAdvice, shown, span } from "../../../src/operate/status/finding-text.ts";
import { functionFacts } from "../../../src/operate/status/function-facts.ts";
import { KINDS } from "../../../src/operate/status/kinds.ts";
import type { ProblemFact } from "../../../src/operate/status/problem-rules.ts";
import { findingsOf, isUnknown } from "../../../src/operate/status/rules.ts";
import type { SearchFact } from "../../../src/operate/status/search-rules.ts";
import type { SlowFunction } from "../../../src/operate/status/slow.ts";
import { NAMED_MAX } from "../../../src/operate/status/thresholds.ts";
import { remedyFor } from "../../../src/ship/destinations/remedies.ts";
import type { CanaryStatus, JobStatus } from "../../../src/ship/reader/statuses.ts";
import { NOON } from "../../formats/record/samples.ts";
import { account, facts, fn, job, log, mark } from "./samples.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const GB = 1_000_000_000;

const ago = (ms: number): number => NOON - ms;

const rerunOfOne = (fields: Partial<JobFacts> = {}): JobFacts =>
  job({ id: 16, rerunOf: 1, enabledSinceMs: null, deletedMs: ago(DAY), ...fields });
const SLOW: SlowFunction = {
  ...{ name: "shop", events: 203, slow: 61, overMs: 13 * MINUTE, p95: 1_250, usualP95: 210 },
  ...{ sinceMs: ago(HOUR), isLonger: false },
};
const ofJob = (fields: Partial<JobFacts>, logFields: Partial<JobStatus> | null = {}): Facts =>
  facts({ jobs: [job({ status: logFields === null ? null : log(logFields), ...fields })] });
const ofLog = (fields: Partial<JobStatus>): Facts => ofJob({}, fields);
/** The log has had records for job 1 for so long; older ones had waited in the queue. */
const unread = (ms: number): JobStatus["unread"] => ({ records: 7, bytes: 9, oldestMs: ago(DAY), sinceMs: ago(ms) });
const unmade = (fields: Partial<JobStatus["unmade"]>): Facts =>
  ofLog({ unmade: { ...{ poison: 0, newer: 0, entries: 2, oldestTakenMs: ago(DAY), oldestAtMs: ago(3) }, ...fields } });
const ofAccount = (fields: Partial<AccountFacts>): Facts => facts({ account: account(fields) });
const ofFunction = (fields: Partial<FunctionFacts>): Facts =>
  facts({ functions: { countedUntilMs: NOON, each: [fn(fields)], unnamedMs: null, notWatched: 0 } });
const problem: ProblemFact = {
  ...{ id: "82960546e93054f9", name: "shop", count: 97, bornMs: ago(58 * MINUTE), resolvedMs: null },
  record: { script: "shop", atMs: ago(58 * MINUTE), rayId: null },
};

const failingShop = {
  ...{
    name: "shop",
    events: 492,
    failed: 123,
    overMs: 13 * MINUTE,
    latest: { events: 203, failed: 61, overMs: 3 * MINUTE },
    sinceMs: ago(58 * MINUTE),
    isNew: false,
    isLonger: false,
  },
};
const pending = (n: number): Pick<JobStatus, "counts"> => ({
  counts: { ...log().counts, received: n, delivered: 0, pending: n },
});
const status = (fields: Partial<AccountFacts["status"]>): AccountFacts["status"] => ({
  ...account().status,
  ...fields,
});
const ofStatus = (fields: Partial<AccountFacts["status"]>): Facts => ofAccount({ status: status(fields) });
const canary = (state: CanaryStatus["state"], why: string | null = null): Facts =>
  ofLog({ canary: { state, sinceMs: ago(7), lastOkMs: null, why } });
const manifests = (minutes: number): Facts =>
  ofLog({
    manifests: {
      ...{ lastName: null, lastSha256: null, lastMs: null, position: 0, isWaiting: true },
      ...{ failingSinceMs: ago(minutes * 60_000), why: "HTTP 403 AccessDenied" },
    },
  });
const kept = (refused: number, sinceMs: number) => ({ version: 1, kept: 0, given: 0, refused, sinceMs });
const past = (fields: Partial<JobFacts["past"]>): JobFacts["past"] => ({ ...job().past, ...fields });
const others = (lastReceivedMs: number): JobFacts => job({ id: 2, status: log({ lastReceivedMs }) });

const FAILS = { ...pending(5), errorMessage: "upload failed: HTTP 503; logship is retrying", lastErrorMs: ago(1) };
const PARKED = {
  ...pending(5),
  parked: true,
  errorMessage: "delivery paused: HTTP 403 AccessDenied; records are kept, …",
  failingSinceMs: ago(9),
};

const records = (count: number) => ({ count, what: "records" }) as const;
const events = (count: number) => ({ count, what: "events" }) as const;
const messages = (count: number) => ({ count, what: "messages" }) as const;
const objects = (count: number) => ({ count, what: "objects" }) as const;

/** Facts in which one thing is so much, or has been so for so long. */
const unrouted = (ms: number): Facts =>
  facts({ jobs: [], account: account({ past: { ...account().past, notRouted: mark(ago(ms), 9) } }) });
const nothingFor = (ms: number): Facts =>
  facts({
    jobs: [job({ enabledSinceMs: ago(ms), status: log({ lastReceivedMs: null }) })],
    account: account({ status: status({ counts: { ...account().status.counts, processed: 0, routed: 0 } }) }),
  });
const lastSeen = (ms: number): Facts => ofAccount({ usual: { lastMs: ago(ms), longestGapMs: HOUR } });
const intakeLost = (ms: number): Facts => ofAccount({ past: { ...account().past, intakeLost: mark(ago(ms), 4) } });
const stored = (storedBytes: number): Facts => ofStatus({ storedBytes });
const shardRestored = (ms: number): Facts => ofStatus({ restored: { who: "shard", job: 3, atMs: ago(ms) } });
const inSeconds = (...of: AccountFacts["status"]["inSeconds"]): Facts => ofStatus({ inSeconds: of });
const unfinished = (ms: number): Facts => ofStatus({ oldestUnfinishedMs: ago(ms) });
const waiting = (ms: number, batchMs: number): Facts =>
  ofStatus({ queueOldestMs: ago(ms), queueBacklog: 7, queueSeenMs: ago(batchMs) });
const backlog = (ms: number): Facts => ofAccount({ backlogSinceMs: ago(ms), status: status({ queueBacklog: 1_234 }) });
const expiring = (ms: number): Facts => ofJob({ destination: { kind: "ok", expiresMs: NOON + ms } });
const failingFor = (ms: number): Facts => ofLog({ ...FAILS, failingSinceMs: ago(ms) });
const late = (ms: number): Partial<JobStatus> => ({ ...pending(5), oldestPendingTakenMs: ago(ms) });
const filtered = (refused: number, ms: number): Facts =>
  ofJob({ hasFilter: true, past: past({ filter: kept(refused, ago(ms)) }) });
const sampled = (refused: number): Facts =>
  ofJob({ sampleRate: 0.1, past: past({ sample: kept(refused, ago(2 * HOUR)) }) });
const deletedFor = (ms: number, waiting: number): Facts =>
  ofJob({ enabledSinceMs: null, deletedMs: ago(ms) }, pending(waiting));
const unreadFor = (ms: number): Facts => ofLog({ unread: unread(ms) });
const onlyOthers = (lastMs: number): Facts =>
  facts({ jobs: [job({ status: log({ lastReceivedMs: ago(HOUR) }) }), others(lastMs)] });
const quietFor = (ms: number, longestGapMs: number): Facts => ofFunction({ usual: { lastMs: ago(ms), longestGapMs } });
const unseenFor = (ms: number): Facts => ofFunction({ logging: "on", setMs: ago(ms), lastEventMs: null, usual: null });
const dropping = (dropped: number): Facts => ofFunction({ logging: "off", setMs: ago(5), dropped, lastEventMs: NOON });

/** Kind, facts in which it is found, and the expected finding; where nothing is wrong it is not. */
const FOUND: [kind: string, from: Facts, found: Partial<Finding>][] = [
  [
    "configuration_malformed",
    facts({ configFaults: ["ADMIN_TOKEN: a secret", "SECRETS_KEY: base64"] }),
    { severity: "error", summary: "The configuration is malformed: ADMIN_TOKEN: a secret; SECRETS_KEY: base64." },
  ],
  ["control_silent", facts({ controlAnswered: false }), { severity: "warning" }],
  ["ledger_silent", facts({ account: "silent", functions: "silent" }), { severity: "warning" }],
  [
    "ledger_silent",
    facts({ functions: "silent" }),
    {
      severity: "warning",
      summary:
        "The account's ledger (counts of Workers) does not answer, so it is unknown whether any Worker has gone quiet.",
    },
  ],
  ["replays_silent", facts({ replays: "silent" }), { severity: "warning" }],
  ["attachments_silent", facts({ attachments: "silent" }), { severity: "warning" }],
  [
    "ledger_large",
    stored(8 * GB),
    {
      severity: "error",
      summary: "A shard of the log holds 8.0 of 8 GB, and accepts no more: messages wait in the queue.",
    },
  ],
  [
    "ledger_busy",
    ofStatus({ load: { parts: 1, bytes: 4_200_000 } }),
    { summary: "In the last ten minutes, a shard of the log took 4.2 MB a second, more than 4." },
  ],
  [
    "restored",
    ofStatus({ restored: { who: "reader", job: 3, atMs: ago(1) } }),
    {
      summary:
        "A reader of job 3 was restored to an earlier time. Records that it read since then are lost, or arrive a second time.",
    },
  ],
  [
    "functions_not_watched",
    facts({ functions: { countedUntilMs: NOON, each: [], unnamedMs: null, notWatched: 3 } }),
    { severity: "warning", subject: { type: "account" } },
  ],
  [
    "out_of_balance",
    ofLog({ counts: { ...log().counts, delivered: 98 } }),
    { severity: "error", subject: { type: "job", id: 1 }, affected: records(2) },
  ],
  [
    "job_unreadable",
    ofJob({ isUnreadable: true, destination: { kind: "unknown" } }, FAILS),
    { severity: "error", subject: { type: "job", id: 1 } },
  ],
  [
    "destination_unusable",
    ofJob({ destination: { kind: "unusable", why: "there is no secret DEST_X" } }),
    { summary: "Job 1 cannot use its destination: there is no secret DEST_X." },
  ],
  [
    "draining_stuck",
    ofJob({ enabledSinceMs: null, deletedMs: ago(1) }, PARKED),
    { severity: "error", sinceMs: ago(9) },
  ],
  ["log_silent", ofJob({ status: "silent" }), { severity: "warning", subject: { type: "job", id: 1 } }],
  [
    "unmade",
    unmade({ newer: 7 }),
    { severity: "warning", summary: "Job 1 has 7 records that need a newer version of logship." },
  ],
  [
    "objects_set_aside",
    ofLog({
      setAside: { objects: 2, records: 6, oldestMs: ago(3) },
      counts: { ...log().counts, delivered: 94, set_aside: 6 },
    }),
    { severity: "warning", sinceMs: ago(3), affected: objects(2) },
  ],
  [
    "replay_waiting",
    facts({
      replays: [7, 9].map((ms) => ({ id: `r${ms}`, job: 4, sinceMs: ago(ms), error: "HTTP 503", objectsLeft: ms })),
    }),
    {
      subject: { type: "job", id: 4 },
      sinceMs: ago(9),
      affected: objects(16),
      summary: "2 replays of job 4 cannot continue: HTTP 503.",
    },
  ],
  [
    "function_failing",
    facts({ failing: [failingShop] }),
    {
      ...{ severity: "warning", sinceMs: ago(58 * MINUTE), affected: events(123) },
      summary: `"shop" is failing: 123 of 492 requests (25 %) in the last 13 min, 61 of 203 (30 %) in the last 3, since 11:02 UTC.`,
    },
  ],
  [
    "problem_new",
    facts({ problems: [problem] }),
    {
      ...{ severity: "warning", sinceMs: ago(58 * MINUTE), problem: problem.id },
      affected: { count: 97, what: "records" },
      summary: '"shop" has a new problem: 97 records since 11:02 UTC (problem 82960546e93054f9).',
    },
  ],
  [
    "problem_regressed",
    facts({ problems: [{ ...problem, sender: "http:ci", resolvedMs: ago(30 * MINUTE) }] }),
    {
      ...{ severity: "warning", sinceMs: ago(30 * MINUTE), sender: "http:ci" },
      summary:
        '"shop", as sent by "http:ci", has a problem again that was resolved at 11:30 UTC (problem 82960546e93054f9).',
    },
  ],
  [
    "function_failing",
    facts({ failing: [{ ...failingShop, failed: 2, isLonger: true }] }),
    {
      summary: `"shop" is failing: 2 of 492 requests (0.4 %) in the last 13 min, 61 of 203 (30 %) in the last 3, for at least an hour.`,
    },
  ],
];

/** Kind, facts just below its threshold, facts above it, and the expected finding. */
const RULES: [kind: string, before: Facts, from: Facts, found: Partial<Finding>][] = [
  ...FOUND.map(([kind, from, found]): (typeof RULES)[number] => [kind, facts(), from, found]),
  ["no_job_enabled", unrouted(HOUR + 1), unrouted(HOUR), { sinceMs: ago(HOUR), affected: events(9) }],
  [
    "no_events",
    nothingFor(15 * MINUTE),
    nothingFor(15 * MINUTE + 1),
    { severity: "warning", sinceMs: ago(15 * MINUTE + 1) },
  ],
  ["no_events", lastSeen(2 * HOUR), lastSeen(2 * HOUR + 1), { severity: "warning", sinceMs: ago(2 * HOUR + 1) }],
  [
    "no_events",
    // Later events may be in the queue.
    facts({
      account: account({ usual: { lastMs: ago(2 * HOUR + 1), longestGapMs: HOUR } }),
      functions: { countedUntilMs: ago(1), each: [], unnamedMs: null, notWatched: 0 },
    }),
    lastSeen(2 * HOUR + 1),
    { severity: "warning" },
  ],
  ["intake_lost", intakeLost(DAY + 1), intakeLost(DAY), { severity: "error", sinceMs: ago(DAY), affected: events(4) }],
  [
    "times_in_seconds",
    inSeconds({ source: "http:ci", events: 3, lastMs: ago(DAY + 1) }),
    inSeconds(
      { source: "http:ci", events: 3, lastMs: ago(DAY) },
      { source: "", events: 1, lastMs: NOON },
      { source: "http:ci", events: 2, lastMs: NOON },
      { source: "rpc", events: 50, lastMs: ago(DAY + 1) },
    ),
    {
      ...{ severity: "warning", sinceMs: null, affected: events(6) },
      summary: 'logship got 6 events with times in seconds instead of milliseconds. They came from "http:ci", others.',
    },
  ],
  [
    "intake_unfit",
    ofAccount({ past: { ...account().past, intakeUnfit: { ...account().past.intakeUnfit, grewMs: ago(DAY + 1) } } }),
    ofAccount({ past: { ...account().past, intakeUnfit: { ...account().past.intakeUnfit, grewMs: ago(DAY), by: 2 } } }),
    { severity: "error", affected: events(2), summary: expect.stringContaining("too large for a record") },
  ],
  [
    "sender_crowds",
    facts(),
    ofStatus({
      crowded: [
        { source: "http:ci", what: "refused" },
        { source: "http:ci", what: "summed" },
      ],
    }),
    { sender: "http:ci", summary: expect.stringMatching(/^logship refuses requests of "http:ci": /) },
  ],
  ["ledger_large", stored(4 * GB - 1), stored(4 * GB), { severity: "warning", affected: null }],
  [
    "ledger_busy",
    ofStatus({ load: { parts: 75, bytes: 4_000_000 } }),
    ofStatus({ load: { parts: 75.1, bytes: 4_000_000 } }),
    {
      severity: "warning",
      summary: "In the last ten minutes, a shard of the log took 76 parts a second, more than 75.",
    },
  ],
  ["restored", shardRestored(DAY + 1), shardRestored(DAY), { severity: "error", sinceMs: ago(DAY), affected: null }],
  [
    "queue_old",
    unfinished(15 * MINUTE),
    unfinished(15 * MINUTE + 1),
    { severity: "error", sinceMs: ago(15 * MINUTE + 1), affected: null },
  ],
  [
    "queue_old",
    waiting(15 * MINUTE, 15 * MINUTE + 1),
    waiting(15 * MINUTE + 1, 15 * MINUTE + 1),
    {
      ...{ severity: "error", sinceMs: ago(15 * MINUTE + 1), affected: messages(7) },
      summary: "The queue holds 7 messages, and none of them has got through for a quarter of an hour.",
      advice: expect.stringContaining("wrangler queues resume-delivery"),
    },
  ],
  [
    "queue_old",
    waiting(15 * MINUTE + 1, 15 * MINUTE),
    ofStatus({ queueOldestMs: ago(16 * MINUTE), queueBacklog: 7, queueSeenMs: null }),
    { sinceMs: ago(16 * MINUTE) },
  ],
  [
    "queue_old",
    ofStatus({ oldestUnfinishedMs: ago(15 * MINUTE), queueOldestMs: null }),
    ofStatus({ oldestUnfinishedMs: ago(16 * MINUTE), queueOldestMs: ago(20 * MINUTE) }),
    { sinceMs: ago(20 * MINUTE), summary: expect.stringMatching(/^The queue keeps redelivering messages/) },
  ],
  ["queue_backlog", backlog(15 * MINUTE), backlog(15 * MINUTE + 1), { severity: "warning", affected: messages(1_234) }],
  [
    "queue_large",
    ofStatus({ queueBytes: 12.5 * GB - 1, queueBacklog: 200_000 }),
    ofStatus({ queueBytes: 12.5 * GB, queueBacklog: 200_000 }),
    {
      severity: "warning",
      summary: expect.stringContaining("holds 12.5 of 25 GB"),
      affected: messages(200_000),
    },
  ],
  [
    "queue_large",
    ofStatus({ queueBytes: null }),
    ofStatus({ queueBytes: 22.5 * GB, queueBacklog: null }),
    { severity: "error", affected: null },
  ],
  [
    "messages_set_aside",
    ofAccount({ setAside: { messages: 0, events: 0, oldestMs: null, stopsClaims: false } }),
    ofAccount({ setAside: { messages: 2, events: 60, oldestMs: ago(5), stopsClaims: false } }),
    { severity: "warning", sinceMs: ago(5), affected: messages(2) },
  ],
  [
    "functions_more",
    facts({ functions: { countedUntilMs: NOON, each: many(NAMED_MAX), unnamedMs: null, notWatched: 0 } }),
    facts({ functions: { countedUntilMs: NOON, each: many(NAMED_MAX + 7), unnamedMs: null, notWatched: 0 } }),
    { summary: expect.stringMatching(/^7 Workers have a problem and no finding of their own: .* and 2 more\.$/) },
  ],
  [
    "out_of_balance",
    // Set aside, then discarded.
    ofStatus({ counts: { ...account().status.counts, processed: 103, discarded: 3 } }),
    ofStatus({ counts: { ...account().status.counts, processed: 103 } }),
    { severity: "error", affected: events(3) },
  ],
  [
    "key_lost",
    ofJob({ destination: { kind: "unknown" } }),
    ofJob({ destination: { kind: "lost" } }, FAILS),
    { affected: records(5) },
  ],
  [
    "credentials_expire",
    expiring(30 * DAY + 1),
    expiring(30 * DAY),
    {
      severity: "warning",
      sinceMs: NOON,
      summary: `Job 1's credentials for its destination expire at ${new Date(NOON + 30 * DAY).toISOString()}.`,
    },
  ],
  [
    "credentials_expire",
    // It says so itself.
    ofJob({ destination: { kind: "ok", expiresMs: NOON } }, PARKED),
    expiring(0),
    { severity: "error", summary: expect.stringContaining(" expired at ") },
  ],
  [
    "parked",
    ofLog({ ...PARKED, ...pending(0) }),
    ofLog(PARKED),
    { severity: "error", sinceMs: ago(9), affected: records(5) },
  ],
  [
    "failing",
    failingFor(2 * MINUTE),
    failingFor(2 * MINUTE + 1),
    { severity: "error", summary: "Uploads of job 1 fail: the destination answers HTTP 503." },
  ],
  [
    "lagging",
    ofLog(late(30 * SECOND + 15 * SECOND + 5 * MINUTE)),
    ofLog(late(30 * SECOND + 15 * SECOND + 5 * MINUTE + 1)),
    { severity: "warning", affected: records(5) },
  ],
  [
    "nothing_received",
    onlyOthers(ago(HOUR - 15 * MINUTE)),
    onlyOthers(ago(HOUR - 15 * MINUTE) + 1),
    { severity: "error", sinceMs: ago(HOUR), subject: { type: "job", id: 1 } },
  ],
  [
    "filter_keeps_nothing",
    filtered(19, HOUR + 1),
    filtered(20, HOUR + 1),
    { sinceMs: ago(HOUR + 1), affected: records(20) },
  ],
  ["filter_keeps_nothing", filtered(20, HOUR), filtered(20, HOUR + 1), { severity: "warning" }],
  ["sample_keeps_nothing", sampled(199), sampled(200), { affected: records(200) }],
  ["extra_field_off", ofJob({}), ofJob({ fieldsOff: ["Source"] }), { severity: "warning", affected: null }],
  [
    "disabled_with_pending",
    ofJob({ enabledSinceMs: null }, late(5 * MINUTE + 45 * SECOND)),
    ofJob({ enabledSinceMs: null }, late(5 * MINUTE + 45 * SECOND + 1)),
    { severity: "warning" },
  ],
  [
    "past_incomplete",
    ofJob({}, { lost: null }),
    ofJob({}, { lost: [ago(3), ago(2)] }),
    { severity: "warning", sinceMs: ago(3) },
  ],
  [
    "past_incomplete",
    ofJob({}, { lost: [ago(9 * DAY), ago(7 * DAY + 1)] }),
    ofJob({}, { lost: [ago(9 * DAY), ago(7 * DAY)] }),
    { severity: "warning", sinceMs: ago(9 * DAY) },
  ],
  ["draining", deletedFor(1, 0), deletedFor(1, 5), { severity: "warning", sinceMs: ago(1) }],
  ["draining_stuck", deletedFor(HOUR, 5), deletedFor(HOUR + 1, 5), { severity: "error", sinceMs: ago(HOUR + 1) }],
  [
    "unread",
    unreadFor(10.5 * MINUTE),
    unreadFor(10.5 * MINUTE + 1),
    { severity: "warning", sinceMs: ago(10.5 * MINUTE + 1), affected: records(7) },
  ],
  [
    "unmade",
    unmade({ entries: 0 }),
    unmade({ poison: 2, newer: 7 }),
    {
      severity: "error",
      sinceMs: ago(3),
      affected: records(9),
      summary: "Job 1 has 2 records on hold that crash the process that prepares records.",
    },
  ],
  [
    "log_large",
    ofLog({ ...pending(5), openBytes: 4 * GB - 1 }),
    ofLog({ ...pending(5), openBytes: 4 * GB }),
    { severity: "warning", summary: expect.stringContaining("holds 4 GB") },
  ],
  [
    "log_large",
    ofLog({ ...pending(0), storedBytes: 12 * GB, segments: 2, openBytes: 4 * GB - 1 }),
    ofLog({ ...pending(0), storedBytes: 12 * GB, segments: 2, openBytes: 4 * GB }),
    { severity: "warning", summary: expect.stringContaining("holds 4.0 of the 8 GB of a segment") },
  ],
  ["log_large", ofLog({ ...pending(0), segments: 2 }), ofLog({ ...pending(5), segments: 2 }), { severity: "error" }],
  [
    "many_scripts",
    ofLog({ scripts: 64 }),
    ofLog({ scripts: 65, lastDay: { objects: 7, bytes: 9 } }),
    {
      severity: "warning",
      summary:
        "{SCRIPT} in the path of job 1 makes separate objects for 65 Workers: up to 187200 a day, and 7 in the last 24 hours.",
    },
  ],
  [
    "canary_failed",
    canary("waiting"),
    canary("failed", "HTTP 404 NoSuchBucket"),
    { severity: "error", sinceMs: ago(7) },
  ],
  ["canary_missing", canary("ok"), canary("missing"), { severity: "error" }],
  ["canary_damaged", canary("ok"), canary("damaged"), { severity: "error" }],
  [
    "canary_unreadable",
    canary("ok"),
    canary("unreadable", "HTTP 403 AccessDenied"),
    { severity: "warning", summary: expect.stringContaining("(HTTP 403 AccessDenied)") },
  ],
  [
    "manifest_failing",
    manifests(29),
    manifests(30),
    { severity: "warning", sinceMs: ago(30 * 60_000), summary: expect.stringContaining("(HTTP 403 AccessDenied)") },
  ],
  ["function_off", dropping(0), dropping(1), { severity: "warning", sinceMs: ago(5), affected: events(1) }],
  [
    "function_quiet",
    quietFor(30 * MINUTE, 0),
    quietFor(30 * MINUTE + 1, 0),
    { severity: "warning", sinceMs: ago(30 * MINUTE + 1), subject: { type: "function", name: "shop" } },
  ],
  [
    "function_quiet",
    quietFor(12 * HOUR, 6 * HOUR),
    quietFor(12 * HOUR + 1, 6 * HOUR),
    { summary: expect.stringContaining("was 6 hours") },
  ],
  [
    "function_slow",
    facts({ slow: [] }),
    facts({ slow: [SLOW] }),
    {
      ...{ severity: "warning", sinceMs: ago(HOUR), affected: { count: 61, what: "events" } },
      summary: `"shop" is slow: p95 1.25 s in the last 13 min, 210 ms the day before; 61 of 203 requests (30 %) took over twice as long, since ${new Date(ago(HOUR)).toISOString().slice(11, 16)} UTC.`,
    },
  ],
  [
    "function_slow",
    facts({ slow: [] }),
    facts({ slow: [{ ...SLOW, isLonger: true, sender: "http:ci" }] }),
    { sender: "http:ci", summary: expect.stringMatching(/as sent by "http:ci", is slow.* for at least an hour\.$/) },
  ],
  [
    "function_kind_quiet",
    withCron(NOON),
    withCron(NOON - 1),
    { severity: "warning", sinceMs: ago(HOUR), summary: '"shop" has missed its cron "*/30 * * * *" twice in a row.' },
  ],
  ["function_never_seen", unseenFor(HOUR), unseenFor(HOUR + 1), { severity: "warning", sinceMs: ago(HOUR + 1) }],
  [
    "attachment_undone",
    attached("attached", 4),
    attached("undone", 4),
    { severity: "error", sinceMs: ago(4), subject: { type: "function", name: "shop" } },
  ],
  ["attachment_unknown", attached("unknown", HOUR), attached("unknown", HOUR + 1), { severity: "warning" }],
  ["attachment_unknown", attached("gone", DAY), attached("unknown", DAY), { severity: "warning" }],
  [
    "search_alert",
    searched({ value: 9, standing: "past", pastSinceMs: ago(MINUTE - 1) }),
    searched({ value: 9, standing: "past", pastSinceMs: ago(MINUTE) }),
    { severity: "error", sinceMs: ago(MINUTE), subject: { type: "search", id: 7, name: "Mine" } },
  ],
  [
    "search_alert",
    searched({ value: null, standing: "unknown", pastSinceMs: ago(DAY) }),
    searched({ value: null, standing: "past", pastSinceMs: ago(DAY) }),
    { affected: { count: 0, what: "records" } },
  ],
];

function withCron(quietAfterMs: number): Facts {
  const cron = { name: "shop", kind: "cron */30 * * * *", lastMs: ago(HOUR), by: "cron", everyMs: 0 } as const;
  const kinds = [{ ...cron, quietAfterMs }];
  return facts({ functions: { countedUntilMs: NOON, each: [], unnamedMs: null, notWatched: 0, kinds } });
}

/** A search whose threshold must be passed for a minute. */
function searched(fields: Partial<SearchFact>): Facts {
  const alert = { measure: { op: "count" }, threshold: 9, when: "at_least", overMs: MINUTE, forMs: MINUTE } as const;
  const search = {
    id: 7,
    stamp: "1.m",
    sinceMs: 0,
    name: "Mine",
    query: "x",
    alert: { ...alert, severity: "error" } as const,
  };
  return facts({ searches: [{ search, value: 9, standing: "well", pastSinceMs: null, dueMs: null, ...fields }] });
}

function attached(state: KnownAttachment["state"], sinceAgoMs: number): Facts {
  return facts({
    attachments: [{ script: "shop", state, sinceMs: ago(sinceAgoMs), why: "it lists no tail consumer" }],
  });
}

function many(count: number): FunctionFacts[] {
  return Array.from({ length: count }, (_, n) => fn({ name: `f${n}`, usual: { lastMs: ago(DAY), longestGapMs: 0 } }));
}

const kindsOf = (of: Facts): string[] => findingsOf(of).map(({ kind }) => kind);

describe("the rules", () => {
  it("say nothing where nothing is wrong", () => {
    expect(findingsOf(facts())).toEqual([]);
    expect(findingsOf(facts({ jobs: [] }))).toEqual([]);
  });

  it("are all here", () => {
    expect([...new Set(RULES.map(([kind]) => kind))].toSorted()).toEqual([...KINDS].toSorted());
  });

  it.each(RULES)("%s: not before, and then in these words", (kind, before, from, found) => {
    expect(kindsOf(before)).not.toContain(kind);
    const [said, ...more] = findingsOf(from).filter((finding) => finding.kind === kind);
    expect(more).toEqual([]);
    expect(said).toMatchObject(found);
    for (const words of [said?.summary, said?.advice]) {
      expect(words).toMatch(/^\S.*\.$/);
      expect(words).not.toMatch(/undefined|null|NaN|\[object/);
    }
  });

  it("give a fault one name: what a job is parked for is not said again as a lag, or as failing", () => {
    const late = { oldestPendingTakenMs: ago(DAY) };
    expect(kindsOf(ofLog({ ...PARKED, ...late, failingSinceMs: ago(DAY) }))).toEqual(["parked"]);
    expect(kindsOf(ofLog({ ...FAILS, ...late, failingSinceMs: ago(DAY) }))).toEqual(["failing"]);
    expect(kindsOf(ofJob({ destination: { kind: "lost" } }, { ...PARKED, ...late }))).toEqual(["key_lost"]);
    expect(kindsOf(ofJob({ enabledSinceMs: null }, { ...PARKED, ...late }))).toEqual([
      "parked",
      "disabled_with_pending",
    ]);
    expect(kindsOf(ofJob({ deletedMs: ago(1), enabledSinceMs: null, destination: { kind: "lost" } }, PARKED))).toEqual([
      "draining_stuck",
    ]);
  });

  it("say that a job does not read the log, and not that it lags, or gets nothing", () => {
    const old = unread(DAY);
    const late = { ...pending(7), oldestPendingTakenMs: ago(DAY) };
    expect(kindsOf(ofLog({ ...late, unread: old }))).toEqual(["unread"]);
    // What its reader has is late as well.
    expect(kindsOf(ofLog({ ...late, oldestPendingTakenMs: ago(DAY + 1), unread: old }))).toEqual(["lagging", "unread"]);
    const jobs = [job({ status: log({ lastReceivedMs: ago(HOUR), unread: old }) }), others(NOON)];
    expect(kindsOf(facts({ jobs }))).toEqual(["unread"]);
  });

  it("call what grows an error, and what rests a warning", () => {
    const grown = (ms: number): string[] =>
      findingsOf(
        facts({
          jobs: [
            job({
              status: log({
                setAside: { objects: 1, records: 6, oldestMs: null },
                counts: { ...log().counts, delivered: 94, set_aside: 6 },
              }),
              past: past({ setAside: mark(ago(ms), 6) }),
            }),
          ],
          account: account({
            setAside: { messages: 1, events: 1, oldestMs: null, stopsClaims: false },
            past: { ...account().past, setAside: mark(ago(ms), 1) },
          }),
        }),
      ).map(({ severity, kind }) => `${severity} ${kind}`);
    expect(grown(HOUR)).toEqual(["error messages_set_aside", "error objects_set_aside"]);
    expect(grown(HOUR + 1)).toEqual(["warning messages_set_aside", "warning objects_set_aside"]);
  });

  it("do not miss a job's events that may be on their way, or that it was not enabled for", () => {
    const jobs = [job({ enabledSinceMs: ago(HOUR), status: log({ lastReceivedMs: null }) }), others(ago(0))];
    expect(kindsOf(facts({ jobs }))).toEqual(["nothing_received"]);
    const counted = (countedUntilMs: number): Facts["functions"] => ({
      countedUntilMs,
      each: [],
      unnamedMs: null,
      notWatched: 0,
    });
    expect(kindsOf(facts({ jobs, functions: counted(ago(45 * MINUTE)) }))).toEqual([]);
    expect(kindsOf(facts({ jobs: [job({ ...jobs[0], enabledSinceMs: null }), others(NOON)] }))).toEqual([]);
  });

  it("leave functions alone whose events may be on their way, or that are off", () => {
    const usual = { lastMs: ago(2 * HOUR), longestGapMs: 0 };
    const of = (fields: Partial<FunctionFacts>, countedUntilMs: number): string[] =>
      kindsOf(
        facts({ functions: { countedUntilMs, each: [fn({ usual, ...fields })], unnamedMs: null, notWatched: 0 } }),
      );
    expect(of({}, NOON)).toEqual(["function_quiet"]);
    expect(of({}, ago(90 * MINUTE))).toEqual([]);
    expect(of({ logging: "off" }, NOON)).toEqual([]);
  });

  it("put the worst first, then the account, jobs by number, functions by name", () => {
    const world = facts({
      jobs: [
        job({ id: 12, status: "silent" }),
        job({ id: 3, status: "silent" }),
        job({ id: 5, destination: { kind: "lost" } }),
      ],
      attachments: "silent",
      functions: {
        countedUntilMs: NOON,
        each: ["b", "a"].map((name) => fn({ name, usual: { lastMs: 0, longestGapMs: 0 } })),
        unnamedMs: null,
        notWatched: 0,
      },
    });
    const said = findingsOf(world).map(({ kind, subject }) => [kind, ...Object.values(subject).slice(1)].join(" "));
    expect(said).toEqual([
      "key_lost 5",
      "attachments_silent",
      "log_silent 3",
      "log_silent 12",
      "function_quiet a",
      "function_quiet b",
    ]);
    const turned = { ...world, jobs: world.jobs.toReversed() };
    expect(findingsOf(turned)).toEqual(findingsOf(world));
  });
});

describe("a rerun", () => {
  const refused = {
    setAside: { objects: 1, records: 45, oldestMs: ago(3) },
    counts: { ...log().counts, delivered: 55, set_aside: 45 },
  };
  const said = (jobs: JobFacts[]): Finding[] => findingsOf(facts({ jobs }));

  it("has findings of its own about what it could not ship, which name it and its job", () => {
    const poison = { ...log().unmade, entries: 1, poison: 2 };
    const counts = { ...refused.counts, delivered: 54 };
    expect(said([job(), rerunOfOne({ status: log({ ...refused, unmade: poison, counts }) })])).toMatchObject([
      { kind: "out_of_balance", summary: expect.stringContaining("job 1's rerun r16 does not add up") },
      { kind: "unmade", summary: expect.stringContaining("Job 1's rerun r16 has 2 records on hold") },
      {
        ...{ kind: "objects_set_aside", severity: "warning", subject: { type: "job", id: 1 }, rerun: "r16" },
        summary: "The destination rejects objects of job 1's rerun r16. logship keeps 45 records on hold.",
        advice: expect.stringMatching(/^The job's page of replays shows the destination's answers\./),
      },
    ]);
    expect(said([job(), rerunOfOne({ status: "silent" })])).toMatchObject([{ kind: "log_silent", rerun: "r16" }]);
    // What it has to read may take long, and it has no user who would change it.
    expect(said([job(), rerunOfOne({ status: log({ unread: unread(DAY) }), fieldsOff: ["x"] })])).toEqual([]);
  });

  it("is another problem than its job, and than another rerun, in whatever order they are told", () => {
    const of = (id: number): JobFacts => rerunOfOne({ id, status: log(refused) });
    const jobs = [job({ status: log(refused) }), of(16), of(17)];
    expect(said(jobs).map(({ rerun }) => rerun)).toEqual([undefined, "r16", "r17"]);
    expect(new Set(said(jobs).map(keyOf)).size).toBe(3);
    expect(said(jobs.toReversed())).toEqual(said(jobs));
    const silent = facts({ jobs: [job(), rerunOfOne({ status: "silent" })] });
    const untold = (rerun?: string): boolean =>
      isUnknown(silent, { subject: { type: "job", id: 1 }, kind: "objects_set_aside", ...(rerun && { rerun }) });
    expect([untold(), untold("r16"), untold("r17")]).toEqual([false, true, false]);
    const [, finding] = said(jobs);
    expect(linkTo("https://logs.example.com", finding as Finding)).toBe("https://logs.example.com/jobs/1/replay");
  });
});

describe("what is not told", () => {
  const ofOne = { type: "job", id: 1 } as const;
  const shop = { type: "function", name: "shop" } as const;
  const silentOther = job({ id: 2, status: "silent" });
  const QUIET = { lastMs: ago(HOUR), longestGapMs: 0 };
  const LOUD = { lastMs: ago(MINUTE), longestGapMs: 0 };
  /** A message of half an hour ago is being redelivered. */
  const waiting = (usual: { lastMs: number; longestGapMs: number }): Facts =>
    facts({
      account: account({ usual }),
      functions: { countedUntilMs: ago(31 * MINUTE), each: [fn({ usual })], unnamedMs: null, notWatched: 0 },
    });
  const unnamed = (unnamedMs: number): Facts => {
    const each = [fn({ usual: QUIET, lastEventMs: QUIET.lastMs })];
    return facts({ functions: { countedUntilMs: NOON, each, unnamedMs, notWatched: 0 } });
  };
  const nameOf = (n: number): string => `shop-${String(n).padStart(3, "0")}`;
  const undone = (count: number): KnownAttachment[] =>
    Array.from({ length: count }, (_, n) => ({ script: nameOf(n), state: "undone", sinceMs: ago(1), why: "…" }));
  const last = { type: "function", name: nameOf(NAMED_MAX) } as const;
  it.each<[string, Facts, Finding["subject"], string, boolean]>([
    ["nothing is, where all tell", facts(), ofOne, "parked", false],
    ["what only a log knows", ofJob({ status: "silent" }), ofOne, "parked", true],
    ["but not that it is silent", ofJob({ status: "silent" }), ofOne, "log_silent", false],
    ["nor whether it is read", ofJob({ status: "silent" }), ofOne, "unread", true],
    ["nor that no key opens its destination", ofJob({ status: "silent" }), ofOne, "key_lost", false],
    ["unless nothing can be opened", ofJob({ destination: { kind: "unknown" } }), ofOne, "key_lost", true],
    ["a job that nobody has told of", facts({ jobs: [], controlAnswered: false }), ofOne, "parked", true],
    ["but one that is gone, is", facts({ jobs: [] }), ofOne, "parked", false],
    ["what the ledger knows", facts({ account: "silent" }), { type: "account" }, "intake_lost", true],
    ["how large it is", facts({ account: "silent" }), { type: "account" }, "ledger_large", true],
    ["and how busy", facts({ account: "silent" }), { type: "account" }, "ledger_busy", true],
    ["and how much waits", facts({ account: "silent" }), { type: "account" }, "queue_large", true],
    ["whether any job is enabled", facts({ controlAnswered: false }), { type: "account" }, "no_job_enabled", true],
    ["that a job gets nothing", facts({ account: "silent" }), ofOne, "nothing_received", true],
    ["nor that it does, without functions", facts({ functions: "silent" }), ofOne, "nothing_received", true],
    ["nor without what others get", facts({ jobs: [job(), silentOther] }), ofOne, "nothing_received", true],
    ["but for what a job does by itself", facts({ jobs: [job(), silentOther] }), ofOne, "parked", false],
    ["whether any event comes", facts({ functions: "silent" }), { type: "account" }, "no_events", true],
    ["whether any comes that is on its way", waiting(QUIET), { type: "account" }, "no_events", true],
    ["which it is not, where something came", waiting(LOUD), { type: "account" }, "no_events", false],
    ["whether a function is quiet, or waits", waiting(QUIET), shop, "function_quiet", true],
    ["which it does not, where it came", waiting(LOUD), shop, "function_quiet", false],
    ["whether one is quiet, or has no name left", unnamed(ago(1)), shop, "function_quiet", true],
    ["whether one ever came, or had no name", unnamed(ago(1)), shop, "function_never_seen", true],
    ["but what was named since, is", unnamed(ago(HOUR + 1)), shop, "function_quiet", false],
    ["of one too many to be named", facts({ attachments: undone(NAMED_MAX + 1) }), last, "attachment_undone", true],
    ["but not of one that is well", facts({ attachments: undone(NAMED_MAX) }), last, "attachment_undone", false],
    ["but for an extra field, which its settings tell", ofJob({ status: "silent" }), ofOne, "extra_field_off", false],
    ["what waits to be shipped again", facts({ replays: "silent" }), ofOne, "replay_waiting", true],
    [
      "or whether a rerun does",
      facts({ jobs: [job(), rerunOfOne({ status: "silent" })] }),
      ofOne,
      "replay_waiting",
      true,
    ],
    ["which one that answers tells", facts({ jobs: [job(), rerunOfOne()] }), ofOne, "replay_waiting", false],
    ["of how many functions", facts({ functions: "silent" }), { type: "account" }, "functions_not_watched", true],
    ["of how many more", facts({ attachments: "silent" }), { type: "account" }, "functions_more", true],
    ["of functions, without the ledger", facts({ functions: "silent" }), shop, "function_quiet", true],
    ["of functions, without their settings", facts({ controlAnswered: false }), shop, "function_off", true],
    ["whether they are attached", facts({ attachments: "silent" }), shop, "attachment_undone", true],
    ["whether they fail", facts({ failing: "silent" }), shop, "function_failing", true],
    ["of its problems", facts({ problems: "silent" }), shop, "problem_new", true],
    ["of how many problems more", facts({ problems: "silent" }), { type: "account" }, "functions_more", true],
    ["and otherwise not", facts(), shop, "problem_new", false],
    ["and otherwise not", facts(), shop, "function_failing", false],
    ["and otherwise not", facts(), shop, "function_quiet", false],
  ])("%s", (_what, of, subject, kind, untold) => {
    expect(isUnknown(of, { subject, kind })).toBe(untold);
  });
});

describe("words", () => {
  it.each([
    ["upload failed: HTTP 503 SlowDown; logship is retrying", "the destination answers HTTP 503 SlowDown"],
    ["delivery paused: HTTP 301; records are kept", "the destination answers HTTP 301"],
    ["upload failed: timeout; logship is retrying", "the destination does not answer in time"],
    ["upload failed: connection failed; logship is retrying", "the connection to the destination fails"],
    ["upload failed: HTTP 200, but the object is not there; it is …", "the destination does not keep what it accepts"],
    ["upload failed: the store keeps 3 of 9 bytes; it is …", "the destination does not keep what it accepts"],
    ["delivery paused: configuration: SECRETS_KEY: base64", "the configuration is malformed"],
    ["the store says of every key that another object stands there", "another object already exists at every key"],
    ["anything that a record says", "see the error_message of the job"],
    [null, "see the error_message of the job"],
  ])("%s", (message, cause) => expect(causeIn(message)).toBe(cause));

  it("advise what to change, and say that records are kept", () => {
    for (const message of [
      "delivery paused: HTTP 403 QuotaExceeded; records are kept",
      "delivery paused: anything",
      null,
    ]) {
      const advice = parkedAdvice(message);
      expect(advice).toContain(remedyFor(message) ?? "Read the job's error_message");
      expect(advice).toMatch(/change the job's destination\. Records are kept/);
    }
  });

  it("show a name as it may stand in a sentence", () => {
    expect(shown("shop")).toBe('"shop"');
    expect(shown('a"\n\u202eb')).toBe('"a\ufffd\ufffd\ufffdb"');
    expect(shown("x".repeat(65))).toBe(`"${"x".repeat(64)}…"`);
    expect(shown("\ud800")).toBe('"\ufffd"');
  });

  it("round a span down", () => {
    expect([0, 59_999, 60_000, HOUR - 1, HOUR, DAY - 1, DAY, 3 * DAY].map(span)).toEqual([
      "less than a minute",
      "less than a minute",
      "1 minute",
      "59 minutes",
      "1 hour",
      "23 hours",
      "1 day",
      "3 days",
    ]);
  });
});

describe("problems", () => {
  const many = (n: number, fields: Partial<ProblemFact> = {}): ProblemFact[] =>
    Array.from({ length: n }, (_, i) => ({ ...problem, id: `${i}`, ...fields }));

  it("of one function are findings of their own, and some are named", () => {
    const found = findingsOf(facts({ problems: many(2) }));
    expect(new Set(found.map(keyOf)).size).toBe(2);
    const kinds = findingsOf(facts({ problems: many(50) })).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "problem_new")).toHaveLength(20);
    expect(kinds.filter((kind) => kind === "functions_more")).toHaveLength(1);
    const sent = findingsOf(facts({ problems: many(50, { sender: "http:ci" }) })).map(({ kind }) => kind);
    expect(sent.filter((kind) => kind === "problem_new")).toHaveLength(5);
  });

  it("that are counted with others are unknown, not over", () => {
    const one = { subject: { type: "function", name: "shop" }, kind: "problem_new", problem: "49" } as const;
    expect(isUnknown(facts({ problems: many(50) }), one)).toBe(true);
    expect(isUnknown(facts({ problems: many(40) }), one)).toBe(false);
  });
});

describe("functions that a sender names", () => {
  const failingNames = (n: number, fields: Partial<FailingFunction> = {}): FailingFunction[] =>
    Array.from({ length: n }, (_, i) => ({ ...failingShop, isNew: true, name: `f${i}`, sender: "http:ci", ...fields }));
  const found = (failing: readonly FailingFunction[]) => findingsOf(facts({ failing }));

  it("within the hour are one finding, beside those that the platform names", () => {
    const said = found([...failingNames(190), failingShop, ...failingNames(2, { sender: "rpc" })]);
    expect(said.map(({ kind, sender }) => [kind, sender])).toEqual([
      ["functions_more", "http:ci"],
      ["functions_more", "rpc"],
      ["function_failing", undefined],
    ]);
    expect(said[0]?.summary).toBe(
      '190 Workers that "http:ci" names have a problem and no finding of their own: "f0", "f1", "f2", "f3", "f4" and 185 more.',
    );
  });

  it("are named with the sender: a single one, and some that are known for longer", () => {
    expect(found(failingNames(1))).toMatchObject([
      {
        kind: "function_failing",
        sender: "http:ci",
        summary: expect.stringMatching(/^"f0", as sent by "http:ci", is failing: /),
      },
    ]);
    const known = found(failingNames(50, { isNew: false }));
    expect(known.map(({ kind }) => kind).toSorted()).toEqual([...Array(5).fill("function_failing"), "functions_more"]);
  });

  it("are unknown, not over, where they are counted with others", () => {
    const one = { subject: { type: "function", name: "f9" }, kind: "function_failing", sender: "http:ci" } as const;
    expect(isUnknown(facts({ failing: failingNames(50) }), one)).toBe(true);
    expect(isUnknown(facts({ failing: failingNames(9) }), one)).toBe(false);
  });

  it("and are quiet are no more findings than that either; one that has a setting is its user's", () => {
    const usual = { lastMs: ago(DAY), longestGapMs: 0, sender: "http:ci" };
    const each = Array.from({ length: 50 }, (_, n) =>
      fn({ name: `f${n}`, usual, lastEventMs: null, sender: "http:ci" }),
    );
    const said = findingsOf(facts({ functions: { countedUntilMs: NOON, each, unnamedMs: null, notWatched: 0 } }));
    expect(said).toHaveLength(6);
    const setting = { name: "f0", logging: "on" as const, tailConsumers: null, modifiedMs: 0 };
    const [own, other] = functionFacts(
      {
        lately: [],
        settings: [setting],
        usual: new Map([
          ["f0", usual],
          ["f1", usual],
        ]),
      },
      new Map(),
    );
    expect([own?.sender, other?.sender]).toEqual([undefined, "http:ci"]);
  });
});
