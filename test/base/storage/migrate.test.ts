import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type Migration, migrate } from "../../../src/base/storage/migrate.ts";

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

describe("floors of a schema", () => {
  it("lets older code work with an object that has additive steps, and newer code go on from there", async () => {
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

  it("refuses an object whose floor the code is below, and says so in words", async () => {
    await withStorage((storage) => {
      migrate(storage, BREAKING);
      const words =
        "this storage was written by a newer version: it is at schema step 5 and needs code that knows step 5; this version knows 2";
      expect(() => migrate(storage, OLDER)).toThrow(words);
      expect(() => migrate(storage, ADDITIVE)).toThrow("this version knows 4");
    });
  });

  it("refuses an object if any of the unknown steps has a floor above the code, the last one or not", async () => {
    await withStorage((storage) => {
      const later = [...BREAKING, { id: 6, why: "more", sql: "CREATE TABLE more (a) ", floor: 2 }];
      migrate(storage, later);
      expect(() => migrate(storage, ADDITIVE)).toThrow("needs code that knows step 5");
      expect(migrate(storage, BREAKING)).toBe(0);
    });
  });

  it("leaves an object as it was where a step fails", async () => {
    await withStorage((storage) => {
      migrate(storage, OLDER);
      const broken = [...ADDITIVE, { id: 5, why: "broken", sql: "CREATE TABLE place (id INTEGER)" }];
      expect(() => migrate(storage, broken)).toThrow("place");
      expect(migrate(storage, ADDITIVE)).toBe(2);
    });
  });
});

describe("tables that no release made", () => {
  const NOT_RELEASED = "written by a commit that is no release";

  it("are refused, whatever they are, and left as they are", async () => {
    const forms = ["", ", floor INTEGER", ", floor INTEGER NOT NULL"];
    for (const form of forms) {
      await withStorage((storage) => {
        storage.sql.exec(
          `CREATE TABLE schema_step (id INTEGER PRIMARY KEY, applied_ms INTEGER NOT NULL${form}) STRICT;
           INSERT INTO schema_step (id, applied_ms${form && ", floor"}) VALUES (1, 0${form && ", 1"}); CREATE TABLE own (a);`,
        );
        expect(() => migrate(storage, OLDER)).toThrow(NOT_RELEASED);
        expect(storage.sql.exec("SELECT id FROM schema_step").toArray()).toEqual([{ id: 1 }]);
        expect(storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'thing'").toArray()).toEqual([]);
      });
    }
  });

  it("are those of a step that was another one then; comments and spaces may differ", async () => {
    const [first, second] = OLDER as readonly [Migration, Migration];
    const commented = { ...first, sql: first.sql.replace("(", "( -- of a thing\n  ") };
    const other = { ...first, sql: first.sql.replace("name", "title") };
    await withStorage((storage) => {
      migrate(storage, OLDER);
      expect(migrate(storage, [commented, second])).toBe(0);
      for (const steps of [
        [other, second],
        [other, ...ADDITIVE.slice(1)],
      ])
        expect(() => migrate(storage, steps)).toThrow(NOT_RELEASED);
      expect(migrate(storage, ADDITIVE)).toBe(2);
    });
  });
});
