import { ID_MEMORY_SQL } from "../storage/id-memory.ts";
import type { Migration } from "../storage/migrate.ts";

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
        resent_in_doubt   INTEGER NOT NULL DEFAULT 0, -- records: a repeat that the destination cannot tell
        aside_objects     INTEGER NOT NULL DEFAULT 0, -- that are set aside
        replayed_objects  INTEGER NOT NULL DEFAULT 0,
        replayed_records  INTEGER NOT NULL DEFAULT 0,
        replayed_bytes    INTEGER NOT NULL DEFAULT 0, -- compressed
        last_received_ms  INTEGER,                    -- when records last came
        queue_done_ms     INTEGER NOT NULL DEFAULT 0, -- no event taken in before waits in the queue
        last_complete_ms  INTEGER,
        whole_complete_ms INTEGER,                    -- the same of all nodes of the log; in the first one alone
        before_until_ms   INTEGER,                    -- what was taken in then or later is not in the segments before
        taken_until_ms    INTEGER,                    -- of a sealed one: nor in this one
        failures          INTEGER NOT NULL DEFAULT 0, -- uploads in a row
        resume_ms         INTEGER NOT NULL DEFAULT 0, -- after a failure, nothing is tried before
        relieved_ms       INTEGER NOT NULL DEFAULT 0, -- when all that had failed was last made due at once
        failing_since_ms  INTEGER,                    -- of the first failure after the last success
        parked            INTEGER NOT NULL DEFAULT 0, -- the last failure needs a change by the user
        last_error_ms     INTEGER,
        error_message     TEXT,
        unconditional     INTEGER NOT NULL DEFAULT 0, -- what the store does not honour: bits, see rows.ts
        deliveries        INTEGER NOT NULL DEFAULT 0, -- counts what this node has delivered
        listed            INTEGER NOT NULL DEFAULT 0, -- in manifests: deliveries up to this one, of all days…
        listed_open_day   INTEGER NOT NULL DEFAULT 0, -- …but this one and the next
        swept_ms          INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE TABLE split (
        bit     INTEGER PRIMARY KEY,                  -- of a message's hash: those that have it belong to the child
        from_ms INTEGER NOT NULL                      -- if they were taken in then or later
      ) STRICT;
      -- Records that wait to be cut. Each entry of an index is billed as a row.
      CREATE TABLE batch (
        day             INTEGER NOT NULL,             -- since the epoch, UTC
        part            TEXT NOT NULL,                -- of that day, as the job's path tells them apart
        id              INTEGER NOT NULL,
        records         INTEGER NOT NULL,
        raw_bytes       INTEGER NOT NULL,             -- of these and the delimiters between them
        small_bytes     INTEGER NOT NULL,             -- of chunks that are still uncompressed
        next_chunk      INTEGER NOT NULL,
        first_event_ms  INTEGER NOT NULL,
        last_event_ms   INTEGER NOT NULL,
        oldest_taken_ms INTEGER NOT NULL,
        opened_ms       INTEGER NOT NULL,
        PRIMARY KEY (day, part)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE chunk (                            -- bytes of a batch, and later of the object it became
        id        INTEGER PRIMARY KEY,                -- batch id * 2^20 + sequence
        deflated  INTEGER NOT NULL,
        raw_bytes INTEGER NOT NULL,
        crc       INTEGER NOT NULL,                   -- CRC-32 before compression
        body      BLOB NOT NULL,
        words     BLOB                                -- hashes of its words, 4 bytes each; NULL: unknown
      ) STRICT;
      CREATE TABLE object (                           -- cut: key and bytes are fixed from here on
        number          INTEGER PRIMARY KEY,
        batch           INTEGER NOT NULL,             -- whose chunks are its body
        day             INTEGER NOT NULL,
        part            TEXT NOT NULL,                -- as of its batch
        name            TEXT NOT NULL,
        key             TEXT NOT NULL,
        content_type    TEXT NOT NULL,
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
        far             INTEGER NOT NULL DEFAULT 0,   -- its lane: 1: its day is not about that of its intake; 2: it has a target
        attempts        INTEGER NOT NULL DEFAULT 0,
        next_attempt_ms INTEGER NOT NULL DEFAULT 0,
        doubtful        INTEGER NOT NULL DEFAULT 0,   -- an attempt ended without an answer: it may be there
        verified        INTEGER,                      -- delivered, and the store said so or showed it
        error           TEXT,
        uploaded_ms     INTEGER,
        aside_ms        INTEGER,                      -- when it was last set aside
        delivery        INTEGER,                      -- which of the node's deliveries it is; NULL: none
        place           INTEGER,                      -- version of the job's destination that it was delivered to
        origin          TEXT,                         -- JSON of Origin: which records of which object its own were; NULL: they are its own
        target          TEXT,                         -- JSON of Target, sealed: another destination than its job's, while it waits
        replay          TEXT,                         -- id of the replay that wrote it
        replay_of       INTEGER,                      -- number of the object that it is a copy of
        elsewhere       TEXT                          -- where the copy is, if not at the job's own destination
      ) STRICT;
      -- One for what is due next, one for when anything is: a long outage leaves thousands of objects
      -- waiting. An object that was never tried needs no place by time.
      CREATE INDEX object_by_turn ON object (far, attempts, number) WHERE state = 'waiting';
      CREATE INDEX object_by_time ON object (next_attempt_ms) WHERE state = 'waiting' AND attempts > 0;
      CREATE INDEX object_aside ON object (aside_ms) WHERE state = 'set_aside';
      CREATE UNIQUE INDEX object_by_replay ON object (replay, replay_of) WHERE replay IS NOT NULL;
      CREATE TABLE kept_id (                          -- messages that were set aside, and that this log holds: never forgotten
        id BLOB PRIMARY KEY                           -- 16 bytes
      ) STRICT, WITHOUT ROWID;
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
      ) STRICT;
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
      ) STRICT;
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
      ) STRICT;
      ${ID_MEMORY_SQL}`,
  },
] as const satisfies readonly Migration[];
