import * as z from "zod";
import { OBJECT_LINES_MAX, OBJECT_TEXT_MAX_BYTES, UPLOAD_BYTES } from "../../../base/limits.ts";
import { flag, wholeNumber, wholeNumberOr } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { AskedTime, Count, exactly, named, Time } from "./common.ts";

export const ObjectEntry = named("ObjectEntry", {
  number: z
    .int()
    .min(1)
    .describe(
      "Unique in the job. It increases with every object, in the order in which they were cut; in a log of several shards, each shard's does.",
    ),
  key: z.string().describe("Key in the bucket."),
  state: z.enum(["waiting", "delivered", "set_aside", "discarded"]),
  records: Count,
  bytes: Count.describe("Compressed."),
  raw_bytes: Count.describe("Before compression."),
  first_event: Time.describe("Time of its earliest event."),
  last_event: Time.describe("Time of its latest event."),
  reason: z
    .enum(["bytes", "records", "interval", "scheduled", "manual", "config", "deleted", "replay"])
    .describe("Why it was cut; `replay`: it is a copy."),
  attempts: Count.describe("Upload attempts."),
  cut_at: Time,
  uploaded_at: Time.nullable(),
  verified: z
    .boolean()
    .nullable()
    .describe("`false`: the store reported success, but does not let the object be read. null: not uploaded."),
  error: z.string().nullable().describe("Why the last attempt failed."),
  replay: z
    .strictObject({
      id: z.string().describe("Id of the replay."),
      of: z.int().min(1).describe("Number of the original object."),
      destination: z.string().nullable().describe("Bucket and endpoint; null: the job's own destination."),
    })
    .nullable()
    .describe("Set on copies that a replay wrote; otherwise null."),
  sent_to: z
    .string()
    .nullable()
    .describe(
      "The destination that it was sent to after it had been set aside, its secrets as `****`; null: the job's own.",
    ),
});

export const ObjectLines = exactly("ObjectLines", {
  lines: z.array(
    z.strictObject({
      number: z.int().min(1).describe("Line number in the object, from 1."),
      text: z.string().describe("Content from the sender of the events: show it as text, never as HTML."),
      truncated: z.boolean().describe("`true`: only the beginning is included; the file has the rest."),
    }),
  ),
  next: Count.nullable().describe("`skip` for the next lines; null: no more lines."),
});

export const JOB_OBJECTS = {
  summary: "List the objects of a job",
  description: "By number, or newest first with `before`. Delivered objects are listed for 30 days.",
  query: z.object({
    after: wholeNumberOr(0, 0, Number.MAX_SAFE_INTEGER).describe(
      "Only objects with larger numbers; in a log of several shards: those that were cut after that one.",
    ),
    before: wholeNumber(1, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        "Only objects with smaller numbers, or that were cut before that one, newest first; overrides `after`.",
      ),
    limit: wholeNumberOr(100, 1, 1_000).describe("Maximum number of objects."),
    since: AskedTime.optional().describe("RFC 3339. Only objects whose last event is at or after this time…"),
    until: AskedTime.optional().describe("…and whose first event is before this time."),
  }),
  result: ObjectEntry,
  list: true,
  examples: [
    { name: "The first ones" },
    { name: "Those after number 7", query: { after: "7", limit: "50" } },
    { name: "The newest ten", query: { before: `${Number.MAX_SAFE_INTEGER}`, limit: "10" } },
  ],
} satisfies RouteDoc;

const STORE =
  "The object is read from the job's current destination. An object that is not uploaded, was sent or copied to another destination, or is not what was delivered is a 409; one that the store no longer has, a 404; one that the job's credentials may not read, a 403.";

export const READ_OBJECT = {
  summary: "Read one object of a job",
  description: `Its entry in the list; with \`download=true\`, the object itself. ${STORE}`,
  query: z.object({ download: flag.describe("Answers with the stored object itself.") }),
  result: ObjectEntry,
  files: ["application/gzip", "application/vnd.apache.parquet"],
  errors: [409],
} satisfies RouteDoc;

export const OBJECT_LINES = {
  summary: "Read records of a delivered object",
  description: `Its decompressed lines, by default one record each, at most ${OBJECT_TEXT_MAX_BYTES} bytes; a longer line is truncated and marked. The object is streamed from its beginning, skipped lines included. ${STORE}`,
  query: z.object({
    skip: wholeNumberOr(0, 0, UPLOAD_BYTES.max).describe("Number of lines to skip."),
    limit: wholeNumberOr(50, 1, OBJECT_LINES_MAX).describe("Maximum number of lines."),
  }),
  result: ObjectLines,
  errors: [409],
  examples: [{ name: "The first fifty" }, { name: "Those after the first", query: { skip: "1", limit: "10" } }],
} satisfies RouteDoc;
