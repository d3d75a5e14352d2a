import * as z from "zod";
import { ApiError, CODE } from "../../base/errors.ts";
import type { AppContext } from "./route.ts";

/**
 * The query that a route documents. Unknown parameters are ignored; of a
 * repeated one, the first counts.
 * @throws ApiError 400 with one entry per fault.
 */
export function queryOf<S extends z.ZodObject>(c: AppContext, { query: schema }: { query: S }): z.infer<S> {
  const parsed = schema.safeParse(
    Object.fromEntries(Object.keys(schema.shape).map((name) => [name, c.req.query(name)])),
  );
  if (parsed.success) return parsed.data;
  throw new ApiError(
    400,
    parsed.error.issues.map(({ path, message }) => ({ code: CODE.invalid, message: `${path.join(".")} ${message}` })),
  );
}

/** `true` or `false`; `false` by default. */
export const flag = z
  .enum(["true", "false"], { error: "must be true or false" })
  .meta({ type: "boolean", enum: undefined, default: false })
  .transform((value) => value === "true")
  .default(false);

/**
 * A whole number in a range, in digits. @param more metadata; set after the transformation it would
 * be lost.
 */
export function wholeNumber(min: number, max: number, more: object = {}) {
  return z
    .string()
    .refine(
      (text) => {
        const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
        return value >= min && value <= max;
      },
      { error: `must be a whole number from ${min} to ${max}` },
    )
    .meta({ type: "integer", minimum: min, maximum: max, ...more })
    .transform(Number);
}

/** The same with a default. */
export function wholeNumberOr(fallback: number, min: number, max: number) {
  return wholeNumber(min, max, { default: fallback }).default(fallback);
}

/** The page of a list: by default the first, of the largest size. */
export function paging(perPageMax: number) {
  return z.object({
    page: wholeNumberOr(1, 1, 1_000_000).describe("Page number, from 1."),
    per_page: wholeNumberOr(perPageMax, 1, perPageMax).describe("Entries per page."),
  });
}

/** One page of a complete list; the first argument is what {@link paging} read. */
export function pageOf<T>(
  { page, per_page: perPage }: { page: number; per_page: number },
  all: readonly T[],
): { shown: readonly T[]; info: { page: number; perPage: number; total: number } } {
  return { shown: all.slice((page - 1) * perPage, page * perPage), info: { page, perPage, total: all.length } };
}
