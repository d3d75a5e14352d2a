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
 * it does not know.
 * @returns the number of steps applied.
 * @throws if a newer version of this code wrote the object, and this one is below a floor.
 */
export function migrate(storage: DurableObjectStorage, steps: readonly Migration[]): number {
  const { sql } = storage;
  return storage.transactionSync(() => {
    sql.exec(
      "CREATE TABLE IF NOT EXISTS schema_step (id INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL, floor INTEGER) STRICT",
    );
    const at = Number(sql.exec("SELECT coalesce(max(id), 0) AS at FROM schema_step").one().at);
    const newest = steps.at(-1)?.id ?? 0;
    if (at > newest) requireFloor(sql, newest);
    const due = steps.filter((step) => step.id > at);
    if (due.length > 0 && !hasFloors(sql)) sql.exec("ALTER TABLE schema_step ADD COLUMN floor INTEGER");
    for (const { id, sql: change, floor } of due) {
      sql.exec(change);
      sql.exec("INSERT INTO schema_step (id, applied_ms, floor) VALUES (?, ?, ?)", ...[id, Date.now(), floor ?? null]);
    }
    return due.length;
  });
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
