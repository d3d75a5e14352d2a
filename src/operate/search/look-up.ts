import { createHash } from "node:crypto";
import { errorText, log } from "../../base/logger.ts";
import { answered, settled, TimeoutError } from "../../base/platform.ts";
import type { ListedSketch } from "../../formats/manifest/manifest.ts";
import {
  type Head,
  isSegment,
  membersIn,
  membersOut,
  readHead,
  segmentsFor,
  shapeIn,
} from "../../formats/sketch/group.ts";
import { HASHES } from "../../formats/sketch/sketch.ts";
import { type Asked, type Marked, type StoredGroup, sketchesOf } from "../../formats/sketch/sketch-store.ts";
import { ALL, hashesIn, heldBy, type Wanted } from "../../formats/sketch/wanted.ts";
import type { OpenDestination } from "../../ship/destinations/destination.ts";
import { readSmall } from "../../ship/destinations/read-small.ts";
import type { Needed } from "./needed-terms.ts";
import { wantedIn } from "./query.ts";
import type { Source } from "./source.ts";

/** What is known of objects that hold no match. */
export interface LookedUp {
  out: ReadonlySet<Source>;
  /** Of sketches, that were read for it. */
  bytes: number;
}

/** Asks the sketches of objects. What is not known is not out: it has to be read. */
export type LookUp = (sources: readonly Source[]) => Promise<LookedUp>;

/** Where the sketch of an object is. */
export interface Sketched {
  /** UTC days since the epoch. */
  day: number;
  mark: string;
  /** Where its job has its objects, and sketches of days that are over. */
  store: Pick<OpenDestination, "read">;
  /** Of what is in no reader's list any more: files of which one may have its sketch. */
  files?: readonly ListedSketch[] | undefined;
}

/** Stores of sketches that are asked side by side, and groups in buckets that are read so. */
const ASKED_AT_ONCE = 8;
const READ_AT_ONCE = 6;

/** Deadline of a question, in ms. One that misses it is not asked again by this search. */
const ASK_MS = 10_000;

/** After so many segments that a job's bucket did not give, it is asked for no more of them. */
const REFUSALS_MAX = 3;

/** @param sketched the objects that may have a sketch. */
export function sketchLookUp(
  sketches: Env["SKETCHES"],
  needed: Needed,
  sketched: ReadonlyMap<Source, Sketched>,
): LookUp {
  const silent = new Set<string>();
  const heads = new Map<string, Promise<HeadRead>>();
  const headOf = (file: ListedSketch, store: Sketched["store"]): Promise<HeadRead> => {
    const read = heads.get(file.sha256) ?? readHeadOf(file, store);
    heads.set(file.sha256, read);
    return read;
  };
  const refusals = new Map<number, number>();
  const wanted = wantedIn(needed);
  return async (sources) => {
    const known = sources.flatMap((source) => {
      const of = sketched.get(source);
      return of === undefined ? [] : [{ source, ...of }];
    });
    // Files know the objects of all nodes.
    const groups = Map.groupBy(known, ({ source: { job, node }, day, files }) =>
      [job, files === undefined ? node : "all", day].join(),
    );
    const out = new Set<Source>();
    let bytes = 0;
    await settled([...groups], ASKED_AT_ONCE, async ([name, group]) => {
      const [{ source, day, store, files }] = group as [(typeof group)[number]];
      if (wanted === null || silent.has(name)) return;
      const { job, node } = source;
      const leave = (marks: readonly string[]): void => {
        const left = new Set(marks);
        for (const each of group) if (left.has(each.mark)) out.add(each.source);
      };
      const marked = group.map(({ source: { batch }, mark }) => ({ batch, mark }));
      const ask = async (): Promise<Asked> => sketchesOf(sketches, job, node, day).ask(HASHES, marked, wanted);
      try {
        const asked =
          files === undefined
            ? await answered("SketchStore", ASK_MS, ask())
            : await askFiles(files, marked, wanted, (file) => headOf(file, store));
        leave(asked.out);
        bytes += asked.bytes;
        const refused = (): number => refusals.get(job) ?? 0;
        await settled(asked.stored, READ_AT_ONCE, async (stored) => {
          const read = await readGroup(stored, wanted, store, () => refused() >= REFUSALS_MAX);
          bytes += read.bytes;
          refusals.set(job, refused() + read.refusals);
          leave(read.out);
        });
      } catch (error) {
        if (error instanceof TimeoutError) silent.add(name);
        log.warn("sketches were not asked, and their objects are read", { job, error: errorText(error) });
      }
    });
    return { out, bytes };
  };
}

interface HeadRead {
  /** null: it is not there, or differs from what was written. */
  head: Head | null;
  bytes: number;
}

/** What a store of sketches would say of files that it has written. */
async function askFiles(
  files: readonly ListedSketch[],
  objects: readonly Marked[],
  wanted: Wanted,
  headOf: (file: ListedSketch) => Promise<HeadRead>,
): Promise<Asked> {
  const asked: Asked = { out: [], bytes: 0, stored: [] };
  const marks = new Set(objects.map(({ mark }) => mark));
  const hashes = hashesIn(wanted);
  await settled(files, READ_AT_ONCE, async (file) => {
    const { head, bytes } = await headOf(file);
    asked.bytes += bytes;
    if (!head?.members.some((mark) => marks.has(mark))) return;
    const { members } = head;
    asked.stored.push({ key: file.key, shape: shapeIn(head), members, segments: segmentsFor(head, hashes) });
  });
  return asked;
}

async function readHeadOf({ key, bytes, head }: ListedSketch, store: Sketched["store"]): Promise<HeadRead> {
  const range = { from: bytes - head.bytes, bytes: head.bytes };
  const read = await readSmall(store, key, { maxBytes: head.bytes, ms: ASK_MS, range });
  if (!read.ok) return { head: null, bytes: 0 };
  const isIt = createHash("sha256").update(read.bytes).digest("hex") === head.sha256;
  return { head: isIt ? readHead(read.bytes) : null, bytes: read.bytes.length };
}

/**
 * Which objects of a group cannot hold what is wanted, by its segments in the bucket. What is not
 * there, or differs from what was written, excludes none.
 */
async function readGroup(
  { key, shape, members, segments }: StoredGroup,
  wanted: Wanted,
  store: Pick<OpenDestination, "read">,
  isEnough: () => boolean,
): Promise<{ out: string[]; bytes: number; refusals: number }> {
  const held = new Map<number, bigint>();
  const sum = { bytes: 0, refusals: 0 };
  for (const segment of segments) {
    if (isEnough()) break;
    const bounds = { maxBytes: segment.bytes, ms: ASK_MS, range: segment };
    const read = await readSmall(store, key, bounds);
    if (read.ok) sum.bytes += read.bytes.length;
    // Nothing is wrong with the bucket: somebody removed it, or the job ships elsewhere now.
    else if (read.why === "refused" && read.answer.why === "gone") break;
    else sum.refusals += 1;
    // One at a time is held: of many words, segments are as much as the group.
    if (read.ok && isSegment(read.bytes, segment))
      for (const hash of segment.hashes) held.set(hash, membersIn(read.bytes, shape, hash));
  }
  return {
    ...sum,
    out: membersOut(
      members,
      heldBy(wanted, (hash) => held.get(hash) ?? ALL),
    ),
  };
}
