export type Row = Record<string, SqlStorageValue>;

/** A piece of a statement, with its values. */
interface Clause {
  text: string;
  values: SqlStorageValue[];
}

/** A row that can be written, also of an interface. */
type Written<T> = { [name in keyof T]: SqlStorageValue };

type Values = readonly (SqlStorageValue | Clause)[];

/**
 * A piece of a statement that stands in others: what is in its braces is bound as a value, or is
 * another clause.
 */
export function clause(strings: TemplateStringsArray, ...values: Values): Clause {
  let text = strings[0] ?? "";
  const bound: SqlStorageValue[] = [];
  for (const [i, value] of values.entries()) {
    const isClause = typeof value === "object" && value !== null && "text" in value;
    text += `${isClause ? value.text : "?"}${strings[i + 1]}`;
    bound.push(...(isClause ? value.values : [value]));
  }
  return { text, values: bound };
}

/** The column of a value: of `takenMs`, it is `taken_ms`. */
function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The columns of these values, under their names. */
export function columns(...names: string[]): Clause {
  return verbatim(names.map((name) => `${columnOf(name)} AS ${name}`).join(", "));
}

/** A name, or a piece without values, that is not written out in a statement. */
export function verbatim(text: string): Clause {
  return { text, values: [] };
}

/**
 * The tables of a durable object. Statements are templates, as of {@link clause}: a value stands
 * where it goes. Rows that are written may have the names of {@link columns}.
 */
export class Sql {
  readonly #storage: SqlStorage;

  constructor(storage: SqlStorage) {
    this.#storage = storage;
  }

  /** In bytes. */
  get databaseSize(): number {
    return this.#storage.databaseSize;
  }

  insert<T extends Written<T>>(table: string, row: T): void {
    this.#insert(`INSERT INTO ${table}`, row);
  }

  /** A row with the same key goes. */
  replace<T extends Written<T>>(table: string, row: T): void {
    this.#insert(`INSERT OR REPLACE INTO ${table}`, row);
  }

  /** A row with the same key stays, and this one is dropped. */
  add<T extends Written<T>>(table: string, row: T): void {
    this.#insert(`INSERT OR IGNORE INTO ${table}`, row);
  }

  /** Sets columns of the row with this id. */
  update(table: string, id: number, columns: Row): void {
    const set = Object.keys(columns).map((name) => `${columnOf(name)} = ?`);
    this.#storage.exec(`UPDATE ${table} SET ${set.join(", ")} WHERE id = ?`, ...Object.values(columns), id);
  }

  /** @returns how many rows it has written. */
  run(strings: TemplateStringsArray, ...values: Values): number {
    return this.#exec(strings, values).rowsWritten;
  }

  /** The rows of a query, each read when it is asked for. */
  each<T extends object>(strings: TemplateStringsArray, ...values: Values): Iterable<T> {
    return this.#exec<T>(strings, values);
  }

  all<T extends object>(strings: TemplateStringsArray, ...values: Values): T[] {
    return this.#exec<T>(strings, values).toArray();
  }

  /** The first row; null: there is none. */
  first<T extends object>(strings: TemplateStringsArray, ...values: Values): T | null {
    return this.#exec<T>(strings, values).toArray()[0] ?? null;
  }

  /** The row of a query that has just one. */
  one<T extends object>(strings: TemplateStringsArray, ...values: Values): T {
    return this.#exec<T>(strings, values).one();
  }

  /** The value of a query that has one row of one column. */
  only<T extends SqlStorageValue>(strings: TemplateStringsArray, ...values: Values): T {
    return Object.values(this.one<Record<string, T>>(strings, ...values))[0] as T;
  }

  #exec<T extends object>(strings: TemplateStringsArray, values: Values): SqlStorageCursor<T & Row> {
    const { text, values: bound } = clause(strings, ...values);
    return this.#storage.exec<T & Row>(text.trimStart(), ...bound);
  }

  #insert(into: string, row: object): void {
    const values = Object.keys(row).map(() => "?");
    const columns = Object.keys(row).map(columnOf).join(", ");
    this.#storage.exec(`${into} (${columns}) VALUES (${values.join(", ")})`, ...Object.values(row));
  }
}

/** A part of a durable object that has tables of its own. */
export abstract class Tables {
  protected readonly sql: Sql;

  constructor(sql: SqlStorage) {
    this.sql = new Sql(sql);
  }
}
