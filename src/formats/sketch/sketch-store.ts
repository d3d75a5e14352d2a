import { DurableObject } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { concat } from "../../base/bytes.ts";
import { OBJECT_HISTORY_MS } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { platform } from "../../base/platform.ts";
import { Alarm } from "../../base/storage/alarm.ts";
import { isBegun, type Migration, migrate } from "../../base/storage/migrate.ts";
import { clause, Sql } from "../../base/storage/sql.ts";
import {
  beginsIn,
  encodeHead,
  entryOf,
  GROUP_MAX_WORDS,
  type Head,
  MEMBERS_MAX,
  membersIn,
  membersOut,
  readHead,
  SEGMENTS_MAX,
  type Segment,
  type Shape,
  segmentsFor,
  segmentsOf,
  shapeIn,
  shapeOf,
} from "./group.ts";
import { HASHES, PARTS_MAX, partAt, partsOf } from "./sketch.ts";
import { ALL, hashesIn, heldBy, type Wanted } from "./wanted.ts";

const SKETCH_STEPS = [
  {
    id: 1,
    why: "searches skip the objects that cannot hold a match",
    sql: `
      CREATE TABLE segment (               -- of the sketch of one object
        id       INTEGER PRIMARY KEY,      -- batch * 256 + segment; an object keeps its batch when its number changes
        segments INTEGER NOT NULL,         -- that the sketch has
        mark     TEXT NOT NULL,            -- of the object's bytes: a log that is restored gives a batch anew
        body     BLOB NOT NULL
      ) STRICT;`,
  },
  {
    id: 2,
    why: "one read tells which of a hundred objects may hold a word; sketches of before are of another form",
    sql: `
      DROP TABLE segment;
      CREATE TABLE words (                 -- of an object that is in no group yet
        id     INTEGER PRIMARY KEY,        -- batch * 64 + part; an object keeps its batch when its number changes
        parts  INTEGER NOT NULL,           -- that the object has
        mark   TEXT NOT NULL,              -- of the object's bytes: a log that is restored gives a batch anew
        hashes INTEGER NOT NULL,           -- version of the hashes
        body   BLOB NOT NULL               -- 4 bytes each
      ) STRICT;
      CREATE TABLE object_group (          -- the sketch of several objects, as group.ts has it
        id     INTEGER PRIMARY KEY,
        head   BLOB NOT NULL,
        bytes  INTEGER NOT NULL,           -- of the whole file
        sha256 TEXT NOT NULL,
        md5    TEXT NOT NULL,
        place  TEXT,                       -- where its file is, as placeMark tells places apart; NULL: its segments are here
        key    TEXT
      ) STRICT;
      CREATE TABLE group_segments (
        id   INTEGER PRIMARY KEY,          -- group * 128 + segment / 8
        body BLOB NOT NULL                 -- eight segments
      ) STRICT;`,
  },
] as const satisfies readonly Migration[];

/** How much one of these may store, in bytes: the platform's limit is 10 GB. */
const MAX_BYTES = 8_000_000_000;

/** Objects, and words of all, that become a group: each of them is read for a word until then. */
const GROUP_OBJECTS = 100;
const GROUP_WORDS = GROUP_MAX_WORDS / 2;

/** Segments of a row: more are read for a word, fewer cost more rows. */
const SEGMENTS_A_ROW = 8;
const ROWS_MAX = SEGMENTS_MAX / SEGMENTS_A_ROW;

/** A row has less than 2 MB. */
const ROW_MAX_BYTES = 1_900_000;

/** An object of one node and day. */
export interface Marked {
  batch: number;
  /** As `markOf`. */
  mark: string;
}

/** A group whose segments are in the bucket, and what of it tells what is wanted. */
export interface StoredGroup {
  key: string;
  shape: Shape;
  /** Marks. */
  members: readonly string[];
  segments: readonly Segment[];
}

/** What objects cannot hold. */
export interface Asked {
  /** Marks of the objects that have a sketch, and cannot hold what is wanted. */
  out: string[];
  /** Of sketches, that were read for it. */
  bytes: number;
  /** Groups with objects that were asked about. */
  stored: StoredGroup[];
}

/** A group as a file, but for its bytes. */
export type Sealed = {
  id: number;
  bytes: number;
  sha256: string;
  md5: string;
  head: { bytes: number; sha256: string };
  /** How many. */
  objects: number;
  /** Where it is; null: nowhere yet. */
  place: string | null;
  key: string | null;
};

type GroupRow = {
  id: number;
  head: ArrayBuffer;
  bytes: number;
  sha256: string;
  md5: string;
  place: string | null;
  key: string | null;
};

type LooseRow = { id: number; parts: number; mark: string; hashes: number };

/** An object in no group. */
interface Loose extends Pick<LooseRow, "parts" | "mark"> {
  batch: number;
  words: number;
}

/**
 * The sketches of the objects of one day that one node of a job's log has cut, for as long as the
 * list of objects has them: the words of each, until about a hundred become a group, whose segments
 * go when they are in the bucket. Losing any only makes a search read more.
 */
export class SketchStore extends DurableObject<Env> {
  readonly #sql: Sql;
  readonly #alarm: Alarm;
  /** A store without sketches has no tables: asking it leaves nothing behind. */
  #isBegun: boolean;
  /** Overridden by tests. */
  maxBytes = MAX_BYTES;
  groupObjects = GROUP_OBJECTS;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = new Sql(ctx.storage.sql);
    this.#alarm = new Alarm(ctx.storage);
    this.#isBegun = isBegun(ctx.storage.sql);
    this.#alarm.begin(ctx, this.#isBegun ? SKETCH_STEPS : null);
  }

  /**
   * Keeps the words of an object. Idempotent.
   * @param hashes version of the caller's. @param words distinct.
   * @throws if it is full, or has another version.
   */
  add(hashes: number, { batch, mark }: Marked, words: Uint32Array): void {
    if (hashes !== HASHES) throw new Error("words of another version are not kept");
    if (this.#sql.databaseSize >= this.maxBytes) throw new Error("the sketches of this day are full");
    const now = platform.now();
    if (!this.#isBegun) migrate(this.ctx.storage, SKETCH_STEPS);
    this.#isBegun = true;
    const parts = partsOf(words);
    this.#alarm.transaction(() => {
      for (const [i, { buffer }] of parts.entries())
        this.#sql.replace("words", { id: batch * PARTS_MAX + i, parts: parts.length, mark, hashes, body: buffer });
      this.#alarm.set(now + OBJECT_HISTORY_MS, now);
    });
    const loose = this.#loose();
    if (loose.length >= this.groupObjects || sumOf(loose) >= GROUP_WORDS) this.#group(loose);
  }

  /**
   * @param hashes version of the caller's.
   * @param objects that are asked about.
   */
  ask(hashes: number, objects: readonly Marked[], wanted: Wanted): Asked {
    const asked: Asked = { out: [], bytes: 0, stored: [] };
    if (!this.#isBegun || hashes !== HASHES) return asked;
    const left = new Map(objects.map((object) => [object.mark, object]));
    const all = hashesIn(wanted);
    for (const { id, key, head: bytes } of this.#groups()) {
      const head = readHead(new Uint8Array(bytes));
      if (!head?.members.some((mark) => left.has(mark))) continue;
      const { members } = head;
      if (key !== null) {
        asked.stored.push({ key, shape: shapeIn(head), members, segments: segmentsFor(head, all) });
      } else {
        const held = heldBy(wanted, this.#holdersIn(id, head, asked));
        asked.out.push(...membersOut(members, held).filter((mark) => left.has(mark)));
      }
      for (const mark of members) left.delete(mark);
    }
    for (const { batch, mark } of left.values()) {
      const row = this.#sql.first<Pick<LooseRow, "parts" | "mark" | "hashes">>`
        SELECT parts, mark, hashes FROM words WHERE id = ${batch * PARTS_MAX}`;
      if (row?.mark !== mark || row.hashes !== HASHES) continue;
      if (heldBy(wanted, this.#looseHolder(batch, row.parts, asked)) === 0n) asked.out.push(mark);
    }
    return asked;
  }

  /** What is in no group becomes one. @returns the groups of the day, as files. */
  seal(): Sealed[] {
    if (!this.#isBegun) return [];
    this.#group(this.#loose());
    return this.#groups().map(({ head, ...group }) => ({
      ...group,
      head: { bytes: head.byteLength, sha256: hex("sha256", new Uint8Array(head)) },
      objects: readHead(new Uint8Array(head))?.members.length ?? 0,
    }));
  }

  /** A piece of a group's file, from 0; null: there are no more, or they are gone. */
  piece(group: number, piece: number): Uint8Array | null {
    const row = this.#sql.first<{ body: ArrayBuffer }>`
      SELECT body FROM group_segments WHERE id = ${group * ROWS_MAX + piece}`;
    if (row !== null) return new Uint8Array(row.body);
    const { pieces } = this.#sql.one<{ pieces: number }>`
      SELECT count(*) AS pieces FROM group_segments WHERE ${isOf(group)}`;
    const head = piece > 0 && piece === pieces ? this.#groups().find(({ id }) => id === group)?.head : undefined;
    return head === undefined ? null : new Uint8Array(head);
  }

  /** The file of a group is written: its segments go. */
  moved(group: number, place: string, key: string): void {
    this.ctx.storage.transactionSync(() => {
      this.#sql.run`UPDATE object_group SET place = ${place}, key = ${key} WHERE id = ${group}`;
      this.#sql.run`DELETE FROM group_segments WHERE ${isOf(group)}`;
    });
  }

  /** The list of objects has forgotten them. An alarm was set with the first one of the day. */
  override async alarm(): Promise<void> {
    this.#alarm.cleared();
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#isBegun = false;
  }

  #groups(): GroupRow[] {
    return this.#sql.all<GroupRow>`SELECT * FROM object_group ORDER BY id`;
  }

  #loose(): Loose[] {
    const rows = this.#sql.all<Pick<LooseRow, "id" | "parts" | "mark"> & { bytes: number }>`
      SELECT id, parts, mark, length(body) AS bytes FROM words WHERE hashes = ${HASHES} ORDER BY id`;
    const objects = new Map<number, Loose>();
    for (const { id, parts, mark, bytes } of rows) {
      const batch = Math.floor(id / PARTS_MAX);
      const words = (objects.get(batch)?.words ?? 0) + bytes / Uint32Array.BYTES_PER_ELEMENT;
      objects.set(batch, { batch, parts, mark, words });
    }
    return [...objects.values()];
  }

  /** Makes groups of all objects that are in none. What makes none is dropped, and they are read. */
  #group(loose: readonly Loose[]): void {
    if (loose.length === 0) return;
    try {
      this.ctx.storage.transactionSync(() => {
        for (let at = 0; at < loose.length; ) {
          const members: Loose[] = [];
          for (let words = 0; at < loose.length && members.length < MEMBERS_MAX; at++) {
            const object = loose[at] as Loose;
            words += object.words;
            if (words > GROUP_MAX_WORDS && members.length > 0) break;
            members.push(object);
          }
          this.#keepGroup(members);
        }
        this.#sql.run`DELETE FROM words`;
      });
    } catch (error) {
      log.warn("sketches were dropped", { objects: loose.length, error: errorText(error) });
      this.#sql.run`DELETE FROM words`;
    }
  }

  #keepGroup(objects: readonly Loose[]): void {
    const id = this.#sql.only<number>`SELECT coalesce(max(id), 0) + 1 FROM object_group`;
    const most = Math.max(...objects.map(({ parts }) => parts));
    const words = sumOf(objects);
    const shape = shapeOf(objects.length, words, most);
    const [sha256, md5] = [createHash("sha256"), createHash("md5")];
    const entries: Uint8Array[] = [];
    let row: Uint8Array[] = [];
    let bytes = 0;
    const wordsIn = (part: number): Uint32Array[] =>
      objects.map(({ batch, parts }) => this.#part(batch, Math.floor((part * parts) / most)));
    for (const segment of segmentsOf(shape, most, wordsIn)) {
      sha256.update(segment);
      md5.update(segment);
      bytes += segment.length;
      row.push(segment);
      const number = entries.push(entryOf(segment)) - 1;
      if (row.length < SEGMENTS_A_ROW && number + 1 < shape.segments) continue;
      const { buffer } = concat(row);
      if (buffer.byteLength > ROW_MAX_BYTES) throw new Error("their words are spread unevenly");
      this.#sql.insert("group_segments", { id: id * ROWS_MAX + Math.floor(number / SEGMENTS_A_ROW), body: buffer });
      row = [];
    }
    const members = objects.map(({ mark }) => mark);
    const head = encodeHead({ bits: shape.bits, members, table: concat(entries) });
    this.#sql.insert("object_group", {
      ...{ id, head: head.buffer, bytes: bytes + head.length, place: null, key: null },
      ...{ sha256: sha256.update(head).digest("hex"), md5: md5.update(head).digest("hex") },
    });
  }

  #part(batch: number, part: number): Uint32Array {
    return new Uint32Array(this.#sql.only<ArrayBuffer>`SELECT body FROM words WHERE id = ${batch * PARTS_MAX + part}`);
  }

  /** Which members of a group that is here may hold a word. Several words may be of one row. */
  #holdersIn(group: number, head: Head, asked: Asked): (hash: number) => bigint {
    const shape = shapeIn(head);
    const begins = beginsIn(head);
    const rows = new Map<number, Uint8Array>();
    return (hash) => {
      const segment = partAt(hash, shape.segments);
      const number = Math.floor(segment / SEGMENTS_A_ROW);
      let row = rows.get(number);
      if (row === undefined) {
        row = this.piece(group, number) ?? new Uint8Array();
        rows.set(number, row);
        asked.bytes += row.length;
      }
      const [from, end, first] = [segment, segment + 1, number * SEGMENTS_A_ROW].map((at) => begins[at] as number);
      return membersIn(row.subarray(from - first, end - first), shape, hash);
    };
  }

  /** The same of an object in no group. */
  #looseHolder(batch: number, parts: number, asked: Asked): (hash: number) => bigint {
    const known = new Map<number, Uint32Array>();
    return (hash) => {
      const part = partAt(hash, parts);
      let words = known.get(part);
      if (words === undefined) {
        words = this.#part(batch, part);
        known.set(part, words);
        asked.bytes += words.byteLength;
      }
      return words.includes(hash) ? ALL : 0n;
    };
  }
}

function isOf(group: number) {
  return clause`id BETWEEN ${group * ROWS_MAX} AND ${group * ROWS_MAX + ROWS_MAX - 1}`;
}

function sumOf(objects: readonly Loose[]): number {
  return objects.reduce((sum, { words }) => sum + words, 0);
}

function hex(algorithm: string, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest("hex");
}

/** The sketches of one day's objects of a node. @param day UTC days since the epoch. */
export function sketchesOf(
  sketches: DurableObjectNamespace<SketchStore>,
  job: number,
  node: number,
  day: number,
): DurableObjectStub<SketchStore> {
  return sketches.getByName(`job ${job} node ${node} day ${day}`);
}
