import { createHash } from "node:crypto";

const DATE = "{DATE}";

/** Stands for "no day" in the keys of probes and challenges, as in the vendor's. */
export const PROBE_DAY = "00010101";

/** A UTC day as `YYYYMMDD`. @param day days since the epoch, up to the year 9999. */
export function dayStamp(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10).replaceAll("-", "");
}

/** A time as `YYYYMMDDTHHMMSSZ`, rounded down to the second. */
export function timeStamp(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;
}

/**
 * A destination's path on one day. @param path may hold `{DATE}` anywhere, more than once, or be
 * empty. @param stamp `YYYYMMDD`.
 */
export function folderOf(path: string, stamp: string): string {
  return path.replaceAll(DATE, stamp);
}

/** A key below a destination's path on one day. */
export function keyBelow(path: string, stamp: string, name: string): string {
  const folder = folderOf(path, stamp);
  return folder === "" ? name : `${folder}/${name}`;
}

/**
 * Name of an object: its first and last event, and what makes it unique. @param suffix of its
 * encoder.
 */
export function objectName(firstEventMs: number, lastEventMs: number, tag: string, suffix: string): string {
  return `${timeStamp(firstEventMs)}_${timeStamp(lastEventMs)}_${tag}${suffix}`;
}

/**
 * Odd, so that multiplying by it permutes the 32-bit integers (Knuth's multiplicative hash: 2^32
 * divided by the golden ratio).
 */
const SPREAD = 0x9e3779b1;

/**
 * The 8 hex digits of an object's key: a permutation of its number, shifted by the identity of its
 * log. Within a log no two numbers below 2^32 share a tag. Objects of two logs collide only on one
 * path, in the same two seconds, with a chance of 2^-32; the store then refuses the second.
 */
export function objectTag(logIdentity: string, number: number): string {
  const shift = Number.parseInt(createHash("sha256").update(logIdentity).digest("hex").slice(0, 8), 16);
  return ((Math.imul(number, SPREAD) + shift) >>> 0).toString(16).padStart(8, "0");
}
