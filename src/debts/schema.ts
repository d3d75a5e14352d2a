import type { Migration } from "../storage/migrate.ts";

/** The schema of one shard of the debts. docs/storage.md has the lifetime of each table's rows. */
export const DEBT_STEPS = [
  {
    id: 1,
    why: "what a job cannot take now waits here, so that no other job waits for it",
    sql: `
      CREATE TABLE message (
        number   INTEGER PRIMARY KEY,
        id       BLOB NOT NULL UNIQUE, -- of the message: 16 bytes
        taken_ms INTEGER NOT NULL,
        body     BLOB NOT NULL,        -- as the queue delivered it
        blob     BLOB,                 -- its records, if the body refers to them
        off      TEXT NOT NULL         -- JSON: names of functions whose logging was off at its intake
      ) STRICT;
      CREATE TABLE owed (
        job     INTEGER NOT NULL,
        message INTEGER NOT NULL,      -- its number
        records INTEGER NOT NULL,      -- that the job is offered
        PRIMARY KEY (job, message)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX owed_by_message ON owed (message);
      CREATE TABLE debtor (
        job       INTEGER PRIMARY KEY,
        failures  INTEGER NOT NULL,    -- in a row
        resume_ms INTEGER NOT NULL     -- nothing is paid to it before
      ) STRICT;`,
  },
] as const satisfies readonly Migration[];
