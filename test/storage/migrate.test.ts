import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { type Migration, migrate } from "../../src/storage/migrate.ts";

const OLDER: readonly Migration[] = [
  { id: 1, why: "things", sql: "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT" },
  { id: 2, why: "sizes", sql: "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 0" },
];

const ADDITIVE: readonly Migration[] = [
  ...OLDER,
  { id: 3, why: "notes", sql: "ALTER TABLE thing ADD COLUMN note TEXT", floor: 2 },
  { id: 4, why: "places", sql: "CREATE TABLE place (id INTEGER PRIMARY KEY) STRICT", floor: 2 },
];

const BREAKING: readonly Migration[] = [
  ...ADDITIVE,
  { id: 5, why: "names move", sql: "ALTER TABLE thing RENAME COLUMN name TO title" },
];

/** Runs with the empty storage of some object. */
function withStorage<T>(run: (storage: DurableObjectStorage) => T): Promise<T> {
  return runInDurableObject(env.READERS.getByName("floors"), async (_object, { storage }) => {
    await storage.deleteAll();
    return run(storage);
  });
}

/** What code from before there were floors did. */
function migrateWithoutFloors({ sql }: DurableObjectStorage, steps: readonly Migration[]): void {
  sql.exec("CREATE TABLE schema_step (id INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL) STRICT");
  for (const step of steps) {
    sql.exec(step.sql);
    sql.exec("INSERT INTO schema_step (id, applied_ms) VALUES (?, ?)", step.id, 0);
  }
}

describe("floors of a schema", () => {
  it("lets older code work with an object that has additive steps, and newer code go on from there", async ({
    expect,
  }) => {
    await withStorage((storage) => {
      expect(migrate(storage, ADDITIVE)).toBe(4);
      expect(migrate(storage, OLDER)).toBe(0);
      storage.sql.exec("INSERT INTO thing (id, name) VALUES (1, 'a')");
      expect(migrate(storage, ADDITIVE)).toBe(0);
      expect(storage.sql.exec("SELECT id, name, size, note FROM thing").toArray()).toEqual([
        { id: 1, name: "a", size: 0, note: null },
      ]);
      expect(migrate(storage, BREAKING)).toBe(1);
    });
  });

  it("refuses an object whose floor the code is below, and says so in words", async ({ expect }) => {
    await withStorage((storage) => {
      migrate(storage, BREAKING);
      const words =
        "this storage was written by a newer version: it is at schema step 5 and needs code that knows step 5; this version knows 2";
      expect(() => migrate(storage, OLDER)).toThrow(words);
      expect(() => migrate(storage, ADDITIVE)).toThrow("this version knows 4");
    });
  });

  it("refuses an object if any of the unknown steps has a floor above the code, the last one or not", async ({
    expect,
  }) => {
    await withStorage((storage) => {
      const later = [...BREAKING, { id: 6, why: "more", sql: "CREATE TABLE more (a) ", floor: 2 }];
      migrate(storage, later);
      expect(() => migrate(storage, ADDITIVE)).toThrow("needs code that knows step 5");
      expect(migrate(storage, BREAKING)).toBe(0);
    });
  });

  it("brings an object without floors up to date, whose steps all count as needed", async ({ expect }) => {
    await withStorage((storage) => {
      migrateWithoutFloors(storage, OLDER);
      expect(migrate(storage, OLDER)).toBe(0);
      expect(migrate(storage, ADDITIVE)).toBe(2);
      expect(migrate(storage, OLDER)).toBe(0);
    });
    await withStorage((storage) => {
      migrateWithoutFloors(storage, ADDITIVE);
      expect(() => migrate(storage, OLDER)).toThrow("needs code that knows step 4");
      expect(migrate(storage, ADDITIVE)).toBe(0);
    });
  });

  it("leaves an object as it was where a step fails", async ({ expect }) => {
    await withStorage((storage) => {
      migrateWithoutFloors(storage, OLDER);
      const broken = [...ADDITIVE, { id: 5, why: "broken", sql: "CREATE TABLE place (id INTEGER)" }];
      expect(() => migrate(storage, broken)).toThrow("place");
      expect(migrate(storage, ADDITIVE)).toBe(2);
    });
  });
});

describe("a new object", () => {
  it("gets the tables of the steps alone, whatever else the first one had before", async ({ expect }) => {
    const steps = [...OLDER];
    const foreign = "CREATE TABLE IF NOT EXISTS foreign_table (id INTEGER PRIMARY KEY)";
    for (let object = 0; object < 2; object++) {
      await withStorage((storage) => {
        storage.sql.exec(foreign);
        expect(migrate(storage, steps)).toBe(2);
        storage.sql.exec("INSERT INTO thing (id, name) VALUES (1, 'a')");
      });
    }
    await withStorage((storage) => {
      expect(migrate(storage, steps)).toBe(2);
      expect(storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'foreign_table'").toArray()).toEqual([]);
    });
  });
});
