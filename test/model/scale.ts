/** The bounds of the design on the model's scale: a unit is about a second, and a day is short. */
export const DAY = 600;
/** Ids of parts, from intake. */
export const IDS_LIVE = 15 * DAY;
/**
 * A repeat within this time of the first copy is the same request; keyed ids live so much longer.
 */
export const REPEAT = 5 * DAY;
/** Older messages are put on hold. */
export const HOLD_AFTER = 10 * DAY;
/** The queue deletes older messages, and the dead letter queue does so again. */
export const QUEUE_LIFE = 14 * DAY;
/** Attempts, after which the queue makes a message a dead letter. */
export const RETRIES = 12;
/** The same, in runs where few attempts are enough. */
export const DEAD_RETRIES = 5;
/** Attempts, after which the handler sends the same bytes anew. */
export const ANEW = 10;
/** Between clocks of machines. */
export const SKEW = 2;
/** A change of windows is answered so much later. */
export const SKEW_WAIT = 2 * SKEW + 1;
/** Between intake and queue, at most. */
export const IN_FLIGHT = 40;
/** Of a job, between two cuts. */
export const INTERVAL = 20;
/** Between two calls of `join`, for a shard at work. */
export const JOIN_EVERY = 100;
/** After its deletion, a job is forgotten no earlier than this. */
export const FORGET_AFTER = 15 * DAY;
/** The same in runs that forget soon: less than a message may wait. */
export const FORGET_SOON = 60;
/** Records in an append, and in a message of several parts. */
export const APPEND_MAX = 8;
export const MESSAGE_MAX = 6;
/** Records in a page, unless it has one block. */
export const PAGE_MAX = 6;
/** Pasts are given up when all blocks are so many times what is kept: 4 in the design. */
export const GIVE_UP = 2;
/** Of keyed requests that are not refused. */
export const SHARDS = [1, 2, 4];
