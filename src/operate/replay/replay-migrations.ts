import type { Migration } from "../../base/storage/migrate.ts";

/**
 * The schema of replays; docs/storage.md says of each table what writes it, how long a row lives,
 * and what a crash leaves.
 */
export const REPLAY_STEPS = [
  {
    id: 1,
    why: "a replay is planned, written down, then done: whatever is killed, it goes on where it was",
    sql: `
      CREATE TABLE replay (
        seq             INTEGER PRIMARY KEY,          -- the order in which they were asked for
        id              TEXT NOT NULL UNIQUE,
        job             INTEGER NOT NULL,
        since_ms        INTEGER NOT NULL,             -- of events
        until_ms        INTEGER NOT NULL,
        asked_ms        INTEGER NOT NULL,
        state           TEXT NOT NULL CHECK (state IN ('running', 'waiting', 'done', 'cancelled', 'failed')),
        ended_ms        INTEGER,
        source          TEXT,                         -- sealed; where the job was when it began. null: it is over, as is the next
        target          TEXT,                         -- sealed; null: where the job was
        shown           TEXT,                         -- the target with its secrets masked
        elsewhere       TEXT,                         -- bucket and endpoint of the target
        path            TEXT NOT NULL,                -- keys are below it
        place           INTEGER NOT NULL,             -- version of the job's destination that it reads
        plan_next       INTEGER,                      -- objects after this number are not in the plan yet; null: all are
        planned_objects INTEGER NOT NULL,             -- until then, what was counted when it was asked for
        planned_records INTEGER NOT NULL,
        planned_bytes   INTEGER NOT NULL,
        done_objects    INTEGER NOT NULL DEFAULT 0,
        done_records    INTEGER NOT NULL DEFAULT 0,
        done_bytes      INTEGER NOT NULL DEFAULT 0,
        missing_objects INTEGER NOT NULL DEFAULT 0,
        missing_records INTEGER NOT NULL DEFAULT 0,
        missing_bytes   INTEGER NOT NULL DEFAULT 0,
        damaged_objects INTEGER NOT NULL DEFAULT 0,
        damaged_records INTEGER NOT NULL DEFAULT 0,
        damaged_bytes   INTEGER NOT NULL DEFAULT 0,
        failed_objects  INTEGER NOT NULL DEFAULT 0,
        failed_records  INTEGER NOT NULL DEFAULT 0,
        failed_bytes    INTEGER NOT NULL DEFAULT 0,
        cursor          INTEGER NOT NULL DEFAULT 0,   -- of this pass, pieces up to here were tried
        claimed         INTEGER NOT NULL DEFAULT 0,   -- and beyond it, up to here, may be under way
        failures        INTEGER NOT NULL DEFAULT 0,   -- runs in a row in which something failed
        failing_since_ms INTEGER,
        resume_ms       INTEGER NOT NULL DEFAULT 0,   -- nothing is tried before
        error           TEXT,
        modified        INTEGER NOT NULL,             -- version of the job's last change that was looked at
        unconditional   INTEGER NOT NULL DEFAULT 0    -- what requests to the target leave out: bits that its kind knows
      ) STRICT;
      CREATE TABLE piece (                            -- an object that is still to be shipped again
        replay         INTEGER NOT NULL,              -- seq
        number         INTEGER NOT NULL,              -- in the job's list of objects
        key            TEXT NOT NULL,                 -- where it was delivered
        day            INTEGER NOT NULL,
        part           TEXT NOT NULL,                 -- of that day, as the job's path told them apart
        name           TEXT NOT NULL,                 -- of its copy
        bytes          INTEGER NOT NULL,
        raw_bytes      INTEGER NOT NULL,
        records        INTEGER NOT NULL,
        sha256         TEXT NOT NULL,
        md5            TEXT NOT NULL,
        content_type   TEXT NOT NULL,
        first_event_ms INTEGER NOT NULL,
        last_event_ms  INTEGER NOT NULL,
        attempts       INTEGER NOT NULL DEFAULT 0,
        doubtful       INTEGER NOT NULL DEFAULT 0,    -- an attempt ended without an answer: the copy may be there
        sent           INTEGER NOT NULL DEFAULT 0,    -- records that a receiver has been through
        refused        INTEGER NOT NULL DEFAULT 0,    -- of these
        refused_words  TEXT NOT NULL DEFAULT '',      -- why the first one was
        PRIMARY KEY (replay, number)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE problem (                          -- an object that was not shipped again, and why
        replay INTEGER NOT NULL,
        number INTEGER NOT NULL,
        kind   TEXT NOT NULL CHECK (kind IN ('missing', 'damaged', 'failed')),
        key    TEXT NOT NULL,
        why    TEXT NOT NULL,
        PRIMARY KEY (replay, number)
      ) STRICT, WITHOUT ROWID;
      -- A run may outlive its replay, where that is forgotten: no other may be taken for it.
      CREATE TABLE counter (
        id       INTEGER PRIMARY KEY CHECK (id = 1),
        last_seq INTEGER NOT NULL                     -- of all replays that there ever were: none has the seq of another
      ) STRICT;
      INSERT INTO counter (id, last_seq) VALUES (1, 0);`,
  },
] as const satisfies readonly Migration[];
