import { DatabaseSync, type StatementSync } from "node:sqlite";

/** Rows of one statement, all of them read at once. */
class Cursor {
  readonly rowsRead = 0;
  readonly rowsWritten: number;
  readonly #rows: Record<string, unknown>[];

  constructor(rows: Record<string, unknown>[], rowsWritten: number) {
    this.#rows = rows;
    this.rowsWritten = rowsWritten;
  }
  toArray(): Record<string, unknown>[] {
    return this.#rows;
  }
  one(): Record<string, unknown> {
    const [row, ...more] = this.#rows;
    if (row === undefined || more.length > 0) throw new Error("Expected exactly one result from SQL query");
    return row;
  }
  *[Symbol.iterator](): Generator<Record<string, unknown>> {
    yield* this.#rows;
  }
}

interface Statement {
  isRead: boolean;
  hasRows: boolean;
  /** null: they are several. */
  one: StatementSync | null;
}

/** Of a table that is no object's own. */
const ALARM_SQL = "CREATE TABLE IF NOT EXISTS _cf_alarm (id INTEGER PRIMARY KEY, due_ms REAL)";

/**
 * The storage of one durable object: what is on disk, and what its instance has written since. It
 * outlives instances; what was not committed dies with one.
 */
export class Disk {
  readonly db = new DatabaseSync(":memory:");
  /** Written and not committed. */
  isDirty = false;
  /** Called with the first write after a commit. */
  onDirty: () => void = () => {};
  readonly #statements = new Map<string, Statement>();

  constructor() {
    this.db.exec(ALARM_SQL);
  }

  #statement(query: string): Statement {
    const known = this.#statements.get(query);
    if (known !== undefined) return known;
    const isRead = /^\s*(SELECT|PRAGMA|WITH)\b/i.test(query);
    const isMany = /;\s*\S/.test(query.replaceAll(/--.*/g, ""));
    const made = {
      isRead,
      hasRows: isRead || /\bRETURNING\b/i.test(query),
      one: isMany ? null : this.db.prepare(query),
    };
    this.#statements.set(query, made);
    return made;
  }

  exec(query: string, bindings: readonly unknown[]): Cursor {
    const { isRead, hasRows, one } = this.#statement(query);
    if (!isRead) this.write();
    if (one === null) {
      this.db.exec(query);
      return new Cursor([], 1);
    }
    const values = bindings.map(bound) as never[];
    if (!hasRows) return new Cursor([], Number(one.run(...values).changes));
    const rows = one.all(...values).map(asInRuntime);
    return new Cursor(rows, isRead ? 0 : rows.length);
  }

  /** A statement of a transaction. */
  run(statement: string): void {
    this.#statement(statement).one?.run();
  }

  /** Begins what is committed, or lost, as a whole. */
  write(): void {
    if (this.isDirty) return;
    this.isDirty = true;
    this.run("BEGIN");
    this.onDirty();
  }

  commit(): void {
    if (!this.isDirty) return;
    this.run("COMMIT");
    this.isDirty = false;
  }

  rollBack(): void {
    if (!this.isDirty) return;
    this.run("ROLLBACK");
    this.isDirty = false;
  }

  get bytes(): number {
    const [pages, size] = ["page_count", "page_size"].map((name) => this.db.prepare(`PRAGMA ${name}`).get()?.[name]);
    return Number(pages) * Number(size);
  }

  get alarmMs(): number | null {
    const [row] = this.exec("SELECT due_ms FROM _cf_alarm", []).toArray();
    return row === undefined ? null : Number(row.due_ms);
  }
  setAlarm(dueMs: number | null): void {
    if (dueMs !== null) this.exec("INSERT OR REPLACE INTO _cf_alarm (id, due_ms) VALUES (1, ?)", [dueMs]);
    else if (this.alarmMs !== null) this.exec("DELETE FROM _cf_alarm", []);
  }

  /** What is on disk, to be restored later. */
  save(): Saved[] {
    const all = this.db
      .prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC")
      .all();
    return all.map(({ type, name, sql }): Saved => {
      if (type !== "table") return { sql: `${sql}`, insert: "", rows: [] };
      const info = this.db.prepare(`PRAGMA table_xinfo("${name}")`).all();
      const columns = info.filter(({ hidden }) => hidden === 0).map((column) => `"${column.name}"`);
      const rows = this.db.prepare(`SELECT ${columns.join()} FROM "${name}"`).all().map(Object.values);
      return { sql: `${sql}`, insert: `INSERT INTO "${name}" VALUES (${columns.map(() => "?").join()})`, rows };
    });
  }

  /** Everything is as it was then. Only without an instance. */
  restore(saved: readonly Saved[]): void {
    this.deleteAll();
    this.db.exec("DROP TABLE _cf_alarm");
    for (const { sql, insert, rows } of saved) {
      this.db.exec(sql);
      if (rows.length === 0) continue;
      const statement = this.db.prepare(insert);
      for (const row of rows) statement.run(...(row as never[]));
    }
    this.commit();
  }

  deleteAll(): void {
    this.write();
    this.#statements.clear();
    const tables = this.db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    for (const { name } of tables.all()) if (name !== "_cf_alarm") this.db.exec(`DROP TABLE "${name}"`);
  }
}

/** A plain object, whose blobs are buffers. */
function asInRuntime(row: Record<string, unknown>): Record<string, unknown> {
  const plain = { ...row };
  for (const name in plain) {
    const value = plain[name];
    if (value instanceof Uint8Array) plain[name] = value.slice().buffer;
  }
  return plain;
}

/** A table, or an index, and the rows of a table. */
export interface Saved {
  sql: string;
  insert: string;
  rows: unknown[][];
}

/** Numbers are bound as floating point, as in the runtime. */
function bound(value: unknown): unknown {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (typeof value === "boolean") return Number(value);
  return value === undefined ? null : value;
}

/** What an instance has of its disk. */
export interface Instance {
  isAlive: boolean;
  /** While its alarm runs, the alarm is not set unless it was set since. */
  alarmRuns: boolean;
  /** Resolves once all is on disk. */
  synced(): Promise<void>;
}

/** `ctx.storage` of an instance. Of a dead one, every use fails. */
export function storageOf(disk: Disk, instance: Instance) {
  const alive = (): Disk => {
    if (!instance.isAlive) throw new Error("the instance is dead");
    return disk;
  };
  let depth = 0;
  return {
    sql: {
      exec: (query: string, ...bindings: unknown[]) => alive().exec(query, bindings),
      get databaseSize() {
        return alive().bytes;
      },
    },
    transactionSync<T>(run: () => T): T {
      alive().write();
      const { alarmRuns } = instance;
      const name = `t${depth++}`;
      disk.run(`SAVEPOINT ${name}`);
      try {
        const result = run();
        disk.run(`RELEASE ${name}`);
        return result;
      } catch (error) {
        disk.run(`ROLLBACK TO ${name}`);
        disk.run(`RELEASE ${name}`);
        instance.alarmRuns = alarmRuns;
        throw error;
      } finally {
        depth -= 1;
      }
    },
    async getAlarm(): Promise<number | null> {
      return instance.alarmRuns ? null : alive().alarmMs;
    },
    setAlarm(dueMs: number | Date): Promise<void> {
      alive().setAlarm(Number(dueMs));
      instance.alarmRuns = false;
      return Promise.resolve();
    },
    deleteAlarm(): Promise<void> {
      alive().setAlarm(null);
      instance.alarmRuns = false;
      return Promise.resolve();
    },
    deleteAll(): Promise<void> {
      alive().deleteAll();
      return Promise.resolve();
    },
    sync: () => (instance.isAlive ? instance.synced() : new Promise<void>(() => {})),
  };
}
