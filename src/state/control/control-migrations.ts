import type { Migration } from "../../base/storage/migrate.ts";

/** The schema of the control plane. docs/storage.md says how long the rows of each table live. */
export const CONTROL_STEPS = [
  {
    id: 1,
    why: "release 1",
    sql: `
      CREATE TABLE control (
        id                INTEGER PRIMARY KEY CHECK (id = 1),
        epoch             TEXT NOT NULL,                  -- of this storage: versions of two epochs cannot be compared
        version           INTEGER NOT NULL DEFAULT 0,     -- grows with every change
        mark              TEXT NOT NULL,                  -- random: of the instance that made the last change
        next_id           INTEGER NOT NULL DEFAULT 1,     -- job ids are never used again
        confirmed_version INTEGER NOT NULL DEFAULT 0,     -- that all shards of the log have
        shards            TEXT NOT NULL DEFAULT '[0]',    -- JSON: numbers of the shards that there are
        key_shards        INTEGER,                        -- KEY_SHARDS as it was first; null: it was malformed so far
        unnoted_ms        INTEGER,                        -- intake of the oldest message that no shard knows of; 0: unknown
        unnoted_at_ms     INTEGER                         -- when a handler last said so
      ) STRICT;
      CREATE TABLE job (
        id          INTEGER PRIMARY KEY,
        body        TEXT NOT NULL,          -- as its owner wrote it, without destination_conf
        config      TEXT NOT NULL,          -- JSON of JobConfig; holds destination_conf, sealed
        created_ms  INTEGER NOT NULL,
        modified_ms INTEGER NOT NULL,
        deleted_ms  INTEGER                 -- not in the API any more; its readers drain
      ) STRICT;
      CREATE TABLE function_setting (
        name             TEXT PRIMARY KEY,
        logging          TEXT CHECK (logging IN ('on', 'off')), -- null: unset
        tail_consumers   TEXT,                                  -- JSON, as sent; null: none
        kept             TEXT,                                  -- JSON of KeptSettings, as sent; null: none
        windows          TEXT NOT NULL,                         -- JSON of Window[]: when logging was off
        switched_version INTEGER NOT NULL,                      -- of the last change of the windows
        modified_ms      INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE local_function (
        name     TEXT PRIMARY KEY,
        version  TEXT NOT NULL,    -- random, new with each upload
        manifest TEXT NOT NULL     -- JSON: main module, compatibility, and of each module its name, kind and length
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE local_chunk (
        name  TEXT NOT NULL,       -- of the function
        n     INTEGER NOT NULL,
        bytes BLOB NOT NULL,       -- of all modules, in order
        PRIMARY KEY (name, n)
      ) STRICT;
      CREATE TABLE attachment (
        name        TEXT PRIMARY KEY,
        state       TEXT NOT NULL CHECK (state IN ('attached', 'undone', 'gone', 'unknown')),
        since_ms    INTEGER NOT NULL, -- of the state
        attached_ms INTEGER NOT NULL, -- when it was last seen attached
        checked_ms  INTEGER NOT NULL, -- when the platform last answered clearly
        tried_ms    INTEGER NOT NULL, -- when the platform was last asked
        fault       TEXT              -- why there was no clear answer since checked_ms; null: there was
      ) STRICT, WITHOUT ROWID;
      INSERT INTO control (id, epoch, mark) VALUES (1, hex(randomblob(8)), hex(randomblob(4)));`,
  },
  {
    id: 2,
    floor: 1,
    why: "which kinds of events are expected of a function",
    sql: `
      -- JSON of Expectation[]; null: none
      ALTER TABLE function_setting ADD COLUMN expect TEXT;`,
  },
  {
    id: 3,
    why: "searches are kept, some of them with an alert",
    floor: 1,
    sql: `
      CREATE TABLE saved_search (
        id     INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
        search TEXT NOT NULL                      -- JSON of SavedSearch
      ) STRICT;`,
  },
] as const satisfies readonly Migration[];
