import { crc32 } from "node:zlib";

/** One step of a durable object's schema. A released step never changes; a change is a new step. */
export interface Migration {
  readonly id: number;
  readonly why: string;
  readonly sql: string;
  /**
   * The newest step that code must know to work with an object after this one; absent: this step.
   * An additive step (a table or a column with a default, which older code leaves alone) states the
   * step before it, or that step's floor.
   */
  readonly floor?: number;
}

/**
 * Brings an object's schema up to date, in one transaction. Each applied step is stored with its
 * floor, so that code of an earlier release can tell whether it works with an object that has steps
 * it does not know, and with a checksum of its statements.
 * @returns the number of steps applied.
 * @throws if a newer version of this code wrote the object, and this one is below a floor; or if it
 *   has tables that no release made.
 */
export function migrate(storage: DurableObjectStorage, steps: readonly Migration[]): number {
  const { sql } = storage;
  return storage.transactionSync(() => {
    const begun = schemaOf(sql);
    if (begun === null) sql.exec(SCHEMA_STEP_SQL);
    else if (begun !== SCHEMA_STEP_SQL) throw new Error(NOT_RELEASED);
    const applied = sql.exec<Applied>("SELECT id, floor, checksum FROM schema_step ORDER BY id").toArray();
    const known = new Map(steps.map((step) => [step.id, step]));
    for (const { id, checksum } of applied) {
      const step = known.get(id);
      if (step !== undefined && checksumOf(step) !== checksum) throw new Error(NOT_RELEASED);
    }
    const newest = steps.at(-1)?.id ?? 0;
    requireFloor(applied, newest);
    const at = applied.at(-1)?.id ?? 0;
    const due = steps.filter((step) => step.id > at);
    for (const step of due) {
      sql.exec(step.sql);
      sql.exec(
        "INSERT INTO schema_step (id, applied_ms, floor, checksum) VALUES (?, ?, ?, ?)",
        ...[step.id, Date.now(), step.floor ?? step.id, checksumOf(step)],
      );
    }
    return due.length;
  });
}

/** Whether {@link migrate} has made an object's tables. */
export function isBegun(sql: SqlStorage): boolean {
  return schemaOf(sql) !== null;
}

/** As commits before the first release did not make it: their table had another form. */
const SCHEMA_STEP_SQL =
  "CREATE TABLE schema_step (id INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL, floor INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT";

const NOT_RELEASED =
  "this storage was written by a commit that is no release, and no release reads it: " +
  "delete the deployment (npm run teardown) and deploy anew, or deploy under another name";

type Applied = { id: number; floor: number; checksum: number };

/** The statement that made the table of applied steps; null: there is none. */
function schemaOf(sql: SqlStorage): string | null {
  return (
    sql.exec<{ sql: string }>("SELECT sql FROM sqlite_master WHERE name = 'schema_step'").toArray()[0]?.sql ?? null
  );
}

/** Of what its statements do: comments and spaces do not count. */
function checksumOf({ sql }: Migration): number {
  return crc32(sql.replaceAll(/--.*/g, "").replaceAll(/\s+/g, ""));
}

/** @throws if code that knows no step above `newest` does not work with the object. */
function requireFloor(applied: readonly Applied[], newest: number): void {
  const needed = Math.max(0, ...applied.filter(({ id }) => id > newest).map(({ floor }) => floor));
  if (needed <= newest) return;
  throw new Error(
    `this storage was written by a newer version: it is at schema step ${applied.at(-1)?.id} and needs code that knows step ${needed}; ` +
      `this version knows ${newest}. Deploy a newer version`,
  );
}
