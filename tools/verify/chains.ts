/** Whether the manifests of an archive are all there, in the order of their writing. Pure. */

import { dayStamp, MANIFEST_EMPTY_DAYS_MAX } from "../../src/formats/manifest/archive-format.ts";
import type { ReadManifest } from "./read-manifest.ts";

const DAY_MS = 86_400_000;

/** What is remembered of a manifest: not its objects. */
export interface Link {
  readonly file: string;
  readonly base: string;
  readonly job: number;
  readonly name: string;
  readonly sha256: string;
  readonly chain: ReadManifest["chain"];
  readonly openFrom: string;
  /** The day on which the job was deleted; null: it was not. */
  readonly deleted: string | null;
  readonly coversFrom: string;
  readonly path: string;
  readonly root: string;
  readonly written: string;
  readonly deliveries: ReadManifest["deliveries"];
  /** By `shard/segment`: how many objects it lists. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface Finding {
  /** The file that it is about. */
  readonly what: string;
  readonly why: string;
}

export interface ChainOptions {
  /** `YYYYMMDD`: what is of earlier days may have been deleted by a rule. */
  readonly expiredBefore: string | null;
  /** Files that stand there and are no valid manifests: they are named already. */
  readonly broken: ReadonlySet<string>;
}

/** The manifests of one job at one place, the first one first. */
export function chainsOf(links: readonly Link[]): Link[][] {
  const groups = Map.groupBy(links, ({ base, job, chain }) => JSON.stringify([base, job, chain.id]));
  return [...groups.values()].map((group) => group.sort((a, b) => a.chain.position - b.chain.position));
}

/**
 * Manifests that do not stand in the folder that they are signed for: readers of that folder take
 * what they list for its own. The folders above the archive are unknown where it was downloaded,
 * and it may stand below others: so what is known of both has to be the same, all manifests of one
 * folder have to name one root, and those of a folder below it that folder. Beside one another
 * there may be two archives.
 * @param prefix where the archive is in its bucket; null: unknown.
 */
export function placeFindings(chains: readonly (readonly Link[])[], prefix: string | null): Finding[] {
  const firsts = chains.flatMap(([first]) => first ?? []);
  const isHere = ({ base, root }: Link): boolean => {
    const at = [prefix ?? "", base].filter((part) => part !== "").join("/");
    return endsWith(at, root) || (prefix === null && endsWith(root, at));
  };
  const here = firsts.filter(isHere);
  return firsts.flatMap((link) => {
    const { base, job, root } = link;
    const isForeign = (above: Link): boolean =>
      (base === above.base || base.startsWith(folder(above.base))) &&
      root !== [above.root, base.slice(folder(above.base).length)].filter((part) => part !== "").join("/");
    if (here.includes(link) && !here.some(isForeign)) return [];
    return [
      {
        what: `${folder(base)}_logship/${job}`,
        why: `manifests of another place, ${root || "the bucket"}, with what they list`,
      },
    ];
  });
}

function endsWith(path: string, end: string): boolean {
  return `/${path}`.endsWith(end === "" ? "" : `/${end}`);
}

function folder(base: string): string {
  return base === "" ? "" : `${base}/`;
}

/** @param chain of one place, in order. */
export function chainFindings(chain: readonly Link[], options: ChainOptions): Finding[] {
  const findings: Finding[] = [];
  let before: Link | undefined;
  for (const link of chain) {
    findings.push(...linkFindings(before, link, options), ...hiddenFindings(before, link, chain, options));
    before = link;
  }
  return findings;
}

function linkFindings(before: Link | undefined, link: Link, options: ChainOptions): Finding[] {
  const { position, previous } = link.chain;
  const beforeAt = before?.chain.position ?? 0;
  if (position === beforeAt && before !== undefined)
    return [{ what: link.file, why: `it stands where ${before.name} does: the chain has two ends` }];
  const missing = position - beforeAt - 1;
  if (missing > 0) return missingFindings(before, link, missing, options);
  if (before === undefined) return [];
  if (previous === null || previous.sha256 !== before.sha256)
    return [{ what: before.file, why: `it is not the manifest after which ${link.name} was written` }];
  return countFindings(before, link);
}

function missingFindings(
  before: Link | undefined,
  { file, base, job, name, chain: { previous } }: Link,
  missing: number,
  { expiredBefore, broken }: ChainOptions,
): Finding[] {
  if (previous === null) return [{ what: file, why: "its place in the chain is wrong" }];
  if (expiredBefore !== null && previous.name.slice(0, 8) < expiredBefore) return [];
  const what = `${folder(base)}_logship/${job}/${previous.name}`;
  // Its file stands there, edited.
  if (missing === 1 && broken.has(what)) return [];
  const others = missing === 1 ? "" : `, and ${missing - 1} more manifests before it`;
  const after = before === undefined ? "" : `, after ${before.name}`;
  return [{ what, why: `missing${others}: written before ${name}${after}` }];
}

/**
 * Days without a manifest in a gap that seems to have expired, as its last manifest is of such a
 * day: that may have been late, and stood behind others. Every day has one once it is over.
 */
function hiddenFindings(
  before: Link | undefined,
  { base, job, chain: { position }, openFrom, deleted }: Link,
  chain: readonly Link[],
  { expiredBefore }: ChainOptions,
): Finding[] {
  if (before === undefined || expiredBefore === null || position <= before.chain.position + 1) return [];
  const there = new Set(chain.map(({ name }) => name.slice(0, 8)));
  const last = chain.at(-1);
  // Of the last listing, manifests of later days may be still to come.
  const end = last === undefined || last.openFrom > openFrom ? openFrom : last.name.slice(0, 8);
  const earliest = dayStamp(dayNumber(openFrom) - MANIFEST_EMPTY_DAYS_MAX);
  const from = [before.openFrom, expiredBefore, earliest].sort().at(-1) ?? "";
  const findings: Finding[] = [];
  for (let day = from; day < end && day <= (deleted ?? day); day = dayStamp(dayNumber(day) + 1))
    if (!there.has(day))
      findings.push({ what: `${folder(base)}_logship/${job}/${day}.1.json`, why: "missing: its day has no manifest" });
  return findings;
}

/** Since the epoch. @param day `YYYYMMDD`. */
export function dayNumber(day: string): number {
  return Date.parse(day.replace(/^(\d{4})(\d\d)(\d\d)$/, "$1-$2-$3")) / DAY_MS;
}

/** The counts of two manifests that follow one another. */
function countFindings(before: Link, link: Link): Finding[] {
  return link.deliveries.flatMap(({ shard, segment, listed }) => {
    const earlier = before.deliveries.find((node) => node.shard === shard && node.segment === segment);
    const own = link.counts[`${shard}/${segment}`] ?? 0;
    if (earlier === undefined || earlier.listed + own === listed) return [];
    const why = `it lists ${own} objects of shard ${shard}, segment ${segment}, and should list ${listed - earlier.listed}`;
    return [{ what: link.file, why }];
  });
}
