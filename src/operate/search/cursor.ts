import { createHash } from "node:crypto";
import * as z from "zod";
import { encodeUtf8, fromBase64, parsedJson, toBase64Url } from "../../base/bytes.ts";
import { SEARCH_DONE_MAX } from "../../base/limits.ts";
import type { SearchSpan } from "../../ship/reader/searchable.ts";
import type { Place } from "./hits.ts";

/** A batch of a node of a job. */
export type BatchPlace = readonly [job: number, node: number, batch: number];

/**
 * A batch of which hits were answered.
 * @param upTo up to here; null: all.
 * @param endMs of an object that is done: its first event, or, oldest first, its last. A search
 *   that is past it names it no more. null: not known.
 * @param isFailed it could not be read, or nothing of it counts: no copy is left out for it.
 */
export type Done = readonly [batch: BatchPlace, upTo: Place | null, endMs: number | null, isFailed?: true | undefined];

/**
 * Where a search goes on. Every hit up to `after` was answered; of the batches in `done`, all were,
 * or those up to a place of their own.
 */
export interface Cursor {
  /** null: nothing was answered yet, but for what is done. */
  after: Place | null;
  done: readonly Done[];
}

const Whole = z.int().min(-1);
const PlaceShape = z.tuple([z.number(), Whole, Whole, Whole, Whole, z.string().max(40)]);
const BatchShape = z.tuple([Whole, Whole, Whole]);
const Stored = z.tuple([
  z.literal(2),
  z.string(),
  // A time before 1970 is below 0.
  z.tuple([z.int(), z.int()]),
  PlaceShape.nullable(),
  z
    .array(z.tuple([BatchShape, PlaceShape.nullable(), z.number().nullable(), z.literal(true).optional()]))
    .max(SEARCH_DONE_MAX),
  z.boolean(),
  z.array(z.int()).max(SEARCH_DONE_MAX).optional(),
]);

/** The time that the first page found, in ms since the epoch. */
export interface Span {
  sinceMs: number;
  untilMs: number;
}

/** What is left of a time on a page whose first hit may be at `fromMs`. */
export function leftOf({ sinceMs, untilMs }: Span, order: SearchSpan["order"], fromMs: number | undefined): Span {
  if (fromMs === undefined) return { sinceMs, untilMs };
  return order === "newest"
    ? { sinceMs, untilMs: Math.min(untilMs, fromMs + 1) }
    : { sinceMs: Math.max(sinceMs, fromMs), untilMs };
}

/**
 * Objects, not open batches, that were answered as a whole: there is nothing more in them.
 * @param areCompared those of several jobs: what others have of them is still left out.
 */
export function whollyDone({ done }: Cursor, areCompared = false): BatchPlace[] {
  return done.flatMap(([batch, upTo, endMs, isFailed]) =>
    upTo === null && endMs !== null && !(areCompared && !isFailed) ? [batch] : [],
  );
}

/** Their numbers, by job and node. */
export function batchesOf(places: readonly BatchPlace[]): Map<string, number[]> {
  const groups = Map.groupBy(places, ([job, node]) => `${job},${node}`);
  return new Map([...groups].map(([key, group]) => [key, group.map(([, , batch]) => batch)]));
}

/** What a page needs of those before it. */
export interface Ongoing {
  cursor: Cursor;
  span: Span;
  /** Of what they covered, not all was searched. */
  lacks: boolean;
  /** The jobs that the first page found, the broadest first; undefined: an earlier release did. */
  jobs: readonly number[] | undefined;
}

/**
 * @param question what is searched: a cursor is of one search alone.
 * @returns null: more is done than a cursor can name.
 */
export function writeCursor({ cursor, span, lacks, jobs }: Ongoing, question: string): string | null {
  if (cursor.done.length > SEARCH_DONE_MAX) return null;
  const state = [cursor.after, cursor.done, lacks, ...(jobs === undefined ? [] : [jobs])];
  const stored = [2, markOf(question), [span.sinceMs, span.untilMs], ...state];
  return toBase64Url(encodeUtf8(JSON.stringify(stored)));
}

/** null: it is none, or that of another search. */
export function readCursor(text: string, question: string): Ongoing | null {
  const read = Stored.safeParse(parsedJson(new TextDecoder().decode(fromBase64(text))));
  if (!read.success) return null;
  const [, mark, [sinceMs, untilMs], after, done, lacks, jobs] = read.data;
  return mark === markOf(question) ? { cursor: { after, done }, span: { sinceMs, untilMs }, lacks, jobs } : null;
}

/** It tells mistakes, and protects nothing: a caller may search for anything anyway. */
function markOf(question: string): string {
  return createHash("sha256").update(question).digest("hex").slice(0, 8);
}
