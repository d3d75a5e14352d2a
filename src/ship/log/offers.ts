/**
 * What an append brings to jobs: which parts each is offered, and the block that keeps them. Pure.
 */
import { type JobConfig, stampOf, wasIn } from "../job/config.ts";
import type { Append, LoggedMessage, PartHead } from "./append-types.ts";
import type { Entry, NewBlock } from "./blocks.ts";
import { offeredOf } from "./counted.ts";
import type { JobsCopy, ShardJob } from "./jobs-copy.ts";

const NONE: ReadonlySet<string> = new Set();

/** What was in force when a part was taken in. */
export interface Offer {
  /** Functions whose logging was off. */
  off: ReadonlySet<string>;
  /** Jobs that were enabled. */
  jobs: ReadonlySet<number>;
}

export type Offers = ReadonlyMap<PartHead, Offer>;

/** What was in force when a part was taken in. */
export function offerOf(
  { takenInMs }: Pick<PartHead, "takenInMs">,
  { jobs, optOuts }: ReturnType<JobsCopy["all"]>,
): Offer {
  const off = optOuts.filter((optOut) => wasIn(optOut, takenInMs)).map(({ scriptName }) => scriptName);
  return { off: new Set(off), jobs: new Set(jobs.filter((job) => wasIn(job, takenInMs)).map(({ id }) => id)) };
}

/**
 * What of an append is kept.
 * @param isWhole all parts of the append are new: what was prepared for them can be taken. @param
 * isKept also   what no job is offered.
 * @returns null: no job is offered anything, and nothing is kept.
 */
export function blockOf(
  offers: Offers,
  append: Append,
  jobs: readonly ShardJob[],
  { isWhole, isKept }: { isWhole: boolean; isKept: boolean },
): NewBlock | null {
  const heads = [...offers]
    .filter(([part, { off, jobs }]) => (isKept || jobs.size > 0) && offeredOf(part, off) > 0)
    .map(([part]) => part);
  const parts = heads.map(({ id }) => id);
  const groups: NewBlock["groups"] = [];
  const entries: Entry[] = [];
  for (const job of jobs) {
    const offered = heads.flatMap((part, place) => (offers.get(part)?.jobs.has(job.id) ? [{ part, place }] : []));
    if (offered.length === 0) continue;
    const ids = offered.map(({ part }) => part.id);
    const stamp = stampOf(job);
    const prepared = isWhole ? preparedFor(append, job.id, stamp, ids) : null;
    if (prepared !== null) {
      const { share, group } = prepared;
      if (!groups.includes(group)) groups.push(group);
      entries.push({ ...share, group: groups.indexOf(group) });
      continue;
    }
    const received = offered.reduce((sum, { part }) => sum + offeredOf(part, offers.get(part)?.off ?? NONE), 0);
    const places = ids.length === parts.length ? {} : { parts: offered.map(({ place }) => place) };
    entries.push({ ...openEntry(job, received), ...places });
  }
  if (heads.length === 0 || (entries.length === 0 && !isKept)) return null;
  const stored = new Set(
    entries.flatMap(({ group, parts: places }) =>
      group !== null ? [] : (places?.map((place) => parts[place] as string) ?? parts),
    ),
  );
  const kept = heads.map((part): [number, number] => [part.takenInMs, offeredOf(part, offers.get(part)?.off ?? NONE)]);
  return {
    takenMs: Math.min(...heads.map(({ takenInMs }) => takenInMs)),
    ...{ parts, entries, groups },
    off: offOf(heads, offers),
    records: append.records.filter(({ parts: ids }) =>
      ids.some((id) => (isKept ? parts.includes(id) : stored.has(id))),
    ),
    ...(isKept && { kept }),
  };
}

/** null: nothing was prepared for this job as it is, and for just these parts. */
function preparedFor(
  { prepared }: Append,
  job: number,
  stamp: string,
  parts: readonly string[],
): { share: Append["prepared"][number]["jobs"][number]; group: Append["prepared"][number] } | null {
  for (const group of prepared) {
    const share = group.jobs.find((each) => each.id === job && each.stamp === stamp);
    if (share === undefined) continue;
    const own = new Set(group.parts);
    return own.size === parts.length && parts.every((id) => own.has(id)) ? { share, group } : null;
  }
  return null;
}

/** A job, and no rerun, starts in the past. */
export function isOfPast({ since, rerunOf }: JobConfig): boolean {
  return rerunOf === undefined && since !== undefined;
}

export function openEntry(job: ShardJob, received: number): Entry {
  return { id: job.id, stamp: stampOf(job), received, filtered: 0, sampledOut: 0, group: null };
}

/** Of the functions in each part, those whose logging was off. */
export function offOf(heads: readonly PartHead[], offers: Offers): Record<string, string[]> {
  return Object.fromEntries(
    heads.flatMap((part): [string, string[]][] => {
      const off = part.functions.map(({ scriptName }) => scriptName).filter((name) => offers.get(part)?.off.has(name));
      return off.length === 0 ? [] : [[part.id, off]];
    }),
  );
}

/** Of a part that comes twice, the copy that was taken in first: it is what the account counts. */
export function eachFirst(parts: readonly PartHead[]): PartHead[] {
  const first = new Map<string, PartHead>();
  for (const part of parts) {
    const other = first.get(part.id);
    if (other === undefined || part.takenInMs < other.takenInMs) first.set(part.id, part);
  }
  return parts.filter((part) => first.get(part.id) === part);
}

/** Of a part that comes twice, the first message that has it. */
export function eachOnce(records: readonly LoggedMessage[]): LoggedMessage[] {
  const seen = new Set<string>();
  return records.map(({ body, parts }) => ({ body, parts: parts.filter((id) => !seen.has(id) && seen.add(id)) }));
}

export function recordsOf({ functions }: PartHead): number {
  return functions.reduce((sum, { records }) => sum + records, 0);
}
