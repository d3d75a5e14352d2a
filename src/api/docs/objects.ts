/** What the API's description says of objects. */
import * as z from "zod";
import { OBJECT_LINES_MAX, OBJECT_TEXT_MAX_BYTES, UPLOAD_BYTES } from "../../limits.ts";
import { flag, wholeNumber, wholeNumberOr } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";

export const ObjectEntry = z
  .object({
    number: z.int().min(1).describe("Grows with every object: the order in which they were cut."),
    key: z.string().describe("Below the bucket."),
    state: z.enum(["waiting", "delivered", "set_aside", "discarded"]),
    records: Count,
    bytes: Count.describe("As it is stored."),
    raw_bytes: Count.describe("Before compression."),
    first_event: Time.describe("Time of the earliest event in it."),
    last_event: Time.describe("Time of the latest event in it."),
    reason: z
      .enum(["bytes", "records", "interval", "scheduled", "manual", "config", "deleted", "replay"])
      .describe("Why it was cut; `replay`: it was not, it is a copy."),
    attempts: Count.describe("How often its upload was tried."),
    cut_at: Time,
    uploaded_at: Time.nullable(),
    verified: z
      .boolean()
      .nullable()
      .describe("`false`: the store says that it has the object, but would not show it. null: it is not uploaded."),
    error: z.string().nullable().describe("Why the last try failed."),
    replay: z
      .strictObject({
        id: z.string().describe("Of the replay."),
        of: z.int().min(1).describe("The number of the object that it is a copy of."),
        destination: z.string().nullable().describe("Bucket and endpoint, if it is not at the job's own destination."),
      })
      .nullable()
      .describe("Of a copy that a replay wrote; null: it is no copy."),
  })
  .meta({ id: "ObjectEntry" });

export const ObjectLines = z
  .strictObject({
    lines: z.array(
      z.strictObject({
        number: z.int().min(1).describe("In the object, from 1."),
        text: z.string().describe("Whoever sent the events has written this: show it as text, never as a page."),
        truncated: z.boolean().describe("`true`: this is its beginning alone; the rest is in the file."),
      }),
    ),
    next: Count.nullable().describe("The `skip` of those that follow; null: nothing does."),
  })
  .meta({ id: "ObjectLines" });

export const ObjectsQuery = z.object({
  after: wholeNumberOr(0, 0, Number.MAX_SAFE_INTEGER).describe("Objects with larger numbers than this alone."),
  before: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("Objects with smaller numbers than this alone, the newest first; it goes before `after`."),
  limit: wholeNumberOr(100, 1, 1_000).describe("How many at most."),
});

export const ObjectQuery = z.object({
  download: flag.describe("Answers with the object itself, as it is stored."),
});

export const ObjectLinesQuery = z.object({
  skip: wholeNumberOr(0, 0, UPLOAD_BYTES.max).describe("How many lines to leave out before the first."),
  limit: wholeNumberOr(50, 1, OBJECT_LINES_MAX).describe("How many at most."),
});

export const JOB_OBJECTS: RouteDoc = {
  summary: "List the objects of a job",
  description:
    "In the order of their numbers, or, with `before`, the newest first. Delivered ones are kept in this list for 30 days.",
  query: ObjectsQuery,
  result: ObjectEntry,
  list: true,
  examples: [
    { name: "The first ones" },
    { name: "Those after number 7", query: { after: "7", limit: "50" } },
    { name: "The newest ten", query: { before: `${Number.MAX_SAFE_INTEGER}`, limit: "10" } },
  ],
};

const STORE =
  "It is read with the job's stored destination, as it is now. One that is not uploaded, was copied elsewhere by a replay, or is not what was delivered, is a 409; one that the store does not have any more is a 404, one that the job's credentials may not read a 403.";

export const READ_OBJECT: RouteDoc = {
  summary: "Read one object of a job",
  description: `What is known of it; with \`download=true\`, the object itself. ${STORE}`,
  query: ObjectQuery,
  result: ObjectEntry,
  files: ["application/gzip"],
  errors: [409],
  examples: [{ name: "What is known of it" }],
};

export const OBJECT_LINES: RouteDoc = {
  summary: "Read records of a delivered object",
  description: `Its lines, decompressed: with the usual output, each is a record. They come to ${OBJECT_TEXT_MAX_BYTES} bytes at most; a line longer than that is cut, and says so. What is skipped is read all the same: the object is streamed from its beginning. ${STORE}`,
  query: ObjectLinesQuery,
  result: ObjectLines,
  errors: [409],
  examples: [{ name: "The first fifty" }, { name: "Those after the first", query: { skip: "1", limit: "10" } }],
};
