/**
 * `npm run bench -- --profile`: which functions take the CPU time that cpu.ts measures, by V8's
 * sampling profiler. Use the shares to find what to look at, and `--only=cpu` to measure a change.
 */
import type { Profiler } from "node:inspector";
import { Session } from "node:inspector/promises";
import { pathToFileURL } from "node:url";
import { ROOT } from "../paths.ts";
import { type CpuEffort, prepareData, WORKS, type Work } from "./cpu.ts";
import { EVERYTHING, FILTERED, type JobShape } from "./job-shapes.ts";
import type { Table } from "./table.ts";

/** Between two samples, in µs. */
const SAMPLE_US = 200;

/** Functions that are shown of each work. */
const SHOWN = 20;

const PROFILED: readonly { what: string; work: Work; shape: JobShape }[] = [
  { what: "intake", work: "intake", shape: EVERYTHING },
  { what: "pipeline, filter and projection", work: "pipeline", shape: FILTERED },
  { what: "pipeline, everything", work: "pipeline", shape: EVERYTHING },
];

/** Time of a function or a place, in µs for each record. */
export interface Spent {
  name: string;
  microseconds: number;
}

export interface WorkProfile {
  what: string;
  /** All of it, in µs for each record. */
  microseconds: number;
  /** Self time, the most first. */
  functions: Spent[];
  /**
   * By folder of `src`, the most first: what its functions and the functions of Node that they call
   * take. zlib and the garbage collector stand apart.
   */
  places: Spent[];
  /** Of the whole, 0 to 1. */
  zlibShare: number;
}

/** Profiles each work in turn, in this process. @param say gets progress as text. */
export async function reportProfile(effort: CpuEffort, table: Table, say: (line: string) => void): Promise<string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: SAMPLE_US });
  try {
    const profiles: WorkProfile[] = [];
    for (const { what, work, shape } of PROFILED) {
      say(`Profile: ${what} …`);
      const data = await prepareData(effort.records, shape);
      for (let round = 0; round < effort.warmUpRounds; round++) await WORKS[work](data);
      await session.post("Profiler.start");
      const before = process.threadCpuUsage();
      for (let round = 0; round < effort.rounds; round++) await WORKS[work](data);
      const { user, system } = process.threadCpuUsage(before);
      const { profile } = await session.post("Profiler.stop");
      const each = (user + system) / (effort.records * effort.rounds);
      profiles.push(workProfile(what, profile, each, pathToFileURL(`${ROOT}/`).href));
    }
    return profileReport(profiles, table);
  } finally {
    session.disconnect();
  }
}

type Frame = Profiler.ProfileNode["callFrame"];

/** Frames of no work: waiting, and the profiler itself. */
const isIdle = ({ functionName, url }: Frame): boolean =>
  url === "node:inspector" || (url === "" && /^\((root|idle)\)$/.test(functionName));

/** A function that is not written in JavaScript. */
const isNative = ({ url }: Frame): boolean => url === "";

/**
 * Where the CPU time of a profile went. Each sample counts alike: by their times, whatever ran when
 * another process got the processor would seem to take long.
 * @param microseconds CPU time of a record.
 * @param root URL of the repository, with a slash at its end.
 */
export function workProfile(what: string, profile: Profiler.Profile, microseconds: number, root: string): WorkProfile {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const stackOf = (id: number): Frame[] => {
    const frames: Frame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = nodes.get(at);
      if (node !== undefined) frames.push(node.callFrame);
    }
    return frames;
  };
  const functions = new Map<string, number>();
  const places = new Map<string, number>();
  let samples = 0;
  for (const id of profile.samples ?? []) {
    const stack = stackOf(id);
    const [frame] = stack;
    if (frame === undefined || isIdle(frame)) continue;
    samples += 1;
    increment(functions, nameOf(frame, root));
    increment(places, placeOf(stack, root));
  }
  const each = microseconds / Math.max(1, samples);
  return {
    ...{ what, microseconds, functions: spent(functions, each), places: spent(places, each) },
    zlibShare: (places.get("zlib") ?? 0) / Math.max(1, samples),
  };
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** @param each CPU time of a sample. */
function spent(counts: ReadonlyMap<string, number>, each: number): Spent[] {
  return [...counts]
    .map(([name, samples]) => ({ name, microseconds: samples * each }))
    .sort((a, b) => b.microseconds - a.microseconds);
}

function nameOf({ functionName, url, lineNumber }: Frame, root: string): string {
  const name = functionName || "(anonymous)";
  if (url === "") return name.startsWith("(") ? name : `${name} (native)`;
  return `${name} ${url.replace(root, "")}:${lineNumber + 1}`;
}

/** @param stack from the function that ran up to its callers. */
function placeOf(stack: readonly Frame[], root: string): string {
  const [frame] = stack;
  if (frame?.functionName === "(garbage collector)") return "garbage collector";
  // deflate itself is native, called by JavaScript of Node's own.
  if (stack.find((each) => !isNative(each))?.url === "node:zlib") return "zlib";
  for (const { url } of stack) {
    const path = url.startsWith(root) ? url.slice(root.length) : "";
    if (path.startsWith("src/")) return path.split("/").length > 3 ? path.split("/", 3).join("/") : path;
    if (path.startsWith("tools/")) return "the benchmark itself";
  }
  return "Node, not called by any of these";
}

/** The profiles as text. */
export function profileReport(profiles: readonly WorkProfile[], table: Table): string[] {
  const rows = (of: readonly Spent[], total: number): string[][] =>
    of.map(({ name, microseconds }) => [
      name,
      microseconds.toFixed(2),
      `${((microseconds / total) * 100).toFixed(1)}%`,
    ]);
  return profiles.flatMap(({ what, microseconds, functions, places, zlibShare }) => [
    `PROFILE of ${what}: ${microseconds.toFixed(1)} µs a record, ${(zlibShare * 100).toFixed(0)}% of it zlib`,
    table(["by function, itself", "µs/record", "share"], rows(functions.slice(0, SHOWN), microseconds)),
    table(["by folder, with what it calls of Node", "µs/record", "share"], rows(places, microseconds)),
  ]);
}
