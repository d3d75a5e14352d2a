import { plural } from "../../base/words.ts";

/** What was not searched, though the question covers it. */
export interface NotSearched {
  /** null: what `why` says by itself. */
  job: number | null;
  /** Number of the object; null: it had none yet, or it is more than an object. */
  object: number | null;
  /** The name of the manifest, if it is one. */
  manifest?: string;
  /** So many lines of it, of which `why` goes on to tell. */
  lines?: number;
  /** Why, and what to do about it; the same words for what is to be named together. */
  why: string;
}

/** What was not searched for one reason, as an answer has it. */
export interface Left {
  /** In words: `2 objects of job 3 (1, 2)`. */
  what: string;
  why: string;
  /** null: `what` says it. */
  job: number | null;
  /** Numbers of objects, or names of manifests, of that job; without both: what has none. */
  objects?: number[] | undefined;
  manifests?: string[] | undefined;
}

/** Of reasons that an answer gives, this many at most. */
const WHYS_MAX = 100;

/** No page would get further. */
export const TOO_MANY_AT_ONCE = "too many objects have records of one moment: search one job at a time";

/** So many numbers, or names, are told one by one. */
const NAMES_MAX = 10;

/** What one job has in common, for one reason, together. */
export function inWords(all: readonly NotSearched[]): Left[] {
  const groups = [...Map.groupBy(all, ({ job, object, why }) => `${job} ${object === null} ${why}`).values()];
  const left = groups.slice(0, WHYS_MAX).map((group): Left => {
    const [{ job, why: reason }] = group as [NotSearched];
    const lines = group.reduce((sum, each) => sum + (each.lines ?? 0), 0);
    const why = lines === 0 ? reason : `${plural(lines, "line")} ${reason}`;
    const objects = distinct(group.flatMap(({ object }) => object ?? []));
    const manifests = distinct(group.flatMap(({ manifest }) => manifest ?? []));
    const parts = { job, ...(objects.length > 0 && { objects }), ...(manifests.length > 0 && { manifests }) };
    return { what: job === null ? "a part of the time" : whatOf([{ what: "", why, ...parts }]), why, ...parts };
  });
  const others = groups.length - WHYS_MAX;
  return others > 0 ? [...left, { what: `${others} more`, why: "too many reasons to name", job: null }] : left;
}

/**
 * What one or several answers to a question name, in sentences for people: one a reason. The texts
 * may come from a store: show them through `visible`.
 */
export function notSearchedLines(all: readonly Left[]): string[] {
  return [...Map.groupBy(all, ({ why }) => why)].map(([why, left]) => `${whatOf(left)}: ${why}`);
}

/** `12 objects of job 3 (1, 2, …), object 4 of job 5, jobs 7 and 8`. */
function whatOf(left: readonly Left[]): string {
  const jobs = Map.groupBy(left, ({ job }) => job);
  const whole: number[] = [];
  const parts: string[] = [];
  for (const [job, group] of jobs) {
    if (job === null) {
      parts.push(...distinct(group.map(({ what }) => what)));
      continue;
    }
    const objects = distinct(group.flatMap(({ objects }) => objects ?? []));
    const manifests = distinct(group.flatMap(({ manifests }) => manifests ?? []));
    if (objects.length > 0) parts.push(named("object", objects, job));
    if (manifests.length > 0) parts.push(named("manifest", manifests, job));
    if (group.some(({ objects, manifests }) => objects === undefined && manifests === undefined)) whole.push(job);
  }
  if (whole.length > 0) parts.push(`${whole.length === 1 ? "job" : "jobs"} ${firstOf(whole)}`);
  return parts.join(", ");
}

function named(one: string, names: readonly (number | string)[], job: number): string {
  if (names.length === 1) return `${one} ${names[0]} of job ${job}`;
  return `${names.length} ${one}s of job ${job} (${firstOf(names)})`;
}

function firstOf(names: readonly (number | string)[]): string {
  return `${names.slice(0, NAMES_MAX).join(", ")}${names.length > NAMES_MAX ? ", …" : ""}`;
}

function distinct<T>(all: readonly T[]): T[] {
  return [...new Set(all)];
}
