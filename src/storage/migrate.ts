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
    const whole = at === 0 ? wholes.get(steps) : undefined;
    if (whole !== undefined) sql.exec(whole);
    for (const { id, sql: change, floor } of due) {
      if (whole === undefined) sql.exec(change);
      sql.exec("INSERT INTO schema_step (id, applied_ms, floor) VALUES (?, ?, ?)", ...[id, Date.now(), floor ?? null]);
    }
    if (at === 0 && !wholes.has(steps)) wholes.set(steps, wholeOf(sql));
    return due.length;
  });
}

/**
 * What all steps together make of an empty object, by the steps: found with the first one that this
 * isolate makes, and run at once from then on. undefined: they make rows as well.
 */
const wholes = new WeakMap<readonly Migration[], string | undefined>();

/** The statements that make the tables and indexes of a new object, but for that of `migrate`. */
function wholeOf(sql: SqlStorage): string | undefined {
  const made = sql
    .exec<{ type: string; name: string; sql: string }>(
      `SELECT type, name, sql FROM sqlite_master
         WHERE sql IS NOT NULL AND tbl_name <> 'schema_step' AND tbl_name NOT GLOB '_cf_*'
         ORDER BY type = 'index', rowid`,
    )
    .toArray();
  const hasRows = made.some(
    ({ type, name }) => type === "table" && sql.exec(`SELECT 1 FROM "${name}" LIMIT 1`).toArray().length > 0,
  );
  return hasRows ? undefined : made.map((statement) => `${statement.sql};`).join("\n");
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
