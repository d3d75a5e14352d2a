const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** From when on something is said, in ms: more than so long it must have been so. docs/status.md has them in words. */
export const AFTER = {
  /** Uploads fail, and are tried again. */
  failing: 2 * MINUTE_MS,
  /** What waits is older than its job's interval, the fifteen seconds in which an upload is to start, and this. */
  lagging: 5 * MINUTE_MS,
  uploadStarts: 15_000,
  /** A job gets nothing, while others do; or nothing comes at all. */
  nothingReceived: 15 * MINUTE_MS,
  outbox: 2 * MINUTE_MS,
  /** The outbox holds something so long that nobody may call it a moment's trouble. */
  outboxBad: 15 * MINUTE_MS,
  queueOld: 15 * MINUTE_MS,
  backlog: 15 * MINUTE_MS,
  /** A filter or a sample keeps nothing. */
  keptNothing: HOUR_MS,
  drainingStuck: HOUR_MS,
  neverSeen: HOUR_MS,
  /** The platform does not tell whether a function is attached. */
  attachmentUnknown: HOUR_MS,
  /** A function is never called quiet before. */
  quiet: 30 * MINUTE_MS,
} as const;

/** How long what has grown counts as growing, in ms after it was last seen to grow. */
export const GROWING_MS = HOUR_MS;

/** How long a loss is told after it was last seen to grow, in ms. */
export const LOSS_TOLD_MS = 24 * HOUR_MS;

/** So many records in a row, none of which was kept, are no chance; of a sample, as many times as it keeps one in. */
export const REFUSED_MIN = 20;

/** So many messages in the queue, behind a batch of a hundred, are a backlog. */
export const BACKLOG_MIN = 1_000;

/** A log that holds so much is large, in bytes: half of what makes a segment full. */
export const LOG_LARGE_BYTES = 4_000_000_000;

/** Functions that are named at once, of each kind of finding; of more, their number is told. Senders choose the names. */
export const NAMED_MAX = 100;

/** Functions whose rhythm is learned. A code unit is at most 6 bytes of JSON, and what stands beside a name at most 300. */
export const RHYTHM_BOUNDS = { names: 1_000, chars: 128_000 } as const;

/** How much longer than its longest pause something is quiet before that is said. */
const QUIET_TIMES = 2;

/** Whether it has been quiet for longer than is usual. @param untilMs until when all is known that came. */
export function isQuiet({ lastMs, longestGapMs }: { lastMs: number; longestGapMs: number }, untilMs: number): boolean {
  return untilMs - lastMs > Math.max(AFTER.quiet, QUIET_TIMES * longestGapMs);
}
