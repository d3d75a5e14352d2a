import { UPLOAD_INTERVAL_S } from "../../base/limits.ts";
import { DAY_MS } from "../../base/time.ts";

/**
 * Objects a day from which they are many, and the mean size below which they are small, in bytes.
 */
const MANY = 1_000;
const SMALL_BYTES = 1_000_000;

/**
 * By how much objects may be more than the interval makes of a day. More are cut for their size or
 * by the number of records, and a longer interval changes nothing.
 */
const BY_INTERVAL = 1.2;

/** What an interval makes of a job's records: objects a day, and their mean size as stored. */
export interface IntervalAdvice {
  objects: number;
  meanBytes: number;
  /** The interval to set, in seconds, and what it makes of the same records in a day, about. */
  seconds: number;
  made: { objects: number; meanBytes: number };
}

/**
 * The interval that fits a job's traffic, where it is not the one that is set: many small objects
 * cost a request each, and make every reader slow.
 * @param day what was delivered in the last 24 hours.
 * @returns null: the interval fits, or the day does not tell.
 */
export function intervalAdvice(
  { objects, bytes }: { objects: number; bytes: number },
  intervalMs: number,
): IntervalAdvice | null {
  const seconds = UPLOAD_INTERVAL_S.max;
  const fits = intervalMs >= seconds * 1_000 || objects < MANY || bytes >= objects * SMALL_BYTES;
  if (fits || objects > (DAY_MS / intervalMs) * BY_INTERVAL) return null;
  // An interval begins with a record, so what passes before the next one stays between objects.
  const fewer = Math.round(DAY_MS / (DAY_MS / objects + seconds * 1_000 - intervalMs));
  return {
    objects,
    meanBytes: Math.round(bytes / objects),
    seconds,
    made: { objects: fewer, meanBytes: Math.round(bytes / fewer) },
  };
}
