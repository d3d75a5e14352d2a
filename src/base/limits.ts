/**
 * Numbers from outside (platform limits, promises to callers) and bounds of resources, with their
 * sources. Policies (when to retry, when to cut) are next to the code they govern.
 */

/**
 * Largest body of one queue message, in bytes.
 * https://developers.cloudflare.com/queues/platform/limits/ (128 KB; 128,000 B pass).
 */
export const QUEUE_MESSAGE_MAX_BYTES = 128_000;

/**
 * Largest sum of message bodies of one `sendBatch`, in bytes. Same page (256 KB). The local queue
 * does not enforce it.
 */
export const QUEUE_SEND_BATCH_MAX_BYTES = 256_000;

/** Most messages of one `sendBatch`. Same page. */
export const QUEUE_SEND_BATCH_MAX_MESSAGES = 100;

/**
 * Records of one message, as NDJSON before compression, in bytes. The messages of a batch are
 * decoded one at a time.
 */
export const MESSAGE_RAW_MAX_BYTES = 480_000;

/**
 * Records of one part that goes to the packer, as NDJSON, in bytes: small enough for a message even
 * without compression, so it is one message under its one id if it has to go to the queue directly.
 */
export const PACKER_PART_MAX_BYTES = 120_000;

/** Parts of one message of the packer: their ids are in its head, 29 bytes each. */
export const PACKED_MAX_PARTS = 400;

/**
 * What the packer holds at most, in bytes of NDJSON; beyond it isolates go to the queue directly.
 * A durable object has 128 MB, and a message is there thrice while it is compressed. At 5 MB a
 * second (6,000 events) it is what a queue that does not answer for its 5 s leaves.
 */
export const PACKER_HELD_MAX_BYTES = 24_000_000;

/**
 * How long a request of the API may take, its body included, in ms: longer than all parts with
 * bounds of their own together (a JSON body, 15 s; Cloudflare's API, 50 s, or a probe's PUT and
 * HEAD, 30 s; a change on its way to the log, 17 s).
 */
export const ANSWER_MS = 85_000;

/** Decompressed size of one POST of events, in bytes. */
export const EVENTS_BODY_MAX_BYTES = 16 * 1024 * 1024;

/**
 * A gzip body that is sent with its length, up to this, in bytes, is inflated in one call once all
 * of it is there. It may become 1,032 times as large, so its trailer is read before.
 */
export const GZIP_AT_ONCE_MAX_BYTES = 2_000_000;

/**
 * How long a body may send nothing while it is read, in ms: a connection that lost a packet repeats
 * it within seconds.
 */
const SILENCE_MS = 10_000;

/**
 * How long a body of events may take to arrive: memory is kept for it. At 16 MiB that is 280 kB/s.
 */
export const EVENTS_PACE = { silenceMs: SILENCE_MS, ms: 60_000 } as const;

/**
 * Memory of an isolate above what it has at rest, in bytes. The platform ends an isolate at 128 MB,
 * of which code, engine and garbage that is not collected yet need the rest.
 * https://developers.cloudflare.com/workers/platform/limits/#memory
 */
export const MEMORY_MAX_BYTES = 80_000_000;
/**
 * Half of it may be held while something is waited for: one of the largest bodies, and small ones
 * beside it. The other half is for what runs between two waits, one at a time: the largest event as
 * objects (22 MB), its record, and the messages of a body beside it.
 */
export const HELD_MAX_BYTES = MEMORY_MAX_BYTES / 2;

/** Events of one POST. */
export const EVENTS_MAX_COUNT = 20_000;

/**
 * Distinct UTC days among the events of one POST: each day is a separate object in every
 * destination.
 */
export const EVENTS_MAX_DAYS = 31;

/**
 * Functions, and days far from their intake, that one sender may name in an hour: each may be an
 * object of its own in every destination. A far day counts anew each minute, so a backfill of two
 * years in the order of its days passes.
 */
export const SENT_PLACES_MAX = 1_000;

/** One event as sent, in bytes of JSON. */
export const EVENT_MAX_BYTES = 1024 * 1024;

/**
 * Its record, in bytes of JSON, which may be larger: objects become text with escaped quotes,
 * `1e20` is written out (five times as long), and defaults are added (`{}` as a log grows from 3 to
 * 54 bytes, so an event of only these may be too large below 1 MiB). Truncation parses the record
 * in memory that others share.
 */
export const RECORD_MAX_BYTES = 8 * EVENT_MAX_BYTES;

/** The shortest log or exception in a record, with its comma, in bytes. */
export const ENTRY_MIN_BYTES = '{"name":"","message":"","TimestampMs":0},'.length;

/** Logs and exceptions of one event: more of them never fit a record. */
export const EVENT_MAX_ENTRIES = Math.floor(RECORD_MAX_BYTES / ENTRY_MIN_BYTES);

/**
 * The records of one request together, in UTF-16 units: all are in memory at once, as messages for
 * the queue.
 */
export const RECORDS_MAX_UNITS = 32 * 1024 * 1024;

/**
 * Text of `Exceptions` and `Logs` of a shipped record together, in Unicode code points. As the
 * vendor's.
 */
export const TEXT_MAX_CHARACTERS = 16_384;

/**
 * Extra fields of a record: they travel beside it, and no truncation bounds them. A value of a
 * header, in UTF-16 units: browsers have 200 to 400…
 */
export const HEADER_MAX_UNITS = 512;
/** …one of `request.cf`… */
export const CF_MAX_UNITS = 128;
/** …stacks: number, units of each (some forty frames), and of all together… */
export const STACKS_MAX = 20;
export const STACK_MAX_UNITS = 4_096;
export const STACKS_MAX_UNITS = 16_384;
/** …and the id of a Durable Object (64 digits), or an execution model. */
export const EXTRA_TEXT_MAX_UNITS = 128;

/**
 * Extra fields of one record, as JSON, in UTF-16 units: more than all of the above take with every
 * character escaped. Longer ones are of a foreign writer, and not parsed.
 */
export const EXTRA_MAX_UNITS = 384 * 1024;

/** Extra fields of one message, before compression, in bytes: as a record may have. */
export const EXTRAS_MAX_BYTES = RECORD_MAX_BYTES;

/**
 * Rows of one invocation (`rows: "log"`), as they are written, in bytes: each repeats what the
 * invocation has, and they stay in one fragment, which fits a row of SQLite even if nothing of it
 * can be compressed.
 */
export const ROWS_MAX_BYTES = 1_800_000;

/**
 * A logged text that may become an object of its own, in UTF-16 units: JSON takes up to fifty times
 * its size in memory when it is parsed.
 */
export const FIELDS_MAX_UNITS = 65_536;

/**
 * Nesting of objects and arrays in `Event`: far beyond real logs, and within what JSON readers
 * accept.
 */
export const EVENT_MAX_DEPTH = 100;

/** Levels of an event beyond which an `Event` in it is not even parsed. */
export const EVENT_MAX_NESTING = 1_000;

/** Longest `Idempotency-Key`, in characters. */
export const IDEMPOTENCY_KEY_MAX = 255;

/** JSON bodies of all other routes, in bytes: a job's fields add up to some 14 kB. */
export const API_BODY_MAX_BYTES = 256 * 1024;
/** …and how long they may take to arrive: with all that follows, less than a request may take. */
export const API_BODY_PACE = { silenceMs: SILENCE_MS, ms: 15_000 } as const;

/** Most entries of `errors` in one answer. */
export const ERRORS_MAX_ENTRIES = 100;

/**
 * Largest time in a record, in ms since the epoch: 9999-12-31T23:59:59.999Z, the last with a
 * four-digit year.
 */
export const TIME_MAX_MS = 253_402_300_799_999;

/**
 * How far the clock that stamped a message may be ahead of the one that reads it, in ms: a clock
 * that is off by an hour loses nothing. No claim of completeness reaches beyond now anyway.
 */
export const CLOCK_AHEAD_MAX_MS = 2 * 3_600_000;

/** Jobs of one account. The vendor's answer beyond it is 403, code 1004. */
export const JOBS_MAX = 100;

/**
 * Jobs that are remembered, including deleted ones. A job's configuration has at most 120 kB, and
 * all of them, with the opt-outs, must fit one call of 32 MiB.
 */
export const JOBS_REMEMBERED_MAX = 250;

/** Reruns among them: they take no job's place. */
export const RERUNS_REMEMBERED_MAX = 100;

/** Functions with a setting, including those that were off within the last 15 days. */
export const FUNCTIONS_MAX = 1_000;

/**
 * How often logging of one function may be switched off within 15 days: each switch is remembered
 * that long.
 */
export const SWITCHES_MAX = 100;

/** A filter, in bytes of UTF-8. The vendor's limit is 1,000. */
export const FILTER_MAX_BYTES = 8_192;

/** Conditions of one filter. The vendor's limit is about 30. */
export const FILTER_MAX_OPERATORS = 200;

/** How many `and` and `or` may enclose a condition. */
export const FILTER_MAX_DEPTH = 20;

/**
 * How often a template may write one field. A record has up to {@link RECORD_MAX_BYTES} and is
 * rendered in memory that all jobs share: unbounded, a template of 16,384 characters could ask for
 * gigabytes.
 */
export const FIELD_MAX_USES = 4;

/**
 * Text around the values of one record, with the delimiter, in bytes: bounded for the same reason.
 */
export const RECORD_TEXT_MAX_BYTES = 16_384;

/** A fragment, the unit that a queue handler compresses, of NDJSON and CSV: records… */
export const FRAGMENT_MAX_RECORDS = 1_000;
/** …and bytes before compression (a larger record is a fragment by itself). */
export const FRAGMENT_MAX_RAW_BYTES = 1_000_000;

/**
 * A smaller fragment, in bytes, waits uncompressed and is deflated together with its neighbours:
 * small fragments compress badly (256 KB: −1.8 %, 64 KB: −6.8 %, single records: a third of the
 * ratio of one stream).
 */
export const FRAGMENT_MIN_DEFLATE_BYTES = 131_072;

/**
 * Waiting uncompressed bytes of one batch that are deflated together (256 KB: −1.8 % against one
 * stream).
 */
export const COMPACT_AT_RAW_BYTES = 262_144;

/**
 * The same of Parquet, where a fragment is a row group: readers want at least some thousand records
 * in each, and an object's footer takes up to 2 kB for each. So more waits raw; of it, a row holds
 * less than {@link ROW_MAX_BYTES}. `compactBytes` and one append that waits raw are together no
 * more than one group.
 */
export const PARQUET_FRAGMENT = {
  records: 5_000,
  bytes: 4_000_000,
  finishRecords: 2_500,
  finishBytes: 1_800_000,
  rawRowBytes: 1_800_000,
  compactBytes: 2_000_000,
} as const;

/**
 * Value of a SQLite row, in bytes. The platform takes 2,000,000, local development more.
 * https://developers.cloudflare.com/durable-objects/platform/limits/
 */
export const ROW_MAX_BYTES = 1_900_000;

/**
 * How an object ends, in bytes, as far as it stands in the object's own row: some 1,500 row groups
 * of Parquet. The rest goes into rows of its own.
 */
export const TAIL_MAX_BYTES = 1_500_000;

/**
 * Raw bytes of one append. The platform takes calls of 32 MiB; a smaller bound keeps a batch's
 * memory low.
 */
export const APPEND_MAX_RAW_BYTES = 4_000_000;

/** The same where jobs of many rules make more of it than it is. */
export const APPEND_MIXED_RAW_BYTES = 1_000_000;

/** What a group of messages is while it is committed: its records, and fragments of them. */
export const GROUP_HELD_BYTES = 2 * APPEND_MAX_RAW_BYTES;

/**
 * The same after formatting, in UTF-16 units of at most three bytes: a format may add 16 kB to each
 * record.
 */
export const APPEND_MAX_WRITTEN_UNITS = 2 * APPEND_MAX_RAW_BYTES;

/**
 * Size, in bytes, at which a log continues in its next segment. A durable object holds 10 GB; cuts
 * need the rest.
 */
export const SEGMENT_MAX_BYTES = 8_000_000_000;

/** Size, in bytes, at which a shard of the log takes no more: a durable object holds 10 GB. */
export const SHARD_MAX_BYTES = 8_000_000_000;

/** Hours for which the log keeps what it has taken in: below {@link DEDUP_MS}. */
export const LOG_KEEP_HOURS = { min: 0, max: 336, fallback: 24 } as const;

/** What a shard keeps of it at most, in bytes: beyond that the oldest goes first. */
export const KEPT_MAX_BYTES = 1_000_000_000;

/** Size of a shard's blocks, in bytes, at which the past of a job is given up. */
export const PAST_MAX_BYTES = 4_000_000_000;

/** Appends that a shard holds in memory at once, in bytes; beyond that, callers wait. */
export const SHARD_UNDER_WAY_BYTES = 24_000_000;

/** What is prepared for jobs in one append, in bytes; what is beyond, their readers make. */
export const PREPARED_MAX_BYTES = 3_000_000;

/**
 * What a shard of the log takes, in a second: beyond it, status says to raise `LOG_SHARDS`. Parts:
 * their ids, 16 bytes each, are 1.6 GB after fifteen days.
 */
export const SHARD_LOAD = { parts: 75, bytes: 4_000_000 } as const;

/** What a reader asks its shard for at once, in bytes. */
export const PAGE_MAX_BYTES = 4_000_000;

/**
 * A clock that is ahead of the newest intake by more than this, in ms, is taken for wrong: nothing
 * is forgotten by it.
 */
export const CLOCK_LEAP_MS = 86_400_000;

/**
 * How long ids of taken messages are remembered, in ms: 15 days, one more than the queue's
 * retention.
 */
export const DEDUP_MS = 15 * 86_400_000;

/**
 * Ids of requests with a key are remembered for so long after the copy that was stored, in ms: a
 * repeat within five days of it may wait in the queue, and then in its dead letter queue, as any
 * message may.
 */
export const DEDUP_KEYED_MS = 20 * 86_400_000;

/** Age, in ms, at which the handler sets a message aside, before the queue drops it at 14 days. */
export const MESSAGE_MAX_AGE_MS = 10 * 86_400_000;

/** How long the history of delivered objects is kept, in ms. */
export const OBJECT_HISTORY_MS = 30 * 86_400_000;

/** A manifest, in bytes: a row of a durable object has less than two million. */
export const MANIFEST_MAX_BYTES = 1_500_000;
/**
 * A day is listed in a manifest so long after its end, in ms: six times the longest interval of
 * uploads, for those that have to be tried again.
 */
export const MANIFEST_QUIET_MS = 30 * 60_000;
/** What comes later is listed after this long at least, in ms. */
export const MANIFEST_AGAIN_MS = 3_600_000;
/** Days without objects that get their manifests afterwards, after a time without any. */
export const MANIFEST_EMPTY_DAYS_MAX = 40;
/**
 * While manifests are signed, a delivered object that none lists stays in the list of objects so
 * long after its delivery, in ms.
 */
export const UNLISTED_HISTORY_MS = 90 * 86_400_000;

/** A job's upload limits; `0` and null mean the fallback. */
export const UPLOAD_BYTES = { min: 5_000_000, max: 1_000_000_000, fallback: 100_000_000 } as const;
/**
 * Most bytes of an object as it is stored: one request of a Durable Object sends them. Cloudflare
 * documents a limit of such a body; its figure could not be confirmed, so the default stays below
 * the 100 MB that an incoming one may have on every plan. `max`: no object has more uncompressed.
 * https://developers.cloudflare.com/durable-objects/platform/limits/
 */
export const OBJECT_STORED_BYTES = { min: 5_000_000, max: UPLOAD_BYTES.max, fallback: 95_000_000 } as const;
export const UPLOAD_RECORDS = { min: 1_000, max: 1_000_000, fallback: 100_000 } as const;
export const UPLOAD_INTERVAL_S = { min: 30, max: 300, fallback: 30 } as const;

/** How long an ownership challenge is valid, in seconds: 7 days, as the vendor's. */
export const OWNERSHIP_CHALLENGE_S = 7 * 86_400;

/** Largest `Retry-After` of a store that is honoured, in seconds. */
export const RETRY_AFTER_MAX_S = 3_600;

/**
 * Bytes that a queue holds; beyond them it takes no message.
 * https://developers.cloudflare.com/queues/platform/limits/
 */
export const QUEUE_MAX_BYTES = 25_000_000_000;

/**
 * Calls that one invocation may make to other services: by default, as the paid plan has it, and
 * what SUBREQUESTS_MAX may say instead.
 * https://developers.cloudflare.com/workers/platform/limits/
 */
export const SUBREQUESTS = { min: 1_000, fallback: 10_000, max: 10_000_000 } as const;

/** Tokens and members of one account: few enough for one answer. */
export const TOKENS_MAX = 500;
export const MEMBERS_MAX = 500;

/**
 * Shards of the access register: objects that hold a copy of it in memory. Never fewer than there
 * were, as a change of access waits for each that may have a copy. At half of the 1,000 requests/s
 * of an object they answer 8,000 a second.
 * https://developers.cloudflare.com/durable-objects/platform/limits/
 */
export const ACCESS_SHARDS = 16;

/** Questions in a second from which on the register sends isolates to its shards… */
export const ACCESS_SPREAD_AT = 100;
/** …and for how long, in ms. */
export const ACCESS_SPREAD_MS = 30_000;

/** How long a shard uses a copy, in ms. A change of access ends it at once. */
export const ACCESS_COPY_MS = 60_000;

/** How long an isolate relies on there being no secret without a check part, in ms. */
export const DOUBTS_NONE_MS = 10_000;
/**
 * Secrets without a check part of ours, and not known to be good, that an isolate asks about in a
 * second, where there may be such.
 */
export const DOUBTS_PER_S = 10;

/**
 * A bearer that goes on to the platform, in characters, and the path and query beside it: more than
 * the platform's own have (a key of KV takes 1,536), and few guesses at a secret of ours.
 */
export const FOREIGN_BEARER_MAX = 512;
export const FOREIGN_ADDRESS_MAX = 2_048;

/**
 * How long an isolate judges no guess from an address that has made too many, in ms: the period of
 * the rate limit in wrangler.jsonc…
 */
export const BRAKE_MS = 60_000;
/** …how many such addresses it remembers… */
export const BRAKES_MAX = 1_000;
/** …and how many wrong credentials, so that it counts the same ones once. */
export const GUESSES_MAX = 1_000;

/** How long an isolate counts refused credentials before it writes them to the audit, in ms… */
export const REFUSALS_MS = 10_000;
/** …and of how many addresses it does so, by itself. */
export const REFUSALS_ADDRESSES = 5;

/** Longest name of a token, in UTF-16 units. */
export const TOKEN_NAME_MAX = 120;

/**
 * Longest address, in characters. RFC 5321, 4.5.3.1.3: a path has 256, two of which are its
 * brackets.
 */
export const EMAIL_MAX = 254;

/** How long the audit keeps a change, in ms: 90 days… */
export const AUDIT_MS = 90 * 86_400_000;
/** …how many changes of access, and as many others: two an hour over all that time, and more… */
export const AUDIT_MAX = 5_000;
/** …and how many of one caller and one kind. */
export const AUDIT_OF_ONE_MAX = 500;
/** …and how many of refused credentials, of each kind. */
export const AUDIT_REFUSED_MAX = 100;

/** Repeats of a change within this time, in ms, are one entry. */
export const AUDIT_MERGE_MS = 3_600_000;

/** Each text in an audit entry, in UTF-16 units. */
export const AUDIT_TEXT_MAX = 1_024;

/** A body in an audit entry, in UTF-16 units of JSON: a page of a hundred must fit one call. */
export const AUDIT_BODY_MAX = 32_768;

/**
 * How long an isolate trusts a token that it has seen, while the access register does not answer,
 * in ms.
 */
export const SENDER_MEMORY_MS = 300_000;

/** Tokens that one isolate remembers for this. */
export const SENDERS_MAX = 1_000;

/** Events of one preview. */
export const PREVIEW_EVENTS_MAX = 1_000;

/**
 * Rendered text in a preview, in bytes of UTF-8: twice a request's body. It comes twice, as records
 * and as objects.
 */
export const PREVIEW_TEXT_MAX_BYTES = 512 * 1024;

/** Recent events of a preview: number… */
export const RECENT_MAX_EVENTS = 200;
/** …bytes of JSON of each… */
export const RECENT_EVENT_MAX_BYTES = 32 * 1024;
/** …and bytes, as the queue delivered them, among which each shard of the log looks for them. */
export const RECENT_MAX_BYTES = 256 * 1024;

/**
 * All modules of a function in local development, in bytes. The platform takes 64 MiB; here one
 * call of a durable object carries them, which is less than 32 MiB.
 */
export const LOCAL_UPLOAD_MAX_BYTES = 10 * 1024 * 1024;

/** Modules of one such function, and the number of functions: each called one is an isolate. */
export const LOCAL_MODULES_MAX = 100;
export const LOCAL_FUNCTIONS_MAX = 100;

/** Name of a module, in bytes of UTF-8: a file path. */
export const LOCAL_MODULE_NAME_MAX = 1_024;

/**
 * Compatibility flags of one such function. The platform knows some two hundred; a date replaces
 * most.
 */
export const LOCAL_FLAGS_MAX = 50;

/**
 * One upload of a function script that is held, decompressed, with all parts, in bytes. At most
 * four times this is in memory while it is read and sent on.
 */
export const UPLOAD_MAX_BYTES = 10 * 1024 * 1024;

/**
 * One that goes on as it comes, in bytes. The platform takes Workers of 64 MiB, and source maps
 * beside them, and no larger body reaches a Worker in a zone of the Free or Pro plan.
 * https://developers.cloudflare.com/workers/platform/limits/#request-and-response-limits
 */
export const UPLOAD_STREAMED_MAX_BYTES = 100_000_000;

/** How long reading it may take: 175 kB/s… */
export const UPLOAD_PACE = { silenceMs: SILENCE_MS, ms: 60_000 } as const;
/** …large uploads that one isolate takes at once: its memory of 128 MB is shared… */
export const UPLOADS_AT_ONCE = 2;
/** …size up to which an upload counts as small, in bytes… */
export const UPLOAD_SMALL_MAX_BYTES = 1024 * 1024;
/**
 * …and when a slot frees itself, in ms: longer than reading, the platform and our own part may take
 * together.
 */
export const UPLOAD_SLOT_MS = 150_000;

/** Its parts: each is an object in memory, and 10 MiB can hold 150,000 of them. */
export const UPLOAD_PARTS_MAX = 1_000;

/**
 * Its part `metadata`, in bytes. Most of it are bindings: at the vendor's at most 128 of 5 kB each.
 */
export const UPLOAD_METADATA_MAX_BYTES = 1024 * 1024;

/** Nesting of its objects and arrays: JSON bindings are the deepest. */
export const UPLOAD_METADATA_MAX_DEPTH = 100;

/** Longest name of a module, in UTF-16 units: a path. */
export const MODULE_NAME_MAX = 1_024;

/**
 * How long the platform's API may take for all changes of one request, in ms: less than a request
 * may take here.
 */
export const UPSTREAM_MS = 40_000;

/** Its answer, in bytes: a GET of a script answers the script. */
export const UPSTREAM_ANSWER_MAX_BYTES = 2 * UPLOAD_MAX_BYTES;

/** Its answer with the settings of a script, in bytes, if the caller does not need it whole. */
export const UPSTREAM_SETTINGS_MAX_BYTES = 1024 * 1024;

/**
 * How long a function that the platform no longer has is checked, in ms: as long as it is counted.
 */
export const ATTACHMENT_GONE_MS = 30 * 86_400_000;

/** Longest URL of a webhook, in characters: a common limit of request lines. */
export const WEBHOOK_URL_MAX = 2_048;

/**
 * Objects of one replay: 30 days at an interval of 30 s are 86,400. Each is a row until it is done.
 */
export const REPLAY_OBJECTS_MAX = 100_000;

/**
 * Replays in progress at once: each may hold an object in memory, and all share one durable
 * object's connections…
 */
export const REPLAYS_UNDER_WAY_MAX = 4;
/** …ended replays that are remembered… */
export const REPLAYS_MAX = 200;
/** …and how long, in ms: as long as objects. A replay that is not done by then fails. */
export const REPLAY_MEMORY_MS = OBJECT_HISTORY_MS;

/** Problems of a replay that are listed; all are counted. */
export const REPLAY_PROBLEMS_MAX = 100;

/** What is shown of a message that was set aside: its records, in UTF-16 units… */
export const ASIDE_SHOWN_UNITS = 1024 * 1024;
/** …or, if unreadable, its bytes. A download has all of it. */
export const ASIDE_SHOWN_BYTES = 128 * 1024;

/** Records of one group of messages that are pushed to live viewers: number… */
export const LIVE_PUSH_MAX_RECORDS = 500;
/** …and bytes of JSON in all: enough for an event of 1 MiB with escapes. */
export const LIVE_PUSH_MAX_BYTES = 2 * 1024 * 1024;

/**
 * A record that is shown live, in bytes of JSON; of a larger one only the short fields are shown.
 */
export const LIVE_RECORD_MAX_BYTES = 64 * 1024;

/**
 * Live viewers at once: each may have {@link LIVE_WINDOW_UNITS} in flight, in the memory of one
 * durable object.
 */
export const LIVE_SOCKETS_MAX = 50;
/** …and of one token, one member or the admin, so that none can take all. */
export const LIVE_SOCKETS_OF_ONE_MAX = 20;

/** What is in flight to one viewer and not drawn yet: records… */
export const LIVE_WINDOW_RECORDS = LIVE_PUSH_MAX_RECORDS;
/** …UTF-16 units… */
export const LIVE_WINDOW_UNITS = 1_000_000;
/** …and messages. */
export const LIVE_WINDOW_MESSAGES = 100;

/** A message of a live viewer, in bytes: a filter and a query with every character escaped. */
export const LIVE_MESSAGE_MAX_BYTES = 32 * 1024;
/** Messages of a viewer… */
export const LIVE_MESSAGES_MAX = 200;
/** …in this time, in ms. */
export const LIVE_MESSAGES_MS = 10_000;

/** How long a dashboard session lasts, in ms: a working day. */
export const SESSION_MS = 12 * 3_600_000;

/** Open sessions at once; one more closes the oldest. */
export const SESSIONS_MAX = 1_000;
/** …and of one token, one member or the admin. */
export const SESSIONS_OF_ONE_MAX = 20;

/** How long a form's page carries the secrets that were entered in it, in ms. */
export const ENTERED_MS = 3_600_000;

/** Forms of new jobs that are told apart when one is sent twice. */
export const SENT_FORMS_MAX = 100;

/** The object with an ownership challenge when read back, in bytes: the token has 60. */
export const CHALLENGE_MAX_BYTES = 4_096;

/** How long reading it back may take, in ms: the user waits for the page. */
export const CHALLENGE_READ_MS = 15_000;

/**
 * Body of a dashboard form, in bytes: a filter three times (stored, as JSON, in its fields) and
 * output options, in form encoding with up to nine bytes per character.
 */
export const FORM_MAX_BYTES = 512 * 1024;
/** …how long it may take to arrive… */
export const FORM_PACE = { silenceMs: SILENCE_MS, ms: 30_000 } as const;
/** …and its fields: the largest filter in the builder has some 1,500. Looking one up is linear. */
export const FORM_MAX_FIELDS = 5_000;

/**
 * The form of signing in, which anyone may send, in bytes: a token or key of 512 characters and a
 * path of 2,000, in form encoding; and how long it may take to arrive.
 */
export const SIGN_IN_MAX_BYTES = 8 * 1024;
export const SIGN_IN_PACE = { silenceMs: 5_000, ms: 10_000 } as const;

/** Lines of an object in one answer, and their bytes. */
export const OBJECT_LINES_MAX = 200;
export const OBJECT_TEXT_MAX_BYTES = 1024 * 1024;

/** Hits of one answer of a search: number… */
export const SEARCH_HITS_MAX = 1_000;
/** …and their records, in UTF-16 units; one is answered in any case. */
export const SEARCH_HITS_UNITS = 4_000_000;
/** Objects that a cursor names as done; one takes up to 120 characters. */
export const SEARCH_DONE_MAX = 4_000;
/** A cursor, in characters: it fits into {@link FORM_MAX_BYTES}. And its body, in bytes. */
export const SEARCH_CURSOR_MAX = 480_000;
export const SEARCH_BODY_MAX_BYTES = SEARCH_CURSOR_MAX + API_BODY_MAX_BYTES;
/** A query of a search, in UTF-16 units; its terms, and how deep its brackets nest. */
export const QUERY_MAX_UNITS = 2_000;
export const QUERY_MAX_TERMS = 100;
export const QUERY_MAX_DEPTH = 20;
/** A text that is searched for, in UTF-16 units. */
export const SEARCH_TEXT_MAX = 1_000;
/**
 * No object is begun after an answer has read so much, in bytes before compression: some ten
 * seconds of CPU, of the thirty that the platform allows by default…
 * https://developers.cloudflare.com/workers/platform/limits/#cpu-time
 */
export const SEARCH_RAW_BYTES = 2_000_000_000;
/** …or so long, in ms. */
export const SEARCH_MS = 30_000;
/** Objects that one search reads side by side. */
export const SEARCH_READS_AT_ONCE = 4;

/**
 * Requests for parts of objects in one answer: half of the subrequests that one invocation has.
 * https://developers.cloudflare.com/workers/platform/limits/
 */
export const SEARCH_PARTS_MAX = 5_000;
/** What one search holds in memory, in bytes: hits, objects, identities, pieces of what is read. */
export const SEARCH_HELD_BYTES = 15_000_000;
/** A count holds so much more, in bytes: its groups, and those of objects that are being read. */
export const COUNT_HELD_BYTES = 20_000_000;
/** … and for each facet; of these, so many. */
export const FACET_HELD_BYTES = 1_500_000;
export const FACETS_MAX = 10;
/** Groups that an answer tells. */
export const COUNT_TOP_MAX = 1_000;
/** How long a client may take for what is left of its answer when the search has ended, in ms. */
export const SEARCH_TAKEN_MS = 60_000;
/** Searches of one caller at once. */
export const SEARCHES_AT_ONCE = 2;
/** A search that has not ended after so long, in ms, is taken for ended. */
export const SEARCH_LEASE_MS = 120_000;
