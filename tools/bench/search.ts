/** What sketches and searches take: CPU, bytes read, and how both grow. */
import type { CpuClock } from "./cpu-clock.ts";
import type { Harness } from "./harness.ts";
import type { FoundText, LookedUp, ObjectSize, Ran, SketchWork, Work } from "./protocol.ts";
import { type Summary, summary } from "./stats.ts";
import { count, table } from "./table.ts";

export interface SearchEffort {
  rounds: number;
  /** Records of an object, and objects of a day: 86 million records. */
  records: number;
  objects: number;
  /** Words that are looked up. */
  tries: number;
  /** Objects of an hour. */
  hour: number;
}

export interface SearchResult {
  size: ObjectSize;
  /** CPU time, in µs for each record: of its words, of its share of a sketch, and of gzip alone. */
  microseconds: { words: Summary; sketch: Summary; gzip: Summary };
  /** For one word, by how many objects there are: of sketches, of objects that are read, CPU. */
  lookups: { objects: number; sketchBytes: number; read: number; falseRate: number; cpuMs: number; ms: number }[];
  texts: { text: string; objects: number; read: number; hits: number; cpuMs: number; ms: number }[];
}

const WORKS = ["nothing", "gzip", "words", "sketch"] as const satisfies readonly (Work | SketchWork)[];
const DAY = 20_777;
/** Sketches that one request keeps. */
const KEPT_AT_ONCE = 12;

export async function measureSearch(
  harness: Harness,
  clock: CpuClock,
  effort: SearchEffort,
  say: (line: string) => void,
): Promise<SearchResult> {
  const { rounds, records, objects, tries, hour } = effort;
  const timed = async <T>(command: string, argument: unknown): Promise<{ answer: T; cpuMs: number; ms: number }> => {
    await harness.awake();
    const [cpu, wall] = [clock.nowMs(), performance.now()];
    const answer = await harness.ask<T>(command, argument);
    return { answer, cpuMs: clock.nowMs() - cpu, ms: performance.now() - wall };
  };
  await timed("prepare", { records, seed: 1, shape: { filter: null, fieldNames: null } });
  const times = { nothing: [], gzip: [], words: [], sketch: [] } as { [work in (typeof WORKS)[number]]: number[] };
  for (let round = -1; round < rounds; round++)
    for (const work of WORKS) {
      const { cpuMs } = await timed<Ran>("run", work);
      if (round >= 0) times[work].push(cpuMs);
    }
  const asking = summary(times.nothing).median;
  const of = (work: "gzip" | "words" | "sketch") => summary(times[work].map((ms) => ((ms - asking) / records) * 1e3));
  const { answer: size } = await timed<ObjectSize>("makeObject", records);

  say(`… ${count(objects)} sketches of ${count(size.words)} words`);
  for (let first = 0; first < objects; first += KEPT_AT_ONCE) {
    const some = Math.min(KEPT_AT_ONCE, objects - first);
    await timed("keepSketches", { day: DAY, first, objects: some, words: size.words });
  }
  const lookups: SearchResult["lookups"] = [];
  for (const share of [1 / 24, 1 / 4, 1]) {
    const asked = Math.round(objects * share);
    const { answer, cpuMs, ms } = await timed<LookedUp>("lookUp", {
      ...{ day: DAY, first: 0, objects: asked, words: size.words, tries },
    });
    lookups.push({
      objects: asked,
      sketchBytes: answer.sketchBytes / tries,
      read: answer.read / tries,
      falseRate: answer.falseHits / (tries * (asked - 1)),
      cpuMs: cpuMs / tries,
      ms: ms / tries,
    });
  }
  const texts: SearchResult["texts"] = [];
  for (const text of ["PaymentError: retry", "no such text anywhere"]) {
    say(`… an hour's search for "${text}"`);
    const { answer, cpuMs, ms } = await timed<FoundText>("searchText", { objects: hour, text, limit: 1_000 });
    texts.push({ text, objects: hour, ...answer, cpuMs, ms });
  }
  return { size, microseconds: { words: of("words"), sketch: of("sketch"), gzip: of("gzip") }, lookups, texts };
}

export function searchReport({ size, microseconds, lookups, texts }: SearchResult): string[] {
  const { records, words, bytes, rawBytes, sketchBytes, segments } = size;
  const { words: hashing, sketch, gzip } = microseconds;
  const us = ({ median, low, high }: Summary): string[] => [
    median.toFixed(2),
    `${low.toFixed(2)} – ${high.toFixed(2)}`,
  ];
  const days = (of: number): string => count(of / 1e3);
  return [
    `SKETCHES of objects of ${count(records)} records: ${count(rawBytes / 1e3)} kB, ${count(bytes / 1e3)} kB as stored, ${count(words)} words, a sketch of ${count(sketchBytes / 1e3)} kB in ${segments} rows: ${(sketchBytes / records).toFixed(1)} B a record, ${((100 * sketchBytes) / bytes).toFixed(1)} % of the object`,
    table(
      ["", "µs/record", "middle half"],
      [
        ["words, in the queue handler", ...us(hashing)],
        ["sketch, in the log", ...us(sketch)],
        ["gzip alone, of the same", ...us(gzip)],
      ],
    ),
    "ONE WORD that one object has, looked up",
    table(
      ["objects", "sketches kB", "objects read", "% of their bytes", "false %", "CPU ms", "ms"],
      lookups.map((each) => [
        ...[
          count(each.objects),
          days(each.sketchBytes),
          each.read.toFixed(1),
          ((100 * each.read) / each.objects).toFixed(2),
        ],
        ...[(100 * each.falseRate).toFixed(2), count(each.cpuMs), count(each.ms)],
      ]),
    ),
    "A TEXT of an hour, without sketches",
    table(
      ["text", "objects", "read", "hits", "CPU s", "s", "µs/record read"],
      texts.map(({ text, objects, read, hits, cpuMs, ms }) => [
        ...[text, count(objects), count(read), count(hits), (cpuMs / 1e3).toFixed(1), (ms / 1e3).toFixed(1)],
        ((cpuMs * 1e3) / (read * records)).toFixed(2),
      ]),
    ),
  ];
}
