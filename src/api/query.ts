import { CODE, oneError } from "../errors.ts";
import type { AppContext } from "./route.ts";

/** @throws ApiError 400 for what is neither `true` nor `false`. */
export function flag(c: AppContext, name: string): boolean {
  const value = c.req.query(name);
  if (value === undefined || value === "false") return false;
  if (value === "true") return true;
  throw oneError(400, CODE.invalid, `${name} must be true or false`);
}

/** null: it was not sent. @throws ApiError 400 for what is no whole number of that range. */
export function wholeNumber(c: AppContext, name: string, min: number, max: number): number | null {
  const text = c.req.query(name);
  if (text === undefined) return null;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw oneError(400, CODE.invalid, `${name} must be a whole number from ${min} to ${max}`);
}

/** Which page is asked for: by default the first, of the largest size. @throws ApiError 400. */
export function pageAsked(c: AppContext, perPageMax: number): { page: number; perPage: number } {
  const page = wholeNumber(c, "page", 1, 1_000_000) ?? 1;
  const perPage = wholeNumber(c, "per_page", 1, perPageMax) ?? perPageMax;
  return { page, perPage };
}

/** A page of a list; by default the first, of the largest size. @throws ApiError 400. */
export function pageOf<T>(
  c: AppContext,
  all: readonly T[],
  perPageMax: number,
): { shown: readonly T[]; info: { page: number; perPage: number; total: number } } {
  const { page, perPage } = pageAsked(c, perPageMax);
  return { shown: all.slice((page - 1) * perPage, page * perPage), info: { page, perPage, total: all.length } };
}
