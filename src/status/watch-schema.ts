import type { Migration } from "../storage/migrate.ts";
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
        told      INTEGER NOT NULL DEFAULT 0  -- a call was made that it was opened
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
        given_up         INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE TABLE webhook_call (
        number   INTEGER PRIMARY KEY,         -- those of one incident are made in this order
        id       TEXT NOT NULL UNIQUE,        -- the same with every try
        incident TEXT NOT NULL,
        body     TEXT NOT NULL,
        made_ms  INTEGER NOT NULL,
        tries    INTEGER NOT NULL DEFAULT 0
      ) STRICT;`,
  },
  { id: 2, why: "what was counted at the last looks, and how events usually come", sql: SAMPLES_SQL + RHYTHM_SQL },
  {
    id: 3,
    why: "alerts go to chats, pagers and mailboxes beside the webhook, and can be muted",
    floor: 2,
    sql: `
      CREATE TABLE target (
        id               INTEGER PRIMARY KEY, -- from 2: in incident.told it has the bit id - 1
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
      ) STRICT, WITHOUT ROWID;`,
  },
  {
    id: 4,
    why: "ids of receivers are never used again, messages link to the dashboard, the last test is shown",
    floor: 2,
    // From here on `target.id` is a place, whose bit `incident.told` has. It is free again after a
    // deletion, as before; only `number` is told to anybody. Earlier code adds targets without one.
    sql: `
      ALTER TABLE target ADD COLUMN number INTEGER;
      ALTER TABLE target ADD COLUMN origin TEXT;       -- of the dashboard; null: unknown
      ALTER TABLE target ADD COLUMN test_answer TEXT;  -- of the last test, in words; null: none
      ALTER TABLE target ADD COLUMN tested_ms INTEGER;
      ALTER TABLE webhook ADD COLUMN origin TEXT;
      ALTER TABLE webhook ADD COLUMN test_answer TEXT;
      ALTER TABLE webhook ADD COLUMN tested_ms INTEGER;
      UPDATE target SET number = id;
      CREATE TABLE target_number (
        id      INTEGER PRIMARY KEY CHECK (id = 1),
        highest INTEGER NOT NULL                       -- that a target ever had
      ) STRICT;`,
    // Where there may have been targets, any of the ids that there were before may have been used.
    rows: `INSERT INTO target_number (id, highest)
      SELECT 1, iif(EXISTS (SELECT 1 FROM target) OR EXISTS (SELECT 1 FROM incident), 11, 1);`,
  },
] as const satisfies readonly Migration[];
