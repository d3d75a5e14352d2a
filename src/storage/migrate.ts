/** One step of a durable object's schema. A released step never changes; a change is a new step. */
export interface Migration {
  readonly id: number;
  readonly why: string;
  readonly sql: string;
  /** Inserts rows that each new object begins with, after `sql`, which itself makes none there. */
  readonly rows?: string;
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
 * it does not know.
 * @returns the number of steps applied.
 * @throws if a newer version of this code wrote the object, and this one is below a floor.
 */
export function migrate(storage: DurableObjectStorage, steps: readonly Migration[]): number {
  const { sql } = storage;
  return storage.transactionSync(() => {
    const isNew = !isBegun(sql);
    const whole = isNew ? wholes.get(steps) : undefined;
    if (whole !== undefined) {
      sql.exec(whole.made);
      sql.exec(whole.applied, Date.now());
      return steps.length;
    }
    // The local runtime keeps a table of its own in some objects, which is none of the schema.
    const foreign = isNew ? new Set(tablesOf(sql).map(({ name }) => name)) : null;
    if (isNew) sql.exec(SCHEMA_STEP_SQL);
    const at = Number(sql.exec("SELECT coalesce(max(id), 0) AS at FROM schema_step").one().at);
    const newest = steps.at(-1)?.id ?? 0;
    if (at > newest) requireFloor(sql, newest);
    const due = steps.filter((step) => step.id > at);
    if (due.length > 0 && !hasFloors(sql)) sql.exec("ALTER TABLE schema_step ADD COLUMN floor INTEGER");
    for (const { id, sql: change, rows, floor } of due) {
      sql.exec(change);
      if (rows !== undefined) sql.exec(rows);
      sql.exec("INSERT INTO schema_step (id, applied_ms, floor) VALUES (?, ?, ?)", ...[id, Date.now(), floor ?? null]);
    }
    if (foreign !== null && due.length > 0) wholes.set(steps, wholeOf(sql, steps, foreign));
    return due.length;
  });
}

/** Whether {@link migrate} has made an object's tables. */
export function isBegun(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'schema_step'").toArray().length > 0;
}

const SCHEMA_STEP_SQL =
  "CREATE TABLE schema_step (id INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL, floor INTEGER) STRICT";

/** What all steps together make of an empty object. */
interface Whole {
  /** Statements that make its tables, indexes and rows. */
  readonly made: string;
  /** Notes the steps. Takes the time at which they are applied. */
  readonly applied: string;
}

/** By the steps: found with the first object that this isolate makes, and run from then on. */
const wholes = new WeakMap<readonly Migration[], Whole>();

/** The statements of all tables and indexes, tables first. The platform's own are left out. */
function tablesOf(sql: SqlStorage): { name: string; sql: string }[] {
  return sql
    .exec<{ name: string; sql: string }>(
      `SELECT name, sql FROM sqlite_master
         WHERE sql IS NOT NULL AND tbl_name NOT GLOB '_cf_*' ORDER BY type = 'index', rowid`,
    )
    .toArray();
}

/** @param foreign names of what was there before the steps. */
function wholeOf(sql: SqlStorage, steps: readonly Migration[], foreign: ReadonlySet<string>): Whole {
  const made = tablesOf(sql).filter(({ name }) => !foreign.has(name));
  const applied = steps.map(({ id, floor }) => `(${id}, ?1, ${floor ?? "NULL"})`);
  return {
    made: [...made.map((statement) => `${statement.sql};`), ...steps.flatMap(({ rows }) => rows ?? [])].join("\n"),
    applied: `INSERT INTO schema_step (id, applied_ms, floor) VALUES ${applied.join()}`,
  };
}

/**
 * From now on code must know this applied step to work with the object: what was additive is used
 * in a way that older code would not see. To be called in the transaction that does so.
 */
export function raiseFloor(sql: SqlStorage, step: number): void {
  sql.exec("UPDATE schema_step SET floor = id WHERE id = ?", step);
}

/** @throws if code that knows no step above `newest` does not work with the object. */
function requireFloor(sql: SqlStorage, newest: number): void {
  const floor = hasFloors(sql) ? "coalesce(floor, id)" : "id";
  const { at, needed } = sql
    .exec<{ at: number; needed: number }>(
      `SELECT max(id) AS at, max(${floor}) AS needed FROM schema_step WHERE id > ?`,
      newest,
    )
    .one();
  if (needed <= newest) return;
  throw new Error(
    `this storage was written by a newer version: it is at schema step ${at} and needs code that knows step ${needed}; ` +
      `this version knows ${newest}. Deploy a newer version`,
  );
}

/** Objects that were last changed by a version without floors have no such column. */
function hasFloors(sql: SqlStorage): boolean {
  return (
    Number(sql.exec("SELECT count(*) AS n FROM pragma_table_info('schema_step') WHERE name = 'floor'").one().n) > 0
  );
}
