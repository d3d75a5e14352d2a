/** `SqlStorage` on `node:sqlite`, in memory, as far as src uses it. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import type { Account } from "./meter.ts";

const WRITES = /^\s*(?:WITH\b[\s\S]*?\b)?(INSERT|REPLACE|UPDATE|DELETE)\b/i;
const INTO = /\bINTO\s+"?(\w+)/i;

/** Statements after the first, comments aside. */
const SEVERAL = /;\s*\S/;

const SIZE = `SELECT (SELECT page_size FROM pragma_page_size)
  * ((SELECT * FROM pragma_page_count) - (SELECT * FROM pragma_freelist_count)) AS n`;

interface Prepared {
  statement: StatementSync;
  /** What it inserts into; null: it inserts nothing. */
  inserts: { indexes: number; partial: readonly StatementSync[] } | null;
  writes: boolean;
}

/**
 * Rows are counted as the runtime bills them (tried, with the release in package.json): an inserted
 * row is one, and one more in each index that it is in; an updated or deleted one is one. Not
 * counted: entries of indexes that an update changes.
 */
export class SimulatedSql {
  #db = new DatabaseSync(":memory:");
  readonly #account: Account;
  readonly #prepared = new Map<string, Prepared>();

  constructor(account: Account) {
    this.#account = account;
  }

  get databaseSize(): number {
    return Number(this.#prepare(SIZE).statement.get()?.n);
  }

  /** Bytes of each table and index. */
  tables(): Map<string, number> {
    const rows = this.#prepare("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name").statement.all();
    return new Map(rows.map(({ name, bytes }) => [String(name), Number(bytes)]));
  }

  exec(query: string, ...bindings: SqlStorageValue[]): object {
    if (bindings.length === 0 && SEVERAL.test(query.replace(/--.*$/gm, ""))) {
      this.#db.exec(query);
      this.#prepared.clear();
      return cursorOf([], 0);
    }
    const prepared = this.#prepare(query);
    const rows = prepared.statement.all(...bindings.map(toNode)).map(fromNode);
    const written = prepared.writes ? this.#written(prepared) : 0;
    this.#account.rowsRead += rows.length;
    this.#account.rowsWritten += written;
    return cursorOf(rows, written);
  }

  /** Statements that are no part of what is counted. */
  run(statement: string): void {
    this.#db.exec(statement);
  }

  /** Drops all there is. */
  reset(): void {
    this.#prepared.clear();
    this.#db.close();
    this.#db = new DatabaseSync(":memory:");
  }

  /** What the statement that ran last is billed for. */
  #written({ inserts }: Prepared): number {
    const changed = Number(this.#prepare("SELECT changes() AS n").statement.get()?.n);
    if (inserts === null || changed === 0) return changed;
    // Only the last of several rows is looked at.
    const entries = inserts.partial.reduce((sum, index) => sum + Number(index.get()?.n), inserts.indexes);
    return changed * (1 + entries);
  }

  #prepare(query: string): Prepared {
    const known = this.#prepared.get(query);
    if (known !== undefined) return known;
    const [, change] = WRITES.exec(query) ?? [];
    const table = /^(?:INSERT|REPLACE)$/i.test(change ?? "") ? INTO.exec(query)?.[1] : undefined;
    const inserts = table === undefined ? null : this.#indexesOf(table);
    const prepared = { statement: this.#db.prepare(query), inserts, writes: change !== undefined };
    if (/^\s*(?:CREATE|DROP|ALTER)/i.test(query)) this.#prepared.clear();
    else this.#prepared.set(query, prepared);
    return prepared;
  }

  /** The key of a table without row ids is the table itself. */
  #indexesOf(table: string): NonNullable<Prepared["inserts"]> {
    const whole = this.#db
      .prepare(
        `SELECT count(*) AS n FROM pragma_index_list(?) WHERE NOT partial AND
           (origin <> 'pk' OR NOT (SELECT wr FROM pragma_table_list WHERE name = ?))`,
      )
      .get(table, table);
    const partial = this.#db
      .prepare("SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql LIKE '%)%WHERE%'")
      .all(table)
      .map(({ sql }) => /\bWHERE\b([\s\S]*)$/i.exec(String(sql))?.[1] ?? "1")
      .map((where) =>
        this.#db.prepare(`SELECT count(*) AS n FROM ${table} WHERE rowid = last_insert_rowid() AND (${where})`),
      );
    return { indexes: Number(whole?.n), partial };
  }
}

function cursorOf(rows: Record<string, unknown>[], rowsWritten: number): object {
  let at = 0;
  return {
    toArray: () => rows.slice(at),
    one() {
      if (rows.length !== 1) throw new Error(`Expected exactly one result from SQL query, but got ${rows.length}`);
      return rows[0];
    },
    next: () => (at < rows.length ? { done: false, value: rows[at++] } : { done: true }),
    [Symbol.iterator]: () => rows[Symbol.iterator](),
    columnNames: Object.keys(rows[0] ?? {}),
    rowsRead: rows.length,
    rowsWritten,
  };
}

function toNode(value: SqlStorageValue): SQLInputValue {
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value;
}

function fromNode(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) if (value instanceof Uint8Array) row[name] = value.buffer;
  return { ...row };
}
