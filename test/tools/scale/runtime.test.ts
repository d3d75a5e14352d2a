import { afterEach, describe, expect, it } from "vitest";
import { SimulatedClock } from "../../../tools/scale/runtime/clock.ts";
import { Account, CPU_STEP_MS, meter, sizeOf } from "../../../tools/scale/runtime/meter.ts";
import { type ObjectClass, SimulatedNamespace } from "../../../tools/scale/runtime/objects.ts";
import { SimulatedQueue } from "../../../tools/scale/runtime/queue.ts";
import { SimulatedSql } from "../../../tools/scale/runtime/sql.ts";
import { SimulatedStorage } from "../../../tools/scale/runtime/storage.ts";

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
    const sql = new SimulatedSql(account);
    sql.exec(`
      CREATE TABLE a (id INTEGER PRIMARY KEY, x INTEGER, y TEXT); -- one; and another
      CREATE TABLE b (id INTEGER PRIMARY KEY, x INTEGER, y TEXT);
      CREATE INDEX b_by_x ON b (x);
      CREATE INDEX b_of_z ON b (y) WHERE y = 'z';
      CREATE TABLE c (k BLOB PRIMARY KEY, x INTEGER) WITHOUT ROWID;
      CREATE TABLE d (k TEXT PRIMARY KEY, x INTEGER);`);
    const billed = STATEMENTS.map(([, statement]) => {
      const before = account.rowsWritten;
      sql.exec(statement);
      return [account.rowsWritten - before, statement];
    });
    expect(billed).toEqual(STATEMENTS);
  });
});

describe("storage", () => {
  it("rolls back rows and the alarm together", async () => {
    const account = new Account("Class", "name");
    const storage = new SimulatedStorage(account);
    storage.sql.exec("CREATE TABLE a (id INTEGER PRIMARY KEY)");
    storage.setAlarm(1);
    const change = (): void =>
      storage.transactionSync(() => {
        storage.sql.exec("INSERT INTO a VALUES (1)");
        storage.setAlarm(2);
        throw new Error("no");
      });
    expect(change).toThrow("no");
    expect(await storage.getAlarm()).toBe(1);
    expect(storage.sql.exec("SELECT * FROM a")).toMatchObject({ rowsRead: 0 });
  });

  it("gives bytes back in a buffer of their own, and says how much it holds", () => {
    const { sql } = new SimulatedStorage(new Account("Class", "name"));
    sql.exec("CREATE TABLE a (id INTEGER PRIMARY KEY, body BLOB)");
    const empty = sql.databaseSize;
    const body = new Uint8Array(1_000_000).fill(7).buffer;
    sql.exec("INSERT INTO a VALUES (?, ?)", 1, body);
    const [row] = (sql.exec("SELECT body FROM a") as { toArray(): { body: ArrayBuffer }[] }).toArray();
    expect(row?.body).toEqual(body);
    expect(sql.databaseSize - empty).toBeGreaterThan(950_000);
    sql.exec("DELETE FROM a");
    expect(sql.databaseSize).toBe(empty);
  });
});

/** The time that passed, and the part of it in which this thread worked; in ms. */
const time = { nowMs: 0, cpuMs: 0 };

function work(ms: number): void {
  time.nowMs += ms;
  time.cpuMs += ms;
}

class Worker {
  readonly got: unknown[] = [];

  take(value: unknown): unknown {
    this.got.push(value);
    return this.got;
  }

  async slow(): Promise<void> {
    work(5);
    await new Promise((wake) => setImmediate(wake));
    work(20);
    // The process is stopped for an hour.
    time.nowMs += 3_600_000;
  }
}

describe("durable objects", () => {
  const namespace = (): SimulatedNamespace =>
    new SimulatedNamespace(
      Worker as ObjectClass,
      () => ({}),
      () => 0,
    );
  const stub = (of: SimulatedNamespace, name: string): Worker => of.getByName(name) as Worker;

  const { clock } = meter;

  afterEach(() => {
    meter.stop();
    meter.clock = clock;
  });

  it("get copies, one object for each name, and every call counts", async () => {
    const objects = namespace();
    const value = { bytes: new Uint8Array(1_000) };
    const answer = (await stub(objects, "part 1").take(value)) as unknown[];
    expect(answer).toEqual([value]);
    expect(answer[0]).not.toBe(value);
    await stub(objects, "part 1").take(1);
    await stub(objects, "part 2").take(2);
    const accounts = [...objects.objects.values()].map(({ account }) => account);
    expect(accounts.map(({ name, kind, calls }) => [name, kind, calls])).toEqual([
      ["part 1", "Worker part #", 2],
      ["part 2", "Worker part #", 1],
    ]);
    expect(accounts[0]?.largestCall).toBe(sizeOf([value]));
    expect(accounts[0]?.bytesIn).toBe(sizeOf([value]) + sizeOf([1]));
  });

  it("are charged for their own time, also after they wait", async () => {
    const objects = namespace();
    const caller = new Account("caller", "");
    meter.clock = { nowMs: () => time.nowMs, cpuMs: () => time.cpuMs };
    const before = { ...meter.inside };
    meter.start();
    await meter.as(caller, async () => {
      const done = stub(objects, "busy").slow();
      work(10);
      // It waits for its turn.
      time.nowMs += 4;
      await done;
      work(1);
    });
    const [busy] = objects.objects.values();
    expect(caller.ms).toBe(15);
    expect(busy?.account.ms).toBe(5 + 20 + CPU_STEP_MS);
    expect(meter.inside.ms - before.ms).toBe(15 + 35);
    expect(meter.inside.cpuMs - before.cpuMs).toBe(11 + 25);
  });
});

describe("the queue", () => {
  const settings = { name: "events", batchSize: 3, batchTimeoutMs: 10_000, concurrency: 1 };
  const body = (): { body: Uint8Array } => ({ body: new Uint8Array(1_000) });

  it("delivers when a batch is full or its time is over, and again what was not acknowledged", async () => {
    let nowMs = 0;
    const batches: number[][] = [];
    const queue = new SimulatedQueue(
      settings,
      async ({ messages }) => {
        batches.push(messages.map(({ attempts }) => attempts));
        for (const message of messages) {
          if (message.attempts === 1 && message.id === "1") message.retry({ delaySeconds: 5 });
          else message.ack();
        }
      },
      () => nowMs,
    );
    await queue.sendBatch([body(), body()]);
    expect(queue.nextMs()).toBe(10_000);
    await queue.sendBatch([body(), body()]);
    expect(queue.nextMs()).toBe(0);
    await queue.deliver();
    expect(batches).toEqual([[1, 1, 1]]);
    nowMs = queue.nextMs();
    expect(nowMs).toBe(10_000);
    await queue.deliver();
    expect(batches).toEqual([
      [1, 1, 1],
      [1, 2],
    ]);
    expect(queue.isEmpty).toBe(true);
    expect([queue.messages, queue.deliveries, queue.bytes, queue.highestBytes]).toEqual([4, 5, 4_000, 4_000]);
  });

  it("refuses what the platform refuses", async () => {
    const queue = new SimulatedQueue(
      settings,
      async () => {},
      () => 0,
    );
    await expect(queue.sendBatch([{ body: new Uint8Array(128_001) }])).rejects.toThrow("15000");
    await expect(queue.sendBatch(Array.from({ length: 101 }, body))).rejects.toThrow("15000");
    const large = { body: new Uint8Array(100_000) };
    await expect(queue.sendBatch([large, large, large])).rejects.toThrow("15000");
    expect(queue.messages).toBe(0);
  });
});

describe("the clock", () => {
  it("moves only when it is moved, and runs timers in their order", () => {
    const clock = new SimulatedClock(1_000);
    const ran: string[] = [];
    clock.set(() => ran.push("later"), 20);
    clock.set(() => ran.push("sooner"), 10);
    clock.clear(clock.set(() => ran.push("never"), 5));
    expect(clock.nextMs).toBe(1_010);
    clock.advanceTo(1_050);
    expect(ran).toEqual([]);
    clock.fire();
    expect(ran).toEqual(["sooner", "later"]);
    expect(clock.nextMs).toBe(Number.POSITIVE_INFINITY);
  });
});
