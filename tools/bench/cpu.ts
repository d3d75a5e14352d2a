/**
 * CPU time of intake and pipeline, by turns with gzip of the same bytes: the ratios hold on any
 * machine, also on a busy one. In Node, whose V8 and zlib are those of the runtime in kind, but not
 * in version.
 */
import { constants, gzipSync, inflateRawSync } from "node:zlib";
import { OBJECT_DEFLATE_LEVEL } from "../../src/base/deflate.ts";
import type { Fragment } from "../../src/formats/object/encoder.ts";
import { NDJSON } from "../../src/formats/output/format.ts";
import { macKeyOf } from "../../src/formats/queue/mac.ts";
import type { FieldName } from "../../src/formats/record/fields.ts";
import { consumeEvents } from "../../src/ship/consumer/consume.ts";
import type { ConsumerContext } from "../../src/ship/consumer/context.ts";
import { Gatherer } from "../../src/ship/intake/gather.ts";
import { handleTail } from "../../src/ship/intake/tail.ts";
import { takesOver } from "../../src/ship/job/build.ts";
import type { JobConfig } from "../../src/ship/job/config.ts";
import { EVERYTHING, FILTERED, type JobShape } from "./job-shapes.ts";
import { threadCpuMs } from "./meter.ts";
import { batchOf } from "./queue-batch.ts";
import { RecordMix, type TraceItem } from "./records.ts";
import { count, median, table } from "./table.ts";

/** 2026-11-20T12:00:00Z. */
const NOON = 1_795_176_000_000;

/** Jobs of equal rules that take the same messages. */
const ALIKE = 5;

/** As each service has its own. */
const SEAL = macKeyOf(new Uint8Array(32));

/** Records of a round; and measured rounds, after those that warm up. */
const FULL = { records: 20_000, rounds: 21, warmUpRounds: 5 };
const QUICK = { records: 3_000, rounds: 5, warmUpRounds: 2 };

/** What all works are done on. */
interface Data {
  items: TraceItem[];
  bodies: ArrayBuffer[];
  job: JobConfig;
  /** What the job ships, in the pieces that are compressed one by one. */
  pieces: Uint8Array[];
  /** Records of it. */
  shipped: number;
}

async function prepareData(records: number, shape: JobShape): Promise<Data> {
  const mix = new RecordMix(1);
  const items = Array.from({ length: records }, (_, i) => mix.next(NOON + i));
  const job = jobOf(shape);
  const bodies = await gathered(items, job);
  const fragments = await consumed(bodies, [job]);
  const pieces = fragments.map(({ deflated, body }) =>
    deflated ? (inflateRawSync(body, { finishFlush: constants.Z_SYNC_FLUSH }) as Uint8Array) : body,
  );
  return { items, bodies, job, pieces, shipped: fragments.reduce((sum, each) => sum + each.records, 0) };
}

/**
 * `intake` from trace items to messages, `pipeline` from messages to fragments, `gzip` of what the
 * pipeline ships and nothing else; the pipeline without sketches, and with {@link ALIKE} jobs of
 * equal rules. Each returns the amount of its output, by which two runs are known to have done the
 * same.
 */
const WORKS = {
  gzip: ({ pieces }) => bytesOf(pieces.map((piece) => gzipSync(piece, { level: OBJECT_DEFLATE_LEVEL }))),
  pipeline: ({ bodies, job }) => shippedBytes(bodies, [job]),
  unsketched: ({ bodies, job }) => shippedBytes(bodies, [{ ...job, sketches: false }]),
  alike: ({ bodies, job }) =>
    shippedBytes(
      bodies,
      Array.from({ length: ALIKE }, (_, i) => ({ ...job, id: i + 1 })),
    ),
  intake: async ({ items, job }) => bytesOf((await gathered(items, job)).map((body) => new Uint8Array(body))),
} as const satisfies { readonly [work: string]: (data: Data) => number | Promise<number> };
type Work = keyof typeof WORKS;

const WORK_NAMES = Object.keys(WORKS) as Work[];

interface CpuResult {
  /** CPU time of each piece of work, in µs for each record that came in: medians. */
  microseconds: { [work in Work]: number };
  /** To gzip alone, round by round: the pipeline; without sketches; each further job; intake. */
  ratios: { pipeline: number; unsketched: number; further: number; intake: number };
  data: Data;
}

async function measureCpu(shape: JobShape, { records, rounds, warmUpRounds }: typeof FULL): Promise<CpuResult> {
  const data = await prepareData(records, shape);
  const outputs = new Map<Work, number>();
  const times = byWork(() => [] as number[]);
  for (let round = -warmUpRounds; round < rounds; round++) {
    for (const work of WORK_NAMES) {
      const before = threadCpuMs();
      const output = await WORKS[work](data);
      const tookMs = threadCpuMs() - before;
      if ((outputs.get(work) ?? output) !== output) throw new Error(`${work} did something else this time`);
      outputs.set(work, output);
      if (round >= 0) times[work].push(tookMs);
    }
  }
  const toGzip = (of: (round: number) => number): number =>
    median(times.gzip.map((gzipMs, round) => of(round) / gzipMs));
  const at = (work: Work) => (round: number) => times[work][round] ?? 0;
  return {
    microseconds: byWork((work) => median(times[work].map((ms) => (ms / records) * 1_000))),
    ratios: {
      ...{ pipeline: toGzip(at("pipeline")), unsketched: toGzip(at("unsketched")), intake: toGzip(at("intake")) },
      further: toGzip((round) => (at("alike")(round) - at("pipeline")(round)) / (ALIKE - 1)),
    },
    data,
  };
}

function byWork<T>(of: (work: Work) => T): { [work in Work]: T } {
  return Object.fromEntries(WORK_NAMES.map((work) => [work, of(work)])) as { [work in Work]: T };
}

/**
 * From trace items to messages, one invocation of `tail()` each. @param job that is known to be
 * enabled.
 */
async function gathered(items: readonly TraceItem[], job: JobConfig): Promise<ArrayBuffer[]> {
  const bodies: ArrayBuffer[] = [];
  const sends: Promise<void>[] = [];
  const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
  const context = {
    queue: {
      sendBatch: async (messages: { body: Uint8Array }[]) => {
        for (const { body } of messages) bodies.push(body.slice().buffer as ArrayBuffer);
      },
    },
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

/** The queue handler, with a log that takes everything. @returns what it was to append. */
async function consumed(bodies: readonly ArrayBuffer[], jobs: JobConfig[]): Promise<readonly Fragment[]> {
  const all: Fragment[] = [];
  const unexpected = () => Promise.reject(new Error("every message is whole, and comes once"));
  const context: ConsumerContext = {
    jobs: async () => ({ state: "bench.1.m", jobs, optOuts: [], shards: [0] }),
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

async function shippedBytes(bodies: readonly ArrayBuffer[], jobs: JobConfig[]): Promise<number> {
  return bytesOf((await consumed(bodies, jobs)).map(({ body }) => body));
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

/** The names of works in the report. */
const TITLES: { readonly [work in Work]: string } = {
  gzip: "gzip alone, of what is shipped",
  pipeline: "pipeline: message → fragment",
  unsketched: "  without sketches",
  alike: `  with ${ALIKE} jobs of equal rules`,
  intake: "intake: tail() → message",
};

/** The results as text, of both shapes. */
export async function reportCpu(isQuick: boolean, say: (line: string) => void): Promise<string[]> {
  const parts = ["CPU TIME of intake and pipeline, in Node, beside gzip alone of the same bytes: medians"];
  const { info, warn, error } = console;
  // Without the lines that the shipper logs.
  Object.assign(console, { info: () => {}, warn: () => {}, error: () => {} });
  for (const [title, shape] of [
    ["with a filter and a projection", FILTERED],
    ["all fields of all records", EVERYTHING],
  ] as const) {
    say(`CPU time: ${title} …`);
    const { microseconds, ratios, data } = await measureCpu(shape, isQuick ? QUICK : FULL);
    const records = data.items.length;
    const messageBytes = data.bodies.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const ratio = { "one job": ratios.pipeline, "  without sketches": ratios.unsketched };
    const others = { "each further job of equal rules": ratios.further, intake: ratios.intake };
    parts.push(
      `${title}: ${count(records)} records, ${count(messageBytes / records)} B each in a message; ${count(data.shipped)} shipped, ${count(bytesOf(data.pieces) / data.shipped)} B each`,
      table(
        ["", "× gzip alone"],
        Object.entries({ ...ratio, ...others }).map(([what, times]) => [what, times.toFixed(2)]),
      ),
      table(
        ["", "µs/record"],
        WORK_NAMES.map((work) => [TITLES[work], microseconds[work].toFixed(2)]),
      ),
    );
  }
  Object.assign(console, { info, warn, error });
  return parts;
}
