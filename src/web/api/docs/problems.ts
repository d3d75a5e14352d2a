import * as z from "zod";
import { paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { AskedTime, Count, named, RecordSource, Time } from "./common.ts";
import { ProblemRecord } from "./function-health.ts";

const State = z.enum(["open", "resolved", "ignored"]);

export const Problem = named("Problem", {
  id: z.string().describe("Of its Worker, sender, name, message and frame. The same on every installation."),
  worker: z.string(),
  source: RecordSource,
  name: z.string().describe("Of the exception or logged error; the outcome; or `HTTP <status>`."),
  message: z
    .string()
    .describe("Its first 160 characters; ids, numbers, times, paths, quoted values and JSON are written as `#`."),
  frame: z.string().describe("The topmost function of the Worker itself in the stack; empty: unknown."),
  count: Count.describe("Records. Each record is in one problem at most."),
  state: State.describe("A resolved problem that comes again is open, and `regressed`."),
  ignored_until: Time.nullable().describe("null: it is not ignored, or without an end."),
  changed_by: z.string().nullable().describe("Who resolved or ignored it; null: no one."),
  changed_at: Time.nullable(),
  new: z.boolean().describe("First seen within 24 hours."),
  regressed: z.boolean(),
  only_version: z.string().nullable().describe("The one version that has it; null: several, or it is unknown."),
  first_seen: Time.describe("Intake of the first record."),
  last_seen: Time.describe("Of the latest."),
  first_record: ProblemRecord,
  last_record: ProblemRecord,
});
export type Problem = z.infer<typeof Problem>;

const PER_PAGE_MAX = 1_000;

export const LIST_PROBLEMS = {
  summary: "List problems: errors of one cause",
  description:
    "Over all Workers, last seen first, at most 1,000. Exceptions, logged errors (with the extra field `LogErrors`), failed invocations and answers of 5xx are grouped; docs/problems.md says how.",
  query: paging(PER_PAGE_MAX).extend({
    state: z.enum([...State.options, "new", "regressed"]).optional(),
    worker: z.string().max(255).optional(),
    since: AskedTime.optional().describe("Seen then or later."),
  }),
  result: Problem,
  list: z.object({
    dropped: Count.describe("Problems that there was no room for: those seen least recently."),
    other_records: Count.describe("Records with errors that are in none of the problems known."),
  }),
  examples: [{ name: "All" }, { name: "Open ones of a Worker", query: { state: "open", worker: "shop" } }],
} satisfies RouteDoc;

export const ProblemDetails = Problem.extend({
  counts: z
    .array(z.object({ hour: Time, version: z.string().nullable(), count: Count }))
    .describe("By hour of intake and version, over 30 days, oldest first. `version`: null, if it is unknown."),
  slots: z
    .array(z.object({ slot: Time, version: z.string().nullable(), count: Count }))
    .describe("The same by five minutes, over two days."),
}).meta({ id: "ProblemDetails" });
export type ProblemDetails = z.infer<typeof ProblemDetails>;

export const READ_PROBLEM = {
  summary: "Show a problem",
  result: ProblemDetails,
} satisfies RouteDoc;

export const UPDATE_PROBLEM = {
  summary: "Resolve, ignore or open a problem",
  description:
    "A resolved problem is open again with the next record that is taken in; an ignored one at `until`. Neither raises an alert before.",
  body: z.strictObject({
    state: State,
    until: AskedTime.nullable()
      .optional()
      .describe("Of `ignored`: until when; later than now. Absent: without an end."),
  }),
  result: Problem,
  examples: [
    { name: "Fixed", body: { state: "resolved" } },
    { name: "Known", body: { state: "ignored", until: "2100-11-20T12:00:00Z" } },
  ],
} satisfies RouteDoc;
