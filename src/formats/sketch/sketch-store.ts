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
  encodeHead,
  entryOf,
  GROUP_MAX_WORDS,
  GROUP_OBJECTS,
  identitiesIn,
  identityEntryOf,
  MEMBERS_MAX,
  readHead,
  segmentsOf,
  shapeOf,
} from "./group.ts";
import { fieldsIn, IDENTITY_HEAD_BYTES } from "./identities.ts";
import { HASHES, PARTS_MAX, partAt, partsOf } from "./sketch.ts";
import { ALL, heldBy, type Wanted } from "./wanted.ts";

const WORDS_TABLE = `
      CREATE TABLE words (                 -- of an object that is in no group yet
        id     INTEGER PRIMARY KEY,        -- batch * 64 + part; an object keeps its batch when its number changes
        parts  INTEGER NOT NULL,           -- that the object has
        mark   TEXT NOT NULL,              -- of the object's bytes: a log that is restored gives a batch anew
        hashes INTEGER NOT NULL,           -- version of the hashes
        body   BLOB NOT NULL               -- 4 bytes each
      ) STRICT;`;

/** Which records the object's lines are: of several rows, each has a share. NULL: unknown. */
const IDENTITIES_COLUMN = "ALTER TABLE words ADD COLUMN identities BLOB;";

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
      ${WORDS_TABLE}
      CREATE TABLE object_group (          -- the sketch of several objects: a file, as group.ts has it
        id     INTEGER PRIMARY KEY,
        bytes  INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        md5    TEXT NOT NULL,
        head   BLOB NOT NULL,              -- the end of it
        key    TEXT,                       -- where it is in the bucket; NULL: its bytes are here
        place  TEXT                        -- of the bucket, as placeMark tells places apart
      ) STRICT;
      CREATE TABLE group_bytes (           -- of a file that is not in the bucket: whole segments, and its head
        id   INTEGER PRIMARY KEY,          -- group * 2^26 + where it begins
        body BLOB NOT NULL
      ) STRICT;`,
  },
  {
    id: 3,
    floor: 2,
    why: "a search tells copies of a record from another one",
    sql: IDENTITIES_COLUMN,
  },
] as const satisfies readonly Migration[];

/** How much one of these may store, in bytes: the platform's limit is 10 GB. */
const MAX_BYTES = 8_000_000_000;

/** Words that become a group, if these are of fewer objects. */
const GROUP_WORDS = GROUP_MAX_WORDS / 2;

/** A file of a group is shorter. */
const FILE_MAX_BYTES = 2 ** 26;

/** Segments are written together from this on, in bytes: a row may have two million. */
const ROW_BYTES = 250_000;
const ROW_MAX_BYTES = 1_900_000;

/** Identities beside the words of a row, and those of a group, in bytes. */
const SHARE_MAX_BYTES = 1_500_000;
const GROUP_IDENTITIES_BYTES = 16_000_000;

/** An object of one node and day. */
export interface Marked {
  batch: number;
  /** As `markOf`. */
  mark: string;
}

export interface Asked {
  /** Marks of the objects that are in no group, and cannot hold what is wanted. */
  out: string[];
  /** That were read for it. */
  bytes: number;
  /** Of the others: the heads of their groups. */
  groups: { id: number; key: string | null; head: Uint8Array }[];
}

/** Objects of which it is known which records their lines are. */
export interface Identified {
  /** In no group: size of what is known, in bytes, and what is written of each record. */
  loose: { mark: string; bytes: number; fields: number }[];
  groups: Asked["groups"];
}

/** A group as a file. */
export interface Sealed extends Omit<GroupRow, "head"> {
  head: { bytes: number; sha256: string };
  /** How many it knows. */
  objects: number;
}

type GroupRow = {
  id: number;
  bytes: number;
  sha256: string;
  md5: string;
  head: ArrayBuffer;
  /** null: nowhere yet. */
  key: string | null;
  place: string | null;
};

type WordsRow = { id: number; parts: number; mark: string; hashes: number };

/** An object in no group. */
interface Loose extends Marked {
  parts: number;
  words: number;
  /** In bytes. */
  identities: number;
}

/**
 * The sketches of the objects of one day that one node of a job's log has cut, for as long as the
 * list of objects has them: the words of each, until about a hundred become a group, of which only
 * the head is here once its file is in the bucket. Losing any only makes a search read more.
 */
export class SketchStore extends DurableObject<Env> {
  readonly #sql: Sql;
  readonly #alarm: Alarm;
  /** A store without sketches has no tables: asking it leaves nothing behind. */
  #isBegun: boolean;
  /** Overridden by tests. */
  maxBytes = MAX_BYTES;
  groupObjects = GROUP_OBJECTS;
  rowMaxBytes = ROW_MAX_BYTES;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = new Sql(ctx.storage.sql);
    this.#alarm = new Alarm(ctx.storage);
    this.#isBegun = isBegun(ctx.storage.sql);
    this.#alarm.begin(ctx, this.#isBegun ? SKETCH_STEPS : null, () => {
      // The release before makes the table anew without it.
      const { sql } = ctx.storage;
      const lacks = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'words' AND sql NOT LIKE '%identities%'");
      if (this.#isBegun && lacks.toArray().length > 0) sql.exec(IDENTITIES_COLUMN);
    });
  }

  /**
   * Keeps the words of an object. Idempotent.
   * @param hashes version of the caller's. @param words distinct.
   * @param identities of the object's lines; none: it is not known.
   * @throws if it is full, or has another version.
   */
  add(hashes: number, { batch, mark }: Marked, words: Uint32Array, identities = new Uint8Array()): void {
    if (hashes !== HASHES) throw new Error("words of another version are not kept");
    if (this.#sql.databaseSize >= this.maxBytes) throw new Error("the sketches of this day are full");
    const now = platform.now();
    if (!this.#isBegun) migrate(this.ctx.storage, SKETCH_STEPS);
    this.#isBegun = true;
    const parts = partsOf(words);
    this.#alarm.transaction(() => {
      // An object that had this batch before a log was restored may have had more parts.
      const from = batch * PARTS_MAX;
      this.#sql.run`DELETE FROM words WHERE id >= ${from + parts.length} AND id < ${from + PARTS_MAX}`;
      // No row is written for them alone: what these do not hold is not kept.
      const share = Math.ceil(identities.length / parts.length);
      const isKept = share > 0 && share <= SHARE_MAX_BYTES;
      for (const [i, { buffer }] of parts.entries()) {
        const ids = isKept ? identities.slice(i * share, (i + 1) * share).buffer : null;
        this.#sql.replace("words", { id: from + i, parts: parts.length, mark, hashes, body: buffer, identities: ids });
      }
      this.#alarm.set(now + OBJECT_HISTORY_MS, now);
    });
    const loose = this.#loose();
    if (loose.length >= this.groupObjects || wordsOf(loose) >= GROUP_WORDS) this.#group(loose);
  }

  /**
   * @param hashes version of the caller's.
   * @param objects that are asked about.
   */
  ask(hashes: number, objects: readonly Marked[], wanted: Wanted): Asked {
    const asked: Asked = { out: [], bytes: 0, groups: [] };
    if (!this.#isBegun || hashes !== HASHES) return asked;
    const { groups, loose } = this.#divided(objects);
    asked.groups.push(...groups);
    for (const { batch, mark } of loose) {
      const row = this.#sql.first<WordsRow>`
        SELECT id, parts, mark, hashes FROM words WHERE id = ${batch * PARTS_MAX}`;
      if (row?.mark !== mark || row.hashes !== HASHES) continue;
      const known = new Map<number, Uint32Array>();
      const holders = (hash: number): bigint => {
        const part = partAt(hash, row.parts);
        const words = known.get(part) ?? this.#part(batch, part);
        if (!known.has(part)) asked.bytes += words.byteLength;
        known.set(part, words);
        return words.includes(hash) ? ALL : 0n;
      };
      if (heldBy(wanted, holders) === 0n) asked.out.push(mark);
    }
    return asked;
  }

  /**
   * Of which of these objects it is known which records their lines are. @returns of those that are
   * in a group: its head.
   */
  identified(objects: readonly Marked[]): Identified {
    const found: Identified = { loose: [], groups: [] };
    if (!this.#isBegun) return found;
    const { groups, loose } = this.#divided(objects);
    found.groups.push(...groups);
    for (const { batch, mark } of loose) {
      const row = this.#sql.first<{ head: ArrayBuffer | null }>`
        SELECT substr(identities, 1, ${IDENTITY_HEAD_BYTES}) AS head FROM words
        WHERE id = ${batch * PARTS_MAX} AND mark = ${mark}`;
      if (row === null || row.head === null) continue;
      const bytes = this.#sql.only<number>`
        SELECT coalesce(sum(length(identities)), 0) FROM words WHERE ${partsOfBatch(batch)} AND mark = ${mark}`;
      found.loose.push({ mark, bytes, fields: fieldsIn(new Uint8Array(row.head)) ?? 0 });
    }
    return found;
  }

  /** Of an object whose sketch is here, in a group or not. None: they are not. */
  identities({ batch, mark }: Marked): Uint8Array {
    if (!this.#isBegun) return new Uint8Array();
    const rows = this.#sql.all<{ identities: ArrayBuffer }>`
      SELECT identities FROM words WHERE ${partsOfBatch(batch)} AND mark = ${mark} AND identities IS NOT NULL
      ORDER BY id`;
    if (rows.length > 0) return concat(rows.map(({ identities }) => new Uint8Array(identities)));
    for (const { id, head: file } of this.#groups()) {
      const head = readHead(new Uint8Array(file));
      const section = head === null ? undefined : identitiesIn(head).get(mark);
      if (section !== undefined) return this.read(id, section.from, section.bytes);
    }
    return new Uint8Array();
  }

  /** What is in no group becomes one. @returns the groups of the day. */
  seal(): Sealed[] {
    if (!this.#isBegun) return [];
    this.#group(this.#loose());
    return this.#groups().map(({ head, ...group }) => {
      const bytes = new Uint8Array(head);
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      return { ...group, head: { bytes: bytes.length, sha256 }, objects: readHead(bytes)?.members.length ?? 0 };
    });
  }

  /** Bytes of a group's file: of one row, and at most so many. None: they are not here. */
  read(group: number, from: number, most: number): Uint8Array {
    const at = group * FILE_MAX_BYTES + from;
    const row = this.#sql.first<{ id: number; body: ArrayBuffer }>`
      SELECT id, body FROM group_bytes WHERE id BETWEEN ${group * FILE_MAX_BYTES} AND ${at} ORDER BY id DESC LIMIT 1`;
    return row === null ? new Uint8Array() : new Uint8Array(row.body.slice(at - row.id, at - row.id + most));
  }

  /** The file of a group is in the bucket. */
  moved(group: number, key: string, place: string): void {
    const from = group * FILE_MAX_BYTES;
    this.ctx.storage.transactionSync(() => {
      this.#sql.update("object_group", group, { key, place });
      this.#sql.run`DELETE FROM group_bytes WHERE id >= ${from} AND id < ${from + FILE_MAX_BYTES}`;
    });
  }

  /** The list of objects has forgotten them. An alarm was set with the first one of the day. */
  override async alarm(): Promise<void> {
    this.#alarm.cleared();
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#isBegun = false;
  }

  /** Groups that have any of these objects, and those that are in none. */
  #divided(objects: readonly Marked[]): { groups: Asked["groups"]; loose: Iterable<Marked> } {
    const left = new Map(objects.map((object) => [object.mark, object]));
    const groups = this.#groups().flatMap(({ id, key, head: file }) => {
      const head = new Uint8Array(file);
      const known = (readHead(head)?.members ?? []).filter((mark) => left.delete(mark));
      return known.length > 0 ? [{ id, key, head }] : [];
    });
    return { groups, loose: left.values() };
  }

  #groups(): GroupRow[] {
    return this.#sql.all<GroupRow>`SELECT * FROM object_group ORDER BY id`;
  }

  #loose(): Loose[] {
    const rows = this.#sql.all<WordsRow & { bytes: number; share: number }>`
      SELECT id, parts, mark, length(body) AS bytes, coalesce(length(identities), 0) AS share FROM words WHERE hashes = ${HASHES} ORDER BY id`;
    const objects = new Map<number, Loose>();
    for (const { id, parts, mark, bytes, share } of rows) {
      const batch = Math.floor(id / PARTS_MAX);
      const before = objects.get(batch) ?? { words: 0, identities: 0 };
      const words = before.words + bytes / Uint32Array.BYTES_PER_ELEMENT;
      objects.set(batch, { batch, parts, mark, words, identities: before.identities + share });
    }
    return [...objects.values()];
  }

  #part(batch: number, part: number): Uint32Array {
    return new Uint32Array(this.#sql.only<ArrayBuffer>`SELECT body FROM words WHERE id = ${batch * PARTS_MAX + part}`);
  }

  /** Makes groups of all objects that are in none. Where that fails, they are read. */
  #group(loose: readonly Loose[]): void {
    try {
      this.ctx.storage.transactionSync(() => {
        for (let at = 0; at < loose.length; ) {
          const members: Loose[] = [];
          for (let [words, ids] = [0, 0]; at < loose.length && members.length < MEMBERS_MAX; at++) {
            const object = loose[at] as Loose;
            words += object.words;
            ids += object.identities;
            const isFull = words > GROUP_MAX_WORDS || ids > GROUP_IDENTITIES_BYTES;
            if (isFull && members.length > 0) break;
            members.push(object);
          }
          this.#keepGroup(members);
        }
      });
    } catch (error) {
      log.warn("sketches were dropped", { objects: loose.length, error: errorText(error) });
    }
    // Of a table, its rows are not billed one by one.
    this.ctx.storage.transactionSync(() =>
      this.ctx.storage.sql.exec(`DROP TABLE words; ${WORDS_TABLE} ${IDENTITIES_COLUMN}`),
    );
  }

  #keepGroup(objects: readonly Loose[]): void {
    const id = this.#sql.only<number>`SELECT coalesce(max(id), 0) + 1 FROM object_group`;
    const most = Math.max(...objects.map(({ parts }) => parts));
    const shape = shapeOf(objects.length, wordsOf(objects), most);
    let held: Uint32Array[] = [];
    const partsAt = (part: number): Uint32Array[] => {
      // Rows read from SQLite are collected late.
      for (const { buffer } of held) if (buffer instanceof ArrayBuffer) buffer.transfer(0);
      held = objects.map(({ batch, parts }) => this.#part(batch, Math.floor((part * parts) / most)));
      return held;
    };
    const [sha256, md5] = [createHash("sha256"), createHash("md5")];
    let segments = "";
    let bytes = 0;
    let row: Uint8Array[] = [];
    let rowBytes = 0;
    const write = (): void => {
      if (rowBytes > this.rowMaxBytes) throw new Error("their words are spread unevenly");
      const body = concat(row);
      sha256.update(body);
      md5.update(body);
      this.#sql.insert("group_bytes", { id: id * FILE_MAX_BYTES + bytes, body: body.buffer });
      bytes += body.length;
      row = [];
      rowBytes = 0;
    };
    for (const segment of segmentsOf(shape, most, partsAt)) {
      segments += entryOf(segment);
      row.push(segment);
      rowBytes += segment.length;
      if (rowBytes >= ROW_BYTES) write();
    }
    let identities = "";
    for (const object of objects) {
      const own = this.identities(object);
      identities += identityEntryOf(own);
      // Rows as large as they may be: few are written for these alone.
      if (rowBytes > 0 && rowBytes + own.length > this.rowMaxBytes) write();
      for (let from = 0; from < own.length; from += this.rowMaxBytes) {
        if (from > 0) write();
        const some = own.subarray(from, from + this.rowMaxBytes);
        row.push(some);
        rowBytes += some.length;
      }
    }
    const members = objects.map(({ mark }) => mark);
    const head = encodeHead({ bits: shape.bits, members, segments, identities });
    if (rowBytes + head.length > this.rowMaxBytes && rowBytes > 0) write();
    row.push(head);
    write();
    const hashes = { sha256: sha256.digest("hex"), md5: md5.digest("hex") };
    this.#sql.insert("object_group", { id, bytes, ...hashes, head: head.buffer });
  }
}

/** Rows of an object. */
function partsOfBatch(batch: number) {
  return clause`id >= ${batch * PARTS_MAX} AND id < ${(batch + 1) * PARTS_MAX}`;
}

function wordsOf(objects: readonly Loose[]): number {
  return objects.reduce((sum, { words }) => sum + words, 0);
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
