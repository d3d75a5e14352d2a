import * as z from "zod";
import type { RouteDoc } from "../route.ts";
import { AskedTime, Count, named, Time } from "./common.ts";

/** Errors of an answer. */
export const ERRORS_SHOWN = 20;

const Milliseconds = z.number().min(0);

const Quantiles = z
  .object({ p50: Milliseconds, p95: Milliseconds, p99: Milliseconds })
  .nullable()
  .describe("In milliseconds, within 5 % (up to 20 ms exact); null: nothing was invoked.");

const SUM = {
  invocations: Count.describe("Records that were counted, without those that came while logging was off."),
  failed: Count.describe(
    "Of these, those that answered with a status from 500 to 599, or ended otherwise than `ok`, `canceled`, `responseStreamDisconnected` or `unknown`.",
  ),
  outcomes: z
    .array(z.object({ outcome: z.string(), count: Count }))
    .describe("How they ended, the most frequent first; beyond twenty different ones: `other`."),
  server_errors: Count.describe("Answers with a status from 500 to 599."),
  statuses: z
    .array(z.object({ status: z.int(), count: Count }))
    .describe("Answers by status; beyond twenty different ones by its first digit: `4` is 400 to 499."),
  wall_ms: Quantiles,
  cpu_ms: Quantiles,
};

export const ProblemRecord = z
  .object({
    script: z.string(),
    event_timestamp_ms: z.int(),
    ray_id: z.string().nullable().describe("null: it has none."),
  })
  .describe(
    "`POST /search` finds it: `since` is this time, `until` a millisecond later, with the `ray_id`, or a filter for the script.",
  );
export type ProblemRecord = z.infer<typeof ProblemRecord>;

export const FunctionSum = z.object(SUM);

const PIECE = {
  ...SUM,
  versions: z
    .array(z.object({ version: z.string(), invocations: Count, failed: Count }))
    .describe("Of which versions these were; empty id: unknown."),
  partial: z
    .boolean()
    .describe("More than 200 functions ran then, and some of this one's invocations may not be counted here."),
};

const Deployment = z.object({
  version: z.string().describe("Its id."),
  tag: z.string().describe("What its owner calls it; empty: nothing."),
  at: Time.describe("When its first event was taken in."),
});

export const FunctionHealth = named("FunctionHealth", {
  since: Time,
  until: Time,
  total: FunctionSum.describe("Of all hours together."),
  hours: z.array(z.object({ hour: Time.describe("Start of the hour."), ...PIECE })).describe("Empty with `every=5m`."),
  slots: z.array(z.object({ slot: Time.describe("Start of the five minutes."), ...PIECE })).optional(),
  deployments: z.array(Deployment).describe("Versions that were first seen in this time, the newest first."),
  errors: z
    .array(
      z.object({
        id: z.string().describe("Of its problem: `GET /problems/{id}`."),
        name: z.string().describe("Of the exception or logged error; the outcome; or `HTTP <status>`."),
        message: z.string().describe("Without its variable parts, as problems have it."),
        count: Count.describe("At least so many: of more than 32 problems in an hour, some are left out."),
        first: Time.describe("Time of the first event, also before these hours."),
        last: Time.describe("Of the latest, also after them."),
        first_record: ProblemRecord.describe("The first, also before these hours."),
        record: ProblemRecord.describe("The latest."),
      }),
    )
    .describe(`What it failed with, the most frequent first, at most ${ERRORS_SHOWN}.`),
});
export type FunctionHealth = z.infer<typeof FunctionHealth>;

export const READ_FUNCTION_HEALTH = {
  summary: "Show a function's invocations by the hour, or by five minutes",
  description:
    "The last 24 hours, or whole hours from `since` to `until`, in UTC, oldest first; with `every=5m` the last six hours, or five minutes each, for two days. " +
    "Those without invocations are included with zeros; hours older than 30 days or in the future are left out. " +
    "An invocation belongs to the time in which its event was taken in.",
  query: z.object({
    every: z.enum(["1h", "5m"]).default("1h"),
    since: AskedTime.optional().describe("Rounded down to the hour, or to five minutes."),
    until: AskedTime.optional().describe("Rounded up likewise. Default: now."),
  }),
  examples: [{ name: "The last day" }, { name: "The last six hours, by five minutes", query: { every: "5m" } }],
  result: FunctionHealth,
} satisfies RouteDoc;

const FunctionVersion = named("FunctionVersion", {
  version: z.string().describe("Its id."),
  tag: z.string().describe("What its owner calls it; empty: nothing."),
  first_seen: Time.describe("When its first event was taken in: about its deployment."),
  last_seen: Time,
  requests: Count.describe("Invocations in the last 30 days."),
  failed: Count.describe("Of these, as of the health."),
  wall_ms: Quantiles,
  cpu_ms: Quantiles,
});
export type FunctionVersion = z.infer<typeof FunctionVersion>;

export const LIST_VERSIONS = {
  summary: "List the versions of a function",
  description:
    "Those that sent events in the last 90 days, the newest first, at most 20. Counts are of the last 30 days.",
  examples: [{ name: "All" }],
  result: FunctionVersion,
  list: true,
} satisfies RouteDoc;
