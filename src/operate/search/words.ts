// What a search says of its answer: on the page, and in the terminal.
import { bytes, count, duration, figure, plural, stamp, timeSpan, took } from "../../base/words.ts";
import type { Measure } from "../../formats/measures/measures.ts";
import type { GroupValue } from "./count/groups.ts";

// What stands above an answer, or above what follows from it.
export const REFUSED = "The search was refused";
export const NOTHING_FOUND = "Nothing found";
export const NOT_SEARCHED = "Not searched";
export const SEARCH_AGAIN = "Search again with";

/** Of the lines `progress` of an answer, what is told. */
export interface Looked {
  objects: number;
  read: number;
  skipped: number;
  bytes_read: number;
  sketch_bytes: number;
}

/** How far a search is that had answers before this one. @param before of those, all together. */
export function lookedSince(before: Looked, now: Looked): Looked {
  return {
    objects: before.read + before.skipped + now.objects,
    read: before.read + now.read,
    skipped: before.skipped + now.skipped,
    bytes_read: before.bytes_read + now.bytes_read,
    sketch_bytes: before.sketch_bytes + now.sketch_bytes,
  };
}

/** `Searched 34 of 60 files (35.5 kB); 28 could be ruled out.` */
export function lookedWords({ objects, read, skipped, bytes_read, sketch_bytes }: Looked): string {
  const looked = read + skipped;
  const of = looked === objects ? "" : `${count(looked)} of `;
  const out = skipped === 0 ? "" : `; ${count(skipped)} could be ruled out`;
  return `Searched ${of}${plural(objects, "file")} (${bytes(bytes_read + sketch_bytes)})${out}.`;
}

interface Place {
  job_id: number;
  object: number | null;
  line: number;
  also_in: readonly number[];
}

/** `Object 12 of job 3, line 4`. */
export function placeWords({ job_id, object, line }: Omit<Place, "also_in">): string {
  return object === null ? `Not uploaded yet, job ${job_id}` : `Object ${object} of job ${job_id}, line ${line}`;
}

/** `Also in jobs 2, 3`; "": in no other. */
export function alsoInWords({ also_in }: Pick<Place, "also_in">): string {
  return also_in.length === 0 ? "" : `Also in ${also_in.length === 1 ? "job" : "jobs"} ${also_in.join(", ")}`;
}

/** The times that a search offers, as distances back from now. */
export const LAST = {
  "15m": { label: "the last 15 minutes", ms: 900_000 },
  "1h": { label: "the last hour", ms: 3_600_000 },
  "24h": { label: "the last day", ms: 86_400_000 },
  "7d": { label: "the last 7 days", ms: 7 * 86_400_000 },
  "30d": { label: "the last 30 days", ms: 30 * 86_400_000 },
  "90d": { label: "the last 90 days", ms: 90 * 86_400_000 },
} as const;

/** What a search was about; "": no condition. */
export interface Conditions {
  outcome: string;
  function: string;
  filter: string;
  job: string;
}

/** What a search that found nothing was about. @param outcome `failed`; one; not one: `!ok`; "". */
export function nothingWords(outcome: string, sinceMs: number, untilMs: number): string {
  const ended = `ended with ${outcome.replace(/^!/, "anything but ")}`;
  const records = outcome === "" ? "" : ` for records that ${outcome === "failed" ? outcome : ended}`;
  return `Searched${records} from ${timeSpan(sinceMs, untilMs)}. New events take about 10 s to arrive.`;
}

/** A search that may find more, as it lacks a condition or covers a longer time. */
export interface Wider {
  label: string;
  without?: keyof Conditions;
  last?: string;
  /** In ms since the epoch. */
  span?: readonly [sinceMs: number, untilMs: number];
}

/** @param isBack the time ends now. */
export function widerWays(asked: Conditions, sinceMs: number, untilMs: number, isBack: boolean): Wider[] {
  const longer = Object.entries(LAST).find(([, { ms }]) => ms > untilMs - sinceMs);
  const beside = Math.max(3_600_000, untilMs - sinceMs);
  const around = { label: `${duration(beside)} more before and after` };
  const without = (name: keyof Conditions, label: string): Wider[] =>
    asked[name] === "" ? [] : [{ label, without: name }];
  return [
    ...without("outcome", "any outcome"),
    ...(isBack
      ? longer === undefined
        ? []
        : [{ label: longer[1].label, last: longer[0] }]
      : [{ ...around, span: [sinceMs - beside, untilMs + beside] as const }]),
    ...without("function", "all Workers"),
    ...without("filter", "no further conditions"),
    ...without("job", "all jobs"),
  ];
}

/** Where words were searched for, and nothing is found. */
export const FEWER_WORDS = "A record must have all words of a search. Fewer words may find more.";

/** Characters before a fault, and after it, that are shown. */
const AROUND_FAULT = 60;

/** What stands before a fault of a query, and from it on. @param at as of the fault. */
export function faultPlace(query: string, at: number): [before: string, from: string] {
  const [start, end] = [Math.max(0, at - AROUND_FAULT), at + AROUND_FAULT];
  const before = `${start > 0 ? "…" : ""}${query.slice(start, at)}`;
  return [before.toWellFormed(), `${query.slice(at, end).toWellFormed()}${end < query.length ? "…" : ""}`];
}

/** `p95:took`, as the command takes it. */
export function measureTitle({ op, of }: Measure): string {
  return of === undefined ? op : `${op}:${of}`;
}

const TIMES: ReadonlySet<string> = new Set(["took", "cpu", "WallTimeMs", "CPUTimeMs"]);

/** `1,234`, `1.84 s`; `-`: no record of the group has that number. */
export function measureText({ op, of = "" }: Measure, value: number | null): string {
  if (value === null) return "-";
  if (!TIMES.has(of) || op === "count" || op === "distinct") return figure(value);
  // Of many records, exact: rounded to hours, it would say little.
  return op === "sum" ? `${count(value)} ms` : took(value);
}

/** A value that records are grouped by: show it through `visible`. */
export function groupText(value: GroupValue): string {
  return value === null ? "none" : String(value);
}

/**
 * ` so far; complete from 2026-11-20 17:20:00 UTC on`: after the number of an unfinished count.
 * @param at as of its newest line `groups`; null: not known yet.
 */
export function soFarWords(at: number | string | null, order: "newest" | "oldest"): string {
  if (at === null) return " so far";
  const time = `${stamp(at, 1_000)} UTC`;
  return ` so far; complete ${order === "oldest" ? `up to ${time}` : `from ${time} on`}`;
}

/** Where a count has more groups than it can keep. */
export const TOO_MANY_GROUPS = "There are too many groups: others may have records of those that are shown.";
