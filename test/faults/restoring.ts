import { runInDurableObject } from "cloudflare:test";

const RESTORED = "restored to what it was";

type Rows = Map<string, Record<string, SqlStorageValue>[]>;

/**
 * Notes what an object has stored. @returns what restores it to that, as the platform can: its
 * instance ends with it.
 */
export async function restorable(stub: () => DurableObjectStub): Promise<() => Promise<void>> {
  const saved = await runInDurableObject(stub(), (_object, { storage: { sql } }): Rows => {
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const own = tables.filter(({ name }) => !/^(_cf|sqlite)_/.test(name));
    return new Map(own.map(({ name }) => [name, sql.exec(`SELECT * FROM ${name}`).toArray()]));
  });
  return async () => {
    await runInDurableObject(stub(), (_object, { storage }) =>
      storage.transactionSync(() => {
        for (const [table, rows] of saved) {
          storage.sql.exec(`DELETE FROM ${table}`);
          for (const fields of rows) {
            const columns = Object.keys(fields);
            const marks = columns.map(() => "?").join(", ");
            storage.sql.exec(
              `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`,
              ...Object.values(fields),
            );
          }
        }
      }),
    );
    // Eviction would wait for calls that never end.
    const died = await runInDurableObject(stub(), async (_object, state) => {
      await state.storage.sync();
      state.abort(RESTORED);
    }).then(
      () => null,
      (error: Error) => error.message,
    );
    if (died !== RESTORED) throw new Error(`it did not die: ${died}`);
  };
}
