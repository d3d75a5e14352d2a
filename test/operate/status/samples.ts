/** Facts of a healthy account; each test changes some. */

import type { AccountFacts, Facts, FunctionFacts, JobFacts } from "../../../src/operate/status/facts.ts";
import type { Mark } from "../../../src/operate/status/marks.ts";
import type { JobStatus } from "../../../src/ship/reader/statuses.ts";
import { NOON } from "../../formats/record/samples.ts";

const DAY_MS = 86_400_000;

export function facts(fields: Partial<Facts> = {}): Facts {
  return {
    nowMs: NOON,
    configFaults: [],
    controlAnswered: true,
    jobs: [job()],
    account: account(),
    functions: { countedUntilMs: NOON, each: [fn()], unnamedMs: null, notWatched: 0 },
    failing: [],
    problems: [],
    replays: [],
    attachments: [],
    searches: [],
    ...fields,
  };
}

export function job(fields: Partial<JobFacts> = {}): JobFacts {
  return {
    id: 1,
    enabledSinceMs: NOON - DAY_MS,
    deletedMs: null,
    intervalMs: 30_000,
    hasFilter: false,
    sampleRate: 1,
    modifiedVersion: 1,
    destination: { kind: "ok" },
    status: log(),
    past: { filter: null, sample: null, setAside: null },
    ...fields,
  };
}

export function log(fields: Partial<JobStatus> = {}): JobStatus {
  return {
    counts: { received: 100, filtered: 0, sampled_out: 0, delivered: 100, pending: 0, set_aside: 0, discarded: 0 },
    ...{ pendingObjects: 0, deliveredObjects: 1, hasPast: false, lost: null },
    oldestPendingTakenMs: null,
    oldestHeldTakenMs: null,
    openBytes: 100_000,
    lastDay: { objects: 1, bytes: 1_000_000 },
    manifests: null,
    resentInDoubt: 0,
    deliveredRawBytes: 1,
    deliveredBytes: 1,
    lastCompleteMs: null,
    lastErrorMs: null,
    errorMessage: null,
    lastReceivedMs: NOON - 1_000,
    failingSinceMs: null,
    parked: false,
    storedBytes: 100_000,
    segments: 1,
    setAside: { objects: 0, records: 0, oldestMs: null },
    unread: { records: 0, bytes: 0, oldestMs: null, sinceMs: null },
    unmade: { poison: 0, newer: 0, entries: 0, oldestTakenMs: null, oldestAtMs: null },
    canary: null,
    replayed: { objects: 0, records: 0, bytes: 0 },
    sealed: false,
    ...fields,
  };
}

export function account(fields: Partial<AccountFacts> = {}): AccountFacts {
  return {
    status: {
      counts: { processed: 100, routed: 100, not_enabled: 0, not_routed: 0, set_aside: 0, discarded: 0 },
      ...{ intakeLost: 0, intakeUnfit: 0, crowded: [] },
      oldestUnfinishedMs: null,
      ...{ queueBacklog: 0, queueBytes: 0, queueSeenMs: NOON - 1_000 },
      setAsideMessages: { messages: 0, events: 0, oldestMs: null, stopsClaims: false },
      ...{ storedBytes: 1, load: null, failing: [], inSeconds: [], restored: null, keptSinceMs: null },
    },
    setAside: { messages: 0, events: 0, oldestMs: null, stopsClaims: false },
    past: { notRouted: mark(null, 0), intakeLost: mark(null, 0), intakeUnfit: mark(null, 0), setAside: mark(null, 0) },
    backlogSinceMs: null,
    usual: { lastMs: NOON - 1_000, longestGapMs: 0 },
    ...fields,
  };
}

export function fn(fields: Partial<FunctionFacts> = {}): FunctionFacts {
  return {
    name: "shop",
    logging: "unset",
    setMs: null,
    dropped: 0,
    lastEventMs: NOON - 1_000,
    usual: { lastMs: NOON - 1_000, longestGapMs: 0 },
    ...fields,
  };
}

/** A mark of one growth. */
export function mark(grewMs: number | null, by: number): Mark {
  return { value: by, grewMs, sinceMs: grewMs, by };
}
