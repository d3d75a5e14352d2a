import { createHash } from "node:crypto";
import { errorText, log } from "../../base/logger.ts";
import { answered, settled, TimeoutError } from "../../base/platform.ts";
import type { ListedSketch } from "../../formats/manifest/manifest.ts";
import type { Needed } from "../../formats/query/needed-terms.ts";
import { wantedIn } from "../../formats/query/prune.ts";
import {
  type Head,
  membersIn,
  membersOut,
  readHead,
  type Segment,
  segmentsFor,
  shapeIn,
  sumOf,
} from "../../formats/sketch/group.ts";
import { HASHES } from "../../formats/sketch/sketch.ts";
import { type Asked, sketchesOf } from "../../formats/sketch/sketch-store.ts";
import { ALL, hashesIn, heldBy, type Wanted } from "../../formats/sketch/wanted.ts";
import type { ByteRange, OpenDestination } from "../../ship/destinations/destination.ts";
import { readSmall } from "../../ship/destinations/read-small.ts";
import { each } from "./listing.ts";
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

/** Days of which sketches are asked side by side. */
const DAYS_AT_ONCE = 4;

/** Deadline of a question, in ms. A store that misses it is not asked again by this search. */
const ASK_MS = 10_000;

/** Of one group; what is looked up in further ones is taken to be there. */
const SEGMENTS_MAX = 256;

/** Of all groups together: an invocation may make 10,000 calls, and objects need some as well. */
const READS_MAX = 4_000;

/** After so many reads that a job's bucket did not answer, it is asked for no more sketches. */
const REFUSALS_MAX = 3;

/** A group, wherever it is. */
interface Group {
  head: Head;
  /** null: it is not to be had. */
  read(segment: Segment): Promise<Uint8Array | null>;
}

/** @param sketched the objects that may have a sketch. */
export function sketchLookUp(
  sketches: Env["SKETCHES"],
  needed: Needed,
  sketched: ReadonlyMap<Source, Sketched>,
): LookUp {
  const wanted = wantedIn(needed);
  const silent = new Set<string>();
  const refusals = new Map<number, number>();
  const heads = new Map<string, Promise<Head | null>>();
  let reads = 0;

  /** A part of a file in a job's bucket. */
  async function readPart(job: number, { store }: Sketched, key: string, range: ByteRange): Promise<Uint8Array | null> {
    const refused = refusals.get(job) ?? 0;
    if (refused >= REFUSALS_MAX) return null;
    const read = await readSmall(store, key, { maxBytes: range.bytes, ms: ASK_MS, range });
    if (read.ok) return read.bytes;
    // It was removed, or the job ships elsewhere now: nothing is wrong with the bucket.
    const isGone = read.why === "refused" && read.answer.why === "gone";
    if (!isGone) refusals.set(job, refused + 1);
    return null;
  }

  return async (sources) => {
    const out = new Set<Source>();
    let bytes = 0;
    const known = sources.flatMap((source) => {
      const of = sketched.get(source);
      return of === undefined ? [] : [{ source, of }];
    });
    // Files know the objects of all nodes.
    const days = Map.groupBy(known, ({ source: { job, node }, of: { day, files } }) =>
      [job, files === undefined ? node : "all", day].join(),
    );
    await settled([...days], DAYS_AT_ONCE, async ([name, objects]) => {
      const [{ source, of }] = objects as [(typeof objects)[number]];
      if (wanted === null || silent.has(name)) return;
      const { job } = source;
      const counted = (read: Uint8Array | null): Uint8Array | null => {
        bytes += read?.length ?? 0;
        return read;
      };
      const leave = (marks: readonly string[]): void => {
        const left = new Set(marks);
        for (const { source, of } of objects) if (left.has(of.mark)) out.add(source);
      };
      const inBucket = (key: string) => async (range: ByteRange) => counted(await readPart(job, of, key, range));
      /** Of a file, read once. */
      const headOf = ({ key, bytes: length, sha256, head }: ListedSketch): Promise<Head | null> => {
        const before = heads.get(sha256);
        if (before !== undefined) return before;
        const read = inBucket(key)({ from: length - head.bytes, bytes: head.bytes });
        const checked = read.then((found) =>
          found !== null && sha256Of(found) === head.sha256 ? readHead(found) : null,
        );
        heads.set(sha256, checked);
        return checked;
      };
      const stored = async (): Promise<Group[]> => {
        const store = sketchesOf(sketches, job, source.node, of.day);
        const marked = objects.map(({ source: { batch }, of: { mark } }) => ({ batch, mark }));
        const ask = async (): Promise<Asked> => store.ask(HASHES, marked, wanted);
        const asked = await answered("SketchStore", ASK_MS, ask());
        bytes += asked.bytes;
        leave(asked.out);
        return asked.groups.flatMap(({ id, key, head: file }) => {
          const head = readHead(file);
          bytes += file.length;
          if (head === null) return [];
          const here = async ({ from, bytes: most }: ByteRange) =>
            counted(await answered<Uint8Array>("SketchStore", ASK_MS, store.read(id, from, most)));
          return [{ head, read: key === null ? here : inBucket(key) }];
        });
      };
      const archived = async (files: readonly ListedSketch[]): Promise<Group[]> => {
        const marks = new Set(objects.map(({ of: { mark } }) => mark));
        const found = await each(files, async (file) => ({ head: await headOf(file), read: inBucket(file.key) }));
        return found.flatMap(({ head, read }) =>
          head?.members.some((mark) => marks.has(mark)) ? [{ head, read }] : [],
        );
      };
      try {
        const groups = of.files === undefined ? await stored() : await archived(of.files);
        const rationed = ({ head, read }: Group): Group => ({
          head,
          read: async (segment) => (++reads > READS_MAX ? null : read(segment)),
        });
        await each(groups, async (group) => leave(await outOf(rationed(group), wanted)));
      } catch (error) {
        if (error instanceof TimeoutError) silent.add(name);
        log.warn("sketches were not asked, and their objects are read", { job, error: errorText(error) });
      }
    });
    return { out, bytes };
  };
}

/**
 * Which members of a group cannot hold what is wanted. A segment that is not there, or differs from
 * what was written, excludes none.
 */
async function outOf({ head, read }: Group, wanted: Wanted): Promise<string[]> {
  const shape = shapeIn(head);
  const holders = new Map<number, bigint>();
  let held = ALL;
  for (const segment of segmentsFor(head, hashesIn(wanted)).slice(0, SEGMENTS_MAX)) {
    // One at a time is held: of many words, they are as much as the group.
    const bytes = await read(segment);
    if (bytes === null || sumOf(bytes) !== segment.sum) continue;
    for (const hash of segment.hashes) holders.set(hash, membersIn(bytes, shape, hash));
    held = heldBy(wanted, (hash) => holders.get(hash) ?? ALL);
    // No member is left: what the other words say changes nothing.
    if (held === 0n) break;
  }
  return membersOut(head.members, held);
}

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
