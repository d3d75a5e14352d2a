/**
 * A scripted world for the queue handler. It records what is committed, counted and set aside, in
 * order.
 */
import { createMessageBatch } from "cloudflare:test";
import { constants, inflateRawSync } from "node:zlib";
import { type MockInstance, vi } from "vitest";
import type { JobConfig, JobsSnapshot, OptOut } from "../../src/job/config.ts";
import type { Append } from "../../src/object/append.ts";
import type { Fragment } from "../../src/object/encoder.ts";
import type { LoadedRecord } from "../../src/object/load.ts";
import { NDJSON } from "../../src/output/format.ts";
import type { ConsumerCalls, ConsumerContext } from "../../src/pipeline/context.ts";
import type { Arrived } from "../../src/pipeline/live.ts";
import { SilentLogs } from "../../src/pipeline/silent-logs.ts";
import type { Debt } from "../../src/queue/debt.ts";
import { recordLine } from "../../src/record/encode.ts";
import type { TraceRecord } from "../../src/record/fields.ts";
import { RecordLine } from "../../src/record/line.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import { KnownSplits } from "../../src/trace-log/known-splits.ts";
import type { Outcome, SetAsideMessage } from "../../src/trace-log/trace-log.ts";
import { type ScriptedBlobs, scriptedBlobs } from "../intake/scripted.ts";
import { NOON, traceRecord } from "../record/samples.ts";
import { encodeMessage } from "../support/message.ts";

/** A job that takes everything from {@link NOON} on. */
export function job(id: number, fields: Partial<JobConfig> = {}): JobConfig {
  return {
    id,
    version: 1,
    modifiedVersion: 1,
    outputVersion: 1,
    destinationVersion: 1,
    optOutVersion: 0,
    windows: [{ fromMs: NOON, untilMs: null }],
    filter: null,
    sampleRate: 1,
    output: NDJSON,
    limits: { bytes: 100_000_000, records: 100_000, intervalMs: 30_000 },
    canary: false,
    destination: "sealed",
    path: "logs/{DATE}",
    deletedMs: null,
    discard: false,
    ...fields,
  };
}

/** An answer of the control plane, by default without opt-outs. */
export function snapshot(
  state: string,
  jobs: JobConfig[],
  { optOuts, optOutVersion }: Pick<JobsSnapshot, "optOuts" | "optOutVersion"> = { optOuts: [], optOutVersion: 0 },
): JobsSnapshot {
  return { state, jobs, optOuts, optOutVersion };
}

/** 32 hex digits that end in a number. */
export const id = (n: number): string => n.toString(16).padStart(32, "0");

export interface Sent {
  /** The end of the message's id. */
  n: number;
  takenInMs: number;
  keyed: boolean;
  records: TraceRecord[];
}

/** A message as intake sends it. */
export function body({ n, takenInMs, keyed, records }: Sent): ArrayBuffer {
  const raw = new TextEncoder().encode(records.map((record) => `${recordLine(record)}\n`).join(""));
  return encodeMessage({ id: id(n), takenInMs, keyed, records: records.length }, raw).buffer;
}

/** A message of these lines, which may be no records. */
export function bodyOfLines(n: number, lines: readonly string[]): ArrayBuffer {
  const raw = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
  return encodeMessage({ id: id(n), takenInMs: NOON, keyed: false, records: lines.length }, raw).buffer;
}

export interface Delivered {
  batch: MessageBatch<unknown>;
  /** `ack`, or `retry` and its delay, per message in order; undefined: neither, which is a bug. */
  fates(): (string | undefined)[];
}

/**
 * A batch as the queue delivers it. @param bodies one per message. @param attempts deliveries so
 * far, per message.
 */
export function deliver(
  bodies: readonly unknown[],
  { queue = "logship-events", attempts = 1, log = [] as string[] } = {},
): Delivered {
  const messages = bodies.map((each, i) => ({ id: `m${i}`, timestamp: new Date(NOON), attempts, body: each }));
  const batch = createMessageBatch<unknown>(queue, messages);
  const spies: { ack: MockInstance<() => void>; retry: MockInstance<(options?: QueueRetryOptions) => void> }[] = [];
  batch.messages.forEach((message, i) => {
    const ack = vi.spyOn(message, "ack").mockImplementation(() => {
      log.push(`ack m${i}`);
    });
    const retry = vi.spyOn(message, "retry").mockImplementation(() => {
      log.push(`retry m${i}`);
    });
    spies.push({ ack, retry });
  });
  return {
    batch,
    fates: () =>
      spies.map(({ ack, retry }) => {
        const calls = ack.mock.calls.length + retry.mock.calls.length;
        if (calls > 1) return `${calls} answers`;
        if (calls === 0) return undefined;
        return ack.mock.calls.length === 1 ? "ack" : `retry after ${retry.mock.calls[0]?.[0]?.delaySeconds} s`;
      }),
  };
}

/** States of the control plane: at first, and when the ledger knows a newer one. */
export const STATE = "epoch.1";
export const NEWER_STATE = "epoch.2";

/** A log's answer to one offer. */
export type Step = "take" | "fail" | { stale: JobConfig } | { known: readonly string[] };

export interface World
  extends Omit<ConsumerContext, "expectAgain">,
    Pick<ConsumerCalls, "splits" | "asideAs" | "expectAgain"> {
  /** The jobs of the control plane; null: it has never answered. */
  config: JobConfig[] | null;
  /** Each log's answers, offer by offer; afterwards it takes everything. */
  script: { [jobId: number]: Step[] };
  /** What was committed, in order. */
  readonly commits: { job: number; append: Append }[];
  /** Number of offers. */
  offers: number;
  /** Ids that the log was asked for first, offer by offer. */
  readonly suspected: string[][];
  readonly counts: Outcome[];
  readonly aside: SetAsideMessage[];
  countFails: boolean;
  /** Newer jobs that the ledger answers with, count by count; afterwards none. */
  newer: JobConfig[][];
  /** Whether setting the n-th message aside fails, from 1. */
  asideFails: (n: number) => boolean;
  nowMs: number;
  optOuts: OptOut[];
  optOutVersion: number;
  /** Ids of messages that the ledger has counted before. */
  readonly done: Set<string>;
  /** Messages noted as coming again, beside those of counts. */
  readonly expected: TakenId[];
  /** How many counts still carry recent records. */
  turns: number;
  /** Whether live viewers watch: each count's answer says so. */
  watched: boolean;
  /** Records sent to live viewers. */
  readonly shown: Arrived[];
  /** What is owed to jobs; null: the debts fail. */
  debts: Debt[] | null;
  blobs: ScriptedBlobs;
  /** Everything that happened, in order. */
  readonly log: string[];
}

export function world(config: JobConfig[] | null, log: string[] = []): World {
  let asides = 0;
  const it: World = {
    config,
    script: {},
    commits: [],
    offers: 0,
    suspected: [],
    counts: [],
    aside: [],
    countFails: false,
    newer: [],
    asideFails: () => false,
    nowMs: NOON + 60_000,
    optOuts: [],
    optOutVersion: 0,
    done: new Set(),
    expected: [],
    turns: 0,
    watched: false,
    shown: [],
    debts: null,
    silent: new SilentLogs(),
    splits: new KnownSplits(),
    log,
    jobs: async () => (it.config === null ? null : snapshot(STATE, it.config, it)),
    async append(offeredTo, build, messages) {
      it.offers += 1;
      it.suspected.push(messages.filter(({ isSuspect }) => isSuspect).map((suspect) => suspect.id));
      const step = it.script[offeredTo.id]?.shift() ?? "take";
      // As the real one: the append is built and sent before the answer is known.
      let append = build(new Set());
      await Promise.resolve();
      if (step === "fail") throw new Error(`the log of job ${offeredTo.id} does not answer`);
      if (step !== "take" && "stale" in step) return { kind: "stale", job: step.stale };
      if (step !== "take") append = build(new Set(step.known));
      it.commits.push({ job: offeredTo.id, append });
      it.log.push(`commit ${offeredTo.id}`);
      return { kind: "taken" };
    },
    async count(outcome) {
      if (it.countFails) throw new Error("the ledger does not answer");
      const newer = it.newer.shift();
      if (newer !== undefined) return snapshot(NEWER_STATE, newer, it);
      it.counts.push(outcome);
      it.log.push("count");
      const fresh = outcome.done.map((message) => message.id).filter((each) => !it.done.has(each));
      return it.watched ? { watched: fresh } : null;
    },
    async setAside(message) {
      asides += 1;
      if (it.asideFails(asides)) throw new Error("the ledger does not answer");
      it.aside.push(message);
      it.log.push("set aside");
    },
    asideAs: async () => undefined,
    counted: async (ids) => ids.filter((taken) => it.done.has(taken.id)).map((taken) => taken.id),
    expectAgain: async (messages) => void it.expected.push(...messages),
    arrivals: {
      handsOverRecent: () => it.turns > 0 && it.turns-- > 0,
      show: (records) => void it.shown.push(records),
    },
    async owe(debts) {
      if (it.debts === null) throw new Error("the debts do not answer");
      it.debts.push(...debts);
      it.log.push("owe");
    },
    blobs: scriptedBlobs(),
    callsMax: 10_000,
    platform: { now: () => it.nowMs },
  };
  return it;
}

/** The uncompressed text of a fragment. */
export function textOf({ body: bytes, deflated }: Pick<Fragment, "body" | "deflated">): string {
  const raw = deflated ? inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }) : bytes;
  return new TextDecoder().decode(raw);
}

/** The records of an append, as they are written. */
export function linesOf(append: Append): string[] {
  return append.fragments.flatMap((fragment) => textOf(fragment).split("\n").slice(0, -1));
}

/** A record with this outcome, to tell it apart. */
export const record = (outcome: string, at = NOON): TraceRecord =>
  traceRecord({ Outcome: outcome, EventTimestampMs: at });

/** A message of one record, whose outcome has its number. */
export const one = (n: number, fields: Partial<Sent> = {}): ArrayBuffer =>
  body({ n, takenInMs: NOON, keyed: false, records: [record(`event ${n}`)], ...fields });

export const outcomes = (lines: readonly string[]): string[] =>
  lines.map((line) => (JSON.parse(line) as TraceRecord).Outcome);

/** What each job's log has, commit by commit. */
export const shipped = (it: World): [job: number, outcomes: string[]][] =>
  it.commits.map(({ job: to, append }) => [to, outcomes(linesOf(append))]);

export function loadedRecord(whole: TraceRecord, index: number): LoadedRecord {
  const line = RecordLine.read(recordLine(whole));
  if (line === null) throw new Error("not a record");
  return { index, whole: line, shipped: line };
}
