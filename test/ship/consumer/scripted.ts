/**
 * A scripted world for the queue handler. It records what is appended and what is put on hold, in
 * order.
 */
import { createMessageBatch } from "cloudflare:test";
import { constants, inflateRawSync } from "node:zlib";
import { type MockInstance, vi } from "vitest";
import type { Fragment } from "../../../src/formats/object/encoder.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import type { LoadedRecord } from "../../../src/formats/queue/load-records.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import type { ConsumerContext } from "../../../src/ship/consumer/context.ts";
import type { JobConfig, JobsSnapshot, OptOut } from "../../../src/ship/job/config.ts";
import { type Append, type Appended, type Prepared, SHARD_BUSY } from "../../../src/ship/log/append-types.ts";
import type { HoldMessage } from "../../../src/ship/log/on-hold.ts";
import type { Noted } from "../../../src/ship/log/redeliveries.ts";
import { NOON, traceRecord } from "../../formats/record/samples.ts";
import { encodeMessage } from "../../support/message.ts";

/** A job that takes everything from {@link NOON} on. */
export function job(id: number, fields: Partial<JobConfig> = {}): JobConfig {
  return {
    id,
    version: 1,
    modifiedVersion: 1,
    outputVersion: 1,
    destinationVersion: 1,
    mark: "mark",
    windows: [{ fromMs: NOON, untilMs: null }],
    filter: null,
    sampleRate: 1,
    output: NDJSON,
    limits: { bytes: 100_000_000, records: 100_000, intervalMs: 30_000 },
    destination: "sealed",
    canary: false,
    path: "logs/{DATE}",
    deletedMs: null,
    discard: false,
    ...fields,
  };
}

/** An answer of the control plane. */
export function snapshot(state: string, jobs: JobConfig[], optOuts: OptOut[] = [], shards = [0]): JobsSnapshot {
  return { state, jobs, optOuts, shards };
}

/** 32 hex digits that end in a number. @param shard that they belong to, if there are as many. */
export const id = (n: number, shard = 0): string => `000${shard}${n.toString(16).padStart(28, "0")}`;

export interface Sent {
  /** The end of the message's id. */
  n: number;
  takenInMs: number;
  keyed: boolean;
  /** How many shards the log has for it, and which of them it belongs to: the first by default. */
  shards: number;
  shard?: number;
  records: TraceRecord[];
}

/** A message as intake sends it. */
export function body({ n, shard, records, ...part }: Sent): ArrayBuffer {
  const raw = new TextEncoder().encode(records.map((record) => `${recordLine(record)}\n`).join(""));
  return encodeMessage({ id: id(n, shard), ...part, records: records.length }, raw).buffer;
}

/** The same message with a readable head, and records that cannot be read. */
export function damaged(message: ArrayBuffer): ArrayBuffer {
  const bytes = new Uint8Array(message.slice());
  bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 255;
  return bytes.buffer;
}

/** A message of these lines, which may be no records. */
export function bodyOfLines(n: number, lines: readonly string[]): ArrayBuffer {
  const raw = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
  return encodeMessage({ id: id(n), takenInMs: NOON, keyed: false, shards: 1, records: lines.length }, raw).buffer;
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

/** The state of the control plane. */
export const STATE = "epoch.1.mark";

/** A shard's answer to one append; `lost`: it is taken, and the answer is lost. */
export type Step = "take" | "fail" | "lost" | "busy";

export interface World extends ConsumerContext {
  /** The jobs of the control plane; null: it has never answered. */
  config: JobConfig[] | null;
  optOuts: OptOut[];
  /** What the first shard answers, append by append; afterwards it takes everything. */
  script: Step[];
  /** What shards took, in order. */
  readonly appends: { shard: number; append: Append }[];
  /** Number of appends that were tried. */
  tries: number;
  readonly held: HoldMessage[];
  /** Whether holding the n-th message fails, from 1. */
  holdFails: (n: number) => boolean;
  nowMs: number;
  /** Ids of parts that a shard has. */
  readonly done: Set<string>;
  /** Parts noted as coming again, or as begun. */
  readonly noted: { shard: number; id: string; how: Noted }[];
  /** What the control plane was told of messages that no shard knows of. */
  readonly unknown: number[];
  /** Messages sent to the queue once more. */
  readonly sent: ArrayBuffer[];
  /** Everything that happened, in order. */
  readonly log: string[];
}

export function world(config: JobConfig[] | null, log: string[] = []): World {
  let holds = 0;
  const it: World = {
    ...{ config, optOuts: [], script: [], appends: [], tries: 0, held: [], holdFails: () => false },
    ...{ nowMs: NOON + 60_000, done: new Set(), noted: [], unknown: [], sent: [], log },
    jobs: async () => (it.config === null ? null : snapshot(STATE, it.config, it.optOuts)),
    async append(shard, append): Promise<Appended> {
      it.tries += 1;
      const step = (shard === 0 && it.script.shift()) || "take";
      if (step === "fail") throw new Error(`log ${shard} does not answer`);
      if (step === "busy") throw new Error(`${SHARD_BUSY}: log ${shard}`);
      const fresh = [...new Set(append.parts.map((part) => part.id))].filter((part) => !it.done.has(part));
      for (const part of fresh) it.done.add(part);
      it.appends.push({ shard, append });
      it.log.push(`append ${shard}`);
      if (step === "lost") throw new Error("the answer is lost");
      return { fresh, tooOld: [] };
    },
    known: async (_shard, parts) => parts.map((part) => part.id).filter((part) => it.done.has(part)),
    async hold(_shard, message) {
      holds += 1;
      if (it.holdFails(holds)) throw new Error("the log does not answer");
      it.held.push(message);
      it.log.push("hold");
    },
    async expectAgain(shard, parts, how) {
      it.noted.push(...parts.map((part) => ({ shard, id: part.id, how })));
    },
    unnoted: async (takenInMs) => void it.unknown.push(takenInMs),
    sendAnew: async (message) => void it.sent.push(message),
    callsMax: 10_000,
    platform: {
      now: () => it.nowMs,
      async sleep(ms) {
        it.nowMs += ms;
      },
    },
  };
  return it;
}

/** The uncompressed text of a fragment. */
export function textOf({ body: bytes, deflated }: Pick<Fragment, "body" | "deflated">): string {
  const raw = deflated ? inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }) : bytes;
  return new TextDecoder().decode(raw);
}

/** What was prepared of an append, as it is written. */
export function linesOf({ fragments }: Pick<Prepared, "fragments">): string[] {
  return fragments.flatMap((fragment) => textOf(fragment).split("\n").slice(0, -1));
}

/** A record with this outcome, to tell it apart. */
export const record = (outcome: string, at = NOON): TraceRecord =>
  traceRecord({ Outcome: outcome, EventTimestampMs: at });

/** A message of one record, whose outcome has its number. */
export const one = (n: number, fields: Partial<Sent> = {}): ArrayBuffer =>
  body({ n, takenInMs: NOON, keyed: false, shards: 1, records: [record(`event ${n}`)], ...fields });

export const outcomes = (lines: readonly string[]): string[] =>
  lines.map((line) => (JSON.parse(line) as TraceRecord).Outcome);

/** What was prepared for each job, append by append. */
export const shipped = (it: World): [job: number, outcomes: string[]][] =>
  it.appends.flatMap(({ append }) =>
    append.prepared
      .flatMap((made) => made.jobs.map((to): [number, string[]] => [to.id, outcomes(linesOf(made))]))
      .sort(([a], [b]) => a - b),
  );

export function loadedRecord(whole: TraceRecord, index: number): LoadedRecord {
  const line = RecordLine.read(recordLine(whole));
  if (line === null) throw new Error("not a record");
  return { index, whole: line, shipped: line };
}
