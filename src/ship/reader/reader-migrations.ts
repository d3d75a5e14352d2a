import type { Migration } from "../../base/storage/migrate.ts";

/**
 * The schema of a reader; docs/storage.md says of each table what writes it, how long a row lives,
 * and what a crash leaves.
 */
export const READER_STEPS = [
  {
    id: 1,
    why: "release 1",
    sql: `
      CREATE TABLE reader (
        id                INTEGER PRIMARY KEY CHECK (id = 1),
        node              INTEGER NOT NULL,           -- shard and segment, see nodes.ts
        job               TEXT NOT NULL,              -- JSON of JobConfig
        cursor            INTEGER NOT NULL,           -- position in the log up to which all is committed
        format            TEXT NOT NULL DEFAULT '',   -- JSON of GroupFormat: of the open batches
        sealed_ms         INTEGER,                    -- full since; the next segment reads the rest
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
        resent_in_doubt   INTEGER NOT NULL DEFAULT 0, -- records
        replayed_objects  INTEGER NOT NULL DEFAULT 0,
        replayed_records  INTEGER NOT NULL DEFAULT 0,
        replayed_bytes    INTEGER NOT NULL DEFAULT 0, -- compressed
        aside_objects     INTEGER NOT NULL DEFAULT 0, -- objects that are set aside
        deliveries        INTEGER NOT NULL DEFAULT 0, -- objects that were delivered
        listed            INTEGER NOT NULL DEFAULT 0, -- of these in manifests, of all days but the next two columns' day
        listed_open_day   INTEGER NOT NULL DEFAULT 0, -- and the one after it
        last_complete_ms  INTEGER,                    -- in the first node: of the whole job
        last_received_ms  INTEGER,                    -- when records last came
        passes            INTEGER NOT NULL DEFAULT 0, -- objects that the job's own destination has taken, in whole or in part
        failures          INTEGER NOT NULL DEFAULT 0, -- uploads in a row
        failing_since_ms  INTEGER,                    -- of the first failure after the last success
        resume_ms         INTEGER NOT NULL DEFAULT 0, -- after a failure, nothing is tried before
        relieved_ms       INTEGER NOT NULL DEFAULT 0, -- when all that had failed was last made due at once
        parked            INTEGER NOT NULL DEFAULT 0, -- the last failure needs a change by the user
        last_error_ms     INTEGER,
        error_message     TEXT,
        unconditional     INTEGER NOT NULL DEFAULT 0, -- what is known of the store, see SET_ASIDE_LAST
        swept_ms          INTEGER NOT NULL DEFAULT 0,
        health            TEXT                        -- JSON of HealthHour: not in health_hour yet
      ) STRICT;
      CREATE TABLE unmade (                           -- entries of the log that could not be made
        n        INTEGER NOT NULL,                    -- position
        k        INTEGER NOT NULL,                    -- 0: what is known of it; then its messages
        tries    INTEGER NOT NULL DEFAULT 0,          -- begun, and not ended
        state    TEXT CHECK (state IN ('poison', 'newer')), -- NULL: it is being made
        why      TEXT,
        records  INTEGER NOT NULL DEFAULT 0,
        taken_ms INTEGER NOT NULL DEFAULT 0,
        at_ms    INTEGER NOT NULL DEFAULT 0,          -- when it was stored
        entry    TEXT,                                -- JSON of the rest of it
        body     BLOB,                                -- a message
        PRIMARY KEY (n, k)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE batch (                            -- records of one UTC day, or part of it, that wait to be cut
        day             INTEGER NOT NULL,             -- since the epoch
        part            TEXT NOT NULL DEFAULT '',     -- of that day, as the job's path tells them apart; '': none
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
        words     BLOB                                -- hashes of the words in it, 4 bytes each; NULL: unknown
      ) STRICT;
      CREATE TABLE object (                           -- cut: key and bytes are fixed from here on
        number          INTEGER PRIMARY KEY,
        batch           INTEGER NOT NULL,             -- whose chunks are its body
        day             INTEGER NOT NULL,
        part            TEXT NOT NULL DEFAULT '',     -- as of its batch
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
        attempts        INTEGER NOT NULL DEFAULT 0,
        next_attempt_ms INTEGER NOT NULL DEFAULT 0,
        doubtful        INTEGER NOT NULL DEFAULT 0,   -- one of DOUBT: whether it may be there though it waits
        verified        INTEGER,                      -- delivered, and the store said so or showed it
        error           TEXT,
        failing_ms      INTEGER,                      -- since when it fails; NULL: it does not
        passes          INTEGER NOT NULL DEFAULT 0,   -- reader.passes when it failed last
        answer          TEXT,                         -- what its destination said when it was set aside: a stranger's text
        uploaded_ms     INTEGER,
        aside_ms        INTEGER,                      -- when it was last set aside
        far             INTEGER NOT NULL DEFAULT 0,   -- its lane, one of FAR
        replay          TEXT,                         -- of a copy that a replay wrote: the replay's id
        replay_of       INTEGER,                      -- and the number of the object that it is a copy of
        elsewhere       TEXT,                         -- masked: where it went instead of its job's destination; of a copy, bucket and endpoint
        target          TEXT,                         -- JSON of Target, while it waits: sealed; NULL: its job's
        origin          TEXT,                         -- JSON of Origin: which records of which object its own were
        delivery        INTEGER,                      -- of reader.deliveries; NULL: it is not delivered
        place           INTEGER                       -- version of the job's destination that it was delivered to
      ) STRICT;
      -- One for what is due next, one for when anything is: a long outage leaves thousands of objects waiting.
      -- What was never tried needs no place by time.
      CREATE INDEX object_by_turn ON object (far, attempts, number) WHERE state = 'waiting';
      CREATE INDEX object_by_time ON object (next_attempt_ms) WHERE state = 'waiting' AND attempts > 0;
      CREATE INDEX object_aside ON object (aside_ms) WHERE state = 'set_aside';
      CREATE UNIQUE INDEX object_by_replay ON object (replay, replay_of) WHERE replay IS NOT NULL;
      CREATE TABLE health_hour (
        hour       INTEGER PRIMARY KEY,               -- since the epoch: when the attempts ended
        ok         INTEGER NOT NULL,                  -- attempts
        retried    INTEGER NOT NULL,
        failed     INTEGER NOT NULL,
        causes     TEXT NOT NULL,                     -- JSON: how many of the last two ended on what
        records    INTEGER NOT NULL,                  -- of those that were ok
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
        listed_open_day INTEGER,                      -- as in reader, of all nodes; NULL: nothing is listed
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
  {
    id: 2,
    floor: 1,
    why: "a search tells copies of a record from another one",
    sql: `
      -- Which records its lines are; NULL: it is not known.
      ALTER TABLE chunk ADD COLUMN identities BLOB;`,
  },
] as const satisfies readonly Migration[];
