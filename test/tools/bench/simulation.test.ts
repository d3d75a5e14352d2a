/** The simulated platform of `npm run bench` and `npm run scale`. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { Account, countRows, storedBytes } from "../../../tools/bench/meter.ts";
import { SimulatedQueue } from "../../../tools/bench/queue.ts";
import { Scheduler } from "../../schedule/scheduler.ts";
import { Disk } from "../../schedule/storage.ts";

describe("rows are billed as the runtime bills them", () => {
  // What the cursor's `rowsWritten` says there, statement by statement.
  const STATEMENTS: readonly (readonly [rows: number, statement: string])[] = [
    [1, "INSERT INTO a VALUES (1, 1, 'x')"],
    [1, "INSERT OR REPLACE INTO a VALUES (1, 2, 'x')"],
    [1, "UPDATE a SET x = 5 WHERE id = 1"],
    [0, "SELECT * FROM a"],
    [2, "INSERT INTO b VALUES (2, 1, 'x')"],
    [2, "INSERT OR REPLACE INTO b VALUES (2, 2, 'x')"],
    [3, "INSERT INTO b VALUES (4, 1, 'z')"],
    [1, "DELETE FROM b WHERE id = 4"],
    [1, "INSERT INTO c VALUES (x'01', 1)"],
    [1, "INSERT OR REPLACE INTO c VALUES (x'01', 2)"],
    [2, "INSERT INTO d VALUES ('01', 1)"],
    [0, "INSERT OR IGNORE INTO d VALUES ('01', 2)"],
    [1, "DELETE FROM d"],
  ];

  it("whatever the table and its indexes", () => {
    const account = new Account("Class", "name");
    const disk = new Disk();
    countRows(disk, account);
    const before = storedBytes(disk);
    disk.exec(
      `CREATE TABLE a (id INTEGER PRIMARY KEY, x INTEGER, y TEXT); -- one; and another
       CREATE TABLE b (id INTEGER PRIMARY KEY, x INTEGER, y TEXT);
       CREATE INDEX b_by_x ON b (x);
       CREATE INDEX b_of_z ON b (y) WHERE y = 'z';
       CREATE TABLE c (k BLOB PRIMARY KEY, x INTEGER) WITHOUT ROWID;
       CREATE TABLE d (k TEXT PRIMARY KEY, x INTEGER);`,
      [],
    );
    const billed = STATEMENTS.map(([, statement]) => {
      const { rowsWritten } = account;
      disk.exec(statement, []);
      return [account.rowsWritten - rowsWritten, statement];
    });
    expect(billed).toEqual(STATEMENTS);
    expect(storedBytes(disk)).toBeGreaterThan(before);
  });

  it("an alarm that is set, and not one that is deleted", () => {
    const account = new Account("Class", "name");
    const disk = new Disk();
    countRows(disk, account);
    for (const dueMs of [1, 2, null]) disk.setAlarm(dueMs);
    expect(account.rowsWritten).toBe(2);
  });
});

describe("the queue", () => {
  it("delivers when a batch is full or its time is over, and again what was not acknowledged", async () => {
    const scheduler = new Scheduler(1, 0);
    const batches: [atMs: number, attempts: number[]][] = [];
    const queue = new SimulatedQueue(scheduler, async ({ messages }) => {
      batches.push([scheduler.nowMs, messages.map(({ attempts }) => attempts)]);
      for (const message of messages) {
        if (batches.length === 1 && message.id === "1") message.retry({ delaySeconds: 5 });
        else message.ack();
      }
    });
    const bodies = (count: number) => Array.from({ length: count }, () => ({ body: new Uint8Array(1_000) }));
    void queue.sendBatch(bodies(2));
    await scheduler.run(60_000);
    void queue.sendBatch(bodies(101));
    await scheduler.run(120_000);
    expect(batches.map(([atMs, { length }]) => [atMs, length])).toEqual([
      [10_100, 2],
      [25_100, 1],
      [60_100, 100],
      [70_100, 1],
    ]);
    expect(batches[1]?.[1]).toEqual([2]);
    expect([queue.messages, queue.bytes, queue.units, queue.waitingBytes]).toEqual([103, 103_000, 103, 0]);
    queue.refuses = true;
    const refused = expect(queue.sendBatch(bodies(1))).rejects.toThrow("15000");
    await scheduler.run(130_000);
    await refused;
  });
});

/** A process of its own: a simulation takes the clock and timers for itself. */
async function scale(...args: string[]): Promise<string[]> {
  const run = promisify(execFile)(process.execPath, ["tools/bench/scale/run.ts", ...args]);
  return (await run).stdout.split("\n");
}

/** The cells of the rows that begin with this one. */
function rowsOf(lines: readonly string[], first: string): string[][] {
  const rows = lines.map((line) => line.split("|").map((cell) => cell.trim()));
  return rows.filter(([, head]) => head === first).map((cells) => cells.slice(2, -1));
}

describe("npm run scale", () => {
  it("ships every event to each job once, and says what that took", async () => {
    const lines = await scale("--cell=20x1,3x3", "--seconds=15");
    const [load, ...cells] = rowsOf(lines, "20");
    // Three isolates send every two seconds, and a batch waits for ten.
    expect(Number(load?.[2])).toBeCloseTo(1.5, 0);
    expect(Number(load?.[5])).toBeCloseTo(0.1, 1);
    expect(cells.map((cell) => [cell[0], cell.at(-1)])).toEqual([
      ["1", "yes"],
      ["3", "yes"],
    ]);
  });

  it.each(["a job's reader", "the queue"])("loses nothing while a part is down: %s", async (part) => {
    const lines = await scale(`--outage=${part === "the queue" ? "queue" : "reader"}x10x0.025`);
    const [row] = rowsOf(lines, part);
    expect(Number(row?.[4]?.replace(",", ""))).toBeGreaterThan(1_000);
    expect(row?.slice(5, 8)).toEqual(["0", "0", part === "the queue" ? "" : "0"]);
  });
});
