/** Who uses how much: CPU time, calls with their bytes, and rows as the platform bills them. */
import type { StatementSync } from "node:sqlite";
import type { DurableThing, Observer } from "../../test/schedule/objects.ts";
import type { Life, Scheduler } from "../../test/schedule/scheduler.ts";
import type { Disk } from "../../test/schedule/storage.ts";
import { settings } from "./settings.ts";

/** What one durable object, or one handler, did. */
export class Account {
  /** Its class and name, with `#` for numbers; or the handler. */
  readonly kind: string;
  readonly className: string;
  calls = 0;
  alarms = 0;
  /** Of calls and alarms, those that wrote. */
  writing = 0;
  bytesIn = 0;
  bytesOut = 0;
  /** Arguments of the largest call, in bytes. */
  largestCall = 0;
  rowsWritten = 0;
  rowsRead = 0;
  /** While its code ran, in ms by the wall clock: {@link Meter.scale} makes it CPU time. */
  ms = 0;
  /** The most that it stored when a batch was delivered, in bytes. */
  highestBytes = 0;

  constructor(className: string, name: string) {
    this.className = className;
    this.kind = name === "" ? className : `${className} ${name.replace(/\d+|\b[0-9a-f]\b/g, "#")}`;
  }

  /** What it did since it was as `before`. */
  since(before: Account | undefined): Account {
    const result = Object.assign(new Account(this.className, ""), this);
    if (before === undefined) return result;
    for (const name of SUMS) result[name] -= before[name];
    return result;
  }
}

const SUMS = ["calls", "alarms", "writing", "bytesIn", "bytesOut", "rowsWritten", "rowsRead", "ms"] as const;

/** How far CPU time may be behind, in ms: the kernel updates it at its ticks. */
const CPU_STEP_MS = 10;

/**
 * One event of the simulation runs at a time, and its time is given to the one whose code it ran.
 * Short stretches are measured by the wall clock, which counts other processes' turns, too; CPU
 * time is exact only over seconds. So the stretches tell who took which part, and the CPU time how
 * much all of them took together. A stretch in which the process was stopped counts for no more
 * than its CPU time and a tick.
 */
export class Meter {
  #sinceMs = 0;
  #sinceCpuMs = 0;
  #ms = 0;
  #cpuMs = 0;
  /** Whose code runs in this event; null: nothing of the shipper's. */
  running: Account | null = null;

  start(): void {
    this.#sinceMs = performance.now();
    this.#sinceCpuMs = threadCpuMs();
  }

  /** The event is over. @param account whose it was, unless another one began to run in it. */
  charge(account: Account | null): void {
    const now = performance.now();
    const cpuMs = threadCpuMs();
    const usedMs = cpuMs - this.#sinceCpuMs;
    const ms = Math.min(now - this.#sinceMs, usedMs + CPU_STEP_MS);
    const owner = this.running ?? account;
    if (owner !== null) {
      owner.ms += ms;
      this.#ms += ms;
      this.#cpuMs += usedMs;
    }
    this.#sinceMs = now;
    this.#sinceCpuMs = cpuMs;
    this.running = null;
  }

  /** CPU time for each ms of an account. */
  get scale(): number {
    return this.#ms === 0 ? 1 : this.#cpuMs / this.#ms;
  }
}

/** Handlers, by the name of what runs them. */
export const HANDLERS = ["tail", "queue", "cron", "fetch"] as const;
export type Handler = (typeof HANDLERS)[number];

/** The accounts of everything that runs. */
export class Accounts implements Observer {
  readonly meter = new Meter();
  readonly handlers = Object.fromEntries(HANDLERS.map((name) => [name, new Account(name, "")])) as {
    readonly [name in Handler]: Account;
  };
  readonly objects = new Map<DurableThing, Account>();
  /** Calls of a handler in its run with the most. */
  readonly callsMax = { queue: 0, cron: 0 };
  /** Parts that isolates handed to the packer, and how long it was at work, in s. */
  parts = 0;
  packingS = 0;
  readonly #scheduler: Scheduler;
  readonly #byLife = new Map<Life, Account>();
  readonly #byName = new Map<string, Account>();
  /** Calls of the run of a handler that goes on. */
  readonly #calls = new Map<Account, number>();
  /** Rows written before each call that goes on. */
  readonly #rowsBefore = new Map<DurableThing, number[]>();
  #packings = { calls: 0, sinceMs: 0 };

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
    this.meter.start();
    scheduler.afterEach = (life) => this.meter.charge(life === null ? null : this.of(life));
  }

  /** The handler that this life runs, or its object. */
  of(life: Life): Account | null {
    return this.#byLife.get(life) ?? this.#byName.get(life.name) ?? null;
  }

  assign(life: Life, handler: Handler): void {
    this.#byLife.set(life, this.handlers[handler]);
  }

  /** A handler begins to run, in the present event. */
  run(handler: Handler): void {
    this.meter.running = this.handlers[handler];
    this.handlers[handler].calls += 1;
    this.#calls.set(this.handlers[handler], 0);
  }

  called(caller: Life): void {
    const account = this.#byLife.get(caller);
    if (account === undefined) return;
    const calls = (this.#calls.get(account) ?? 0) + 1;
    this.#calls.set(account, calls);
    for (const name of ["queue", "cron"] as const)
      if (account === this.handlers[name]) this.callsMax[name] = Math.max(this.callsMax[name], calls);
  }

  began(thing: DurableThing, method: string, args: readonly unknown[]): void {
    const account = this.#accountOf(thing);
    this.meter.running = account;
    if (method === "alarm") account.alarms += 1;
    else {
      const bytes = sizeOf(args);
      account.calls += 1;
      account.bytesIn += bytes;
      account.largestCall = Math.max(account.largestCall, bytes);
    }
    this.#rowsBefore.get(thing)?.push(account.rowsWritten);
    if (thing.kind !== "PACKER") return;
    if (method === "pack") this.parts += 1;
    if (this.#packings.calls++ === 0) this.#packings.sinceMs = this.#scheduler.nowMs;
  }

  ended(thing: DurableThing, _method: string, answer: unknown): void {
    const account = this.#accountOf(thing);
    if (!(answer instanceof ReadableStream)) account.bytesOut += sizeOf(answer);
    if (account.rowsWritten > (this.#rowsBefore.get(thing)?.shift() ?? 0)) account.writing += 1;
    if (thing.kind !== "PACKER" || --this.#packings.calls > 0) return;
    this.packingS += (this.#scheduler.nowMs - this.#packings.sinceMs) / 1_000;
  }

  #accountOf(thing: DurableThing): Account {
    const known = this.objects.get(thing);
    if (known !== undefined) return known;
    const account = new Account(settings.classes.get(thing.kind) ?? thing.kind, thing.id.name);
    this.objects.set(thing, account);
    this.#byName.set(thing.name, account);
    this.#rowsBefore.set(thing, []);
    countRows(thing.disk, account);
    return account;
  }
}

/** CPU time of this thread, in ms. */
export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Size of a value as a call carries it, in bytes, within a few: structure counts little. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + 4;
  if (typeof value !== "object" || value === null) return 8;
  if (value instanceof ArrayBuffer) return value.byteLength + 8;
  // The whole buffer travels with a view of it.
  if (ArrayBuffer.isView(value)) return value.buffer.byteLength + 16;
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + sizeOf(each), 8);
  if (value instanceof Map) return sizeOf([...value].flat());
  if (value instanceof Set) return sizeOf([...value]);
  let size = 8;
  for (const [key, each] of Object.entries(value)) size += key.length + 2 + sizeOf(each);
  return size;
}

const WRITES = /^\s*(INSERT|REPLACE|UPDATE|DELETE)\b/i;
const INTO = /\bINTO\s+"?(\w+)/i;

/** Indexes that an inserted row is in: those of all rows, and those of some. */
interface Indexes {
  whole: number;
  partial: readonly StatementSync[];
}

/**
 * Counts rows as the runtime bills them (tried, with the release in package.json): an inserted row
 * is one, and one more in each index that it is in; an updated or deleted one is one; an alarm that
 * is set is one. Not counted: entries of indexes that an update changes.
 */
export function countRows(disk: Disk, account: Account): void {
  const exec = disk.exec.bind(disk);
  const indexes = new Map<string, Indexes | null>();
  disk.exec = (query, bindings) => {
    const cursor = exec(query, bindings);
    const [, change] = WRITES.exec(query) ?? [];
    if (change === undefined) {
      if (/^\s*(?:CREATE|DROP|ALTER)/i.test(query)) indexes.clear();
      account.rowsRead += cursor.toArray().length;
    } else if (!/\b_cf_alarm\b/.test(query)) {
      account.rowsWritten += cursor.rowsWritten * (1 + entries(query, change));
    } else if (/INSERT/i.test(change)) account.rowsWritten += 1;
    return cursor;
  };
  /** Only the last of several rows is looked at. */
  const entries = (query: string, change: string): number => {
    if (/UPDATE|DELETE/i.test(change)) return 0;
    const known = indexes.get(query) ?? indexesOf(disk, INTO.exec(query)?.[1] ?? "");
    indexes.set(query, known);
    return known.partial.reduce((sum, index) => sum + Number(index.get()?.n), known.whole);
  };
}

/** The key of a table without row ids is the table itself. */
function indexesOf({ db }: Disk, table: string): Indexes {
  const whole = db
    .prepare(
      `SELECT count(*) AS n FROM pragma_index_list(?) WHERE NOT partial AND
         (origin <> 'pk' OR NOT (SELECT wr FROM pragma_table_list WHERE name = ?))`,
    )
    .get(table, table);
  const partial = db
    .prepare("SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql LIKE '%)%WHERE%'")
    .all(table)
    .map(({ sql }) => /\bWHERE\b([\s\S]*)$/i.exec(String(sql))?.[1] ?? "1")
    .map((where) => db.prepare(`SELECT count(*) AS n FROM ${table} WHERE rowid = last_insert_rowid() AND (${where})`));
  return { whole: Number(whole?.n), partial };
}

/** Bytes of each table and index of an object. */
export function tablesOf({ db }: Disk): Map<string, number> {
  const rows = db.prepare("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name").all();
  return new Map(rows.map(({ name, bytes }) => [String(name), Number(bytes)]));
}

/** What an object stores, in bytes, without pages that are free. */
export function storedBytes({ db }: Disk): number {
  const [size, pages, free] = ["page_size", "page_count", "freelist_count"].map((name) =>
    Number(db.prepare(`PRAGMA ${name}`).get()?.[name]),
  );
  return (size ?? 0) * ((pages ?? 0) - (free ?? 0));
}
