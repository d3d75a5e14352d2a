import { DEDUP_INDEX_SQL } from "../../base/storage/dedup-index.ts";
import type { Migration } from "../../base/storage/migrate.ts";

/** The schema of a shard of the log. docs/storage.md has the lifetime of each table's rows. */
export const TRACE_LOG_STEPS = [
  {
    id: 1,
    why: "release 1",
    sql: `
      CREATE TABLE state (
        id               INTEGER PRIMARY KEY CHECK (id = 1),
        shard            INTEGER,                    -- this one: an alarm does not say the name
        processed        INTEGER NOT NULL DEFAULT 0, -- events, counted separately: must equal the sum of the next five
        routed           INTEGER NOT NULL DEFAULT 0,
        not_enabled      INTEGER NOT NULL DEFAULT 0,
        not_routed       INTEGER NOT NULL DEFAULT 0,
        set_aside        INTEGER NOT NULL DEFAULT 0,
        discarded        INTEGER NOT NULL DEFAULT 0, -- that were on hold
        intake_lost      INTEGER NOT NULL DEFAULT 0,
        intake_unfit     INTEGER NOT NULL DEFAULT 0, -- that no record can hold
        last_block       INTEGER NOT NULL DEFAULT 0, -- position of the newest block there ever was
        readers          TEXT NOT NULL DEFAULT '{}', -- JSON: of each job how far it has read, see readers.ts
        newest_taken_ms  INTEGER NOT NULL DEFAULT 0, -- time of intake of the newest part
        swept_ms         INTEGER NOT NULL DEFAULT 0, -- when old ids were last deleted
        forgotten_ms     INTEGER NOT NULL DEFAULT 0, -- ids of parts that were taken in before are forgotten
        config_state     TEXT NOT NULL DEFAULT '',   -- of the copy of the configuration; '': there is none
        queue_backlog    INTEGER,                    -- messages, as the queue last said
        queue_bytes      INTEGER,                    -- their size
        queue_seen_ms    INTEGER,
        queue_done_ms    INTEGER NOT NULL DEFAULT 0, -- nothing taken in before waits in the queue
        next_hold        INTEGER NOT NULL DEFAULT 1, -- ids are not reused
        hold_messages    INTEGER NOT NULL DEFAULT 0, -- rows of on_hold
        watched_until_ms INTEGER NOT NULL DEFAULT 0, -- live viewers watch
        restored         TEXT,                       -- JSON of Restored, see status.ts; NULL: nothing was, as far as is known
        in_seconds       TEXT NOT NULL DEFAULT '[]', -- JSON of InSeconds[], see account-status.ts
        month_use        TEXT,                       -- JSON of MonthUse, see month-use.ts; NULL: nothing was counted
        health           TEXT,                       -- JSON of what is not in function_health yet, see health-hours.ts
        kept_since_ms    INTEGER NOT NULL DEFAULT 0, -- all that was added later is kept
        hour             INTEGER,                    -- not in function_hour yet; NULL: none
        hour_counts      TEXT,                       -- as in function_hour, as is the next
        hour_sources     TEXT
      ) STRICT;
      ${DEDUP_INDEX_SQL}
      CREATE TABLE block (                           -- what one append has added; it never changes
        n        INTEGER PRIMARY KEY,                -- its position
        taken_ms INTEGER NOT NULL,                   -- time of intake of its oldest part
        at_ms    INTEGER NOT NULL,                   -- when it was added
        jobs     TEXT NOT NULL,                      -- JSON: for each job its id, and records and bytes for it
        meta     INTEGER NOT NULL,                   -- so many bytes of it are JSON, see blocks.ts
        body     BLOB NOT NULL
      ) STRICT;
      CREATE TABLE piece (                           -- what of a block's body does not fit its row
        n    INTEGER NOT NULL,
        k    INTEGER NOT NULL,                       -- from 1
        body BLOB NOT NULL,
        PRIMARY KEY (n, k)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE unfinished (                      -- parts that come again
        id       BLOB PRIMARY KEY,
        taken_ms INTEGER NOT NULL,
        begun    INTEGER,                            -- the delivery that has it in hand, from 1; NULL: none
        deaths   INTEGER NOT NULL DEFAULT 0          -- deliveries in a row that ended without a word
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE job (
        id     INTEGER PRIMARY KEY,
        config TEXT NOT NULL                         -- JSON of JobConfig
      ) STRICT;
      CREATE TABLE opt_outs (
        id        INTEGER PRIMARY KEY CHECK (id = 1),
        functions TEXT NOT NULL                      -- JSON of OptOut[]
      ) STRICT;
      CREATE TABLE on_hold (                         -- messages that are set aside
        id      INTEGER PRIMARY KEY,
        message BLOB NOT NULL
      ) STRICT;
      CREATE TABLE hold_note (                       -- of on_hold: what is read without the messages, which are large
        id         INTEGER PRIMARY KEY,
        at_ms      INTEGER NOT NULL,
        taken_ms   INTEGER,                          -- time of intake of its oldest part; NULL: unknown
        queue      TEXT NOT NULL,
        why        TEXT NOT NULL,
        unreadable TEXT,                             -- why its records could not be read then; NULL: they could
        events     INTEGER NOT NULL,
        bytes      INTEGER NOT NULL,
        parts      TEXT NOT NULL                     -- JSON of HeldParts, see on-hold.ts
      ) STRICT;
      CREATE INDEX hold_by_intake ON hold_note (taken_ms);
      CREATE TABLE function_hour (
        hour    INTEGER PRIMARY KEY,                 -- since the epoch; the first of a past day: all of that day
        counts  TEXT NOT NULL,                       -- by function, see function-counts.ts
        sources TEXT                                 -- of counts; NULL: unknown
      ) STRICT;
      CREATE TABLE function_health (
        hour     INTEGER NOT NULL,                   -- since the epoch, by time of intake
        function TEXT NOT NULL,                      -- JSON of its name; null: those that are summed
        health   TEXT NOT NULL,                      -- JSON of Health, see health.ts
        PRIMARY KEY (hour, function)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE sent (                            -- what senders of events name, see sent-places.ts
        hour   INTEGER NOT NULL,                     -- since the epoch
        source TEXT NOT NULL,
        place  TEXT NOT NULL,                        -- or refused, summed: it names too much
        PRIMARY KEY (hour, source, place)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO state (id) VALUES (1);
      INSERT INTO opt_outs (id, functions) VALUES (1, '[]');`,
  },
  {
    id: 2,
    why: "health by five minutes and version",
    // Release 1 gathers what it counts in its own column.
    floor: 1,
    sql: `
      ALTER TABLE state ADD COLUMN slots TEXT;         -- JSON of what is not in function_slot yet, see health-slots.ts
      CREATE TABLE function_slot (                     -- all functions in five minutes
        slot   INTEGER PRIMARY KEY,                    -- since the epoch, by time of intake
        health TEXT NOT NULL                           -- a line for each: JSON of its key and Ran, see health-slots.ts
      ) STRICT;
      CREATE TABLE function_version (
        function TEXT NOT NULL,                        -- as in function_health, without the version
        version  TEXT NOT NULL,
        tag      TEXT NOT NULL,
        source   TEXT NOT NULL,                        -- who names it
        first_ms INTEGER NOT NULL,
        last_ms  INTEGER NOT NULL,                     -- of a day: it is written once in one
        PRIMARY KEY (function, version)
      ) STRICT, WITHOUT ROWID;`,
  },
  {
    id: 3,
    why: "what saved searches with an alert match is counted with the parts that are new",
    floor: 1,
    sql: `
      ALTER TABLE state ADD COLUMN searches TEXT NOT NULL DEFAULT '[]'; -- JSON of SearchSum[], see search-counts.ts
      CREATE TABLE searches (
        id      INTEGER PRIMARY KEY CHECK (id = 1),
        configs TEXT NOT NULL,                       -- JSON of AlertedSearch[]
        shards  INTEGER NOT NULL                     -- how many the log has
      ) STRICT;
      INSERT INTO searches (id, configs, shards) VALUES (1, '[]', 1);`,
  },
  {
    id: 4,
    floor: 1,
    why: "errors of one cause are a problem, over all Workers",
    sql: `
      ALTER TABLE state ADD COLUMN problems TEXT;    -- JSON of what is not in problem yet; NULL: nothing
      CREATE TABLE problem (
        id      INTEGER PRIMARY KEY,                 -- 0 to 3: of the first digit of the problems' ids
        each    TEXT NOT NULL,                       -- JSON of Problem[], see problems.ts
        dropped INTEGER NOT NULL,                    -- problems that there was no room for
        others  INTEGER NOT NULL                     -- records with errors that are in no problem
      ) STRICT;`,
  },
] as const satisfies readonly Migration[];
