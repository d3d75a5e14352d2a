/**
 * The work whose CPU time is measured, from outside, as clocks stand still while the runtime
 * executes. Every run does the same work on the same data and returns the amount of output, so that
 * the caller can check this.
 */
import { constants, gzipSync, inflateRawSync } from "node:zlib";
import { APPEND_MAX_RAW_BYTES } from "../../../src/base/limits.ts";
import type { Fragment } from "../../../src/formats/object/encoder.ts";
import { deflateFragment, OBJECT_DEFLATE_LEVEL } from "../../../src/formats/object/fragment.ts";
import { type Loaded, load } from "../../../src/formats/object/load.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { Delivery } from "../../../src/formats/queue/delivery.ts";
import { decodeMessage } from "../../../src/formats/queue/message.ts";
import { sealKeyOf } from "../../../src/formats/queue/seal.ts";
import type { FieldName } from "../../../src/formats/record/fields.ts";
import { Gatherer } from "../../../src/ship/intake/gather.ts";
import { handleTail } from "../../../src/ship/intake/tail.ts";
import { prepare as prepareFor } from "../../../src/ship/job/build.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { consumeEvents } from "../../../src/ship/pipeline/consume.ts";
import type { ConsumerContext } from "../../../src/ship/pipeline/context.ts";
import {
  ALIKE,
  type JobShape,
  type PrepareCpu,
  type Prepared,
  type Ran,
  type SketchWork,
  type Work,
} from "../protocol.ts";
import { RecordMix, type TraceItem } from "../records.ts";
import { batchOf } from "./queue-batch.ts";
import { sketchOfWords, wordsOfPieces } from "./search.ts";

/** 2026-11-20T12:00:00Z. */
const NOON = 1_795_176_000_000;

interface Data {
  items: TraceItem[];
  bodies: ArrayBuffer[];
  /** Grouped as the queue handler does: the content of one append. */
  groups: Loaded[][];
  job: JobConfig;
  /** What the job ships, in the pieces that are compressed one by one. */
  pieces: Uint8Array[];
  /** Their words. */
  words: Uint32Array<ArrayBuffer>[];
}

let data: Data | null = null;

/** Makes the data of all following runs. */
export async function prepare({ records, seed, shape }: PrepareCpu): Promise<Prepared> {
  const mix = new RecordMix(seed);
  const items = Array.from({ length: records }, (_, i) => mix.next(NOON + i));
  const bodies = await gathered(items);
  const groups = groupsOf(await Promise.all(bodies.map(loaded)));
  const job = jobOf(shape);
  const fragments = built(job, groups);
  const pieces = fragments.map(uncompressed);
  data = { items, bodies, groups, job, pieces, words: wordsOfPieces(pieces) };
  return {
    records,
    shipped: fragments.reduce((sum, fragment) => sum + fragment.records, 0),
    messages: bodies.length,
    rawBytes: groups.flat().reduce((sum, { size }) => sum + size, 0),
    messageBytes: sizeOf(bodies),
    shippedBytes: bytesOf(pieces),
  };
}

/** Runs a piece of work once. @throws if nothing is prepared. */
export async function run(work: Work | SketchWork): Promise<Ran> {
  if (data === null) throw new Error("prepare comes first");
  return { bytes: await RUNS[work](data) };
}

/** What is prepared, before compression. @throws if nothing is. */
export function preparedPieces(): readonly Uint8Array[] {
  if (data === null) throw new Error("prepare comes first");
  return data.pieces;
}

/** As each service has its own. */
const SEAL = sealKeyOf(new Uint8Array(32));

const RUNS: { readonly [work in Work | SketchWork]: (data: Data) => number | Promise<number> } = {
  nothing: () => 0,
  intake: async ({ items }) => sizeOf(await gathered(items)),
  pipeline: ({ bodies, job }) => consumed(bodies, [job]),
  unsketched: ({ bodies, job }) => consumed(bodies, [{ ...job, sketches: false }]),
  alike: ({ bodies, job }) =>
    consumed(
      bodies,
      Array.from({ length: ALIKE }, (_, i) => ({ ...job, id: i + 1 })),
    ),
  gzip: ({ pieces }) => bytesOf(pieces.map((piece) => gzipSync(piece, { level: OBJECT_DEFLATE_LEVEL }) as Uint8Array)),
  decode: ({ bodies }) => bodies.reduce((sum, body) => sum + Number(decodeMessage(body).ok), 0),
  load: async ({ bodies }) => {
    let size = 0;
    for (const body of bodies) size += (await loaded(body)).size;
    return size;
  },
  build: ({ job, groups }) => bytesOf(built(job, groups).map(({ body }) => body)),
  deflate: ({ pieces }) => bytesOf(pieces.map(deflateFragment)),
  words: ({ pieces }) => wordsOfPieces(pieces).reduce((sum, { byteLength }) => sum + byteLength, 0),
  sketch: ({ words }) => bytesOf(sketchOfWords(words)),
};

/** From trace items to messages, one invocation of `tail()` each. */
async function gathered(items: readonly TraceItem[]): Promise<ArrayBuffer[]> {
  const bodies: ArrayBuffer[] = [];
  const gatherer = new Gatherer();
  let wake = (): void => {};
  const sends: Promise<void>[] = [];
  const context = {
    queue: {
      sendBatch: async (messages: { body: Uint8Array }[]) => {
        for (const { body } of messages) bodies.push(body.slice().buffer as ArrayBuffer);
      },
    },
    append: () => Promise.reject(new Error("the queue takes everything")),
    config: { selfName: "logship", defaultScriptName: "unnamed", seal: SEAL, shards: 1 },
    platform: {
      now: () => NOON,
      sleep: () =>
        new Promise<void>((resolve) => {
          wake = resolve;
        }),
    },
    gatherer,
    waitUntil: (promise: Promise<void>) => sends.push(promise),
    pack: () => Promise.reject(new Error("each isolate is measured by itself")),
    countLost: () => Promise.reject(new Error("nothing is lost")),
  };
  for (const item of items) await handleTail([item], context);
  wake();
  await Promise.all(sends);
  return bodies;
}

/**
 * From messages to fragments: the queue handler, with a log that takes everything and keeps
 * nothing.
 */
async function consumed(bodies: readonly ArrayBuffer[], jobs: JobConfig[]): Promise<number> {
  let bytes = 0;
  const context: ConsumerContext = {
    jobs: async () => ({ state: "bench.1.m", jobs, optOuts: [], shards: [0] }),
    expectAgain: () => Promise.reject(new Error("every message is whole")),
    append: async (_shard, { parts, prepared, state }) => {
      bytes += bytesOf(prepared.flatMap(({ fragments }) => fragments.map(({ body }) => body)));
      return { fresh: parts.map(({ id }) => id), tooOld: [], watched: false, state };
    },
    known: async () => [],
    sendAnew: () => Promise.reject(new Error("nothing comes again")),
    hold: () => Promise.reject(new Error("nothing is set aside")),
    unnoted: () => Promise.reject(new Error("nothing comes again")),
    sealKeys: [SEAL],
    callsMax: 10_000,
    platform: { now: () => NOON, sleep: () => Promise.reject(new Error("the log is never busy")) },
  };
  const batch = batchOf(bodies, NOON);
  await consumeEvents(batch, context);
  batch.assertAcknowledged();
  return bytes;
}

export async function loaded(body: ArrayBuffer): Promise<Loaded> {
  const [message] = batchOf([body], NOON).messages;
  if (message === undefined) throw new Error("no message");
  const loading = load(new Delivery(message), [SEAL]);
  if (loading.kind !== "loaded") throw new Error(`a message is ${loading.kind}`);
  const [part] = loading.loaded;
  if (part === undefined) throw new Error("a message has no part");
  return part;
}

function groupsOf(messages: readonly Loaded[]): Loaded[][] {
  const groups: Loaded[][] = [[]];
  let size = 0;
  for (const message of messages) {
    if (size + message.size > APPEND_MAX_RAW_BYTES) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1)?.push(message);
    size += message.size;
  }
  return groups;
}

function built(job: JobConfig, groups: readonly (readonly Loaded[])[]): Fragment[] {
  return groups.flatMap((group) => prepareFor(job, group).fragments);
}

function uncompressed({ deflated, body }: Fragment): Uint8Array {
  return deflated ? (inflateRawSync(body, { finishFlush: constants.Z_SYNC_FLUSH }) as Uint8Array) : body;
}

function sizeOf(bodies: readonly ArrayBuffer[]): number {
  return bodies.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function bytesOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

export function jobOf({ filter, fieldNames }: JobShape): JobConfig {
  return {
    id: 1,
    version: 1,
    modifiedVersion: 1,
    outputVersion: 1,
    destinationVersion: 1,
    mark: "m",
    windows: [{ fromMs: 0, untilMs: null }],
    filter,
    sampleRate: 1,
    output: { ...NDJSON, fieldNames: fieldNames as FieldName[] | null },
    limits: { bytes: 100_000_000, records: 100_000, intervalMs: 30_000 },
    canary: false,
    destination: "",
    path: "",
    deletedMs: null,
    discard: false,
  };
}
