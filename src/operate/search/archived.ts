import { parsedJson } from "../../base/bytes.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered, platform } from "../../base/platform.ts";
import { DAY_MS, dayOf } from "../../base/time.ts";
import {
  type ListedObject,
  type ListedSketch,
  MANIFEST_TYPE,
  type Manifest,
  splitManifest,
} from "../../formats/manifest/manifest.ts";
import { manifestKey, manifestName } from "../../formats/manifest/place.ts";
import { isSignedBy, type PublicKey } from "../../formats/manifest/signing.ts";
import { dayStamp } from "../../formats/object/keys.ts";
import { markOf } from "../../formats/sketch/group.ts";
import { readSmall } from "../../ship/destinations/read-small.ts";
import { nodeOf } from "../../ship/log/nodes.ts";
import { nodeAt, type ReaderBindings } from "../../ship/reader/job-nodes.ts";
import type { Searchable } from "../../ship/reader/searchable.ts";
import type { ManifestDays } from "../../ship/reader/statuses.ts";
import { each, edgeOf, isBeyond, type ListedSpan } from "./listing.ts";
import type { NotSearched } from "./not-searched.ts";
import type { SearchedJob } from "./source.ts";

/** What manifests say of objects that have left the lists of the readers. */
export interface Archive {
  /** By their ids: those that manifests may be signed with. */
  keys: ReadonlyMap<string, PublicKey>;
  /** What was cut earlier, in ms since the epoch, has left them. */
  listedFromMs: number;
}

/** An object that a manifest lists. */
export interface ArchivedObject {
  job: number;
  node: number;
  object: Searchable;
  /** Of its day: one of them may know it. */
  sketches: readonly ListedSketch[];
}

export interface Archived {
  found: ArchivedObject[];
  /** As of `Sources`. */
  listedToMs: number | null;
  notSearched: NotSearched[];
  /** Of manifests, that were read. */
  bytes: number;
}

/** Deadlines of a question to a reader, of a manifest, and of all together, in ms. */
const ASK_MS = 10_000;
const READ_MS = 15_000;
const LIST_MS = 15_000;

/** A manifest is 1.5 MB at most, but for one with a single, very long key, and its sketches. */
const MANIFEST_READ_MAX_BYTES = 4_000_000;

/** Days with their manifests: how many each job has. */
type Days = ReadonlyMap<number, { job: SearchedJob; count: number }[]>;

/**
 * Lists objects of these jobs by the signed manifests in their buckets, day by day, as their
 * readers have forgotten them, until there are `limit`. Of a day with more, the first ones.
 */
export async function listArchived(
  env: ReaderBindings,
  jobs: readonly SearchedJob[],
  span: ListedSpan,
  archive: Archive,
  limit: number,
): Promise<Archived> {
  const all: Archived = { found: [], listedToMs: null, notSearched: [], bytes: 0 };
  const firstDay = dayOf(span.sinceMs);
  // Events of the next day are taken as well, as clocks differ.
  const lastDay = Math.min(dayOf(span.untilMs - 1), dayOf(archive.listedFromMs) + 1);
  if (lastDay < firstDay) return all;
  const days = await manifestDays(env, jobs, firstDay, lastDay, archive, all.notSearched);
  const isNewest = span.order === "newest";
  const ordered = [...days.keys()].sort((a, b) => (isNewest ? b - a : a - b));
  const untilMs = platform.now() + LIST_MS;
  for (const [i, day] of ordered.entries()) {
    await each(days.get(day) ?? [], (of) => listDay(of, day, span, archive, all, limit));
    keepFirst(all, limit, span.order);
    if (all.listedToMs !== null) break;
    if (i + 1 < ordered.length && (all.found.length >= limit || platform.now() >= untilMs)) {
      all.listedToMs = isNewest ? day * DAY_MS - 1 : (day + 1) * DAY_MS;
      break;
    }
  }
  return all;
}

/** Leaves out what is beyond the first `limit`: the next page lists it. */
function keepFirst(all: Archived, limit: number, order: ListedSpan["order"]): void {
  const { found } = all;
  if (found.length <= limit) return;
  const sign = order === "newest" ? -1 : 1;
  found.sort((a, b) => sign * (edgeOf(a.object, order) - edgeOf(b.object, order)));
  found.length = limit;
  all.listedToMs = edgeOf((found[limit - 1] as ArchivedObject).object, order);
}

async function manifestDays(
  env: ReaderBindings,
  jobs: readonly SearchedJob[],
  firstDay: number,
  lastDay: number,
  { listedFromMs }: Archive,
  notSearched: NotSearched[],
): Promise<Days> {
  const days = new Map<number, { job: SearchedJob; count: number }[]>();
  await each(jobs, async (job) => {
    const leave = (why: string): void => void notSearched.push({ job: job.id, object: null, why });
    try {
      const ask = async (): Promise<ManifestDays | null> =>
        nodeAt(env.READERS, job.id, 0).manifestDays(firstDay, lastDay);
      const known = await answered("JobReader", ASK_MS, ask());
      // Of a job that is as young as its list, none has left it.
      if (known === null && job.createdMs < listedFromMs) return leave(beforeTheList(listedFromMs));
      const { begunDay, found } = known ?? { begunDay: 0, found: [] };
      for (const { day, number } of found) days.set(day, [...(days.get(day) ?? []), { job, count: number }]);
      if (begunDay > firstDay && begunDay - BEGUN_DAYS > dayOf(job.createdMs))
        leave(`objects of days before ${dayStamp(begunDay)} are no longer listed, and in no manifest`);
    } catch (error) {
      log.warn("a log was not searched", { job: job.id, error: errorText(error) });
      leave("its log does not answer: search again");
    }
  });
  return days;
}

/** Manifests begin with this day of those whose objects are still listed: manifests.ts. */
const BEGUN_DAYS = 2;

/** What was cut earlier than this, in ms since the epoch, is on no list of objects. */
export function beforeTheList(fromMs: number): string {
  return `objects that were cut before ${new Date(fromMs).toISOString()} are no longer listed; late events of that time were searched`;
}

/** Adds what the manifests of a day list. */
async function listDay(
  { job, count }: { job: SearchedJob; count: number },
  day: number,
  { sinceMs, untilMs, without, order }: ListedSpan,
  { keys }: Archive,
  all: Archived,
  limit: number,
): Promise<void> {
  const done = new Set(without.map((batch) => batch.join()));
  // Those that a later manifest names are of the objects of an earlier one as well.
  const sketches: ListedSketch[] = [];
  const keysOfSketches = new Set<string>();
  let isLate = false;
  for (let number = 1; number <= count; number++) {
    const leave = (why: string): void => {
      const manifest = manifestName(day, number);
      const what = `${why}: what it lists is listed nowhere else`;
      all.notSearched.push({ job: job.id, object: null, manifest, why: what });
    };
    // Each one more would take as long.
    if (isLate) {
      leave("was not asked for, as the one before did not come in time");
      continue;
    }
    const key = manifestKey(job.root, job.id, manifestName(day, number));
    const read = await readSmall(job.store, key, { maxBytes: MANIFEST_READ_MAX_BYTES, ms: READ_MS });
    if (!read.ok) {
      isLate = read.why === "late";
      leave(read.why === "refused" ? `cannot be read (${read.answer.words})` : "does not come in time");
      continue;
    }
    all.bytes += read.bytes.length;
    const manifest = await signedManifest(new Uint8Array(read.bytes), keys);
    const isIt = manifest?.job === job.id && manifest.day === dayStamp(day) && manifest.number === number;
    if (!isIt) {
      leave("is not as it was signed");
      continue;
    }
    if (manifest.objects.some(({ batch }) => batch === undefined)) leave("was written by an earlier release");
    for (const sketch of manifest.sketches ?? []) {
      if (!keysOfSketches.has(sketch.key)) sketches.push(sketch);
      keysOfSketches.add(sketch.key);
    }
    for (const listed of manifest.objects) {
      const object = searchableOf(listed, day);
      const { firstMs, lastMs, batch } = object;
      const isAsked = firstMs < untilMs && lastMs >= sinceMs && listed.copy_of === undefined && batch >= 0;
      if (!isAsked || isBeyond(edgeOf(object, order), all.listedToMs, order)) continue;
      const node = nodeOf(listed.shard, listed.segment);
      if (!done.has([job.id, node, batch].join())) all.found.push({ job: job.id, node, object, sketches });
    }
    // A day of many jobs may have far more than a page lists.
    if (all.found.length > 2 * limit) keepFirst(all, limit, order);
  }
}

/** @returns null: it is none, or is signed with none of these keys. */
async function signedManifest(
  file: Uint8Array<ArrayBuffer>,
  keys: ReadonlyMap<string, PublicKey>,
): Promise<Manifest | null> {
  const split = splitManifest(file);
  const key = keys.get(split?.keyId ?? "");
  if (split === null || key === undefined || !(await isSignedBy(key, split.signed, split.signature))) return null;
  // What was signed needs no further check.
  const manifest = parsedJson(new TextDecoder().decode(split.signed)) as Manifest | null;
  return manifest?.type === MANIFEST_TYPE && manifest.version === 1 ? manifest : null;
}

function searchableOf(object: ListedObject, day: number): Searchable {
  return {
    batch: object.batch ?? -1,
    number: object.number,
    state: object.at === "elsewhere" ? "elsewhere" : "delivered",
    key: object.key,
    mark: markOf(object),
    contentType: object.content_type ?? "",
    bytes: object.bytes,
    rawBytes: object.raw_bytes ?? 0,
    records: object.records,
    day,
    firstMs: Date.parse(object.first_event),
    lastMs: Date.parse(object.last_event),
    identified: null,
  };
}
