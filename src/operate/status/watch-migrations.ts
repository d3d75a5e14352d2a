import type { Migration } from "../../base/storage/migrate.ts";
import { RHYTHM_SQL } from "./rhythm.ts";
import { SAMPLES_SQL } from "./samples.ts";

/** The schema of the watch; docs/storage.md says of each table how long a row lives. */
export const WATCH_STEPS = [
  {
    id: 1,
    why: "what is wrong is remembered, since when, and who is to be told",
    sql: `
      CREATE TABLE incident (
        id        TEXT PRIMARY KEY,
        state     TEXT NOT NULL,              -- JSON of Tracked
        opened_ms INTEGER,                    -- null: it was seen, and may have been a flap
        over_ms   INTEGER,                    -- since when it was not seen any more; null: it goes on
        ended_ms  INTEGER,                    -- when that counted; null: it goes on
        told      INTEGER NOT NULL DEFAULT 0  -- receivers that got a call that it was opened: 1 is the webhook, 2^(id - 1) a target
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE webhook (
        id               INTEGER PRIMARY KEY CHECK (id = 1),
        mark             TEXT NOT NULL,       -- another one with each change of its owner
        sealed           TEXT NOT NULL,       -- address and secrets
        shown            TEXT NOT NULL,       -- what may be shown of the address
        enabled          INTEGER NOT NULL,
        gone_ms          INTEGER,             -- when the receiver said that it wants no calls any more
        created_ms       INTEGER NOT NULL,
        modified_ms      INTEGER NOT NULL,
        failures         INTEGER NOT NULL DEFAULT 0, -- in a row
        failing_since_ms INTEGER,
        rest_until_ms    INTEGER NOT NULL DEFAULT 0, -- no call before
        last_answer      TEXT,                -- in words
        last_try_ms      INTEGER,
        last_ok_ms       INTEGER,
        delivered        INTEGER NOT NULL DEFAULT 0,
        given_up         INTEGER NOT NULL DEFAULT 0,
        origin           TEXT,                -- of the dashboard; null: unknown
        test_answer      TEXT,                -- of the last test, in words; null: none
        tested_ms        INTEGER
      ) STRICT;
      CREATE TABLE webhook_call (
        number   INTEGER PRIMARY KEY,         -- those of one incident are made in this order
        id       TEXT NOT NULL UNIQUE,        -- the same with every try
        incident TEXT NOT NULL,
        body     TEXT NOT NULL,
        made_ms  INTEGER NOT NULL,
        tries    INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      -- An id is a place, and is free again after a deletion.
      CREATE TABLE target (
        id               INTEGER PRIMARY KEY, -- from 2
        number           INTEGER NOT NULL,    -- the only one that is told to anybody: never used again
        mark             TEXT NOT NULL,       -- from here on as of the webhook
        sealed           TEXT NOT NULL,
        shown            TEXT NOT NULL,
        enabled          INTEGER NOT NULL,
        gone_ms          INTEGER,
        created_ms       INTEGER NOT NULL,
        modified_ms      INTEGER NOT NULL,
        failures         INTEGER NOT NULL DEFAULT 0,
        failing_since_ms INTEGER,
        rest_until_ms    INTEGER NOT NULL DEFAULT 0,
        last_answer      TEXT,
        last_try_ms      INTEGER,
        last_ok_ms       INTEGER,
        delivered        INTEGER NOT NULL DEFAULT 0,
        given_up         INTEGER NOT NULL DEFAULT 0,
        origin           TEXT,
        test_answer      TEXT,
        tested_ms        INTEGER,
        name             TEXT NOT NULL,       -- what its owner calls it
        format           TEXT NOT NULL,       -- one of formats.ts
        min_severity     TEXT NOT NULL,       -- warning: all; error
        muted_until_ms   INTEGER              -- null: it is not
      ) STRICT;
      CREATE TABLE target_call (
        number   INTEGER PRIMARY KEY,         -- as of a webhook_call
        target   INTEGER NOT NULL,
        id       TEXT NOT NULL,
        incident TEXT NOT NULL,
        body     TEXT NOT NULL,
        made_ms  INTEGER NOT NULL,
        tries    INTEGER NOT NULL DEFAULT 0,
        UNIQUE (target, id)
      ) STRICT;
      CREATE TABLE mute (
        finding  TEXT PRIMARY KEY,            -- kind and subject, as of keyOf
        until_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE target_number (
        id      INTEGER PRIMARY KEY CHECK (id = 1),
        highest INTEGER NOT NULL              -- that a target ever had
      ) STRICT;
      INSERT INTO target_number (id, highest) VALUES (1, 1);
      ${SAMPLES_SQL}
      ${RHYTHM_SQL}`,
  },
] as const satisfies readonly Migration[];
