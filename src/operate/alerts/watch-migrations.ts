import type { Migration } from "../../base/storage/migrate.ts";
import { KIND_RHYTHM_SQL, RHYTHM_SQL } from "../status/rhythm.ts";
import { SAMPLES_SQL } from "../status/samples.ts";

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
        -- JSON: ids of receivers that got a call that it was opened; below zero: with another incident,
        -- so its end is not told; and half more: told that it became worse.
        told      TEXT NOT NULL DEFAULT '[]'
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE receiver (
        id               INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again; 1 is the webhook
        mark             TEXT NOT NULL,       -- another one with each change of its owner
        sealed           TEXT NOT NULL,       -- address and secrets
        shown            TEXT NOT NULL,       -- what may be shown of the address
        name             TEXT NOT NULL,       -- what its owner calls it
        format           TEXT NOT NULL,       -- one of alert-formats.ts
        min_severity     TEXT NOT NULL,       -- warning: all; error
        muted_until_ms   INTEGER,             -- null: it is not
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
        origin           TEXT,                -- of the dashboard when it was last saved; null: unknown, and messages have no link
        test_answer      TEXT,                -- of the last test, in words; null: none
        tested_ms        INTEGER
      ) STRICT;
      INSERT INTO sqlite_sequence (name, seq) VALUES ('receiver', 1);
      CREATE TABLE call (
        number   INTEGER PRIMARY KEY,         -- those of one incident are made in this order
        receiver INTEGER NOT NULL,
        id       TEXT NOT NULL,               -- the same with every try
        incident TEXT NOT NULL,
        body     TEXT NOT NULL,
        made_ms  INTEGER NOT NULL,
        tries    INTEGER NOT NULL DEFAULT 0,
        UNIQUE (receiver, id)
      ) STRICT;
      CREATE TABLE mute (
        finding  TEXT PRIMARY KEY,            -- kind and subject, as of keyOf
        until_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      ${SAMPLES_SQL}
      ${RHYTHM_SQL}`,
  },
  {
    id: 2,
    floor: 1,
    why: "calls that wait go as one message; receivers are told of some Workers or searches; who muted is known",
    sql: `
      -- The number of the first call of its message; null: it was not tried.
      ALTER TABLE call ADD COLUMN joint INTEGER;
      -- JSON of Routes; null: it is told of everything.
      ALTER TABLE receiver ADD COLUMN routes TEXT;
      -- The name of who muted; null: it is unknown.
      ALTER TABLE mute ADD COLUMN by TEXT;`,
  },
  { id: 3, floor: 1, why: "rhythms by kind of event", sql: KIND_RHYTHM_SQL },
  {
    id: 4,
    floor: 1,
    why: "an owner resolves or ignores problems",
    sql: `
      CREATE TABLE problem_state (
        id       TEXT PRIMARY KEY,            -- of the problem
        state    TEXT NOT NULL,               -- resolved or ignored
        at_ms    INTEGER NOT NULL,
        by       TEXT NOT NULL,
        until_ms INTEGER                      -- ignored until then; null: without an end
      ) STRICT, WITHOUT ROWID;`,
  },
  {
    id: 5,
    floor: 1,
    why: "an incident has a page with what happened to it",
    sql: `
      CREATE TABLE incident_event (
        number   INTEGER PRIMARY KEY,
        incident TEXT NOT NULL,
        about    TEXT,                        -- receiver and type of a call, of its answer; null: else
        at_ms    INTEGER NOT NULL,
        detail   TEXT NOT NULL,               -- JSON of IncidentEvent
        UNIQUE (incident, about)
      ) STRICT;`,
  },
] as const satisfies readonly Migration[];
