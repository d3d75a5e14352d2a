import { QUEUE_MAX_BYTES, SEGMENT_MAX_BYTES, SHARD_MAX_BYTES } from "../../base/limits.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../base/time.ts";
import { SCRIPT_NAME_MAX } from "../../ship/log/function-counts.ts";
import { KIND_MAX } from "../../ship/log/seen-kinds.ts";

/**
 * How long a state must last before it is a finding, in ms. docs/status.md repeats these in words.
 */
export const AFTER = {
  /** Uploads fail and are retried. */
  failing: 2 * MINUTE_MS,
  /**
   * Beyond the interval of the job and `uploadStarts`, the time in which an upload should start.
   */
  lagging: 5 * MINUTE_MS,
  uploadStarts: 15_000,
  /** A job receives nothing while others do; or no event arrives at all. */
  nothingReceived: 15 * MINUTE_MS,
  /** Beyond the interval of the job: it has not read what the log has for it. */
  unread: 10 * MINUTE_MS,
  queueOld: 15 * MINUTE_MS,
  /** What the queue said of itself counts no longer: the cron asks every five minutes. */
  queueAsked: 10 * MINUTE_MS,
  backlog: 15 * MINUTE_MS,
  /** Records wait in the queue: none is no sign that none came. */
  searchBehind: 2 * MINUTE_MS,
  /** A filter or a sample keeps nothing. */
  keptNothing: HOUR_MS,
  drainingStuck: HOUR_MS,
  /** After this long it is no news any more. */
  pastIsOld: 7 * DAY_MS,
  neverSeen: HOUR_MS,
  /** The platform does not say whether a function is attached. */
  attachmentUnknown: HOUR_MS,
  /** A manifest is tried again. */
  manifestFailing: 30 * MINUTE_MS,
  /** The least silence that counts as quiet. */
  quiet: 30 * MINUTE_MS,
  /** An event that is due may be on its way: after a late start, in `tail()`, in the queue. */
  due: 20_000,
} as const;

/** How long after its last growth a count is called growing, in ms. */
export const GROWING_MS = HOUR_MS;

/** How long a loss is reported after its last growth, in ms. */
export const LOSS_TOLD_MS = 24 * HOUR_MS;

/**
 * Records dropped in a row before a filter is said to keep nothing; a sample needs this many
 * divided by its rate.
 */
export const REFUSED_MIN = 20;

/** Messages in the queue that count as a backlog; a batch has a hundred. */
export const BACKLOG_MIN = 1_000;

/** How long before credentials end it is said, in ms. */
export const EXPIRES_WITHIN_MS = 30 * DAY_MS;

/** Scripts with objects of their own that are called many: beyond, the cron leaves them open. */
export const SCRIPTS_MANY = 64;

/** A log of this size is called large, in bytes: half of a full segment. */
export const READER_LARGE_BYTES = SEGMENT_MAX_BYTES / 2;

/** A shard of the log of this size is called large, in bytes: half of a full one. */
export const LEDGER_LARGE_BYTES = SHARD_MAX_BYTES / 2;

/** The queue's backlog is called large at this size, in bytes: half of what it holds… */
export const QUEUE_LARGE_BYTES = QUEUE_MAX_BYTES / 2;
/** …and this large is an error. */
export const QUEUE_FULL_BYTES = 0.9 * QUEUE_MAX_BYTES;

/**
 * Functions named at once per kind of finding; the others are counted. Senders choose the names.
 */
export const NAMED_MAX = 100;

/** The same of problems, the most frequent first. */
export const PROBLEMS_NAMED_MAX = 20;

/** The same of one sender, of all kinds, for names that the platform does not have. */
export const SENT_NAMED_MAX = 5;

/**
 * Functions whose rhythm is learned. A UTF-16 unit is at most 6 bytes of JSON, the rest of an entry
 * at most 300.
 */
export const RHYTHM_BOUNDS: RhythmBounds = { names: 1_000, chars: 128_000, name: SCRIPT_NAME_MAX };

/** The same of kinds of events, each named with its function. Escapes may double the name. */
export const KIND_RHYTHM_BOUNDS: RhythmBounds = {
  names: 2_000,
  chars: 128_000,
  name: 2 * (SCRIPT_NAME_MAX + KIND_MAX),
};

/** `name`: the longest one, in UTF-16 code units; `chars`: of all together. */
export interface RhythmBounds {
  readonly names: number;
  readonly chars: number;
  readonly name: number;
}

/** A function is quiet after this many times its longest pause, or what is set. */
export const QUIET_TIMES = 2;

/**
 * Whether it has been silent for longer than usual. @param untilMs until when all events are known.
 */
export function isQuiet(usual: { lastMs: number; longestGapMs: number }, untilMs: number): boolean {
  return untilMs > quietAfterMs(usual);
}

/** From when on silence is longer than usual, in ms since the epoch. */
export function quietAfterMs({ lastMs, longestGapMs }: { lastMs: number; longestGapMs: number }): number {
  return lastMs + Math.max(AFTER.quiet, QUIET_TIMES * longestGapMs);
}
