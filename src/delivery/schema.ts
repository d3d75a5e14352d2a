import { withOutputSql } from "../job/config.ts";
import { ID_MEMORY_SQL } from "../storage/id-memory.ts";
import type { Migration } from "../storage/migrate.ts";

/** The step that brought parts of days. */
export const PARTS_STEP = 13;

/** The step that brought destinations of single objects. */
export const TARGET_STEP = 15;

/**
 * The schema of a delivery log; docs/storage.md says of each table what writes it, how long a row
 * lives, and what a crash leaves.
 */
export const LOG_STEPS = [
  {
    id: 1,
    why: "records wait in batches, are cut into objects, and every number about them changes with them",
    sql: `
      CREATE TABLE log (
        id                INTEGER PRIMARY KEY CHECK (id = 1),
        segment           INTEGER NOT NULL,
        job               TEXT NOT NULL,              -- JSON of JobConfig
        sealed_ms         INTEGER,                    -- full since; the next segment takes the rest
        next_batch        INTEGER NOT NULL DEFAULT 1,
        next_object       INTEGER NOT NULL DEFAULT 1,
        received          INTEGER NOT NULL DEFAULT 0, -- records
        filtered          INTEGER NOT NULL DEFAULT 0,
        sampled_out       INTEGER NOT NULL DEFAULT 0,
        delivered         INTEGER NOT NULL DEFAULT 0,
        set_aside         INTEGER NOT NULL DEFAULT 0,
        discarded         INTEGER NOT NULL DEFAULT 0,
        delivered_raw     INTEGER NOT NULL DEFAULT 0, -- bytes
        delivered_bytes   INTEGER NOT NULL DEFAULT 0,
        queue_done_ms     INTEGER NOT NULL DEFAULT 0, -- no event taken in before waits in the queue
        last_complete_ms  INTEGER,
        failures          INTEGER NOT NULL DEFAULT 0, -- uploads in a row
        resume_ms         INTEGER NOT NULL DEFAULT 0, -- after a failure, nothing is tried before
        last_error_ms     INTEGER,
        error_message     TEXT,
        unconditional     INTEGER NOT NULL DEFAULT 0, -- the store answered 501 to If-None-Match
        swept_ms          INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE TABLE batch (                            -- records of one UTC day that wait to be cut
        id              INTEGER PRIMARY KEY,
        day             INTEGER NOT NULL,             -- since the epoch
        records         INTEGER NOT NULL,
        raw_bytes       INTEGER NOT NULL,
        small_bytes     INTEGER NOT NULL,             -- of these, still uncompressed
        next_chunk      INTEGER NOT NULL,
        first_event_ms  INTEGER NOT NULL,
        last_event_ms   INTEGER NOT NULL,
        oldest_taken_ms INTEGER NOT NULL,
        opened_ms       INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX batch_day ON batch (day);          -- a backfill has thousands of days open
      CREATE TABLE chunk (                            -- bytes of a batch, and later of the object it became
        id        INTEGER PRIMARY KEY,                -- batch id * 2^20 + sequence
        deflated  INTEGER NOT NULL,
        raw_bytes INTEGER NOT NULL,
        crc       INTEGER NOT NULL,                   -- CRC-32 before compression
        body      BLOB NOT NULL
      ) STRICT;
      CREATE TABLE object (                           -- cut: key and bytes are fixed from here on
        number          INTEGER PRIMARY KEY,
        batch           INTEGER NOT NULL,             -- whose chunks are its body
        day             INTEGER NOT NULL,
        name            TEXT NOT NULL,
        key             TEXT NOT NULL,
        head            BLOB NOT NULL,                -- before the chunks
        tail            BLOB NOT NULL,                -- after them
        bytes           INTEGER NOT NULL,
        raw_bytes       INTEGER NOT NULL,
        records         INTEGER NOT NULL,
        sha256          TEXT NOT NULL,
        md5             TEXT NOT NULL,
        first_event_ms  INTEGER NOT NULL,
        last_event_ms   INTEGER NOT NULL,
        oldest_taken_ms INTEGER NOT NULL,
        reason          TEXT NOT NULL,
        cut_ms          INTEGER NOT NULL,
        state           TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'set_aside', 'discarded')),
        attempts        INTEGER NOT NULL DEFAULT 0,
        next_attempt_ms INTEGER NOT NULL DEFAULT 0,
        doubtful        INTEGER NOT NULL DEFAULT 0,   -- an attempt ended without an answer: it may be there
        verified        INTEGER,                      -- delivered, and the store said so or showed it
        error           TEXT,
        uploaded_ms     INTEGER
      ) STRICT;
      -- One for what is due next, one for when anything is: a long outage leaves thousands of objects waiting.
      CREATE INDEX object_by_turn ON object (attempts, number) WHERE state = 'waiting';
      CREATE INDEX object_by_time ON object (next_attempt_ms) WHERE state = 'waiting';
      ${ID_MEMORY_SQL}`,
  },
  {
    id: 2,
    why: "jobs filter, sample and write other formats: an object has a media type of its own",
    sql: `
      UPDATE log SET job = ${withOutputSql("job")};
      ALTER TABLE object ADD COLUMN content_type TEXT NOT NULL DEFAULT 'application/x-ndjson';`,
  },
  {
    id: 3,
    why: "each entry of an index is billed as a row: a day has one batch, and an object that was never tried needs no place by time",
    sql: `
      CREATE TABLE batch_of_day (
        day             INTEGER PRIMARY KEY,          -- since the epoch
        id              INTEGER NOT NULL,
        records         INTEGER NOT NULL,
        raw_bytes       INTEGER NOT NULL,             -- of these and the delimiters between them
        small_bytes     INTEGER NOT NULL,             -- of chunks that are still uncompressed
        next_chunk      INTEGER NOT NULL,
        first_event_ms  INTEGER NOT NULL,
        last_event_ms   INTEGER NOT NULL,
        oldest_taken_ms INTEGER NOT NULL,
        opened_ms       INTEGER NOT NULL
      ) STRICT;
      INSERT INTO batch_of_day SELECT day, id, records, raw_bytes, small_bytes, next_chunk, first_event_ms, last_event_ms, oldest_taken_ms, opened_ms
        FROM batch;
      DROP TABLE batch;
      ALTER TABLE batch_of_day RENAME TO batch;
      DROP INDEX IF EXISTS object_by_time;
      CREATE INDEX object_by_time ON object (next_attempt_ms) WHERE state = 'waiting' AND attempts > 0;`,
  },
  {
    id: 4,
    why: "the end of an outage is believed once in a while, so that objects which always fail are not tried with every success of another",
    sql: `
      -- When all that had failed was last made due at once.
      ALTER TABLE log ADD COLUMN relieved_ms INTEGER NOT NULL DEFAULT 0;`,
  },
  {
    id: 5,
    why: "how uploads went, by the hour",
    sql: `
      CREATE TABLE health_hour (
        hour       INTEGER PRIMARY KEY, -- since the epoch: when the attempts ended
        ok         INTEGER NOT NULL,    -- attempts
        retried    INTEGER NOT NULL,
        failed     INTEGER NOT NULL,
        causes     TEXT NOT NULL,       -- JSON: how many of the last two ended on what
        records    INTEGER NOT NULL,    -- of those that were ok
        bytes      INTEGER NOT NULL,
        raw_bytes  INTEGER NOT NULL,
        total_ms   INTEGER NOT NULL,
        longest_ms INTEGER NOT NULL
      ) STRICT;`,
  },
  {
    id: 6,
    why: "what is wrong is said with since when it is so, and what comes no more is missed",
    sql: `
      ALTER TABLE log ADD COLUMN last_received_ms INTEGER;           -- when records last came
      ALTER TABLE log ADD COLUMN failing_since_ms INTEGER;           -- of the first failure after the last success
      ALTER TABLE log ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;  -- the last failure needs a change by the user
      UPDATE log SET failing_since_ms = last_error_ms, parked = coalesce(error_message LIKE 'parked:%', 0) WHERE failures > 0;`,
  },
  {
    id: 7,
    why: "what was set aside is listed, sent again once, however late, or given up",
    sql: `
      CREATE TABLE kept_id (                          -- messages that were set aside, and that this log holds: never forgotten
        id BLOB PRIMARY KEY                           -- 16 bytes
      ) STRICT, WITHOUT ROWID;
      ALTER TABLE log ADD COLUMN aside_objects INTEGER NOT NULL DEFAULT 0; -- objects that are set aside
      UPDATE log SET aside_objects = (SELECT count(*) FROM object WHERE state = 'set_aside');
      ALTER TABLE object ADD COLUMN aside_ms INTEGER; -- when it was last set aside
      UPDATE object SET aside_ms = cut_ms WHERE state = 'set_aside'; -- not before then; the exact time is unknown
      CREATE INDEX object_aside ON object (aside_ms) WHERE state = 'set_aside';`,
  },
  {
    id: 8,
    why: "a synthetic event is sent every hour and read back",
    sql: `
      CREATE TABLE canary (                           -- one row while the job sends any
        id                  INTEGER PRIMARY KEY CHECK (id = 1),
        destination_version INTEGER NOT NULL,         -- of the job: of another destination nothing is known
        state               TEXT NOT NULL CHECK (state IN ('ok', 'waiting', 'failed', 'missing', 'damaged', 'unreadable')),
        since_ms            INTEGER NOT NULL,
        why                 TEXT,
        last_ok_ms          INTEGER,
        last_run_ms         INTEGER,                  -- the newest was sent
        next_ms             INTEGER NOT NULL,         -- there is something to do
        tries               INTEGER NOT NULL DEFAULT 0, -- in vain, of a run that is not decided yet
        unread              INTEGER NOT NULL DEFAULT 0, -- the newest was written, and is to be read again
        sha256              TEXT,                     -- of the newest that was written
        bytes               INTEGER,
        before_sha256       TEXT                      -- of the one before it
      ) STRICT`,
  },
  {
    id: 9,
    why: "what was delivered can be shipped again: it is listed, and counted apart",
    sql: `
      ALTER TABLE log ADD COLUMN replayed_objects INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE log ADD COLUMN replayed_records INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE log ADD COLUMN replayed_bytes INTEGER NOT NULL DEFAULT 0; -- compressed
      -- Of an object that a replay wrote: the replay's id, the number of the object that it is a copy of, and, if it is not at the job's own destination, where.
      ALTER TABLE object ADD COLUMN replay TEXT;
      ALTER TABLE object ADD COLUMN replay_of INTEGER;
      ALTER TABLE object ADD COLUMN elsewhere TEXT;
      CREATE UNIQUE INDEX object_by_replay ON object (replay, replay_of) WHERE replay IS NOT NULL;`,
  },
  {
    id: 10,
    // Code that does not know lanes takes the objects in their order, by the same index.
    floor: 9,
    why: "objects of far-away days have a lane of their own behind those of today",
    sql: `
      ALTER TABLE object ADD COLUMN far INTEGER NOT NULL DEFAULT 0; -- its day is not about that of its intake
      UPDATE object SET far = 1 WHERE state = 'waiting' AND abs(day - oldest_taken_ms / 86400000) > 1;
      DROP INDEX object_by_turn;
      CREATE INDEX object_by_turn ON object (far, attempts, number) WHERE state = 'waiting';`,
  },
  {
    id: 11,
    floor: 9, // until the first split is stored
    why: "a log of which one is not enough hands half of its messages on to another",
    sql: `
      CREATE TABLE split (
        bit     INTEGER PRIMARY KEY, -- of a message's hash: those that have it belong to the child
        from_ms INTEGER NOT NULL     -- if they were taken in then or later
      ) STRICT;
      -- What was taken in then or later is not in the segments before; of a sealed one: nor in this one; NULL: unknown.
      ALTER TABLE log ADD COLUMN before_until_ms INTEGER;
      ALTER TABLE log ADD COLUMN taken_until_ms INTEGER;
      -- As last_complete_ms, of all nodes of the log together; in the first one alone.
      ALTER TABLE log ADD COLUMN whole_complete_ms INTEGER;`,
  },
  {
    id: 12,
    floor: 9, // as of step 11
    why: "a repeat after a lost answer is counted where the destination cannot tell it",
    sql: `
      -- In records.
      ALTER TABLE log ADD COLUMN resent_in_doubt INTEGER NOT NULL DEFAULT 0;`,
  },
  {
    id: 13,
    floor: 9, // until the job's path tells apart more than days
    why: "a job's path may tell apart hours and scripts: a day may have several batches",
    sql: `
      CREATE TABLE batch_of_part (
        day             INTEGER NOT NULL,
        part            TEXT NOT NULL DEFAULT '',     -- of that day, as the job's path tells them apart
        id              INTEGER NOT NULL,
        records         INTEGER NOT NULL,
        raw_bytes       INTEGER NOT NULL,
        small_bytes     INTEGER NOT NULL,
        next_chunk      INTEGER NOT NULL,
        first_event_ms  INTEGER NOT NULL,
        last_event_ms   INTEGER NOT NULL,
        oldest_taken_ms INTEGER NOT NULL,
        opened_ms       INTEGER NOT NULL,
        PRIMARY KEY (day, part)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO batch_of_part
        SELECT day, '', id, records, raw_bytes, small_bytes, next_chunk, first_event_ms, last_event_ms, oldest_taken_ms, opened_ms
        FROM batch;
      DROP TABLE batch;
      ALTER TABLE batch_of_part RENAME TO batch;
      -- As of its batch.
      ALTER TABLE object ADD COLUMN part TEXT NOT NULL DEFAULT '';`,
  },
  {
    id: 14,
    floor: 9, // as of step 13
    why: "a record keeps its id when its object is divided, so that a receiver tells it",
    sql: `
      -- JSON of Origin: which records of which object its own were; NULL: they are its own.
      ALTER TABLE object ADD COLUMN origin TEXT;`,
  },
  {
    id: 15,
    floor: 9, // until the first object is sent elsewhere
    why: "an object that was set aside may be sent to another destination than its job's",
    sql: `
      -- JSON of Target, while it waits: sealed. Its lane (far) is 2 then.
      ALTER TABLE object ADD COLUMN target TEXT;`,
  },
  {
    id: 16,
    floor: 9, // as of step 15
    why: "searches skip objects that cannot hold a match",
    sql: `
      -- 4 bytes each: the raw_bytes that it is of, or their complement (chunks.ts), then hashes of
      -- the words in them; NULL: unknown.
      ALTER TABLE chunk ADD COLUMN words BLOB;`,
  },
  {
    id: 17,
    floor: 9, // as of step 15
    why: "signed manifests list what was delivered, each object once, over all nodes",
    sql: `
      -- Counts what this node has delivered; and of an object, which of these it is. NULL: an earlier
      -- release delivered it, or it is not delivered.
      ALTER TABLE log ADD COLUMN deliveries INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE object ADD COLUMN delivery INTEGER;
      -- Version of the job's destination that it was delivered to; NULL: unknown.
      ALTER TABLE object ADD COLUMN place INTEGER;
      -- Listed in manifests: deliveries up to this one, of all days but this one and the next.
      ALTER TABLE log ADD COLUMN listed INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE log ADD COLUMN listed_open_day INTEGER NOT NULL DEFAULT 0;
      CREATE TABLE manifest_chain (                   -- one row, in the first node, once manifests are written
        id              INTEGER PRIMARY KEY CHECK (id = 1),
        since_version   INTEGER NOT NULL,             -- of the destination: what went to earlier ones is elsewhere
        place           TEXT NOT NULL,                -- of the newest manifest, as placeMark tells places apart
        begun_day       INTEGER NOT NULL,             -- what was cut earlier may have lapsed from the list
        position        INTEGER NOT NULL DEFAULT 0,   -- of the newest manifest
        last_name       TEXT,
        last_sha256     TEXT,
        last_ms         INTEGER,
        listed_open_day INTEGER,                      -- as in log, of all nodes; NULL: nothing is listed
        open_day        INTEGER,                      -- the same of what is being listed now; NULL: nothing is
        begun_ms        INTEGER NOT NULL DEFAULT 0,   -- when listing last began
        at_day          INTEGER NOT NULL DEFAULT 0,   -- listed so far: by day, node and delivery
        at_node         INTEGER NOT NULL DEFAULT 0,
        at_delivery     INTEGER NOT NULL DEFAULT 0,
        tries           INTEGER NOT NULL DEFAULT 0,   -- in vain, in a row
        next_ms         INTEGER NOT NULL DEFAULT 0,   -- nothing is tried before
        failing_ms      INTEGER,                      -- since when
        why             TEXT
      ) STRICT;
      CREATE TABLE manifest_node (                    -- how far the deliveries of each node are listed
        node        INTEGER PRIMARY KEY,
        listed      INTEGER NOT NULL,                 -- up to this one; days that are open apart
        delivered   INTEGER NOT NULL,                 -- the same of what is being listed now
        count       INTEGER NOT NULL                  -- in manifests
      ) STRICT;
      CREATE TABLE manifest_day (
        day    INTEGER PRIMARY KEY,
        number INTEGER NOT NULL                       -- of its newest manifest
      ) STRICT;
      CREATE TABLE manifest (                         -- one row: signed, and not known to be written yet
        id          INTEGER PRIMARY KEY CHECK (id = 1),
        day         INTEGER NOT NULL,
        number      INTEGER NOT NULL,
        place       TEXT NOT NULL,
        key         TEXT NOT NULL,
        sha256      TEXT NOT NULL,
        md5         TEXT NOT NULL,
        records     INTEGER NOT NULL,
        at_node     INTEGER NOT NULL,                 -- the last one that it lists
        at_delivery INTEGER NOT NULL,
        counts      TEXT NOT NULL,                    -- JSON: how many it lists of each node
        body        BLOB NOT NULL
      ) STRICT;`,
  },
] as const satisfies readonly Migration[];
