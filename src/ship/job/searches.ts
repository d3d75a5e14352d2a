import * as z from "zod";
import { type Measure, OPS, Shape } from "../../formats/measures/measures.ts";

/** A saved search with an alert, as handlers of the queue and shards of the log need it. */
export interface AlertedSearch {
  id: number;
  /** Of the last change of what is counted: counts of two stamps are never added. */
  stamp: string;
  /** When that was, in ms since the epoch. */
  sinceMs: number;
  /** What its owner calls it. */
  name: string;
  /** In the language of searches; "": every record. */
  query: string;
  alert: SearchAlert;
}

/** When a search is an alert. */
export interface SearchAlert {
  measure: Measure & { op: AlertOp };
  threshold: number;
  when: "at_least" | "below";
  /** The time over which is measured, and for how long it must be so, both in ms. */
  overMs: number;
  forMs: number;
  severity: "warning" | "error";
}

/** Different values take too much room in a row that is written with each append. */
export const ALERT_OPS = OPS.filter((op) => op !== "distinct");
type AlertOp = (typeof ALERT_OPS)[number];

/** A window is so many buckets, and the one that has just begun. */
const BUCKETS = 12;

const Search: z.ZodType<AlertedSearch> = z.looseObject({
  id: z.int().min(1),
  stamp: z.string(),
  sinceMs: z.int().min(0),
  name: z.string(),
  query: z.string(),
  alert: z.looseObject({
    measure: z.looseObject({ op: z.enum(ALERT_OPS), of: z.string().optional() }),
    threshold: z.number(),
    when: z.enum(["at_least", "below"]),
    overMs: z.int().min(BUCKETS).multipleOf(BUCKETS),
    forMs: z.int().min(0),
    severity: z.enum(["warning", "error"]),
  }),
});

/** Those that this code can read: others are counted by newer code. */
export function readSearches(value: unknown): readonly AlertedSearch[] {
  return Array.isArray(value) ? value.filter((each): each is AlertedSearch => Search.safeParse(each).success) : [];
}

/** Another one as soon as other records, or values of them, are counted. */
export function keyOfSearch({ id, stamp }: Pick<AlertedSearch, "id" | "stamp">): string {
  return `${id} ${stamp}`;
}

/** What is kept of the records of a search. */
export function shapeOf({ measure }: Pick<SearchAlert, "measure">): Shape {
  return new Shape([measure], true);
}

/** The first and last bucket of a window that ends now. Buckets are numbered since the epoch. */
export function bucketsAt({ overMs }: Pick<SearchAlert, "overMs">, nowMs: number): { first: number; last: number } {
  const ms = overMs / BUCKETS;
  return { first: Math.floor((nowMs - overMs) / ms), last: Math.floor(nowMs / ms) };
}

/** When a bucket is no longer in the window, in ms since the epoch. */
export function bucketEndMs({ overMs }: Pick<SearchAlert, "overMs">, bucket: number): number {
  return (bucket + 1) * (overMs / BUCKETS) + overMs;
}

/** Whether nothing but time makes it smaller: it is a number of records, or a sum. */
export function addsUp({ measure: { op } }: Pick<SearchAlert, "measure">): boolean {
  return op === "count" || op === "sum";
}

/**
 * Whether a value is past the threshold. @param shards that share what is added up: if their sum is
 * past it, so is the share of one of them. @param value null: no record has a value.
 */
export function isPast(alert: SearchAlert, value: number | null, shards = 1): boolean {
  const known = value ?? (addsUp(alert) ? 0 : null);
  if (known === null) return false;
  return alert.when === "below" ? known < alert.threshold : known >= alert.threshold / (addsUp(alert) ? shards : 1);
}
