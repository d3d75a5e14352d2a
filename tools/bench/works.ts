/**
 * What takes CPU time, by turns with gzip of the same bytes. The ratios hold on a busy machine, but
 * each machine has its own. In Node, whose V8 and zlib are those of the runtime in kind, but not in
 * version.
 */

import { constants, gzipSync, inflateRawSync } from "node:zlib";
import { OBJECT_DEFLATE_LEVEL } from "../../src/base/deflate.ts";
import { EVENTS_BODY_MAX_BYTES, EVENTS_PACE } from "../../src/base/limits.ts";
import { Memory } from "../../src/base/memory.ts";
import { inflated, type Pieces } from "../../src/base/streams.ts";
import type { Fragment } from "../../src/formats/object/encoder.ts";
import { NDJSON } from "../../src/formats/output/format.ts";
import { compileQuery } from "../../src/formats/query/compile-query.ts";
import { part } from "../../src/formats/query/meaning.ts";
import { macKeyOf } from "../../src/formats/queue/mac.ts";
import { recordLine } from "../../src/formats/record/encode.ts";
import type { FieldName } from "../../src/formats/record/fields.ts";
import { httpSource } from "../../src/formats/record/source.ts";
import { HashSet } from "../../src/formats/sketch/hash-set.ts";
import { hashJson } from "../../src/formats/sketch/terms.ts";
import { scan } from "../../src/operate/search/scan.ts";
import { consumeEvents } from "../../src/ship/consumer/consume.ts";
import type { ConsumerContext } from "../../src/ship/consumer/context.ts";
import { bodyRoom, readBody } from "../../src/ship/intake/body.ts";
import { Gatherer } from "../../src/ship/intake/gather.ts";
import { handleTail } from "../../src/ship/intake/tail.ts";
import { takeEvents } from "../../src/ship/intake/take.ts";
import { takesOver } from "../../src/ship/job/build.ts";
import type { JobConfig } from "../../src/ship/job/config.ts";
import type { AlertedSearch } from "../../src/ship/job/searches.ts";
import { ALERTS } from "./alerts.ts";
import type { JobShape } from "./job-shapes.ts";
import { threadCpuMs } from "./meter.ts";
import { batchOf } from "./queue-batch.ts";
import { recordOf } from "./record-of.ts";
import { RecordMix, type TraceItem } from "./records.ts";

/** 2026-11-20T12:00:00Z. */
const NOON = 1_795_176_000_000;

/** Jobs of equal rules that take the same messages. */
export const ALIKE = 5;

/** As each service has its own. */
const SEAL = macKeyOf(new Uint8Array(32));

/** Records of a request. */
const REQUEST_RECORDS = 1_000;

export interface Effort {
  /** Records of a round. */
  records: number;
  /** Measured rounds, after those that warm up. */
  rounds: number;
  warmUpRounds: number;
}

/** What all works are done on. */
export interface Data {
  items: readonly TraceItem[];
  /** Their records as clients send them, in gzip: NDJSON, in canonical form. */
  posts: readonly Uint8Array<ArrayBuffer>[];
  /** Messages with them. */
  bodies: readonly ArrayBuffer[];
  job: JobConfig;
  /** What the job ships, in the pieces that are compressed one by one. */
  pieces: readonly Uint8Array[];
  /** All of it, as an object has it. */
  object: Uint8Array;
  /** Records of it. */
  shipped: number;
}

export async function prepareData(records: number, shape: JobShape): Promise<Data> {
  const mix = new RecordMix(1);
  const items = Array.from({ length: records }, (_, i) => mix.next(NOON + i));
  const lines = items.map((item, i) => `${recordLine(recordOf(item, NOON + i))}\n`);
  const posts = Array.from({ length: Math.ceil(records / REQUEST_RECORDS) }, (_, i) =>
    gzipSync(lines.slice(i * REQUEST_RECORDS, (i + 1) * REQUEST_RECORDS).join("")),
  );
  const job = jobOf(shape);
  const bodies = await gathered(items, job);
  const fragments = await consumed(bodies, [job]);
  const pieces = fragments.map(({ deflated, body }) =>
    deflated ? (inflateRawSync(body, { finishFlush: constants.Z_SYNC_FLUSH }) as Uint8Array) : body,
  );
  const object = gzipSync(Buffer.concat(pieces), { level: OBJECT_DEFLATE_LEVEL });
  const shipped = fragments.reduce((sum, each) => sum + each.records, 0);
  return { items, posts, bodies, job, pieces, object, shipped };
}

/**
 * `gzip` of what the pipeline ships, and nothing else; `pipeline` from messages to fragments, also
 * without sketches, with {@link ALERTS}, and with {@link ALIKE} jobs of equal rules; `intake` from
 * trace items to messages, and `post` from requests to messages; `hashes` of the words of what is
 * shipped; `scan` of the object for a text that no record has. Each returns the amount of its
 * output, by which two runs are known to have done the same.
 */
const WORKS = {
  gzip: ({ pieces }) => bytesOf(pieces.map((piece) => gzipSync(piece, { level: OBJECT_DEFLATE_LEVEL }))),
  pipeline: ({ bodies, job }) => shippedBytes(bodies, [job]),
  unsketched: ({ bodies, job }) => shippedBytes(bodies, [{ ...job, sketches: false }]),
  alerted: ({ bodies, job }) => shippedBytes(bodies, [job], ALERTS),
  alike: ({ bodies, job }) =>
    shippedBytes(
      bodies,
      Array.from({ length: ALIKE }, (_, i) => ({ ...job, id: i + 1 })),
    ),
  intake: async ({ items, job }) => messageBytes(await gathered(items, job)),
  post: async ({ posts, job }) => messageBytes(await posted(posts, job)),
  hashes: ({ pieces }) => pieces.reduce((sum, piece) => sum + hashed(piece), 0),
  scan: ({ object }) => scanned(object),
} as const satisfies { readonly [work: string]: (data: Data) => number | Promise<number> };
export type Work = keyof typeof WORKS;

export const WORK_NAMES = Object.keys(WORKS) as Work[];

/** CPU time of each work in each round, in ms; none of one that was not done. */
export type Times = { readonly [work in Work]: readonly number[] };

/** Does these works by turns. @throws if one of them does something else in another round. */
export async function measureByTurns(
  data: Data,
  { rounds, warmUpRounds }: Effort,
  works: readonly Work[] = WORK_NAMES,
): Promise<Times> {
  const outputs = new Map<Work, number>();
  const times = byWork(() => [] as number[]);
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const work of works) {
      const before = threadCpuMs();
      const output = await WORKS[work](data);
      const tookMs = threadCpuMs() - before;
      if ((outputs.get(work) ?? output) !== output) throw new Error(`${work} did something else this time`);
      outputs.set(work, output);
      if (round >= 0) times[work].push(tookMs);
    }
  }
  return times;
}

/** To gzip alone, round by round. */
export function toGzip({ gzip, ...others }: Times, work: Exclude<Work, "gzip">): number[] {
  return others[work].map((ms, round) => ms / (gzip[round] ?? Number.NaN));
}

export function byWork<T>(of: (work: Work) => T): { [work in Work]: T } {
  return Object.fromEntries(WORK_NAMES.map((work) => [work, of(work)])) as { [work in Work]: T };
}

/**
 * From trace items to messages, one invocation of `tail()` each. @param job the one that is known
 * to be enabled.
 */
async function gathered(items: readonly TraceItem[], job: JobConfig): Promise<ArrayBuffer[]> {
  const { queue, bodies } = keepingQueue();
  const sends: Promise<void>[] = [];
  const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
  const context = {
    queue,
    append: () => Promise.reject(new Error("the queue takes everything")),
    config: { selfName: "logship", defaultScriptName: "unnamed", seal: SEAL, shards: 1 },
    platform: { now: () => NOON, sleep: () => woken },
    gatherer: new Gatherer(),
    forTakeover: () => takesOver(job),
    waitUntil: (promise: Promise<void>) => sends.push(promise),
    pack: () => Promise.reject(new Error("each isolate is measured by itself")),
    countLost: () => Promise.reject(new Error("nothing is lost")),
  };
  for (const item of items) await handleTail([item], context);
  wake();
  await Promise.all(sends);
  return bodies;
}

/** The same from requests, read as the route reads them. */
async function posted(posts: readonly Uint8Array<ArrayBuffer>[], job: JobConfig): Promise<ArrayBuffer[]> {
  const { queue, bodies } = keepingQueue();
  const unexpected = () => Promise.reject(new Error("the queue takes everything, and nothing has a key"));
  const platform = { now: () => NOON, sleep: unexpected };
  const context = {
    ...{ queue, append: unexpected, platform, memory: new Memory(platform), keyShards: unexpected },
    forTakeover: () => takesOver(job),
    ...{ defaultScriptName: "unnamed", seal: SEAL, shards: 1, source: httpSource("bench") },
  };
  for (const body of posts) {
    const headers = { "content-encoding": "gzip", "content-length": `${body.length}` };
    const request = new Request("https://logship.example/", { method: "POST", headers, body });
    const read = async () => {
      const whole = await readBody(request, EVENTS_BODY_MAX_BYTES, EVENTS_PACE);
      if (!whole.ok) throw new Error(whole.fault.message);
      return whole.bytes;
    };
    const room = bodyRoom(request, EVENTS_BODY_MAX_BYTES);
    const taken = await takeEvents({ room, read, ndjson: true, idempotencyKey: null }, context);
    if (!taken.ok) throw new Error(`a request was answered with ${taken.status}`);
  }
  return bodies;
}

/** A queue that takes everything, and what it has. */
function keepingQueue() {
  const bodies: ArrayBuffer[] = [];
  const sendBatch = async (messages: { body: Uint8Array }[]): Promise<void> => {
    for (const { body } of messages) bodies.push(body.slice().buffer as ArrayBuffer);
  };
  return { queue: { sendBatch }, bodies };
}

function messageBytes(bodies: readonly ArrayBuffer[]): number {
  return bodies.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** The queue handler, with a log that takes everything. @returns what it was to append. */
async function consumed(
  bodies: readonly ArrayBuffer[],
  jobs: JobConfig[],
  searches?: readonly AlertedSearch[],
): Promise<readonly Fragment[]> {
  const all: Fragment[] = [];
  const unexpected = () => Promise.reject(new Error("every message is whole, and comes once"));
  const context: ConsumerContext = {
    jobs: async () => ({ state: "bench.1.m", jobs, optOuts: [], shards: [0], ...(searches && { searches }) }),
    append: async (_shard, { parts, prepared, state }) => {
      all.push(...prepared.flatMap(({ fragments }) => fragments));
      return { fresh: parts.map(({ id }) => id), tooOld: [], watched: false, state };
    },
    known: async () => [],
    ...{ expectAgain: unexpected, sendAnew: unexpected, hold: unexpected, unnoted: unexpected },
    macKeys: [SEAL],
    callsMax: 10_000,
    platform: { now: () => NOON, sleep: unexpected },
  };
  const batch = batchOf(bodies, NOON);
  await consumeEvents(batch as never, context);
  batch.assertAcknowledged();
  return all;
}

async function shippedBytes(
  bodies: readonly ArrayBuffer[],
  jobs: JobConfig[],
  searches?: readonly AlertedSearch[],
): Promise<number> {
  return bytesOf((await consumed(bodies, jobs, searches)).map(({ body }) => body));
}

/** How many words a piece has. */
function hashed(piece: Uint8Array): number {
  const words = new HashSet();
  hashJson(piece, words);
  return words.size;
}

/** As search reads an object that it has not ruled out. @returns its records. */
async function scanned(object: Uint8Array): Promise<number> {
  const text = "a text that no record has";
  const query = compileQuery({ all: [part(text)], sinceMs: 0, untilMs: Number.POSITIVE_INFINITY });
  const { records } = await scan(inflated(onePiece(object)), query, ({ line }) => {
    throw new Error(`line ${line} matches`);
  });
  return records;
}

async function* onePiece(piece: Uint8Array): Pieces {
  yield piece;
}

function bytesOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function jobOf({ filter, fieldNames }: JobShape): JobConfig {
  return {
    ...{ id: 1, version: 1, modifiedVersion: 1, outputVersion: 1, destinationVersion: 1, mark: "m" },
    windows: [{ fromMs: 0, untilMs: null }],
    ...{ filter, sampleRate: 1, output: { ...NDJSON, fieldNames: fieldNames as FieldName[] | null } },
    limits: { bytes: 100_000_000, records: 100_000, intervalMs: 30_000 },
    ...{ canary: false, destination: "", path: "", deletedMs: null, discard: false },
  };
}
