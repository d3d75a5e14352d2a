import { concat, decodeUtf8, encodeUtf8, free } from "../../base/bytes.ts";
import { ROW_MAX_BYTES } from "../../base/limits.ts";
import { Tables, verbatim } from "../../base/storage/sql.ts";
import type { Fragment } from "../../formats/object/encoder.ts";
import { type Window, wasIn } from "../job/config.ts";
import type { GroupFormat, JobShare, LoggedMessage } from "./append-types.ts";

/** The share of one job in a block. */
export interface Entry extends JobShare {
  /** Place of the group that was prepared for it; null: its reader makes it from the records. */
  group: number | null;
  /** Places of the parts that it is offered, among {@link NewBlock.parts}; absent: all of them. */
  parts?: number[];
}

/** What an append adds to the log. */
export interface NewBlock {
  /** Time of intake of its oldest part, in ms since the epoch. */
  takenMs: number;
  /** Ids of its parts. */
  parts: string[];
  entries: Entry[];
  groups: (GroupFormat & { fragments: readonly Fragment[] })[];
  /** Functions whose logging was off at the intake of a part, by id of the part. */
  off: Record<string, string[]>;
  records: readonly LoggedMessage[];
  /**
   * All of it is kept, for jobs that start in the past: of each part, its time of intake, and its
   * records without those of functions whose logging was off. Absent: it is not.
   */
  kept?: [takenMs: number, records: number][];
}

/** A job that starts in the past reads what was kept then: open entries of blocks before it was. */
export interface Past {
  /** Position of the newest block of that time, and when that was, in ms since the epoch. */
  upTo: number;
  atMs: number;
  /** Times of intake that it takes. */
  windows: Window[];
}

/** What was prepared for a job. */
export interface Group extends GroupFormat {
  fragments: Fragment[];
}

/** A message from which what a job ships is made. */
export interface OpenMessage {
  body: Uint8Array<ArrayBuffer>;
  /** Ids of the parts that are offered. */
  parts: string[];
  /** Functions whose logging was off, by id of the part. */
  off: Record<string, string[]>;
}

/** The entry of a job, as its reader gets it. */
export interface Item extends Omit<JobShare, "id"> {
  /** Position of the block. */
  n: number;
  /** Time of intake of its oldest part, in ms since the epoch. */
  takenMs: number;
  group?: Group;
  open?: OpenMessage[];
}

/** What is unread of a block for one job. */
export interface Unread {
  n: number;
  takenMs: number;
  /** When it was added, or offered. */
  atMs: number;
  records: number;
  bytes: number;
}

/** A fragment without its bytes, which lie behind {@link Meta}. */
interface Placed extends Omit<Fragment, "body" | "hashes" | "identities"> {
  at: number;
  bytes: number;
  /** Bytes of the hashes of its words, behind it. */
  hashBytes: number;
  /** Bytes of its identities, behind those; absent: it has none. */
  idBytes?: number;
}

/**
 * The JSON before a block's bytes, and part of its body: with thousands of days, hours and scripts
 * it is larger than a row.
 */
interface Meta {
  parts: string[];
  entries: Entry[];
  groups: (GroupFormat & { fragments: Placed[] })[];
  off: Record<string, string[]>;
  records: { at: number; bytes: number; parts: string[] }[];
}

/** Positions in one millisecond. */
const PER_MS = 1_024;

/** The least position of a block that is added then, in ms since the epoch. */
export function positionAt(nowMs: number): number {
  return nowMs * PER_MS;
}

/** When the block of a position was added, in ms since the epoch. */
export function addedMs(n: number): number {
  return Math.floor(n / PER_MS);
}

/** By so much positions grow at once when newer ones were lost that lie in the future: a year. */
const LOST_MS = 365 * 86_400_000;

/**
 * What a block has for each job, in its own column: read without what it has. What is kept has a
 * share, too, which is of no job, and says of each part what {@link NewBlock.kept} does.
 */
type Shares = [job: number, records: number, bytes: number, parts?: NewBlock["kept"]][];
const KEPT = 0;

/** The columns of a block besides its bytes. */
interface Stored {
  n: number;
  takenMs: number;
  atMs: number;
  shares: Shares;
}

interface Whole extends Stored {
  meta: Meta;
  kept: NonNullable<NewBlock["kept"]>;
  /** What {@link Meta} has places in. */
  body: Uint8Array<ArrayBuffer>;
}

/** What a job has in a block. */
type Share = [job: number, unread: Unread];

/** A block without what it has. */
interface Row {
  n: number;
  atMs: number;
  /** Time of intake of the newest part, if it is kept; null: it is not. */
  newestMs: number | null;
  shares: Share[];
  /** Those of them that are of a job's past. */
  ofPast: readonly Share[];
}

/** A reader may have left thousands of blocks when less is to be kept than was. */
const STRIPPED_AT_ONCE = 32;

/** How much of what is read stays. */
export interface Keep {
  /** 0: nothing does. */
  ms: number;
  bytes: number;
}

/**
 * The blocks of a shard. What changes anything belongs into a transaction of the caller. A reader
 * that does not answer leaves a million of them: nothing about each is held in memory, and what is
 * done often reads those of a page.
 */
export class Blocks extends Tables {
  readonly #pasts: () => ReadonlyMap<number, Past>;
  /** Blocks up to here go when they are read. In memory: what is not known is found out again. */
  #keptAfter = 0;
  /** Size of all blocks, and of those after that, in bytes. */
  #bytes = 0;
  #keptBytes = 0;

  /** @param pasts of jobs that have not read theirs yet. */
  constructor(sql: SqlStorage, pasts: () => ReadonlyMap<number, Past>) {
    super(sql);
    this.#pasts = pasts;
  }

  /** Reads what is there, at the start, and after a transaction that failed. */
  load(): void {
    this.#keptAfter = 0;
    this.#bytes = this.sql.only`
      SELECT coalesce((SELECT sum(length(body)) FROM block), 0) + coalesce((SELECT sum(length(body)) FROM piece),
        0)`;
    this.#keptBytes = this.#bytes;
  }

  /** Size of all blocks, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds a block. Its position is greater than any before, and than any that a restored storage may
   * have lost, as it begins with the time.
   * @param last position of the newest block there ever was.
   * @returns its position, and what is unread of it by job.
   */
  add(block: NewBlock, last: number, nowMs: number): { n: number; unread: Map<number, Unread> } {
    const n = Math.max(last + 1, positionAt(nowMs));
    const bodies: Uint8Array[] = [];
    let at = 0;
    const place = (bytes: Uint8Array): number => {
      bodies.push(bytes);
      at += bytes.length;
      return at - bytes.length;
    };
    const meta: Meta = {
      parts: block.parts,
      entries: block.entries,
      groups: block.groups.map(({ output, template, fragments }) => ({
        output,
        template,
        fragments: fragments.map(({ body, hashes, identities, ...rest }): Placed => {
          const placed = { ...rest, at: place(body), bytes: body.length, hashBytes: hashes?.byteLength ?? 0 };
          if (hashes !== undefined) place(new Uint8Array(hashes.buffer, hashes.byteOffset, hashes.byteLength));
          if (identities !== undefined) place(identities);
          return { ...placed, ...(identities !== undefined && { idBytes: identities.length }) };
        }),
      })),
      off: block.off,
      records: block.records.map(({ body, parts }) => ({ at: place(body), bytes: body.length, parts })),
    };
    const unread = new Map(
      block.entries.map((entry): [number, Unread] => {
        const { records, bytes } = sizeOf(entry, meta);
        return [entry.id, { n, takenMs: block.takenMs, atMs: nowMs, records, bytes }];
      }),
    );
    const shares: Shares = [...unread].map(([job, { records, bytes }]) => [job, records, bytes]);
    if (block.kept !== undefined) shares.push([KEPT, 0, sumOf(meta.records, ({ bytes }) => bytes), block.kept]);
    this.#insert({ n, takenMs: block.takenMs, atMs: nowMs, shares }, meta, bodies);
    return { n, unread };
  }

  #insert({ n, takenMs, atMs, shares }: Stored, meta: Meta, bodies: readonly Uint8Array[]): void {
    const metaBytes = encodeUtf8(JSON.stringify(meta));
    const body = concat([metaBytes, ...bodies]);
    this.#bytes += body.length;
    if (n > this.#keptAfter) this.#keptBytes += body.length;
    const first = { n, takenMs, atMs, jobs: JSON.stringify(shares), meta: metaBytes.length };
    for (let from = 0, k = 0; from < body.length; from += ROW_MAX_BYTES, k++) {
      const row = body.length <= ROW_MAX_BYTES ? body.buffer : body.slice(from, from + ROW_MAX_BYTES).buffer;
      if (k === 0) this.sql.insert("block", { ...first, body: row });
      else this.sql.insert("piece", { n, k, body: row });
      // The database has its copy: left to the collector, those of many appends would pile up.
      row.transfer(0);
    }
    free(body);
  }

  /** What jobs have in the blocks after a position, and up to another, oldest first. */
  *between(after: number, upTo?: number): Generator<Share> {
    for (const { shares } of this.#rows(after, upTo)) yield* shares;
  }

  *#rows(after: number, upTo = Number.MAX_SAFE_INTEGER): Generator<Row> {
    const rows = this.sql.each<{ n: number; taken_ms: number; at_ms: number; jobs: string }>`
      SELECT n, taken_ms, at_ms, jobs FROM block WHERE n > ${after} AND n <= ${upTo} ORDER BY n`;
    for (const { n, taken_ms: takenMs, at_ms: atMs, jobs } of rows) {
      const shares: Share[] = [];
      const ofPast: Share[] = [];
      let newestMs: number | null = null;
      for (const [job, records, bytes, parts] of JSON.parse(jobs) as Shares) {
        if (parts === undefined) shares.push([job, { n, takenMs, atMs, records, bytes }]);
        else {
          newestMs = Math.max(...parts.map(([partMs]) => partMs));
          for (const [id, past] of this.#pasts()) {
            const own = n > past.upTo ? [] : parts.filter(([partMs]) => wasIn(past, partMs));
            const count = sumOf(own, ([, ofPart]) => ofPart);
            const oldestMs = Math.min(...own.map(([partMs]) => partMs));
            if (count > 0) ofPast.push([id, { n, takenMs: oldestMs, atMs: past.atMs, records: count, bytes }]);
          }
        }
      }
      yield { n, atMs, newestMs, shares: [...shares, ...ofPast], ofPast };
    }
  }

  /**
   * What a job has not read yet: whole blocks.
   * @param after position that it has read. @param maxBytes of all; one block may be larger.
   * @returns `end`: the position up to which this is all.
   */
  read(job: number, after: number, maxBytes: number): { items: Item[]; end: number; isAll: boolean } {
    const items: Item[] = [];
    let [bytes, openBytes, end] = [0, 0, after];
    for (const { n, shares } of this.#rows(after)) {
      const unread = shares.find(([id]) => id === job)?.[1];
      if (unread !== undefined) {
        const { meta, kept, body } = this.#block(n);
        const entry = meta.entries.find(({ id }) => id === job) ?? this.#pastEntry(job, unread, kept);
        const isOpen = entry.group === null;
        const isFull = bytes + unread.bytes > maxBytes || (isOpen && openBytes + unread.bytes > OPEN_BYTES);
        if (items.length > 0 && isFull) return { items, end, isAll: false };
        items.push(itemOf(unread, entry, meta, body));
        bytes += unread.bytes;
        if (isOpen) openBytes += unread.bytes;
      }
      end = n;
    }
    return { items, end, isAll: true };
  }

  /** The entry of a job that was not there when the block was added. */
  #pastEntry(id: number, { records }: Unread, kept: NonNullable<NewBlock["kept"]>): Entry {
    const past = this.#pasts().get(id);
    const parts = kept.flatMap(([partMs], place) => (past !== undefined && wasIn(past, partMs) ? [place] : []));
    return { id, stamp: "", received: records, filtered: 0, sampledOut: 0, group: null, parts };
  }

  /**
   * What is kept, whether a job wanted it or not: records of functions whose logging was off are
   * named in `off`.
   * @param maxBytes of all; one block may be larger. @param newest instead of the oldest.
   * @returns in the order of the log; `end`: the position up to which this is all.
   */
  records(after: number, maxBytes: number, newest = false): { messages: OpenMessage[]; end: number } {
    const messages: OpenMessage[][] = [];
    let [bytes, end] = [0, after];
    const order = verbatim(newest ? "DESC" : "ASC");
    for (const { n } of this.sql.each<{ n: number }>`SELECT n FROM block WHERE n > ${after} ORDER BY n ${order}`) {
      const { meta, kept, body } = this.#block(n);
      if (kept.length > 0) {
        bytes += sumOf(meta.records, (each) => each.bytes);
        if (bytes > maxBytes && messages.length > 0) break;
        messages.push(messagesOf(meta, meta.parts, body));
      }
      end = Math.max(end, n);
    }
    return { messages: (newest ? messages.reverse() : messages).flat(), end };
  }

  /**
   * Deletes the blocks after a position, and up to another, that are read, and kept no longer.
   * @param cursorOf how far a job has read.
   */
  drop(cursorOf: (job: number) => number, after: number, upTo: number): void {
    const read = [...this.#rows(after, Math.min(upTo, this.#keptAfter))].filter((row) => isRead(row, cursorOf));
    for (const { n } of read) this.#delete(n);
  }

  /**
   * Ends what is kept too long, or is too much, the oldest first.
   * @returns all that was taken in later is kept, in ms since the epoch; null: as it was.
   */
  expire(cursorOf: (job: number) => number, keep: Keep, nowMs: number): number | null {
    let endedMs: number | null = null;
    const [read, unread]: [number[], number[]] = [[], []];
    for (const row of this.#rows(this.#keptAfter)) {
      // One that a clock ahead of this one has added ends, too.
      if (keep.ms > 0 && Math.abs(nowMs - row.atMs) <= keep.ms && this.#keptBytes <= keep.bytes) break;
      if (unread.length === STRIPPED_AT_ONCE) break;
      this.#keptAfter = row.n;
      this.#keptBytes -= this.#sizeOf(row.n);
      if (row.newestMs !== null) endedMs = Math.max(endedMs ?? 0, Math.min(row.newestMs, nowMs));
      if (isRead(row, cursorOf)) read.push(row.n);
      else if (row.newestMs !== null && row.ofPast.length === 0) unread.push(row.n);
    }
    for (const n of read) this.#delete(n);
    for (const n of unread) this.#strip(n);
    return endedMs;
  }

  /** Deletes what a block has besides what was prepared for readers, if that is all they want. */
  #strip(n: number): void {
    const { shares, meta, body, ...row } = this.#block(n);
    if (meta.entries.some(({ group }) => group === null)) return;
    const prepared = body.subarray(0, meta.records[0]?.at);
    this.#delete(n);
    this.#insert({ ...row, shares: shares.filter(([job]) => job !== KEPT) }, { ...meta, records: [] }, [prepared]);
  }

  /** Jobs of whose past there are blocks that all others have read. */
  heldByPast(cursorOf: (job: number) => number): Set<number> {
    const jobs = new Set<number>();
    for (const { n, shares, ofPast } of this.#rows(0)) {
      const unread = shares.filter(([job]) => cursorOf(job) < n);
      if (unread.every((share) => ofPast.includes(share))) for (const [job] of unread) jobs.add(job);
    }
    return jobs;
  }

  #sizeOf(n: number): number {
    return this.sql.only`
      SELECT length(body) + coalesce((SELECT sum(length(body)) FROM piece WHERE piece.n = block.n), 0)
      FROM block WHERE n = ${n}`;
  }

  #delete(n: number): void {
    this.#bytes -= this.#sizeOf(n);
    this.sql.run`DELETE FROM block WHERE n = ${n}`;
    this.sql.run`DELETE FROM piece WHERE n = ${n}`;
  }

  #block(n: number): Whole {
    type Columns = { taken_ms: number; at_ms: number; jobs: string; meta: number; body: ArrayBuffer };
    const block = this.sql.one<Columns>`SELECT taken_ms, at_ms, jobs, meta, body FROM block WHERE n = ${n}`;
    const pieces = this.sql.all<{ body: ArrayBuffer }>`SELECT body FROM piece WHERE n = ${n} ORDER BY k`;
    const [first = new Uint8Array(), ...more] = [block, ...pieces].map(({ body }) => new Uint8Array(body));
    const whole = more.length === 0 ? first : concat([first, ...more]);
    const meta = JSON.parse(decodeUtf8(whole.subarray(0, block.meta))) as Meta;
    const shares = JSON.parse(block.jobs) as Shares;
    const [, , , kept = []] = shares.find(([job]) => job === KEPT) ?? [];
    return { n, takenMs: block.taken_ms, atMs: block.at_ms, shares, meta, kept, body: whole.subarray(block.meta) };
  }
}

/** Whether all jobs have read it that have anything in it. */
function isRead({ n, shares }: { n: number; shares: readonly Share[] }, cursorOf: (job: number) => number): boolean {
  return shares.every(([job]) => cursorOf(job) >= n);
}

function itemOf({ n, takenMs }: Unread, entry: Entry, meta: Meta, body: Uint8Array<ArrayBuffer>): Item {
  const { stamp, received, filtered, sampledOut } = entry;
  const item: Item = { n, takenMs, stamp, received, filtered, sampledOut };
  const group = entry.group === null ? undefined : meta.groups[entry.group];
  if (group !== undefined) {
    const fragments = group.fragments.map(({ at, bytes, hashBytes, idBytes = 0, ...rest }): Fragment => {
      const behind = at + bytes;
      const [idsAt, end] = [behind + hashBytes, behind + hashBytes + idBytes];
      const hashes = hashBytes > 0 && { hashes: new Uint32Array(body.slice(behind, idsAt).buffer) };
      const identities = idBytes > 0 && { identities: body.slice(idsAt, end) };
      return { ...rest, body: body.slice(at, behind), ...hashes, ...identities };
    });
    return { ...item, group: { output: group.output, template: group.template, fragments } };
  }
  return { ...item, open: messagesOf(meta, partsOf(entry, meta), body) };
}

function messagesOf({ records, off }: Meta, ids: readonly string[], body: Uint8Array<ArrayBuffer>): OpenMessage[] {
  const offered = new Set(ids);
  return records.flatMap(({ at, bytes, parts }): OpenMessage[] => {
    const own = parts.filter((id) => offered.has(id));
    if (own.length === 0) return [];
    const ofOwn = Object.fromEntries(own.flatMap((id) => (off[id] === undefined ? [] : [[id, off[id]]])));
    return [{ body: body.slice(at, at + bytes), parts: own, off: ofOwn }];
  });
}

/**
 * Records of open entries in a page, as the queue delivered them, in bytes: some 1 MB of NDJSON.
 */
const OPEN_BYTES = 250_000;

function partsOf({ parts }: Entry, meta: Meta): string[] {
  return parts === undefined ? meta.parts : parts.map((place) => meta.parts[place] as string);
}

/** What there is of a block for one job. */
function sizeOf(entry: Entry, meta: Meta): { records: number; bytes: number } {
  if (entry.group === null) {
    const offered = new Set(partsOf(entry, meta));
    const own = meta.records.filter(({ parts }) => parts.some((id) => offered.has(id)));
    return { records: entry.received, bytes: own.reduce((sum, { bytes }) => sum + bytes, 0) };
  }
  const fragments = meta.groups[entry.group]?.fragments ?? [];
  return fragments.reduce((sum, each) => ({ records: sum.records + each.records, bytes: sum.bytes + each.bytes }), {
    records: 0,
    bytes: 0,
  });
}

function sumOf<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((sum, each) => sum + of(each), 0);
}

/**
 * A position up to which blocks may have been, though those up to `lost` are not known here. The
 * next is the time, which is later, unless the clock was ahead: only then it leaps, as positions
 * that are no times would be given again after another restore.
 */
export function beyondLost(lost: number, nowMs: number): number {
  return lost < nowMs * PER_MS ? lost : lost + LOST_MS * PER_MS;
}
