import { concat, decodeUtf8, encodeUtf8 } from "../bytes.ts";
import { ROW_MAX_BYTES } from "../limits.ts";
import type { Fragment } from "../object/encoder.ts";
import { insert } from "../storage/sql.ts";
import type { GroupFormat, JobShare, LoggedMessage } from "./append.ts";

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
}

/** What was prepared for a job. */
export interface Group extends GroupFormat {
  fragments: Fragment[];
}

/** A message from which a reader makes what its job ships. */
export interface OpenMessage {
  body: Uint8Array<ArrayBuffer>;
  /** Ids of the parts that the job is offered. */
  parts: string[];
  /** Functions whose logging was off, by id of the part. */
  off: Record<string, string[]>;
}

/** The entry of a job, as its reader gets it. */
export interface Item extends Omit<JobShare, "id"> {
  /** Position of the block. */
  n: number;
  /** Time of intake of the block's oldest part, in ms since the epoch. */
  takenMs: number;
  group?: Group;
  open?: OpenMessage[];
}

/** What is unread of a block for one job. */
export interface Unread {
  n: number;
  takenMs: number;
  /** When it was added. */
  atMs: number;
  records: number;
  bytes: number;
}

/** A fragment without its bytes, which lie behind {@link Meta}. */
interface Placed extends Omit<Fragment, "body" | "hashes"> {
  at: number;
  bytes: number;
  /** Bytes of the hashes of its words, behind it. */
  hashBytes: number;
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

/** By so much positions grow at once when newer ones were lost that lie in the future: a year. */
const LOST_MS = 365 * 86_400_000;

/** What a block has for each job, in its own column: read without what it has. */
type Shares = [job: number, records: number, bytes: number][];

/**
 * The blocks of a shard. What changes anything belongs into a transaction of the caller. A reader
 * that does not answer leaves a million of them: nothing about each is held in memory, and what is
 * done often reads those of a page.
 */
export class Blocks {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Adds a block. Its position is greater than any before, and than any that a restored storage may
   * have lost, as it begins with the time.
   * @param last position of the newest block there ever was.
   * @returns its position, and what is unread of it by job.
   */
  add(block: NewBlock, last: number, nowMs: number): { n: number; unread: Map<number, Unread> } {
    const n = Math.max(last + 1, nowMs * PER_MS);
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
        fragments: fragments.map(({ body, hashes, ...rest }): Placed => {
          const placed = { ...rest, at: place(body), bytes: body.length, hashBytes: hashes?.byteLength ?? 0 };
          if (hashes !== undefined) place(new Uint8Array(hashes.buffer, hashes.byteOffset, hashes.byteLength));
          return placed;
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
    const metaBytes = encodeUtf8(JSON.stringify(meta));
    const body = concat([metaBytes, ...bodies]);
    const jobs = JSON.stringify([...unread].map(([job, { records, bytes }]) => [job, records, bytes]) satisfies Shares);
    insert(this.#sql, "INSERT INTO block", {
      ...{ n, taken_ms: block.takenMs, at_ms: nowMs, jobs, meta: metaBytes.length },
      body: body.slice(0, ROW_MAX_BYTES).buffer,
    });
    for (let from = ROW_MAX_BYTES, k = 1; from < body.length; from += ROW_MAX_BYTES, k++)
      insert(this.#sql, "INSERT INTO piece", { n, k, body: body.slice(from, from + ROW_MAX_BYTES).buffer });
    return { n, unread };
  }

  /** What jobs have in the blocks after a position, and up to another, oldest first. */
  *between(after: number, upTo?: number): Generator<[job: number, Unread]> {
    for (const { shares, ...block } of this.#shares(after, upTo))
      for (const [job, records, bytes] of shares) yield [job, { ...block, records, bytes }];
  }

  *#shares(
    after: number,
    upTo = Number.MAX_SAFE_INTEGER,
  ): Generator<Pick<Unread, "n" | "takenMs" | "atMs"> & { shares: Shares }> {
    const rows = this.#sql.exec<{ n: number; taken_ms: number; at_ms: number; jobs: string }>(
      "SELECT n, taken_ms, at_ms, jobs FROM block WHERE n > ? AND n <= ? ORDER BY n",
      after,
      upTo,
    );
    for (const { n, taken_ms, at_ms, jobs } of rows)
      yield { n, takenMs: taken_ms, atMs: at_ms, shares: JSON.parse(jobs) as Shares };
  }

  /**
   * What a job has not read yet: whole blocks.
   * @param after position that it has read. @param maxBytes of all; one block may be larger.
   * @returns `end`: the position up to which this is all.
   */
  read(job: number, after: number, maxBytes: number): { items: Item[]; end: number; isAll: boolean } {
    const items: Item[] = [];
    let [bytes, openBytes, end] = [0, 0, after];
    for (const { n, takenMs, shares } of this.#shares(after)) {
      const size = shares.find(([id]) => id === job)?.[2];
      if (size !== undefined) {
        const { meta, body } = this.#block(n);
        const entry = meta.entries.find(({ id }) => id === job) as Entry;
        const isOpen = entry.group === null;
        const isFull = bytes + size > maxBytes || (isOpen && openBytes + size > OPEN_BYTES);
        if (items.length > 0 && isFull) return { items, end, isAll: false };
        items.push(itemOf(n, takenMs, entry, meta, body));
        bytes += size;
        if (isOpen) openBytes += size;
      }
      end = n;
    }
    return { items, end, isAll: true };
  }

  /**
   * Deletes the blocks after a position, and up to another, that are read. @param cursorOf how far
   * a job has read.
   */
  drop(cursorOf: (job: number) => number, after: number, upTo: number): void {
    const read = [...this.#shares(after, upTo)].filter(({ n, shares }) => shares.every(([job]) => cursorOf(job) >= n));
    for (const { n } of read) {
      this.#sql.exec("DELETE FROM block WHERE n = ?", n);
      this.#sql.exec("DELETE FROM piece WHERE n = ?", n);
    }
  }

  #block(n: number): { meta: Meta; body: Uint8Array<ArrayBuffer> } {
    const block = this.#sql
      .exec<{ meta: number; body: ArrayBuffer }>("SELECT meta, body FROM block WHERE n = ?", n)
      .one();
    const pieces = this.#sql.exec<{ body: ArrayBuffer }>("SELECT body FROM piece WHERE n = ? ORDER BY k", n).toArray();
    const whole = concat([block, ...pieces].map(({ body }) => new Uint8Array(body)));
    const meta = JSON.parse(decodeUtf8(whole.subarray(0, block.meta))) as Meta;
    return { meta, body: whole.subarray(block.meta) };
  }
}

function itemOf(n: number, takenMs: number, entry: Entry, meta: Meta, body: Uint8Array<ArrayBuffer>): Item {
  const { stamp, received, filtered, sampledOut } = entry;
  const item: Item = { n, takenMs, stamp, received, filtered, sampledOut };
  const group = entry.group === null ? undefined : meta.groups[entry.group];
  if (group !== undefined) {
    const fragments = group.fragments.map(({ at, bytes, hashBytes, ...rest }): Fragment => {
      const behind = at + bytes;
      const hashes = hashBytes > 0 && { hashes: new Uint32Array(body.slice(behind, behind + hashBytes).buffer) };
      return { ...rest, body: body.slice(at, behind), ...hashes };
    });
    return { ...item, group: { output: group.output, template: group.template, fragments } };
  }
  const offered = new Set(partsOf(entry, meta));
  const open = meta.records.flatMap(({ at, bytes, parts }): OpenMessage[] => {
    const own = parts.filter((id) => offered.has(id));
    if (own.length === 0) return [];
    const off = Object.fromEntries(own.flatMap((id) => (meta.off[id] === undefined ? [] : [[id, meta.off[id]]])));
    return [{ body: body.slice(at, at + bytes), parts: own, off }];
  });
  return { ...item, open };
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

/**
 * A position up to which blocks may have been, though those up to `lost` are not known here. The
 * next is the time, which is later, unless the clock was ahead: only then it leaps, as positions
 * that are no times would be given again after another restore.
 */
export function beyondLost(lost: number, nowMs: number): number {
  return lost < nowMs * PER_MS ? lost : lost + LOST_MS * PER_MS;
}
