import { RETRY_AFTER_MAX_S } from "../../base/limits.ts";

/** `Retry-After` as seconds from now, from either of its forms; up to an hour. */
export function retryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  const seconds = /^\d{1,9}$/.test(header.trim()) ? Number(header) : (Date.parse(header) - nowMs) / 1_000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(Math.ceil(seconds), RETRY_AFTER_MAX_S) : null;
}
