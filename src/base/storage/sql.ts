type Row = Record<string, SqlStorageValue>;

/** Inserts a row. @param into the statement up to its table. @param row its values by column. */
export function insert(sql: SqlStorage, into: string, row: Row): void {
  const columns = Object.keys(row);
  const values = columns.map(() => "?").join(", ");
  sql.exec(`${into} (${columns.join(", ")}) VALUES (${values})`, ...Object.values(row));
}

/** Sets columns of rows. @param where with its values, after those of the columns. */
export function update(sql: SqlStorage, table: string, set: Row, where: string, ...values: SqlStorageValue[]): void {
  const columns = Object.keys(set).map((column) => `${column} = ?`);
  sql.exec(`UPDATE ${table} SET ${columns.join(", ")} WHERE ${where}`, ...Object.values(set), ...values);
}

/** Runs a statement. @returns how many rows it has written. */
export function change(sql: SqlStorage, statement: string, values: readonly SqlStorageValue[]): number {
  return sql.exec(statement, ...values).rowsWritten;
}

/** All rows of a query. */
export function select<T extends Row>(sql: SqlStorage, query: string, values: readonly SqlStorageValue[] = []): T[] {
  return sql.exec<T>(query, ...values).toArray();
}

/** The first row; null: there is none. */
export function first<T extends Row>(sql: SqlStorage, query: string, ...values: SqlStorageValue[]): T | null {
  return sql.exec<T>(query, ...values).toArray()[0] ?? null;
}

/** The one value of a query that has one row of one column. */
export function only<T extends SqlStorageValue>(sql: SqlStorage, query: string, ...values: SqlStorageValue[]): T {
  return Object.values(sql.exec<Record<string, T>>(query, ...values).one())[0] as T;
}
