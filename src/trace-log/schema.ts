import { withOutputSql } from "../job/config.ts";
import { ID_MEMORY_SQL } from "../storage/id-memory.ts";
import type { Migration } from "../storage/migrate.ts";

/** What code must know to work with a shard that was split. */
export const SPLITS_STEP = 9;

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
        id            INTEGER PRIMARY KEY CHECK (id = 1),
        processed     INTEGER NOT NULL DEFAULT 0, -- events, counted separately: must equal the sum of the next four
        routed        INTEGER NOT NULL DEFAULT 0,
        not_enabled   INTEGER NOT NULL DEFAULT 0,
        not_routed    INTEGER NOT NULL DEFAULT 0,
        set_aside     INTEGER NOT NULL DEFAULT 0,
        intake_lost   INTEGER NOT NULL DEFAULT 0,
        queue_backlog INTEGER,                    -- messages, as the queue last said
        queue_seen_ms INTEGER,
        jobs_state    TEXT NOT NULL DEFAULT '',   -- of the control plane, when it last sent its jobs
        swept_ms      INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE TABLE unfinished (                   -- messages that come again
        id       BLOB PRIMARY KEY,
        taken_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE job (
        id     INTEGER PRIMARY KEY,
        config TEXT NOT NULL                      -- JSON of JobConfig
      ) STRICT;
      CREATE TABLE set_aside (
        id      INTEGER PRIMARY KEY,
        at_ms   INTEGER NOT NULL,
        queue   TEXT NOT NULL,
        why     TEXT NOT NULL,
        events  INTEGER NOT NULL,
        message BLOB NOT NULL
      ) STRICT;
      ${ID_MEMORY_SQL}`,
    rows: "INSERT INTO account (id) VALUES (1);",
  },
  {
    id: 2,
    why: "jobs filter, sample and write other formats",
    sql: `UPDATE job SET config = ${withOutputSql("config")};`,
  },
  {
    id: 3,
    why: "events are counted by function, and logging of a function can be off",
    sql: `
      CREATE TABLE opt_outs (
        id        INTEGER PRIMARY KEY CHECK (id = 1),
        version   INTEGER NOT NULL,     -- at which they last changed
        functions TEXT NOT NULL         -- JSON of OptOut[]
      ) STRICT;
      CREATE TABLE function_hour (
        hour   INTEGER PRIMARY KEY,     -- since the epoch; the first of a past day: all of that day
        counts TEXT NOT NULL            -- by function, see function-counts.ts
      ) STRICT;
      INSERT INTO function_hour (hour, counts) -- earlier counts, without a name: the sums agree from the start
        SELECT unixepoch() / 3600, json_array(json_array(NULL, routed, not_enabled, not_routed, 0))
          FROM account WHERE routed + not_enabled + not_routed > 0;`,
    rows: "INSERT INTO opt_outs (id, version, functions) VALUES (1, 0, '[]');",
  },
  {
    id: 4,
    why: "what was set aside can be sent again, once, however late, or discarded",
    sql: `
      ALTER TABLE account ADD COLUMN discarded INTEGER NOT NULL DEFAULT 0;      -- events that were set aside, then discarded
      ALTER TABLE account ADD COLUMN aside_messages INTEGER NOT NULL DEFAULT 0; -- rows of set_aside
      ALTER TABLE account ADD COLUMN next_aside INTEGER NOT NULL DEFAULT 1;     -- ids are not reused
      UPDATE account SET aside_messages = (SELECT count(*) FROM set_aside),
        next_aside = (SELECT coalesce(max(id), 0) + 1 FROM set_aside);
      CREATE TABLE aside_note (          -- of set_aside: what is read without the messages, which are large
        id         INTEGER PRIMARY KEY,
        header     BLOB NOT NULL,        -- the first 40 bytes of the message
        bytes      INTEGER NOT NULL,     -- its size
        counted_as BLOB,                 -- the id it was counted under; NULL: set aside before this column
        unreadable TEXT,                 -- why its records could not be read then; NULL: they could
        ask_ms     INTEGER,              -- when the logs are next asked whether they hold it; NULL: never again
        jobs       TEXT,                 -- JSON: ids of jobs that were enabled when it was taken in; NULL: unknown
        off        TEXT,                 -- JSON: names of functions whose logging was off then
        kept       TEXT NOT NULL DEFAULT '[]' -- JSON: ids of jobs whose logs remember for good whether they hold it
      ) STRICT;
      CREATE INDEX aside_note_to_ask ON aside_note (ask_ms) WHERE ask_ms IS NOT NULL;
      INSERT INTO aside_note (id, header, bytes, ask_ms) SELECT id, substr(message, 1, 40), length(message), 0 FROM set_aside;`,
  },
  {
    id: 5,
    why: "live viewers see records as they arrive",
    sql: "ALTER TABLE account ADD COLUMN watched_until_ms INTEGER NOT NULL DEFAULT 0;",
  },
  {
    id: 6,
    why: "the current month's use is shown",
    sql: `
      -- JSON of MonthUse (month-use.ts); NULL: nothing was counted since this step
      ALTER TABLE account ADD COLUMN month_use TEXT;`,
  },
  {
    id: 7,
    floor: 6,
    why: "no time is claimed complete beyond a message that is set aside",
    sql: `
      ALTER TABLE aside_note ADD COLUMN taken_ms INTEGER;       -- time of intake; NULL: unknown, as it cannot be read
      CREATE INDEX aside_note_by_intake ON aside_note (taken_ms);`,
  },
  {
    id: 8,
    floor: 6,
    why: "what a job cannot take is owed to it",
    sql: `
      -- when a message was last counted that is owed to a job, in ms; NULL: since then nothing is owed
      ALTER TABLE account ADD COLUMN owed_noted_ms INTEGER;`,
  },
  {
    id: SPLITS_STEP,
    // Without a split, all is where older code looks for it. The first one raises this.
    floor: 6,
    why: "one object is not enough for every account",
    sql: `
      ALTER TABLE account ADD COLUMN shard INTEGER NOT NULL DEFAULT 0;       -- this one
      ALTER TABLE account ADD COLUMN swept_bytes INTEGER NOT NULL DEFAULT 0; -- its size at the last sweep
      CREATE TABLE split (            -- in the order of bits; see src/storage/splits.ts
        bit     INTEGER PRIMARY KEY,
        from_ms INTEGER NOT NULL,
        bytes   INTEGER NOT NULL      -- the size of this object then
      ) STRICT;`,
  },
  {
    id: 10,
    floor: 6,
    why: "a batch that was killed comes back smaller",
    sql: `
      -- the delivery that has it in hand, from 1; NULL: none
      ALTER TABLE unfinished ADD COLUMN begun INTEGER;
      -- deliveries in a row that ended without a word
      ALTER TABLE unfinished ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;`,
  },
  {
    id: 11,
    floor: 6,
    why: "the queue is said to be half full",
    sql: `
      -- size of the queue's backlog, in bytes, as it said last; NULL: unknown
      ALTER TABLE account ADD COLUMN queue_bytes INTEGER;`,
  },
  {
    id: 12,
    floor: 6,
    why: "it is shown where the events of a function came from",
    sql: `
      -- of counts, see function-counts.ts; NULL: unknown, as where earlier code has replaced the row
      ALTER TABLE function_hour ADD COLUMN sources TEXT;`,
  },
  {
    id: 13,
    // Earlier code counts without it, and leaves it as it is.
    floor: 6,
    why: "it is shown how the invocations of a function go",
    sql: `
      -- JSON of what is not in function_health yet, see health-hours.ts; NULL: nothing was counted since this step
      ALTER TABLE account ADD COLUMN health TEXT;
      CREATE TABLE function_health (
        hour     INTEGER NOT NULL,     -- since the epoch, by time of intake
        function TEXT NOT NULL,        -- JSON of its name; null: those that are summed
        health   TEXT NOT NULL,        -- JSON of Health, see health.ts
        PRIMARY KEY (hour, function)
      ) STRICT, WITHOUT ROWID;`,
  },
] as const satisfies readonly Migration[];
