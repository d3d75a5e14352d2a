import { SEARCH_PARTS_MAX } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered, within } from "../../base/platform.ts";
import { type Pieces, piecesOf } from "../../base/streams.ts";
import { plural } from "../../base/words.ts";
import { decoderOf, decoderOfType } from "../../formats/object/encoders.ts";
import type { Needed } from "../../formats/query/needed-terms.ts";
import { sketchesOf } from "../../formats/sketch/sketch-store.ts";
import {
  openObject,
  openParts,
  type PartsRoom,
  plain,
  READ_PATIENCE,
  ReadFault,
} from "../../ship/destinations/read-object.ts";
import { rerunName } from "../../ship/job/config.ts";
import { nodeAt, type Reader } from "../../ship/reader/job-nodes.ts";
import type { Searchable } from "../../ship/reader/searchable.ts";
import type { Rerun } from "../../state/control/rerun-rows.ts";
import { type Archive, type ArchivedObject, listArchived } from "./archived.ts";
import type { BatchPlace } from "./cursor.ts";
import { type Identified, identifier, loaded } from "./identify.ts";
import { edgeOf, isBeyond, LIST_MAX, type ListedSpan, listObjects, nearer } from "./listing.ts";
import { sketchLookUp } from "./look-up.ts";
import type { NotSearched } from "./not-searched.ts";
import type { Sources } from "./page.ts";
import { type Sketched, SketchFiles } from "./sketch-files.ts";
import type { Known, Needs, SearchedJob, Source } from "./source.ts";

/** `end` null: it may have more to read. */
export type SearchedRerun = Pick<Rerun, "id" | "job" | "end">;

export interface Listed extends Sources {
  notSearched: NotSearched[];
}

/** Deadline of a question to a reader, in ms. */
const ASK_MS = 10_000;

/** How often what waits is looked for anew, while it is cut and delivered. */
const LOOKS = 4;

/**
 * What of these jobs has records of a time, over all of their nodes; and what tells which of
 * it cannot hold a match.
 * @param archive null: there are no manifests.
 * @param reruns of these jobs: they are named, as the same records may be in objects of the job.
 * @param limit of what is listed; for tests.
 */
export async function listSources(
  env: Pick<Env, "READERS" | "CONTROL" | "SKETCHES">,
  jobs: readonly SearchedJob[],
  reruns: readonly SearchedRerun[],
  span: ListedSpan,
  needed: Needed,
  archive: Archive | null,
  limit: number = LIST_MAX,
): Promise<Listed> {
  const ids = [...jobs.map(({ id }) => id), ...reruns.map(({ id }) => id)];
  const { listedToMs: readToMs, silent, unmade, ...listing } = await listObjects(env, ids, span, limit);
  const archived = archive === null ? null : await listArchived(env, jobs, upTo(span, readToMs), archive, limit);
  const known = new Map(listing.found.map((found) => [String(placeOf(found)), found.object.mark]));
  const all: Found[] = [...listing.found];
  const displaced: Found[] = [];
  for (const one of archived?.found ?? []) {
    const place = String(placeOf(one));
    const mark = known.get(place);
    if (mark === undefined) {
      known.set(place, one.object.mark);
      all.push(one);
    }
    // What is in the list as well is searched by it, which knows where it is now. After a restore,
    // manifests name an object twice, or two that are one to a search.
    else if (mark !== one.object.mark) displaced.push(one);
  }
  const listedToMs = nearer(span.order, readToMs, archived?.listedToMs ?? null);
  // Of what is beyond, the next page lists all.
  const isHere = ({ object }: Found): boolean => !isBeyond(edgeOf(object, span.order), listedToMs, span.order);
  const found = all.filter(isHere);
  const stores = new Map(jobs.map((job) => [job.id, job]));
  const jobOf = new Map(reruns.map(({ id, job }) => [id, job]));
  const leave = (id: number, why: string): NotSearched => ({ job: jobOf.get(id) ?? id, object: null, why });
  const notSearched = silent.map((id) => leave(id, "its log does not answer: search again"));
  for (const { job, records: count } of unmade)
    notSearched.push(leave(job, `logship could not prepare ${plural(count, "record")} from the log`));
  const shippedBy = (id: number): NotSearched =>
    leave(id, `rerun ${rerunName(id)} may ship the same records as the job`);
  for (const { id, end } of reruns) if (end === null) notSearched.push(shippedBy(id));
  const room: PartsRoom = { requests: SEARCH_PARTS_MAX };
  const list: Source[] = [];
  const unsearchable: Known[] = [];
  const sketched = new Map<Source, Sketched>();
  const held = new Map<Source, Identified>();
  const sketches = new SketchFiles(env.SKETCHES, sketched);
  const identify = identifier(sketches, held);
  notSearched.push(...(archived?.notSearched ?? []));
  for (const { job, object } of displaced.filter(isHere))
    notSearched.push({ job, object: object.number, why: "since its log was restored, another object has its place" });
  for (const { job, node, object, sketches: files } of found) {
    const { batch, number, firstMs, lastMs, state } = object;
    const why = whyNot(object);
    const left = jobOf.has(job) ? shippedBy(job) : why && { job, object: number, why };
    if (left) {
      notSearched.push(left);
      unsearchable.push({ job, node, batch, number, firstMs, lastMs });
      continue;
    }
    const searched = stores.get(job) as SearchedJob;
    const reader = (): Reader => nodeAt(env.READERS, job, node);
    const source = sourceOf(object, searched, node, env, reader, room);
    list.push(source);
    if (state === "delivered")
      sketched.set(source, { day: object.day, mark: object.mark, store: searched.store, files });
    else if (object.identified)
      held.set(source, {
        ...object.identified,
        load: () => loaded(sketches.ask(`JobReader ${job},${node}`, () => identitiesOf(env, searched, node, batch))),
      });
  }
  const lookUp = needed === null ? null : sketchLookUp(sketches, needed);
  const indexBytes = archived?.bytes ?? 0;
  const order = jobs.map(({ id }) => id);
  const told = { list, unsearchable, listedToMs, notSearched, indexBytes, order, silent, span, identify };
  return { ...told, ...(lookUp !== null && { lookUp }) };
}

/** What of a time is not beyond a bound. */
function upTo(span: ListedSpan, boundMs: number | null): ListedSpan {
  if (boundMs === null) return span;
  return span.order === "newest"
    ? { ...span, sinceMs: Math.max(span.sinceMs, boundMs) }
    : { ...span, untilMs: Math.min(span.untilMs, boundMs + 1) };
}

interface Found extends Omit<ArchivedObject, "sketches"> {
  /** Of what is in no reader's list any more. */
  sketches?: ArchivedObject["sketches"];
}

function placeOf({ job, node, object: { batch } }: Found): BatchPlace {
  return [job, node, batch];
}

function whyNot({ state, contentType, key }: Searchable): string | null {
  if (state === "elsewhere") return "it was sent to another destination, which the job has no keys for";
  const kind = key === "" ? decoderOfType(contentType) : decoderOf(key);
  const lines = kind.linesType(contentType);
  return lines === "application/x-ndjson" ? null : `its records are ${lines}, not JSON: a reader searches them`;
}

function sourceOf(
  object: Searchable,
  job: SearchedJob,
  node: number,
  env: Pick<Env, "SKETCHES">,
  segment: () => Reader,
  room: PartsRoom,
): Source {
  const { batch, number, firstMs, lastMs, bytes, rawBytes, records } = object;
  const inSketch = (one: Searchable) => loaded(answered("SketchStore", ASK_MS, inSketchOf(env, job, node, one)));
  // One literal: put together of several, it takes 400 bytes more.
  return {
    job: job.id,
    node,
    batch,
    number,
    firstMs,
    lastMs,
    bytes,
    rawBytes,
    records,
    isHeld: object.state === "held",
    open: (read, needs) => contentOf(object, job, segment, read, needs, inSketch, room),
  };
}

/**
 * The lines of an object: from its store, or, while it waits, from its reader. What waits may be
 * cut or delivered at any moment: then it is looked for again, before anything was read of it.
 * @param segment a stub for each call: that of an object that died is of no use.
 */
async function contentOf(
  listed: Searchable,
  { id: job, store }: SearchedJob,
  segment: () => Reader,
  read: (bytes: number) => void,
  { fields, identities }: Needs,
  inSketch: (object: Searchable) => Promise<Uint8Array | null>,
  room: PartsRoom,
): Promise<Pieces> {
  let object: Searchable | null = listed;
  for (let look = 0; look < LOOKS && object !== null; look++) {
    if (object.state === "elsewhere") throw new ReadFault("gone", whyNot(object) ?? "");
    if (object.state === "delivered") {
      const { key, bytes, rawBytes, mark } = object;
      const known = { key, bytes, rawBytes, mark };
      identities?.(await inSketch(object));
      const parts = fields === null ? null : await openParts(store, known, read, room);
      return plain(parts ?? reported(await openObject(store, known), read), known, fields);
    }
    const { batch }: Searchable = object;
    const held = await ofLog<HeldBatch | null>(job, async () => segment().identifiedBatch(batch));
    if (held !== null) {
      identities?.(held.identities);
      const pieces = piecesOf(held.bytes, (next, late) => within(READ_PATIENCE.idleMs, next(), late));
      const { key, bytes, contentType } = object;
      const kind = key === "" ? { contentType } : {};
      return plain(pieces, { key, ...kind, bytes, rawBytes: Number.POSITIVE_INFINITY }, fields);
    }
    object = await ofLog<Searchable | null>(job, async () => segment().searchableBatch(batch));
  }
  throw new ReadFault("gone", "it was discarded, or left the list of objects, while the search ran");
}

/** Of what was held when it was listed, and may have been delivered since. */
async function identitiesOf(
  env: Pick<Env, "READERS" | "SKETCHES">,
  job: SearchedJob,
  node: number,
  batch: number,
): Promise<Uint8Array | null> {
  const reader = nodeAt(env.READERS, job.id, node);
  const held: Uint8Array | null = await reader.batchIdentities(batch);
  if (held !== null) return held;
  const now: Searchable | null = await reader.searchableBatch(batch);
  return now?.state === "delivered" ? inSketchOf(env, job, node, now) : null;
}

async function inSketchOf(
  env: Pick<Env, "SKETCHES">,
  { id }: SearchedJob,
  node: number,
  object: Searchable,
): Promise<Uint8Array | null> {
  return sketchesOf(env.SKETCHES, id, node, object.day).identities(object);
}

interface HeldBatch {
  bytes: ReadableStream<Uint8Array>;
  identities: Uint8Array | null;
}

/** @throws ReadFault if it does not answer. */
async function ofLog<T>(job: number, ask: () => Promise<T>): Promise<T> {
  try {
    return await answered("JobReader", ASK_MS, ask());
  } catch (error) {
    log.warn("a log was not searched", { job, error: errorText(error) });
    throw new ReadFault("silent", "its log does not answer");
  }
}

async function* reported(pieces: Pieces, read: (bytes: number) => void): Pieces {
  for await (const piece of pieces) {
    read(piece.length);
    yield piece;
  }
}
