/** What the API's description says of what a month uses and costs. */
import * as z from "zod";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";

const Dollars = z.number().min(0).describe("US dollars.");

export const Operation = z
  .strictObject({
    amount: Count,
    basis: z
      .enum(["counted", "derived", "estimated"])
      .describe(
        "`counted`: as it happened. `derived`: from what was counted, by factors that are measured. `estimated`: by what cannot be measured here.",
      ),
    list_price_usd: Dollars,
  })
  .meta({ id: "Operation" });

/** In the order in which they are shown. */
export const Operations = z.strictObject({
  queue_operations: Operation.describe("Writes, reads and deletes of each started 64 KB of a message."),
  rows_written: Operation.describe("Of durable objects."),
  object_requests: Operation.describe("Calls and alarms of durable objects."),
  object_gb_seconds: Operation.describe("Of durable objects at work."),
  puts: Operation.describe("Uploads, those that were refused included."),
  cpu_ms: Operation,
  invocations: Operation.describe("Of the queue's consumer and the cron."),
  log_lines: Operation.describe("Of the shipper itself."),
});

export const Usage = z
  .strictObject({
    month: z.string().meta({ pattern: "^\\d{4}-\\d{2}$" }).describe("In UTC."),
    since: Time.nullable().describe(
      "Since when all of it was counted: the beginning of the month, unless counting began later. null: nothing was ever counted.",
    ),
    until: Time,
    counted: z.strictObject({
      events: Count.describe("Events that were taken from the queue."),
      messages: Count.describe("Messages that these came in."),
      batches: Count.describe("Batches of the queue that these came in."),
      records_offered: Count.describe("Events, each counted once for every job that was offered it."),
      appends: Count.describe("Calls in which a job's log took records."),
      uploads: z.strictObject({ ok: Count, retried: Count, failed: Count }).describe("Attempts, over all jobs."),
      records_delivered: Count.describe("Records in what was delivered, over all jobs."),
      bytes_delivered: Count.describe("As they are stored."),
    }),
    silent_jobs: z
      .array(z.int().min(1))
      .describe("Jobs whose logs did not answer: what they uploaded is missing in all numbers here."),
    operations: Operations,
    list_price_usd: Dollars.describe("All operations together, as if nothing was included."),
    beyond_plan_usd: Dollars.describe(
      "What of it exceeds what the paid plan includes a month, in an account that does nothing else.",
    ),
    vendor_price_usd: Dollars.describe("The vendor's own log shipping, for `records_delivered`."),
    vendor_beyond_plan_usd: Dollars.describe("What of that exceeds what the plan includes."),
    assumptions: z.array(z.string()).describe("What to know of these numbers, as sentences."),
  })
  .meta({ id: "Usage" });

export const READ_USAGE: RouteDoc = {
  summary: "Say what this month has cost so far",
  description:
    "What was counted in this calendar month (UTC), the operations that are billed for it, and what these cost by public list price; beside it, what the vendor's own log shipping " +
    "would cost for the same records. It is no bill: discounts, and whatever else the account does, are not known here.",
  result: Usage,
  examples: [{ name: "This month" }],
};
