import { vi } from "vitest";

/**
 * Counts the rows that statements of every durable object write from now on, until mocks are
 * restored.
 * @param table matches the tables that are counted, in a statement.
 * @returns what gives the rows since its last call, by verb and table. They are known after a
 *   statement has run.
 */
export function rowsWritten({ sql }: DurableObjectStorage, table: RegExp): () => Record<string, number> {
  const run: { what: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> }[] = [];
  const prototype = Object.getPrototypeOf(sql) as SqlStorage;
  const exec = prototype.exec;
  vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, query, ...values) {
    const cursor = exec.call(this, query, ...values);
    const [name] = table.exec(query) ?? [];
    if (name !== undefined) run.push({ what: `${/\w+/.exec(query)?.[0]} ${name}`, cursor });
    return cursor;
  });
  return () => {
    const written: Record<string, number> = {};
    for (const { what, cursor } of run.splice(0))
      if (cursor.rowsWritten > 0) written[what] = (written[what] ?? 0) + cursor.rowsWritten;
    return written;
  };
}
