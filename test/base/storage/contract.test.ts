/**
 * What the source takes for granted of a durable object's storage. It runs in the runtime, and in
 * Node against the stand-in of test/schedule.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

const LATER = Date.UTC(2100, 0, 1);

/** Runs with the storage of an object that has one table. */
function withTable<T>(run: (storage: DurableObjectStorage, sql: SqlStorage) => Promise<T> | T): Promise<T> {
  return runInDurableObject(env.READERS.getByName("contract"), async (_object, { storage }) => {
    await storage.deleteAlarm();
    await storage.deleteAll();
    storage.sql.exec("CREATE TABLE thing (id INTEGER PRIMARY KEY, size INTEGER, body BLOB, any ANY) STRICT");
    return run(storage, storage.sql);
  });
}

const all = (sql: SqlStorage, query = "SELECT * FROM thing"): object[] => sql.exec(query).toArray();

describe("SQL", () => {
  it("binds text, numbers, null and bytes, and gives them back; bytes as a buffer of their own", async () => {
    await withTable((_storage, sql) => {
      const bytes = new Uint8Array([9, 1, 2, 3, 9]).subarray(1, 4);
      sql.exec("INSERT INTO thing VALUES (?, ?, ?, ?)", 1, 2 ** 53 - 1, bytes, "text");
      sql.exec("INSERT INTO thing VALUES (?, ?, ?, ?)", 2, null, bytes.slice().buffer, 0.5);
      const [first, second] = all(sql) as { size: number | null; body: ArrayBuffer; any: unknown }[];
      expect([first?.size, first?.any, second?.size, second?.any]).toEqual([2 ** 53 - 1, "text", null, 0.5]);
      for (const row of [first, second]) expect([...new Uint8Array(row?.body ?? new ArrayBuffer())]).toEqual([1, 2, 3]);
      expect(first?.body.constructor.name).toBe("ArrayBuffer");
    });
  });

  it("calculates with numbers as floating point", async () => {
    await withTable((_storage, sql) => {
      expect(sql.exec("SELECT ? / 2 AS half, typeof(?) AS type", 5, 5).one()).toEqual({ half: 2.5, type: "real" });
    });
  });

  it("gives exactly one row where one is asked for", async () => {
    await withTable((_storage, sql) => {
      expect(() => sql.exec("SELECT * FROM thing").one()).toThrow();
      sql.exec("INSERT INTO thing (id) VALUES (1), (2)");
      expect(() => sql.exec("SELECT * FROM thing").one()).toThrow();
      expect(sql.exec("SELECT count(*) AS n FROM thing").one()).toEqual({ n: 2 });
      expect([...sql.exec<{ id: number }>("SELECT id FROM thing")].map(({ id }) => id)).toEqual([1, 2]);
    });
  });

  it("says whether rows were written, and returns those that were asked for", async () => {
    await withTable((_storage, sql) => {
      expect(sql.exec("UPDATE thing SET size = 1 WHERE id = 1").rowsWritten).toBe(0);
      expect(sql.exec("INSERT INTO thing (id) VALUES (1)").rowsWritten).toBeGreaterThan(0);
      expect(sql.exec("DELETE FROM thing WHERE id = 1 RETURNING id").toArray()).toEqual([{ id: 1 }]);
    });
  });

  it("runs several statements, and refuses what breaks a rule of the table", async () => {
    await withTable((_storage, sql) => {
      sql.exec("CREATE TABLE other (a); -- a word; and another\n CREATE INDEX by_a ON other (a);");
      sql.exec("INSERT INTO other (a) VALUES (1)");
      expect(all(sql, "SELECT a FROM other")).toEqual([{ a: 1 }]);
      expect(() => sql.exec("INSERT INTO thing (id, size) VALUES (1, 'text')")).toThrow();
      expect(all(sql)).toEqual([]);
    });
  });

  it("says how large it is", async () => {
    await withTable((_storage, sql) => {
      const before = sql.databaseSize;
      sql.exec("INSERT INTO thing (id, body) VALUES (1, zeroblob(100000))");
      expect(sql.databaseSize - before).toBeGreaterThan(90_000);
    });
  });
});

describe("a transaction", () => {
  it("that throws leaves neither rows nor an alarm, and throws what it threw", async () => {
    await withTable(async (storage, sql) => {
      await storage.setAlarm(LATER);
      const change = () =>
        storage.transactionSync(() => {
          sql.exec("INSERT INTO thing (id) VALUES (1)");
          void storage.setAlarm(LATER + 1);
          throw new Error("no");
        });
      expect(change).toThrow("no");
      expect([all(sql), await storage.getAlarm()]).toEqual([[], LATER]);
    });
  });

  it("gives back what it returns, and may have another in it", async () => {
    await withTable((storage, sql) => {
      const result = storage.transactionSync(() => {
        sql.exec("INSERT INTO thing (id) VALUES (1)");
        try {
          storage.transactionSync(() => {
            sql.exec("INSERT INTO thing (id) VALUES (2)");
            throw new Error("inner");
          });
        } catch {
          sql.exec("INSERT INTO thing (id) VALUES (3)");
        }
        return "done";
      });
      expect(result).toBe("done");
      expect(all(sql, "SELECT id FROM thing")).toEqual([{ id: 1 }, { id: 3 }]);
    });
  });
});

describe("storage", () => {
  it("has one alarm, which can be deleted", async () => {
    await withTable(async (storage) => {
      expect(await storage.getAlarm()).toBeNull();
      await storage.setAlarm(LATER);
      await storage.setAlarm(LATER + 5);
      expect(await storage.getAlarm()).toBe(LATER + 5);
      await storage.deleteAlarm();
      expect(await storage.getAlarm()).toBeNull();
    });
  });

  it("can be emptied, and used again", async () => {
    await withTable(async (storage, sql) => {
      sql.exec("INSERT INTO thing (id) VALUES (1)");
      await storage.deleteAll();
      expect(all(sql, "SELECT name FROM sqlite_master WHERE name = 'thing'")).toEqual([]);
      sql.exec("CREATE TABLE thing (id INTEGER PRIMARY KEY)");
      sql.exec("INSERT INTO thing VALUES (7)");
      await storage.sync();
      expect(all(sql)).toEqual([{ id: 7 }]);
    });
  });
});
