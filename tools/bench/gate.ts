/**
 * `npm run bench -- --gate`: whether CPU time has grown. Ratios to gzip of the same bytes, measured
 * in one run, are compared with those that were kept.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../paths.ts";
import { ALERTS } from "./alerts.ts";
import { measureShape, microseconds } from "./cpu.ts";
import { EVERYTHING, FILTERED, type JobShape } from "./job-shapes.ts";
import { median, quartiles, table } from "./table.ts";
import { ALIKE, type Effort, toGzip, type Work } from "./works.ts";

/** Many short rounds: what else the machine does changes little within one. */
const EFFORT: Effort = { records: 5_000, rounds: 60, warmUpRounds: 10 };

/** A ratio may be slower by this than the one that was kept last, beyond noise… */
const STEP_MAX = 0.03;
/** …and by this than the least that was ever kept: small steps do not add up to more. */
const TOTAL_MAX = 0.1;

/** A ratio, as it was kept. */
export interface Figure {
  /** To gzip of the same bytes, the median of all rounds. */
  ratio: number;
  /** How far the median may be off, as a share of it: {@link figureOf}. */
  noise: number;
  /** The least ratio that was ever kept. */
  least: number;
}

/** What is committed beside this file. */
export interface Kept {
  /** When the ratios were measured, as YYYY-MM-DD, and the release of Node. */
  date: string;
  node: string;
  figures: { readonly [name: string]: Figure };
}

/** A ratio of this run. */
export interface Sample {
  name: string;
  /** To gzip of the same bytes, round by round. */
  rounds: readonly number[];
  /** Medians of the work itself, in µs for each record that came in. */
  microseconds: number;
}

export type Verdict = "" | "faster" | "slower" | "slower in all" | "not kept" | "not measured";

export interface Comparison {
  name: string;
  kept: number | null;
  now: number | null;
  microseconds: number | null;
  /** Share by which it is slower than the one that was kept. */
  change: number | null;
  /** Of both measurements, as a share. */
  noise: number | null;
  verdict: Verdict;
}

/** These verdicts let a ratio pass. */
const PASSES: readonly Verdict[] = ["", "faster"];

/**
 * Medians whose distance is within the noise of both are likely to be the same: McGill, Tukey,
 * Larsen: Variations of Box Plots (1978), where the notch of a box is 1.57 × the distance of the
 * quartiles / √n.
 */
export function figureOf({ rounds }: Pick<Sample, "rounds">): Omit<Figure, "least"> {
  const ratio = median(rounds);
  const [low, high] = quartiles(rounds);
  return { ratio, noise: (1.57 * (high - low)) / Math.sqrt(rounds.length) / ratio };
}

/** Compares by name, in the order of the samples. */
export function compare(samples: readonly Sample[], figures: Kept["figures"]): Comparison[] {
  const measured = samples.map((sample): Comparison => {
    const now = figureOf(sample);
    const { name } = sample;
    const row = { name, now: now.ratio, microseconds: sample.microseconds };
    const kept = figures[name];
    if (kept === undefined) return { ...row, kept: null, change: null, noise: now.noise, verdict: "not kept" };
    const change = now.ratio / kept.ratio - 1;
    const noise = Math.hypot(now.noise, kept.noise);
    const verdict = verdictOf(change, now.ratio / kept.least - 1, noise);
    return { ...row, kept: kept.ratio, change, noise, verdict };
  });
  const names = new Set(samples.map(({ name }) => name));
  const missing = Object.entries(figures).filter(([name]) => !names.has(name));
  const none = { now: null, microseconds: null, change: null, noise: null, verdict: "not measured" } as const;
  return [...measured, ...missing.map(([name, { ratio }]) => ({ name, kept: ratio, ...none }))];
}

function verdictOf(change: number, inAll: number, noise: number): Verdict {
  if (inAll > TOTAL_MAX + noise) return "slower in all";
  if (change > STEP_MAX + noise) return "slower";
  return change < -(STEP_MAX + noise) ? "faster" : "";
}

export function passes(rows: readonly Comparison[]): boolean {
  return rows.every(({ verdict }) => PASSES.includes(verdict));
}

/** What is committed from now on. @param before what was. */
export function keep(samples: readonly Sample[], before: Kept["figures"], now: { date: string; node: string }): Kept {
  const figures = samples.map(({ name, rounds }) => {
    const { ratio, noise } = figureOf({ rounds });
    const least = Math.min(ratio, before[name]?.least ?? ratio);
    return [name, { ratio: rounded(ratio), noise: rounded(noise), least: rounded(least) }] as const;
  });
  return { ...now, figures: Object.fromEntries(figures) };
}

/** To four digits behind the point: a hundredth of a percent. */
function rounded(value: number): number {
  return Number(value.toFixed(4));
}

/** The table, and its sum for a note. */
export function gateText(rows: readonly Comparison[], kept: Omit<Kept, "figures"> | null): string[] {
  return [
    table(
      ["× gzip alone", "kept", "now", "change", "noise", "µs/record", "verdict"],
      rows.map(({ name, kept, now, change, noise, microseconds, verdict }) => [
        ...[name, digits(kept), digits(now), percent(change, "exceptZero"), percent(noise, "never")],
        ...[digits(microseconds), verdict],
      ]),
    ),
    sumOf(rows, kept),
  ];
}

function sumOf(rows: readonly Comparison[], kept: Omit<Kept, "figures"> | null): string {
  if (kept === null) return "No ratios are kept yet: npm run bench -- --gate --keep";
  const named = (...verdicts: Verdict[]): string =>
    rows
      .filter(({ verdict }) => verdicts.includes(verdict))
      .map(({ name, change }) => (change === null ? name : `${name} (${percent(change, "exceptZero")})`))
      .join(", ");
  const says = (words: string, list: string): string[] => (list === "" ? [] : [`${words}: ${list}.`]);
  const failed = [
    ...says("More than 10 % slower in all than the least ratio that was kept", named("slower in all")),
    ...says("More than 3 % slower beyond noise", named("slower")),
    ...says("Not kept yet", named("not kept")),
    ...says("Kept, and not measured any more", named("not measured")),
  ];
  return [
    `${rows.length} ratios, Node ${process.versions.node}, beside those of ${kept.date}, Node ${kept.node}.`,
    ...(failed.length > 0 ? failed : ["None is more than 3 % slower beyond noise, or 10 % in all."]),
    ...says("Faster beyond noise, to be kept", named("faster")),
  ].join("\n");
}

function digits(value: number | null): string {
  return value === null ? "" : value.toFixed(2);
}

function percent(share: number | null, signDisplay: "exceptZero" | "never"): string {
  if (share === null) return "";
  const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay });
  return `${format.format(share * 100)} %`;
}

/** The names of ratios, by what a job ships. */
export const RATIOS = {
  everything: {
    post: "POST → message, compressed once",
    intake: "tail item → message, compressed once",
    pipeline: "message → fragments, everything",
    unsketched: "… without sketches, everything",
    alerted: `… with ${ALERTS.length} alerts on searches, everything`,
    alike: `… with ${ALIKE} jobs of equal rules, everything`,
    hashes: "word hashes",
  },
  filtered: {
    post: "POST → message",
    intake: "tail item → message",
    pipeline: "message → fragments, filtered",
    unsketched: "… without sketches, filtered",
    alerted: `… with ${ALERTS.length} alerts on searches, filtered`,
    alike: `… with ${ALIKE} jobs of equal rules, filtered`,
  },
} as const satisfies { [shape: string]: Names };

type Names = { readonly [work in Exclude<Work, "gzip">]?: string };

async function samplesOf(shape: JobShape, names: Names): Promise<Sample[]> {
  const works = Object.keys(names) as (keyof Names)[];
  const measured = await measureShape(shape, EFFORT, ["gzip", ...works]);
  return works.map((work) => ({
    name: names[work] ?? work,
    rounds: toGzip(measured.times, work),
    microseconds: microseconds(measured, work),
  }));
}

/** All ratios of this run, by turns with gzip. */
export async function measureRatios(say: (line: string) => void): Promise<Sample[]> {
  say("Gate: all fields of all records …");
  const everything = await samplesOf(EVERYTHING, RATIOS.everything);
  say("Gate: with a filter and a projection …");
  return [...everything, ...(await samplesOf(FILTERED, RATIOS.filtered))];
}

/** Where ratios are kept. */
export const FIGURES = join(ROOT, "tools/bench/gate-figures.json");

export interface Gate {
  measure(): Promise<readonly Sample[]>;
  /** Where ratios are kept; there may be none yet. */
  file: string;
  /** Those of this run are kept, whatever they are. */
  keeps: boolean;
  now: Date;
  show(parts: readonly string[]): void;
}

/** @returns exit code: 1 unless every ratio passes. */
export async function runGate({ measure, file, keeps, now, show }: Gate): Promise<0 | 1> {
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Kept) : null;
  const samples = await measure();
  const rows = compare(samples, kept?.figures ?? {});
  show(gateText(rows, kept));
  if (!keeps) return passes(rows) ? 0 : 1;
  const when = { date: now.toISOString().slice(0, 10), node: process.versions.node };
  writeFileSync(file, `${JSON.stringify(keep(samples, kept?.figures ?? {}, when), null, 2)}\n`);
  return 0;
}
