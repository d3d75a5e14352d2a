import { ID_MEMORY_SQL } from "../storage/id-memory.ts";
import type { Migration } from "../storage/migrate.ts";

/**
 * The schema of a shard of the account's ledger. docs/storage.md has the lifetime of each table's
 * rows.
 */
export const ACCOUNT_STEPS = [
  {
    id: 1,
    why: "every message is counted once, and unreadable ones are stored",
    sql: `
      CREATE TABLE account (
        id               INTEGER PRIMARY KEY CHECK (id = 1),
        shard            INTEGER NOT NULL DEFAULT 0,  -- this one
        processed        INTEGER NOT NULL DEFAULT 0,  -- events, counted separately: must equal the sum of the next five
        routed           INTEGER NOT NULL DEFAULT 0,
        not_enabled      INTEGER NOT NULL DEFAULT 0,
        not_routed       INTEGER NOT NULL DEFAULT 0,
        set_aside        INTEGER NOT NULL DEFAULT 0,
        discarded        INTEGER NOT NULL DEFAULT 0,  -- events that were set aside, then discarded
        intake_lost      INTEGER NOT NULL DEFAULT 0,
        aside_messages   INTEGER NOT NULL DEFAULT 0,  -- rows of set_aside
        next_aside       INTEGER NOT NULL DEFAULT 1,  -- ids are not reused
        queue_backlog    INTEGER,                     -- messages, as the queue last said
        queue_bytes      INTEGER,                     -- the same in bytes; NULL: unknown
        queue_seen_ms    INTEGER,
        jobs_state       TEXT NOT NULL DEFAULT '',    -- of the control plane, when it last sent its jobs
        owed_noted_ms    INTEGER,                     -- when a message was last counted that is owed to a job
        watched_until_ms INTEGER NOT NULL DEFAULT 0,  -- viewers see records as they arrive
        month_use        TEXT,                        -- JSON of MonthUse (month-use.ts); NULL: nothing was counted
        health           TEXT,                        -- JSON of what is not in function_health yet, see health-hours.ts
        swept_ms         INTEGER NOT NULL DEFAULT 0,
        swept_bytes      INTEGER NOT NULL DEFAULT 0   -- its size at the last sweep
      ) STRICT;
      INSERT INTO account (id) VALUES (1);
      CREATE TABLE split (              -- in the order of bits; see src/storage/splits.ts
        bit     INTEGER PRIMARY KEY,
        from_ms INTEGER NOT NULL,
        bytes   INTEGER NOT NULL        -- the size of this object then
      ) STRICT;
      CREATE TABLE unfinished (         -- messages that come again
        id       BLOB PRIMARY KEY,
        taken_ms INTEGER NOT NULL,
        begun    INTEGER,               -- the delivery that has it in hand, from 1; NULL: none
        deaths   INTEGER NOT NULL DEFAULT 0 -- deliveries in a row that ended without a word
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE job (
        id     INTEGER PRIMARY KEY,
        config TEXT NOT NULL            -- JSON of JobConfig
      ) STRICT;
      CREATE TABLE opt_outs (
        id        INTEGER PRIMARY KEY CHECK (id = 1),
        version   INTEGER NOT NULL,     -- at which they last changed
        functions TEXT NOT NULL         -- JSON of OptOut[]
      ) STRICT;
      INSERT INTO opt_outs (id, version, functions) VALUES (1, 0, '[]');
      CREATE TABLE function_hour (
        hour    INTEGER PRIMARY KEY,    -- since the epoch; the first of a past day: all of that day
        counts  TEXT NOT NULL,          -- by function, see function-counts.ts
        sources TEXT                    -- of counts, see function-counts.ts; NULL: unknown
      ) STRICT;
      CREATE TABLE function_health (
        hour     INTEGER NOT NULL,     -- since the epoch, by time of intake
        function TEXT NOT NULL,        -- JSON of its name; null: those that are summed
        health   TEXT NOT NULL,        -- JSON of Health, see health.ts
        PRIMARY KEY (hour, function)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE set_aside (
        id      INTEGER PRIMARY KEY,
        at_ms   INTEGER NOT NULL,
        queue   TEXT NOT NULL,
        why     TEXT NOT NULL,
        events  INTEGER NOT NULL,
        message BLOB NOT NULL
      ) STRICT;
      CREATE TABLE aside_note (         -- of set_aside: what is read without the messages, which are large
        id         INTEGER PRIMARY KEY,
        header     BLOB NOT NULL,       -- the first 40 bytes of the message
        bytes      INTEGER NOT NULL,    -- its size
        counted_as BLOB NOT NULL,       -- the id it was counted under
        taken_ms   INTEGER,             -- time of intake; NULL: unknown, as it cannot be read
        unreadable TEXT,                -- why its records could not be read then; NULL: they could
        ask_ms     INTEGER,             -- when the logs are next asked whether they hold it; NULL: never again
        jobs       TEXT,                -- JSON: ids of jobs that were enabled when it was taken in; NULL: unknown
        off        TEXT,                -- JSON: names of functions whose logging was off then
        kept       TEXT NOT NULL DEFAULT '[]' -- JSON: ids of jobs whose logs remember for good whether they hold it
      ) STRICT;
      CREATE INDEX aside_note_to_ask ON aside_note (ask_ms) WHERE ask_ms IS NOT NULL;
      CREATE INDEX aside_note_by_intake ON aside_note (taken_ms);
      ${ID_MEMORY_SQL}`,
  },
] as const satisfies readonly Migration[];
