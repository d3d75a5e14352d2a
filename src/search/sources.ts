import { type Answered, eachNode, type Log, segmentOf } from "../delivery/chain.ts";
import type { Following } from "../delivery/nodes.ts";
import type { Searchable, SearchSpan } from "../delivery/searchable.ts";
import type { OpenDestination } from "../destinations/destination.ts";
import { errorText, log } from "../log.ts";
import { decoderOf } from "../object/encoders.ts";
import { openObject, plain, READ_PATIENCE, ReadFault } from "../object/read-object.ts";
import { answered, within } from "../platform.ts";
import { type Looked, sketchesOf } from "../sketch/sketch-store.ts";
import { seedOf } from "../sketch/words.ts";
import { type Pieces, piecesOf } from "../streams.ts";
import type { Needed } from "./needed-words.ts";
import { wantedIn } from "./query.ts";
import type { NotSearched, Source, Sources } from "./search.ts";

/** A job whose objects are searched. */
export interface SearchedJob {
  id: number;
  /** Where they are. */
  store: Pick<OpenDestination, "read">;
}

type Page = Following & { objects: Searchable[]; isAll: boolean };

export interface Listed extends Sources {
  notSearched: NotSearched[];
  /** Of sketches, that were read. */
  sketchBytes: number;
}

/** Objects that one node names at once. */
const LIST_MAX = 10_000;

/** Deadline of a question to a log or to sketches, in ms. */
const ASK_MS = 10_000;

/** How often what waits is looked for anew, while it is cut and delivered. */
const LOOKS = 4;

/**
 * What of these jobs has records of a time, over all nodes of their logs; and which of it cannot
 * hold a match.
 * @param limit of one node; for tests.
 */
export async function listSources(
  env: Pick<Env, "LOG" | "SKETCHES">,
  jobs: readonly SearchedJob[],
  span: Omit<SearchSpan, "limit">,
  needed: Needed,
  limit: number = LIST_MAX,
): Promise<Listed> {
  const listed: Listed = { list: [], listedToMs: null, notSearched: [], sketchBytes: 0 };
  const list: Source[] = [];
  for (const job of jobs) {
    const nodes = await asked(env.LOG, job.id, { ...span, limit });
    if (nodes === null) listed.notSearched.push({ job: job.id, object: null, why: "its log does not answer" });
    for (const { node, answer } of nodes ?? []) {
      const last = answer.objects.at(-1);
      if (!answer.isAll && last !== undefined) listed.listedToMs = nearer(listed.listedToMs, last, span.order);
      const searched = answer.objects.filter((object) => {
        const why = whyNot(object);
        if (why !== null) listed.notSearched.push({ job: job.id, object: object.number, why });
        return why === null;
      });
      const { out, bytes } = await lookUp(env.SKETCHES, job.id, node, searched, needed);
      listed.sketchBytes += bytes;
      const segment = (): Log => segmentOf(env.LOG, job.id, node);
      list.push(...searched.map((object) => sourceOf(object, job, node, segment, out)));
    }
  }
  return { ...listed, list };
}

/** null: not all of its log answers. */
async function asked(logs: Env["LOG"], job: number, span: SearchSpan): Promise<Answered<Page>[] | null> {
  try {
    return await answered(
      "DeliveryLog",
      ASK_MS,
      eachNode<Page>(logs, job, (log) => log.searchable(span)),
    );
  } catch (error) {
    log.warn("a log was not searched", { job, error: errorText(error) });
    return null;
  }
}

/** The bound that is met first. */
function nearer(knownMs: number | null, { firstMs, lastMs }: Searchable, order: SearchSpan["order"]): number {
  if (order === "newest") return Math.max(knownMs ?? lastMs, lastMs);
  return Math.min(knownMs ?? firstMs, firstMs);
}

function whyNot({ state, contentType, key }: Searchable): string | null {
  if (state === "elsewhere") return "it was sent to another destination, which the job has no keys for";
  if (contentType !== "application/x-ndjson") return `its records are ${contentType}, not JSON`;
  if (key !== "" && decoderOf(key).suffix !== ".log.gz") return "it is of a kind that searches do not read";
  return null;
}

/** Batches that cannot hold a match. */
async function lookUp(
  sketches: Env["SKETCHES"],
  job: number,
  node: number,
  objects: readonly Searchable[],
  needed: Needed,
): Promise<{ out: ReadonlySet<number>; bytes: number }> {
  const out = new Set<number>();
  const wanted = wantedIn(needed, seedOf(job));
  let bytes = 0;
  if (wanted === null) return { out, bytes };
  const delivered = objects.filter(({ state }) => state === "delivered");
  for (const [day, ofDay] of Map.groupBy(delivered, (object) => object.day)) {
    const asked = ofDay.map(({ batch, mark }) => ({ batch, mark }));
    try {
      const ask = async (): Promise<Looked> => sketchesOf(sketches, job, node, day).look(asked, wanted);
      const looked = await answered("SketchStore", ASK_MS, ask());
      for (const batch of looked.out) out.add(batch);
      bytes += looked.bytes;
    } catch (error) {
      log.warn("sketches were not asked, and their objects are read", { job, error: errorText(error) });
    }
  }
  return { out, bytes };
}

function sourceOf(
  object: Searchable,
  job: SearchedJob,
  node: number,
  segment: () => Log,
  out: ReadonlySet<number>,
): Source {
  const { batch, number, firstMs, lastMs, bytes, rawBytes, records } = object;
  return {
    ...{ job: job.id, node, batch, number, firstMs, lastMs, bytes, rawBytes, records },
    isOut: out.has(batch),
    isHeld: object.state === "held",
    open: (read) => contentOf(object, job, segment, read),
  };
}

/**
 * The lines of an object: from its store, or, while it waits, from its log. What waits may be cut
 * or delivered at any moment: then it is looked for again, before anything was read of it.
 * @param segment a stub for each call: that of an object that died is of no use.
 */
async function contentOf(
  listed: Searchable,
  { id: job, store }: SearchedJob,
  segment: () => Log,
  read: (bytes: number) => void,
): Promise<Pieces> {
  let object: Searchable | null = listed;
  for (let look = 0; look < LOOKS && object !== null; look++) {
    if (object.state === "elsewhere") throw new ReadFault("gone", whyNot(object) ?? "");
    if (object.state === "delivered") {
      const known = { key: object.key, bytes: object.bytes, rawBytes: object.rawBytes };
      return plain(counted(await openObject(store, known), read), known);
    }
    const { batch }: Searchable = object;
    const held = await ofLog<ReadableStream<Uint8Array> | null>(job, async () => segment().batchBytes(batch));
    if (held !== null) {
      const pieces = piecesOf(held, (next, late) => within(READ_PATIENCE.idleMs, next(), late));
      return plain(pieces, { key: object.key, bytes: object.bytes, rawBytes: Number.POSITIVE_INFINITY });
    }
    object = await ofLog<Searchable | null>(job, async () => segment().searchableBatch(batch));
  }
  throw new ReadFault("gone", "it was discarded, or left the list of objects, while the search ran");
}

/** @throws ReadFault if it does not answer. */
async function ofLog<T>(job: number, ask: () => Promise<T>): Promise<T> {
  try {
    return await answered("DeliveryLog", ASK_MS, ask());
  } catch (error) {
    log.warn("a log was not searched", { job, error: errorText(error) });
    throw new ReadFault("silent", "its log does not answer");
  }
}

async function* counted(pieces: Pieces, read: (bytes: number) => void): Pieces {
  for await (const piece of pieces) {
    read(piece.length);
    yield piece;
  }
}
