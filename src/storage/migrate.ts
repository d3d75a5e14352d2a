/** One step of a durable object's schema. A released step never changes; a change is a new step. */
export interface Migration {
  readonly id: number;
  readonly why: string;
  readonly sql: string;
}

/**
 * Brings an object's schema up to date, in one transaction.
 * @returns the number of steps applied.
 * @throws if a newer version of this code wrote the object.
 */
export function migrate(storage: DurableObjectStorage, steps: readonly Migration[]): number {
  return storage.transactionSync(() => {
    storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS schema_step (id INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL) STRICT",
    );
    const at = Number(storage.sql.exec("SELECT coalesce(max(id), 0) AS at FROM schema_step").one().at);
    const newest = steps.at(-1)?.id ?? 0;
    if (at > newest) throw new Error(`schema step ${at} was applied by a newer version; this one knows ${newest}`);
    const due = steps.filter((step) => step.id > at);
    for (const step of due) {
      storage.sql.exec(step.sql);
      storage.sql.exec("INSERT INTO schema_step (id, applied_ms) VALUES (?, ?)", step.id, Date.now());
    }
    return due.length;
  });
}
