import type { Context } from "hono";
import type { ErrorEntry } from "../errors.ts";

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

export function listed(
  c: Context,
  result: readonly unknown[],
  page: { page: number; perPage: number; total: number },
): Response {
  const result_info = { count: result.length, page: page.page, per_page: page.perPage, total_count: page.total };
  return c.json({ errors: [], messages: [], result, result_info, success: true });
}

export function failure(entries: readonly ErrorEntry[]): object {
  return { errors: entries, messages: [], result: null, success: false };
}
