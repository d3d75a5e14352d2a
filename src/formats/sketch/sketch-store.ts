import { DurableObject } from "cloudflare:workers";
import { OBJECT_HISTORY_MS } from "../../base/limits.ts";
import { platform } from "../../base/platform.ts";
import { Alarm } from "../../base/storage/alarm.ts";
import { isBegun, type Migration, migrate } from "../../base/storage/migrate.ts";
import { Sql } from "../../base/storage/sql.ts";
import { SEGMENTS_MAX, type Sketch } from "./sketch.ts";
import { isHeld, type Wanted } from "./wanted.ts";

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
] as const satisfies readonly Migration[];

/** How much one of these may store, in bytes: the platform's limit is 10 GB. */
const MAX_BYTES = 8_000_000_000;

/** An object of one node and day. */
export interface Marked {
  batch: number;
  /** The first 8 hex digits of its SHA-256. */
  mark: string;
}

/** What objects cannot hold. */
export interface Looked {
  /** Batches of the objects that have a sketch, and cannot hold what is wanted. */
  out: number[];
  /** That were read for it. */
  bytes: number;
}

/**
 * The sketches of the objects of one day that one node of a job's log has cut. They live as long as
 * the list of objects has them. Losing any only makes a search read more.
 */
export class SketchStore extends DurableObject<Env> {
  readonly #sql: Sql;
  readonly #alarm: Alarm;
  /** A store without sketches has no tables: asking it leaves nothing behind. */
  #isBegun: boolean;
  /** Overridden by tests. */
  maxBytes = MAX_BYTES;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = new Sql(ctx.storage.sql);
    this.#alarm = new Alarm(ctx.storage);
    this.#isBegun = isBegun(ctx.storage.sql);
    this.#alarm.begin(ctx, this.#isBegun ? SKETCH_STEPS : null);
  }

  /**
   * Keeps the sketch of an object. Idempotent.
   * @throws if it is full.
   */
  keep({ batch, mark }: Marked, sketch: Sketch): void {
    if (this.#sql.databaseSize >= this.maxBytes) throw new Error("the sketches of this day are full");
    const now = platform.now();
    if (!this.#isBegun) migrate(this.ctx.storage, SKETCH_STEPS);
    this.#isBegun = true;
    this.#alarm.transaction(() => {
      for (const [i, { buffer }] of sketch.entries()) {
        const row = { id: batch * SEGMENTS_MAX + i, segments: sketch.length, mark, body: buffer };
        this.#sql.replace("segment", row);
      }
      this.#alarm.set(now + OBJECT_HISTORY_MS, now);
    });
  }

  /**
   * @param objects that are asked about.
   */
  look(objects: readonly Marked[], wanted: Wanted): Looked {
    const looked: Looked = { out: [], bytes: 0 };
    if (!this.#isBegun) return looked;
    for (const { batch, mark } of objects) {
      const id = batch * SEGMENTS_MAX;
      const row = this.#sql.first<{
        segments: number;
        mark: string;
      }>`SELECT segments, mark FROM segment WHERE id = ${id}`;
      if (row?.mark !== mark) continue;
      // Several words may be of one segment.
      const known = new Map<number, Uint8Array>();
      const read = (segment: number): Uint8Array => {
        const before = known.get(segment);
        if (before !== undefined) return before;
        const id = batch * SEGMENTS_MAX + segment;
        const body = this.#sql.only<ArrayBuffer>`SELECT body FROM segment WHERE id = ${id}`;
        looked.bytes += body.byteLength;
        const bytes = new Uint8Array(body);
        known.set(segment, bytes);
        return bytes;
      };
      if (!isHeld(wanted, row.segments, read)) looked.out.push(batch);
    }
    return looked;
  }

  /** The list of objects has forgotten them. An alarm was set with the first one of the day. */
  override async alarm(): Promise<void> {
    this.#alarm.cleared();
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#isBegun = false;
  }
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
