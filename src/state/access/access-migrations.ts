import type { Migration } from "../../base/storage/migrate.ts";

/** The schema of the access register. docs/storage.md says how long the rows of each table live. */
export const ACCESS_STEPS = [
  {
    id: 1,
    why: "tokens, members and sessions, known by the hashes of their secrets, and what they changed",
    sql: `
      CREATE TABLE token (
        id          TEXT PRIMARY KEY,
        name        TEXT NOT NULL,
        permissions TEXT NOT NULL,        -- JSON of Permission[]
        locator     INTEGER NOT NULL,     -- the first bytes of the hash: finds the row, proves nothing
        hash        BLOB NOT NULL,        -- SHA-256 of the secret, which is not stored
        expires_on  TEXT,                 -- as sent; null: never
        expires_ms  INTEGER,
        created_ms  INTEGER NOT NULL,
        checked_by  TEXT                  -- id of the key of the check part; null: none
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX token_by_locator ON token (locator);
      CREATE TABLE member (
        id          TEXT PRIMARY KEY,
        email       TEXT NOT NULL,        -- as sent
        email_key   TEXT NOT NULL UNIQUE, -- as compared
        role        TEXT NOT NULL,
        hash        BLOB NOT NULL,        -- SHA-256 of the API key
        created_ms  INTEGER NOT NULL,
        modified_ms INTEGER NOT NULL,
        checked_by  TEXT                  -- as of token
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE audit (
        number INTEGER PRIMARY KEY, -- grows: the newest is never deleted
        at_ms  INTEGER NOT NULL,
        entry  TEXT NOT NULL,       -- JSON of AuditEntry
        -- Changes are counted by who made them and what they are.
        actor     TEXT AS (json_extract(entry, '$.actor.kind') || ' ' || json_extract(entry, '$.actor.id')),
        action    TEXT AS (json_extract(entry, '$.action')),
        resource  TEXT AS (json_extract(entry, '$.resource')),
        of_access INTEGER AS (action GLOB 'token.*' OR action GLOB 'member.*')
      ) STRICT;
      CREATE INDEX audit_by_kind ON audit (of_access, actor, action, resource);
      CREATE TABLE session (
        number     INTEGER PRIMARY KEY, -- grows: the oldest goes first
        locator    INTEGER NOT NULL,    -- the first bytes of the hash: finds the row, proves nothing
        hash       BLOB NOT NULL,       -- SHA-256 of the id, which is not stored
        kind       TEXT NOT NULL,       -- admin, token, member
        holder     TEXT NOT NULL,       -- id of the token or member
        admin_proof BLOB,               -- which ADMIN_TOKEN opened it; null: a token or member did
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX session_by_locator ON session (locator);
      -- A sign-in link works once.
      CREATE TABLE used_link (
        hash       BLOB PRIMARY KEY, -- SHA-256 of the code
        expires_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE copied (
        id       INTEGER PRIMARY KEY CHECK (id = 1),
        until_ms INTEGER NOT NULL -- no shard uses a copy after it
      ) STRICT;`,
  },
] as const satisfies readonly Migration[];
