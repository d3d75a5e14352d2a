/**
 * Every number that comes from outside (a platform limit, the contract with callers) or that bounds a resource, with its source.
 * Policies (when to retry, when to cut) live with the code they steer.
 */

/** Largest body of one queue message, in bytes. https://developers.cloudflare.com/queues/platform/limits/ (128 KB; 128,000 B pass). */
export const QUEUE_MESSAGE_MAX_BYTES = 128_000;

/** Largest sum of message bodies of one `sendBatch`, in bytes. Same page (256 KB). Locally more passes, so we enforce it ourselves. */
export const QUEUE_SEND_BATCH_MAX_BYTES = 256_000;

/** Most messages of one `sendBatch`. Same page. */
export const QUEUE_SEND_BATCH_MAX_MESSAGES = 100;

/**
 * Records of one message, as NDJSON before compression, in bytes. A batch of 100 messages is decoded one at a time; this bounds each step.
 */
export const MESSAGE_RAW_MAX_BYTES = 480_000;

/**
 * The same where message boundaries must be a pure function of the request body (`Idempotency-Key`): small enough to fit a message even
 * if it does not compress at all, so that no boundary ever depends on a compressor's version.
 */
export const MESSAGE_RAW_MAX_BYTES_KEYED = 120_000;

/** Decompressed size of one POST of events, in bytes. CONTRACT: 16 MiB. */
export const EVENTS_BODY_MAX_BYTES = 16 * 1024 * 1024;

/** Events of one POST. */
export const EVENTS_MAX_COUNT = 20_000;

/** Distinct UTC days among the events of one POST: each day is an object of its own in every destination. */
export const EVENTS_MAX_DAYS = 31;

/** One event as it is sent, in bytes of JSON. */
export const EVENT_MAX_BYTES = 1024 * 1024;

/**
 * Its record, in bytes of JSON: arguments that were objects become text, and their quotes are escaped; numbers like `1e20` are written out, which is five
 * times as long. What is missing gets its default, so that `{}` as a log, three bytes with its comma, becomes 54: of nothing but these, an event of less
 * than 1 MiB is too large. To be cut down to 16,384 characters a record is taken apart in memory, which others share.
 */
export const RECORD_MAX_BYTES = 8 * EVENT_MAX_BYTES;

/** The records of one request together, in UTF-16 units: all of them are in memory at once. */
export const RECORDS_MAX_UNITS = 32 * 1024 * 1024;

/** What `Exceptions` and `Logs` of a shipped record hold together, in Unicode code points. CONTRACT 8. */
export const TEXT_MAX_CHARACTERS = 16_384;

/** How deep objects and arrays in an event may be nested: far beyond what anybody logs, and what any reader of JSON takes. */
export const EVENT_MAX_DEPTH = 100;

/** Longest `Idempotency-Key`, in characters: what such a key is anywhere, with room to spare. */
export const IDEMPOTENCY_KEY_MAX = 255;

/** JSON bodies of every other route, in bytes: a job's fields add up to some 14 kB. */
export const API_BODY_MAX_BYTES = 256 * 1024;

/** Most entries of `errors` in one answer. */
export const ERRORS_MAX_ENTRIES = 100;

/** Largest time we ship, in ms since the epoch: 9999-12-31T23:59:59.999Z, the last one with a four-digit year. */
export const TIME_MAX_MS = 253_402_300_799_999;

/** Jobs of one account. The vendor's answer beyond it is 403, code 1004. */
export const JOBS_MAX = 100;

/**
 * Jobs that are remembered, deleted ones included. The configuration of one is at most 120 kB as it travels, and all of them, with the opt-outs, must
 * fit one call of 32 MiB.
 */
export const JOBS_REMEMBERED_MAX = 250;

/** Functions with a setting, those that were off within the last 15 days included. */
export const FUNCTIONS_MAX = 1_000;

/** How often logging of one function may be switched off within 15 days: each time is remembered as long. */
export const SWITCHES_MAX = 100;

/** A filter, in bytes of UTF-8. CONTRACT 6; the vendor's own limit is 1,000. */
export const FILTER_MAX_BYTES = 8_192;

/** Conditions of one filter. CONTRACT 6; the vendor's own limit is about 30. */
export const FILTER_MAX_OPERATORS = 200;

/** How many `and` and `or` may lie around a condition. CONTRACT 6. */
export const FILTER_MAX_DEPTH = 20;

/**
 * How often a template may write one field. A record is up to {@link RECORD_MAX_BYTES}, and all jobs share the memory in which it is rendered: without a
 * bound, a template of 16,384 characters could ask for gigabytes, and hold up every other job.
 */
export const FIELD_MAX_USES = 4;

/** Text around the values of one record, delimiter included, in bytes: for the same reason, as it is written for every record. */
export const RECORD_TEXT_MAX_BYTES = 16_384;

/** A fragment, the unit a queue handler compresses: at most so many records… */
export const FRAGMENT_MAX_RECORDS = 1_000;
/** …and so many bytes before compression (one larger record is a fragment of its own). */
export const FRAGMENT_MAX_RAW_BYTES = 1_000_000;

/**
 * Below this many bytes a fragment waits uncompressed and is deflated together with its neighbours: small fragments alone compress badly
 * (256 KB −1.8 %, 64 KB −6.8 %, single records a third of the ratio of one stream).
 */
export const FRAGMENT_MIN_DEFLATE_BYTES = 131_072;

/** Waiting uncompressed bytes of one batch that are worth deflating together (256 KB: −1.8 % against one stream). */
export const COMPACT_AT_RAW_BYTES = 262_144;

/** Largest value of a SQLite row in production is 2,000,000 B; locally more passes. https://developers.cloudflare.com/durable-objects/platform/limits/ */
export const ROW_MAX_BYTES = 1_900_000;

/** Argument of one durable object call: the platform takes 32 MiB; appends stay far below, so that a batch never holds much memory. */
export const APPEND_MAX_RAW_BYTES = 4_000_000;

/** The same for what a job's format makes of it, in UTF-16 units, of three bytes at most: a format may add 16 kB to each record. */
export const APPEND_MAX_WRITTEN_UNITS = 2 * APPEND_MAX_RAW_BYTES;

/** A log stops taking records at this size and hands on to its next segment; a durable object holds 10 GB. Cuts need room to work. */
export const SEGMENT_MAX_BYTES = 8_000_000_000;

/** How long ids of taken messages are remembered, in ms: 15 days, one more than the queue can hold a message. */
export const ID_MEMORY_MS = 15 * 86_400_000;

/** A message older than this is set aside by the handler rather than left to expire at 14 days, in ms. */
export const MESSAGE_MAX_AGE_MS = 10 * 86_400_000;

/** How long the history of delivered objects is kept, in ms. */
export const OBJECT_HISTORY_MS = 30 * 86_400_000;

/** Bounds and defaults of a job's upload limits: `0` and null mean the default. */
export const UPLOAD_BYTES = { min: 5_000_000, max: 1_000_000_000, fallback: 100_000_000 } as const;
export const UPLOAD_RECORDS = { min: 1_000, max: 1_000_000, fallback: 100_000 } as const;
export const UPLOAD_INTERVAL_S = { min: 30, max: 300, fallback: 30 } as const;

/** How long an ownership challenge is good for, in seconds: 7 days. CONTRACT 10, as the vendor's. */
export const OWNERSHIP_CHALLENGE_S = 7 * 86_400;

/** `Retry-After` of a store is honoured up to this, in seconds. */
export const RETRY_AFTER_MAX_S = 3_600;

/** What is handed over to be kept in one call of a durable object, in bytes of messages. The platform takes 32 MiB, and counts more than these. */
export const KEEP_MAX_BYTES = 16_000_000;

/** Calls that one invocation may make, of durable objects and all other services. https://developers.cloudflare.com/workers/platform/limits/ */
export const SUBREQUESTS_MAX = 1_000;

/** Tokens of one account, and members: some for each service and person there is, and few enough to be listed in one answer. */
export const TOKENS_MAX = 500;
export const MEMBERS_MAX = 500;

/** Longest name of a token, in UTF-16 units: it is there to be read. */
export const TOKEN_NAME_MAX = 120;

/** Longest address, in characters. RFC 5321, 4.5.3.1.3: a path has 256, two of which are its brackets. */
export const EMAIL_MAX = 254;

/** How long changes over the API are remembered, in ms: 90 days… */
export const AUDIT_MS = 90 * 86_400_000;
/** …and how many of them, so that whoever makes changes in a loop fills no disk: two an hour for all of that time, and some more. */
export const AUDIT_MAX = 5_000;

/** Each text in what is remembered of a change, in UTF-16 units: it says what was changed; the job itself holds the rest. */
export const AUDIT_TEXT_MAX = 1_024;

/** All that is remembered of a body, in UTF-16 units of JSON: a page of a hundred must fit one call, and the shape of some bodies is the platform's to bound. */
export const AUDIT_BODY_MAX = 32_768;

/** How long an isolate believes that a token it has seen may still send events, while nobody can tell, in ms. */
export const SENDER_MEMORY_MS = 300_000;

/** How many of these one isolate remembers. */
export const SENDERS_MAX = 1_000;

/** Events of one preview. */
export const PREVIEW_EVENTS_MAX = 1_000;

/** How much rendered text a preview shows, in bytes of UTF-8: twice what the body of a request can hold. It comes twice, as records and as objects. */
export const PREVIEW_TEXT_MAX_BYTES = 512 * 1024;

/** Recent events that are held in memory for previews: at most so many… */
export const RECENT_MAX_EVENTS = 200;
/** …with so many bytes of JSON in all… */
export const RECENT_MAX_BYTES = 2 * 1024 * 1024;
/** …and each with no more than that. */
export const RECENT_EVENT_MAX_BYTES = 32 * 1024;

/** What one isolate hands over of them at once, in bytes. */
export const RECENT_HANDOVER_MAX_BYTES = 512 * 1024;

/** A function that runs in local development: its modules together, in bytes. The platform takes 10 MB compressed; and one call must carry it. */
export const LOCAL_UPLOAD_MAX_BYTES = 10 * 1024 * 1024;

/** Modules of one such function, and how many functions there are: each that is called is an isolate of its own. */
export const LOCAL_MODULES_MAX = 100;
export const LOCAL_FUNCTIONS_MAX = 100;

/** Name of a module, in bytes of UTF-8: a path of the file system it was made on. */
export const LOCAL_MODULE_NAME_MAX = 1_024;

/** Compatibility flags of one such function: the platform knows some two hundred, and a date stands for most of them. */
export const LOCAL_FLAGS_MAX = 50;

/**
 * One upload of a function script, decompressed, with all of its parts, in bytes: what the vendor takes of a paid account's script, which it counts after
 * gzip. https://developers.cloudflare.com/workers/platform/limits/#worker-size At most four times this is in memory while it is read and sent on.
 */
export const UPLOAD_MAX_BYTES = 10 * 1024 * 1024;

/** How long it may take to come, in ms… */
export const UPLOAD_READ_MS = 30_000;
/** …how many such uploads one isolate takes at once: its memory, 128 MB, is that of everything else as well… */
export const UPLOADS_AT_ONCE = 2;
/** …up to how many bytes an upload does not count among them: the scripts of most functions… */
export const UPLOAD_SMALL_MAX_BYTES = 1024 * 1024;
/** …and after how long one is over, in ms, of which nothing more was heard: longer than reading, the platform and what follows here may take together. */
export const UPLOAD_SLOT_MS = 90_000;

/** Its parts: each becomes an object of its own in memory, and 10 MiB can hold 150,000 of them. */
export const UPLOAD_PARTS_MAX = 1_000;

/** Its part `metadata`, in bytes. The bindings of a script, which are most of it, have 5 kB each at the vendor's, and it may have 128. */
export const UPLOAD_METADATA_MAX_BYTES = 1024 * 1024;

/** How deep its objects and arrays may be nested: bindings that are JSON are the deepest there is. */
export const UPLOAD_METADATA_MAX_DEPTH = 100;

/** Longest name of a module, in UTF-16 units: it is a path. */
export const MODULE_NAME_MAX = 1_024;

/** What the platform's API may take to answer all that one request asks of it, in ms: a deployment is a matter of seconds. Less than what a request may take here. */
export const UPSTREAM_MS = 40_000;

/** Its answer, in bytes: that to a GET of a script is the script. */
export const UPSTREAM_ANSWER_MAX_BYTES = 2 * UPLOAD_MAX_BYTES;

/** Its answer to a question for the settings of a script, in bytes, where nobody wants it whole: they are a list of services, tags, and a few numbers. */
export const UPSTREAM_SETTINGS_MAX_BYTES = 1024 * 1024;

/** How long a function that the platform has no more of is looked for, in ms: as long as it is counted after its last event. */
export const ATTACHMENT_GONE_MS = 30 * 86_400_000;

/** Longest address of a webhook, in characters: what servers take in a request line, and then some. */
export const WEBHOOK_URL_MAX = 2_048;

/** Objects of one replay: those of thirty days at an interval of half a minute are 86,400. Each is a row until it is done. */
export const REPLAY_OBJECTS_MAX = 100_000;

/** Replays that are under way at once: each may hold an object's bytes in memory, and all share the connections of one durable object… */
export const REPLAYS_UNDER_WAY_MAX = 4;
/** …that are remembered when they are over… */
export const REPLAYS_MAX = 200;
/** …and how long, in ms: as long as objects are. One that is not done by then is given up. */
export const REPLAY_MEMORY_MS = OBJECT_HISTORY_MS;

/** Objects that a replay could not ship, which are named one by one; all of them are counted. */
export const REPLAY_PROBLEMS_MAX = 100;

/** What is shown of a message that was set aside: its records together, in UTF-16 units… */
export const ASIDE_SHOWN_UNITS = 1024 * 1024;
/** …or, where these cannot be read, its bytes. All of it can be downloaded. */
export const ASIDE_SHOWN_BYTES = 128 * 1024;

/** Of one group of messages, how many records are handed over to whoever watches: at most so many… */
export const LIVE_PUSH_MAX_RECORDS = 500;
/** …with so many bytes of JSON in all: an event of 1 MiB is among them, whatever was escaped in it. */
export const LIVE_PUSH_MAX_BYTES = 2 * 1024 * 1024;

/** A record that is shown live, in bytes of JSON; of a larger one its short fields are. */
export const LIVE_RECORD_MAX_BYTES = 64 * 1024;

/** Who watches at once: each may have {@link LIVE_WINDOW_UNITS} under way, and all of them are in the memory of one durable object. */
export const LIVE_SOCKETS_MAX = 50;
/** …and of these, with one token, as one member, or as the admin: nobody keeps all others from watching. */
export const LIVE_SOCKETS_OF_ONE_MAX = 20;

/** What is under way to one who watches, and not drawn yet: at most so many records… */
export const LIVE_WINDOW_RECORDS = LIVE_PUSH_MAX_RECORDS;
/** …of so many UTF-16 units… */
export const LIVE_WINDOW_UNITS = 1_000_000;
/** …in so many messages. */
export const LIVE_WINDOW_MESSAGES = 100;

/** Name of the function whose records somebody wants to see, in bytes: no platform has longer ones, and it must fit beside a filter. */
export const LIVE_SCRIPT_MAX_BYTES = 1_024;

/** A message of one who watches, in bytes: a filter, with each of its characters escaped, and its names. */
export const LIVE_MESSAGE_MAX_BYTES = 32 * 1024;
/** How many of them there may be… */
export const LIVE_MESSAGES_MAX = 200;
/** …in so long, in ms. */
export const LIVE_MESSAGES_MS = 10_000;

/** How long somebody stays signed in to the dashboard, in ms: a working day. */
export const SESSION_MS = 12 * 3_600_000;

/** Most sessions that are open at once; one more closes the oldest. */
export const SESSIONS_MAX = 1_000;
/** …and of these, those of one token, one member, or the admin. */
export const SESSIONS_OF_ONE_MAX = 20;

/** How long a job that somebody began to create is kept after its last change, in ms: as long as the proof in it is good for… */
export const DRAFT_MS = OWNERSHIP_CHALLENGE_S * 1_000;
/** …how many of them there are of one owner, and in all; one more takes the place of the oldest… */
export const DRAFTS_OF_OWNER_MAX = 20;
export const DRAFTS_MAX = 500;
/** …and what one holds, in UTF-16 units of JSON: a job's fields add up to some 60,000 at most, as texts that are all escaped. */
export const DRAFT_MAX_UNITS = 128 * 1024;

/** The object that holds an ownership challenge, as it is read back, in bytes: the token has 60. */
export const CHALLENGE_MAX_BYTES = 4_096;

/** How long reading it back may take, in ms: somebody waits for the page. */
export const CHALLENGE_READ_MS = 15_000;

/** Body of a form of the dashboard, in bytes: a filter (as it was, as JSON, and in its fields) and output options in the longest spelling of a form, nine bytes for some characters. */
export const FORM_MAX_BYTES = 512 * 1024;
/** …and how many fields it has: the largest filter in the builder comes to some 1,500, as its text is bounded; whoever looks one up passes the others. */
export const FORM_MAX_FIELDS = 5_000;

/** Lines of an object that one answer shows, and the bytes that they come to. */
export const OBJECT_LINES_MAX = 200;
export const OBJECT_TEXT_MAX_BYTES = 1024 * 1024;
