import { createHash } from "node:crypto";
import { errorText, log } from "../../base/logger.ts";
import { answered, settled, TimeoutError } from "../../base/platform.ts";
import type { ListedSketch } from "../../formats/manifest/manifest.ts";
import { type Head, readHead, type Section, sumOf } from "../../formats/sketch/group.ts";
import { type Asked, type Marked, type SketchStore, sketchesOf } from "../../formats/sketch/sketch-store.ts";
import type { ByteRange, OpenDestination } from "../../ship/destinations/destination.ts";
import { readSmall } from "../../ship/destinations/read-small.ts";
import { each } from "./listing.ts";
import type { Source } from "./source.ts";

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

/** A group, wherever it is. */
export interface Group {
  head: Head;
  /** null: it is not to be had, or differs from what was written. */
  read(section: Section): Promise<Uint8Array | null>;
}

/** Objects of one day of a node. */
export interface SketchedDay {
  objects: readonly { source: Source; of: Sketched }[];
  /** Of those that a manifest lists: null. */
  store: DurableObjectStub<SketchStore> | null;
  marked: Marked[];
  /** As {@link SketchFiles.ask}. */
  ask<T>(question: () => Promise<T>): Promise<T>;
  /** The groups that the store names; without it, those of the manifests. */
  groups(named: Asked["groups"]): Promise<Group[]>;
}

/** Days of which sketches are asked side by side. */
const DAYS_AT_ONCE = 4;

/** Deadline of a question, in ms. A store that misses it is not asked again by this search. */
export const ASK_MS = 10_000;

/** Of all groups together: an invocation may make 10,000 calls, and objects need some as well. */
const READS_MAX = 4_000;

/** After so many reads that a job's bucket did not answer, it is asked for no more sketches. */
const REFUSALS_MAX = 3;

/** Reads what sketches say of objects, as far as one search may. */
export class SketchFiles {
  readonly #sketches: Env["SKETCHES"];
  readonly #sketched: ReadonlyMap<Source, Sketched>;
  readonly #silent = new Set<string>();
  readonly #refusals = new Map<number, number>();
  readonly #heads = new Map<string, Promise<Head | null>>();
  #reads = 0;
  #bytes = 0;

  /** @param sketched the objects that may have a sketch. */
  constructor(sketches: Env["SKETCHES"], sketched: ReadonlyMap<Source, Sketched>) {
    this.#sketches = sketches;
    this.#sketched = sketched;
  }

  /** Counts what was read, in bytes. */
  count(bytes: number): void {
    this.#bytes += bytes;
  }

  /** What was read since this was asked last, in bytes. */
  takeBytes(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  /** @param ask of one day; where it throws, nothing is known of its objects. */
  async eachDay(sources: readonly Source[], ask: (day: SketchedDay) => Promise<void>): Promise<void> {
    const known = sources.flatMap((source) => {
      const of = this.#sketched.get(source);
      return of === undefined ? [] : [{ source, of }];
    });
    // Files know the objects of all nodes.
    const days = Map.groupBy(known, ({ source: { job, node }, of: { day, files } }) =>
      [job, files === undefined ? node : "all", day].join(),
    );
    await settled([...days], DAYS_AT_ONCE, async ([name, objects]) => {
      try {
        await ask(this.#day(name, objects));
      } catch (error) {
        log.warn("sketches were not asked", { job: objects[0]?.source.job, error: errorText(error) });
      }
    });
  }

  /** @throws TimeoutError, at once if the store was late before; or what the question throws. */
  async ask<T>(store: string, question: () => Promise<T>): Promise<T> {
    try {
      if (this.#silent.has(store)) throw new TimeoutError(store, ASK_MS);
      return await answered(store, ASK_MS, question());
    } catch (error) {
      if (error instanceof TimeoutError) this.#silent.add(store);
      throw error;
    }
  }

  #day(name: string, objects: SketchedDay["objects"]): SketchedDay {
    const [{ source, of }] = objects as [SketchedDay["objects"][number]];
    const { job, node } = source;
    const ask = <T>(question: () => Promise<T>): Promise<T> => this.ask(`SketchStore ${name}`, question);
    const marked = objects.map(({ source: { batch }, of: { mark } }) => ({ batch, mark }));
    if (of.files !== undefined) {
      const { files } = of;
      return {
        objects,
        store: null,
        marked,
        ask,
        groups: () => this.#archived(job, of, files, new Set(markedIn(marked))),
      };
    }
    const store = sketchesOf(this.#sketches, job, node, of.day);
    const groups = async (named: Asked["groups"]): Promise<Group[]> =>
      named.flatMap(({ id, key, head: file }) => {
        const head = readHead(file);
        this.#bytes += file.length;
        if (head === null) return [];
        const here = ({ from, bytes }: ByteRange) => this.#readHere(store, id, from, bytes);
        return [this.#group(head, key === null ? here : this.#inBucket(job, of, key))];
      });
    return { objects, store, marked, ask, groups };
  }

  #group(head: Head, read: (range: ByteRange) => Promise<Uint8Array | null>): Group {
    return {
      head,
      read: async (section) => {
        this.#reads += 1;
        const bytes = this.#reads > READS_MAX ? null : await read(section);
        return bytes !== null && sumOf(bytes) === section.sum ? bytes : null;
      },
    };
  }

  async #archived(
    job: number,
    of: Sketched,
    files: readonly ListedSketch[],
    marks: ReadonlySet<string>,
  ): Promise<Group[]> {
    const found = await each(files, async (file) => {
      const read = this.#inBucket(job, of, file.key);
      return { head: await this.#headOf(file, read), read };
    });
    return found.flatMap(({ head, read }) =>
      head?.members.some((mark) => marks.has(mark)) ? [this.#group(head, read)] : [],
    );
  }

  /** Of a file, read once. */
  #headOf(
    { bytes: length, sha256, head }: ListedSketch,
    read: (range: ByteRange) => Promise<Uint8Array | null>,
  ): Promise<Head | null> {
    const before = this.#heads.get(sha256);
    if (before !== undefined) return before;
    const checked = read({ from: length - head.bytes, bytes: head.bytes }).then((found) =>
      found !== null && sha256Of(found) === head.sha256 ? readHead(found) : null,
    );
    this.#heads.set(sha256, checked);
    return checked;
  }

  /** A section that is larger than a row comes in several. */
  async #readHere(store: DurableObjectStub<SketchStore>, id: number, from: number, most: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(most);
    let at = 0;
    while (at < most) {
      const some = await answered<Uint8Array>("SketchStore", ASK_MS, store.read(id, from + at, most - at));
      if (some.length === 0) break;
      bytes.set(some, at);
      at += some.length;
    }
    this.#bytes += at;
    return bytes.subarray(0, at);
  }

  /** A part of a file in a job's bucket. */
  #inBucket(job: number, { store }: Sketched, key: string): (range: ByteRange) => Promise<Uint8Array | null> {
    return async (range) => {
      const refused = this.#refusals.get(job) ?? 0;
      if (refused >= REFUSALS_MAX) return null;
      const read = await readSmall(store, key, { maxBytes: range.bytes, ms: ASK_MS, range });
      if (read.ok) {
        this.#bytes += read.bytes.length;
        return read.bytes;
      }
      // It was removed, or the job ships elsewhere now: nothing is wrong with the bucket.
      const isGone = read.why === "refused" && read.answer.why === "gone";
      if (!isGone) this.#refusals.set(job, refused + 1);
      return null;
    };
  }
}

function markedIn(marked: readonly Marked[]): string[] {
  return marked.map(({ mark }) => mark);
}

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
