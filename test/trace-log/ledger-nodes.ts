/** Shards of the ledger that split when a test says so, and nodes that know more or less of it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { onTestFinished, vi } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import type { Split } from "../../src/storage/splits.ts";
import {
  countAtHomes,
  countedAtHomes,
  expectAgainAtHomes,
  type HomeCalls,
  setAsideAtHome,
} from "../../src/trace-log/homes.ts";
import { KnownSplits } from "../../src/trace-log/known-splits.ts";
import { LogShards } from "../../src/trace-log/log-shards.ts";
import { SPLIT_AT } from "../../src/trace-log/splitter.ts";
import {
  ledgerShard,
  type MessageCount,
  type Outcome,
  type SetAsideMessage,
  type TraceLog,
} from "../../src/trace-log/trace-log.ts";
import { encodeMessage } from "../support/message.ts";
import { NOON } from "../support/runtime/pipeline.ts";

export const MINUTE_MS = 60_000;

export const shard = (n: number): DurableObjectStub<TraceLog> => ledgerShard(env.TRACE_LOG, n);

/** A message whose id has this hash, of eight bits, which select its shard. */
export const taken = (hash: number, n: number, takenInMs = NOON): TakenId => ({
  id: `00${hash.toString(16).padStart(2, "0")}${n.toString(16).padStart(28, "0")}`,
  takenInMs,
  keyed: false,
});

/** One event, which jobs were offered. */
export const counting = (message: TakenId): MessageCount => ({
  ...{ ...message, events: 1, routed: 1, notEnabled: 0, notRouted: 0, bytes: 100 },
  functions: [{ scriptName: "shop", routed: 1, notEnabled: 0, notRouted: 0, lastEventMs: NOON }],
});

export const outcome = (done: readonly TakenId[], fields: Partial<Outcome> = {}): Outcome => ({
  ...{ done: done.map(counting), failed: [], backlog: null, state: "other.1" },
  ...{ work: { batches: 1, appends: 1, offered: done.length } },
  ...fields,
});

/** The splits of a shard, as it has them on disk. */
export const splitsOf = (n: number): Promise<Split[]> =>
  runInDurableObject(shard(n), (_ledger, { storage }) =>
    storage.sql
      .exec<{ bit: number; fromMs: number }>("SELECT bit, from_ms AS fromMs FROM split ORDER BY bit")
      .toArray(),
  );

const SPLIT_AT_FIRST = { ...SPLIT_AT };

/** Sets when shards split, for the rest of the test. */
export function splitAt(fields: Partial<typeof SPLIT_AT>): void {
  Object.assign(SPLIT_AT, fields);
  onTestFinished(() => void Object.assign(SPLIT_AT, SPLIT_AT_FIRST));
}

/** Begins the split of a shard. The sweep does not wait for it. */
export async function beginSplit(n = 0): Promise<void> {
  const { length } = await splitsOf(n);
  splitAt({ bytes: 0, growing: 0, grown: 0 });
  await shard(n).sweep(length);
  splitAt({ bytes: Number.POSITIVE_INFINITY });
}

/** Splits a shard. @returns since when its child takes half of its messages. */
export async function split(n = 0): Promise<number> {
  const before = await splitsOf(n);
  await beginSplit(n);
  const after = await vi.waitUntil(async () => {
    const now = await splitsOf(n);
    return now.length > before.length ? now : null;
  });
  return after.at(-1)?.fromMs ?? 0;
}

/** Calls of one node, in order: method and shard. */
export interface Node {
  readonly splits: KnownSplits;
  readonly calls: string[];
  readonly ledger: LogShards;
  count(outcome: Outcome): Promise<unknown>;
  counted(messages: readonly TakenId[]): Promise<readonly string[]>;
  expectAgain(messages: readonly TakenId[]): Promise<void>;
  setAside(message: SetAsideMessage): Promise<void>;
}

/** @param splits what it knows: at first nothing. @param broken shards that do not answer. */
export function node(splits = new KnownSplits(), broken: ReadonlySet<number> = new Set()): Node {
  const calls: string[] = [];
  const at = (method: keyof HomeCalls, n: number): DurableObjectStub<TraceLog> => {
    calls.push(`${method} ${n}`);
    if (broken.has(n)) throw new Error(`shard ${n} does not answer`);
    return shard(n);
  };
  const home: HomeCalls = {
    count: async (part, n, known) => at("count", n).count(part, known),
    counted: async (messages, n, known) => at("counted", n).counted(messages, known),
    expectAgain: async (messages, n, known) => at("expectAgain", n).expectAgain(messages, known),
    setAside: async (message, n, known) => at("setAside", n).setAside(message, known),
    asideAs: async (notes, n, known) => at("asideAs", n).asideAs(notes, known),
  };
  return {
    splits,
    calls,
    ledger: new LogShards(env.TRACE_LOG, splits),
    count: (each) => countAtHomes(each, splits, home.count),
    counted: (messages) => countedAtHomes(messages, splits, home.counted),
    expectAgain: async (messages) => void (await expectAgainAtHomes(messages, splits, home.expectAgain)),
    setAside: (message) => setAsideAtHome(message, splits, home),
  };
}

/** A message that is set aside whole. */
export const aside = (message: TakenId, fields: Partial<SetAsideMessage> = {}): SetAsideMessage => ({
  ...{ taken: message, queue: "q", why: "failed too often", events: 1 },
  message: encodeMessage({ ...message, records: 1 }, encodeUtf8("{}\n")).buffer,
  ...fields,
});

/** What each shard has processed. */
export const processed = async (...shards: number[]): Promise<number[]> => {
  const statuses = shards.map(async (n) => shard(n).status((await splitsOf(n)).length));
  return (await Promise.all(statuses)).map(({ counts }) => counts.processed);
};
