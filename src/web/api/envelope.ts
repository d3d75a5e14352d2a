import type { Context } from "hono";
import type { ErrorEntry } from "../../base/errors.ts";

export interface Message {
  code: number;
  message: string;
}

/** The envelope of every answer that is not a failure. */
export function success(
  c: Context,
  result: unknown,
  options: { status?: 200 | 201 | 202; messages?: Message[] } = {},
): Response {
  return c.json({ errors: [], messages: options.messages ?? [], result, success: true }, options.status ?? 200);
}

/** A list's envelope. @param info more keys of `result_info`. */
export function listed(
  c: Context,
  result: readonly unknown[],
  { page, perPage, total }: { page: number; perPage: number; total: number },
  info: object = {},
): Response {
  const result_info = { count: result.length, page, per_page: perPage, total_count: total, ...info };
  return c.json({ errors: [], messages: [], result, result_info, success: true });
}

export function failure(entries: readonly ErrorEntry[]): object {
  return { errors: entries, messages: [], result: null, success: false };
}

/** A time of an answer: RFC 3339, UTC, with milliseconds. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
