/** What sketches and searches take: CPU, bytes read, and how both grow. */
import type { CpuClock } from "./cpu-clock.ts";
import type { Harness } from "./harness.ts";
import type { FoundText, FoundWord, ObjectSize, Ran, ReadSoFar, SketchWork, Work } from "./protocol.ts";
import { type Summary, summary } from "./stats.ts";
import { count, table } from "./table.ts";

export interface SearchEffort {
  rounds: number;
  /** Records of an object, and objects of a day: 86 million records. */
  records: number;
  objects: number;
  /** Words that are looked up. */
  tries: number;
  /** For the growth with days: as many days, of so many objects each. */
  growth: { days: readonly number[]; perDay: number };
  /** Objects of an hour. */
  hour: number;
}

export interface SearchResult {
  size: ObjectSize;
  /** CPU time, in µs for each record: of its words, of its share of a sketch, and of gzip alone. */
  microseconds: { words: Summary; sketch: Summary; gzip: Summary };
  /** For one word that one object has, mean of the tries. */
  words: WordResult[];
  texts: { text: string; objects: number; read: number; hits: number; cpuMs: number; ms: number }[];
}

export interface WordResult extends ReadSoFar {
  days: number;
  objects: number;
  /** When the hit was told. */
  first: ReadSoFar;
  cpuMs: number;
  ms: number;
}

const WORKS = ["nothing", "gzip", "words", "sketch"] as const satisfies readonly (Work | SketchWork)[];
/** UTC days since the epoch: of a day of its own, and of the first of the growing ones. */
const [DAY, GROWING_DAY] = [20_777, 20_800];
/** Sketches that one request keeps. */
const KEPT_AT_ONCE = 12;

export async function measureSearch(
  harness: Harness,
  clock: CpuClock,
  effort: SearchEffort,
  say: (line: string) => void,
): Promise<SearchResult> {
  const { rounds, records, objects, tries, hour, growth } = effort;
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
  const day = [1 / 24, 1 / 4, 1].map((share) => Math.round(objects * share));
  const growing = growth.days.map((days) => days * growth.perDay);
  const holders = [...new Set([...day, ...growing].flatMap((asked) => holdersOf(asked, tries)))];
  const { answer: size } = await timed<ObjectSize>("makeObject", { records, holders });

  const keep = async (day: number, from: number, upTo: number): Promise<void> => {
    for (let first = from; first < upTo; first += KEPT_AT_ONCE)
      await timed("keepSketches", { day, first, objects: Math.min(KEPT_AT_ONCE, upTo - first), words: size.words });
  };
  const find = async (firstDay: number, perDay: number, asked: number): Promise<WordResult> => {
    const found: WordResult[] = [];
    for (const holder of holdersOf(asked, tries)) {
      const question = { objects: asked, perDay, firstDay, holder };
      const { answer, ...took } = await timed<FoundWord>("findWord", question);
      found.push({ ...answer, ...took, days: Math.ceil(asked / perDay), objects: asked });
    }
    return meanOf(found);
  };
  const words: WordResult[] = [];
  say(`… ${count(objects)} sketches of ${count(size.words)} words`);
  await keep(DAY, 0, objects);
  for (const asked of day) words.push(await find(DAY, objects, asked));
  say(`… ${Math.max(...growth.days)} days of ${count(growth.perDay)} sketches`);
  for (let day = 0; day < Math.max(...growth.days); day++)
    await keep(GROWING_DAY + day, day * growth.perDay, (day + 1) * growth.perDay);
  for (const asked of growing) words.push(await find(GROWING_DAY, growth.perDay, asked));
  const texts: SearchResult["texts"] = [];
  for (const text of ["PaymentError: retry", "no such text anywhere"]) {
    say(`… an hour's search for "${text}"`);
    const { answer, cpuMs, ms } = await timed<FoundText>("searchText", { objects: hour, text, limit: 1_000 });
    texts.push({ text, objects: hour, ...answer, cpuMs, ms });
  }
  return { size, microseconds: { words: of("words"), sketch: of("sketch"), gzip: of("gzip") }, words, texts };
}

/** Objects, spread evenly over all. */
function holdersOf(objects: number, tries: number): number[] {
  return Array.from({ length: tries }, (_, i) => Math.floor(((i + 0.5) / tries) * objects));
}

function meanOf(found: readonly WordResult[]): WordResult {
  const mean = (of: (each: WordResult) => number): number =>
    found.reduce((sum, each) => sum + of(each), 0) / found.length;
  const read = (of: (each: WordResult) => ReadSoFar): ReadSoFar => ({
    read: mean((each) => of(each).read),
    bytesRead: mean((each) => of(each).bytesRead),
    sketchBytes: mean((each) => of(each).sketchBytes),
  });
  return {
    ...read((each) => each),
    first: read(({ first }) => first),
    days: mean(({ days }) => days),
    objects: mean(({ objects }) => objects),
    cpuMs: mean(({ cpuMs }) => cpuMs),
    ms: mean(({ ms }) => ms),
  };
}

export function searchReport({ size, microseconds, words: found, texts }: SearchResult): string[] {
  const { records, words, bytes, rawBytes, sketchBytes, segments } = size;
  const { words: hashing, sketch, gzip } = microseconds;
  const us = ({ median, low, high }: Summary): string[] => [
    median.toFixed(2),
    `${low.toFixed(2)} – ${high.toFixed(2)}`,
  ];
  const cells = ({ read, bytesRead, sketchBytes }: ReadSoFar, objects: number): string[] => [
    read.toFixed(1),
    ((100 * bytesRead) / (objects * bytes)).toFixed(2),
    (sketchBytes / 1e6).toFixed(1),
  ];
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
    "ONE WORD that one object has, newest first: what was read in all, and before the hit was told",
    table(
      [
        ...["days", "objects", "read", "% of bytes", "sketches MB", "false %"],
        ...["first: read", "% of bytes", "sketches MB", "CPU ms", "ms"],
      ],
      found.map((each) => [
        ...[`${each.days}`, count(each.objects), ...cells(each, each.objects)],
        ...[((100 * (each.read - 1)) / (each.objects - 1)).toFixed(2), ...cells(each.first, each.objects)],
        ...[count(each.cpuMs), count(each.ms)],
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
