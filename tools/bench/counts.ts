/**
 * The figures of "Counts" in docs/search.md: counts over an hour, and over ten minutes, of a day of
 * 86 million records, of NDJSON and of Parquet. The objects of ten minutes are real, written by the
 * encoders of src; an hour reads them six times. The count of src reads them from a simulated
 * store, answer after answer, as the command does. Not part of the tests: nothing here passes or
 * fails but the sums.
 *
 *     taskset -c 0 node tools/bench/counts.ts [ndjson|parquet]
 *
 * On one core, as an isolate has one thread: Node inflates on another one.
 */
import { concat, free } from "../../src/base/bytes.ts";
import { SEARCH_MS, SEARCH_PARTS_MAX, SEARCH_RAW_BYTES, SEARCH_READS_AT_ONCE } from "../../src/base/limits.ts";
import { encoderOf } from "../../src/formats/object/encoders.ts";
import { NDJSON, type OutputFormat } from "../../src/formats/output/format.ts";
import { compileQuery } from "../../src/formats/query/compile-query.ts";
import { readQuery } from "../../src/formats/query/meaning.ts";
import { recordLine } from "../../src/formats/record/encode.ts";
import { RecordLine } from "../../src/formats/record/line.ts";
import { type AskedCount, planCount } from "../../src/operate/search/count/plan.ts";
import { count as countRecords } from "../../src/operate/search/count.ts";
import type { Cursor } from "../../src/operate/search/cursor.ts";
import type { Source } from "../../src/operate/search/source.ts";
import type { ByteRange } from "../../src/ship/destinations/destination.ts";
import { openObject, openParts, plain } from "../../src/ship/destinations/read-object.ts";
import { type Counted, CountPages } from "../client/counts.ts";
import { recordOf } from "./record-of.ts";
import { RecordMix } from "./records.ts";
import { bytesText, count, table } from "./table.ts";

/** A thousand events a second, cut every 30 s. */
const OBJECT = { records: 30_000, ms: 30_000 };
const REAL_OBJECTS = 20;

/** Until an object begins to come, in ms; then so many bytes a ms, whatever comes beside it. */
const STORE = { ms: 50, bytesPerMs: 50_000, pieceBytes: 65_536 };

/** Begins the checksum of every object. */
const MARK = "0123456789abcdef";

/** 2026-11-20T12:00:00Z. */
const NOON = 1_795_176_000_000;

/** The mix has an id in each path; a service has some hundreds of them. */
const PATHS = 50;

interface Stored {
  bytes: Uint8Array;
  rawBytes: number;
}

interface Asked {
  title: string;
  query: string;
  count: AskedCount;
  objects: number;
}

const QUESTIONS: readonly Asked[] = [
  { title: "by status, one Worker, an hour", query: "worker:checkout", count: { by: ["status"] }, objects: 120 },
  { title: "by outcome, all Workers, an hour", query: "", count: { by: ["outcome"] }, objects: 120 },
  {
    title: "p95 by path, ten minutes",
    query: "",
    count: { by: ["path"], measures: [{ op: "count" }, { op: "p95", of: "took" }] },
    objects: 20,
  },
];

function stored(output: OutputFormat, lines: readonly RecordLine[]): Stored {
  const encoder = encoderOf(output);
  const gatherer = encoder.gather();
  for (const line of lines) gatherer.add(line, line.EventTimestampMs);
  const assembly = encoder.assemble();
  const parts: Uint8Array[] = [assembly.head.bytes];
  for (const { deflated, body, rawBytes, crc } of gatherer.finish()) {
    const finished = deflated ? body : encoder.finish(body);
    assembly.add(finished, { rawBytes, crc });
    parts.push(finished);
  }
  const end = assembly.end();
  const bytes = concat([...parts, end.bytes]);
  for (const part of parts) free(part);
  return { bytes, rawBytes: end.content.rawBytes };
}

function linesOf(mix: RecordMix, from: number): RecordLine[] {
  return Array.from({ length: OBJECT.records }, (_, i) => {
    const atMs = NOON + ((from + i) * OBJECT.ms) / OBJECT.records;
    const text = recordLine(recordOf(mix.next(atMs), atMs)).replace(
      /(\.example\.com\/[^"?]*?)([0-9a-f]{8})(?=\?)/,
      (_all, path: string, id: string) => `${path}${Number.parseInt(id, 16) % PATHS}`,
    );
    return RecordLine.read(text) as RecordLine;
  });
}

/** Its answers take their time, and its bytes do not come all at once. */
function simulated(objects: ReadonlyMap<string, Stored>) {
  const sums = { requests: 0 };
  const sleep = (untilMs: number): Promise<void> =>
    new Promise((resolve) => setTimeout(resolve, Math.max(0, untilMs - performance.now())));
  const read = async (key: string, range?: ByteRange) => {
    sums.requests += 1;
    const { bytes: all } = objects.get(key) as Stored;
    const bytes = range === undefined ? all : all.subarray(range.from, range.from + range.bytes);
    const fromMs = performance.now() + STORE.ms;
    await sleep(fromMs);
    let at = 0;
    const body = new ReadableStream({
      type: "bytes",
      async pull(controller: ReadableByteStreamController) {
        const piece = bytes.slice(at, at + STORE.pieceBytes);
        at += piece.length;
        const dueMs = fromMs + at / STORE.bytesPerMs;
        if (dueMs > performance.now() + 1) await sleep(dueMs);
        controller.enqueue(piece);
        if (at >= bytes.length) controller.close();
      },
    });
    return { ok: true as const, body, bytes: bytes.length, sha256: MARK };
  };
  return { sums, store: { read } };
}

/** What a search lists. An hour has the objects of ten minutes several times. */
function sourcesOf(keys: readonly string[], objects: ReadonlyMap<string, Stored>, most: number, store: Read): Source[] {
  const room = { requests: SEARCH_PARTS_MAX };
  return Array.from({ length: most }, (_, i): Source => {
    const key = keys[i % keys.length] as string;
    const { bytes, rawBytes } = objects.get(key) as Stored;
    const firstMs = NOON + i * OBJECT.ms;
    return {
      ...{ job: 1, node: 0, batch: i + 1, number: i + 1, firstMs, lastMs: firstMs + OBJECT.ms - 1 },
      ...{ bytes: bytes.length, rawBytes, records: OBJECT.records, isHeld: false },
      open: async (told, { fields }) => {
        const known = { key, bytes: bytes.length, rawBytes, mark: MARK };
        const parts = fields === null ? null : await openParts(store, known, told, room);
        if (parts !== null) return plain(parts, known, fields);
        const pieces = await openObject(store, known);
        const reported = async function* () {
          for await (const piece of pieces) {
            told(piece.length);
            yield piece;
          }
        };
        return plain(reported(), known, fields);
      },
    };
  });
}
type Read = ReturnType<typeof simulated>["store"];

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function ask(asked: Asked, keys: readonly string[], objects: ReadonlyMap<string, Stored>): Promise<string[]> {
  const { sums, store } = simulated(objects);
  const list = sourcesOf(keys, objects, asked.objects, store);
  const span = { sinceMs: NOON, untilMs: NOON + asked.objects * OBJECT.ms };
  const read = readQuery(asked.query);
  if (!read.ok) throw new Error(read.fault.message);
  const query = compileQuery({ ...span, all: read.question === null ? [] : [read.question] });
  const planned = planCount(asked.count, span.untilMs - span.sinceMs);
  if (!planned.ok) throw new Error(JSON.stringify(planned.faults));
  const { plan } = planned;
  const counted: Counted = { by: [...(asked.count.by ?? [])], measures: [...plan.shape.measures], top: 100 };
  const pages = new CountPages(counted);
  const bounds = { rawBytes: SEARCH_RAW_BYTES, ms: SEARCH_MS, atOnce: SEARCH_READS_AT_ONCE };
  const [startMs, startCpuMs] = [performance.now(), cpuMs()];
  let firstMs = 0;
  let [answers, bytes, records] = [0, 0, 0];
  let cursor: Cursor | null = null;
  do {
    const isFirst: boolean = cursor === null;
    const wanted = { query, plan, top: counted.top, order: "newest" as const, cursor, bounds };
    const end = await countRecords(
      { list, listedToMs: null },
      { ...wanted, signal: new AbortController().signal, platform: { now: () => performance.now() } },
      {
        groups: (rows) => {
          if (firstMs === 0 && rows.length > 0) firstMs = performance.now() - startMs;
          pages.show(rows, null);
        },
        progress: () => {},
      },
    );
    if (end.notSearched.length > 0) throw new Error(JSON.stringify(end.notSearched));
    answers += 1;
    bytes += end.progress.bytesRead;
    records += end.progress.records;
    cursor = end.cursor;
    pages.end(end.unlisted.other, end.unlisted.overflow, !isFirst || cursor !== null);
  } while (cursor !== null);
  const lastMs = performance.now() - startMs;
  const usedMs = cpuMs() - startCpuMs;
  const { rows, other } = pages.answer();
  const inAll = [...rows, ...(other === null ? [] : [other])].reduce((sum, { values }) => sum + (values[0] ?? 0), 0);
  if (asked.query === "" && inAll !== asked.objects * OBJECT.records) throw new Error(`${inAll} were counted`);
  const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
  return [
    ...[asked.title, count(records), count(inAll), `${rows.length}${other === null ? "" : "+"}`, bytesText(bytes)],
    ...[count(sums.requests), seconds(usedMs), ((usedMs * 1_000) / records).toFixed(2), `${answers}`],
    ...[seconds(firstMs), seconds(lastMs)],
  ];
}

const HEADER = ["", "records", "counted", "groups", "read", "requests", "CPU s", "µs a record", "answers"];

for (const type of ["ndjson", "parquet"] as const) {
  if (process.argv[2] !== undefined && process.argv[2] !== type) continue;
  const objects = new Map<string, Stored>();
  const mix = new RecordMix(1);
  for (let i = 0; i < REAL_OBJECTS; i++)
    objects.set(
      `${i}${type === "ndjson" ? ".log.gz" : ".parquet"}`,
      stored({ ...NDJSON, type }, linesOf(mix, i * OBJECT.records)),
    );
  const keys = [...objects.keys()];
  const sizes = [...objects.values()];
  const mean = (of: (one: Stored) => number): number => sizes.reduce((sum, one) => sum + of(one), 0) / sizes.length;
  console.log(
    `\n${type}: objects of ${bytesText(mean(({ bytes }) => bytes.length))}, ${bytesText(mean(({ rawBytes }) => rawBytes))} before compression`,
  );
  // Code that runs for the first time is slow.
  for (const question of QUESTIONS) await ask({ ...question, objects: 3 }, keys, objects);
  const rows: string[][] = [];
  for (const question of QUESTIONS) rows.push(await ask(question, keys, objects));
  console.log(table([...HEADER, "first s", "last s"], rows));
}
