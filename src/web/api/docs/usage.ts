import * as z from "zod";
import type { RouteDoc } from "../route.ts";
import { Count, exactly, Time } from "./common.ts";

const Dollars = z.number().min(0).describe("US dollars.");

export const Operation = exactly("Operation", {
  amount: Count,
  basis: z
    .enum(["counted", "derived", "estimated"])
    .describe("`counted`: measured. `derived`: from counts, by measured factors. `estimated`: not measurable here."),
  list_price_usd: Dollars,
});

/** In display order. */
export const Operations = z.strictObject({
  queue_operations: Operation.describe("Writes, reads and deletes of each started 64 KB of a message."),
  rows_written: Operation.describe("Of durable objects."),
  object_requests: Operation.describe("Calls and alarms of durable objects."),
  object_gb_seconds: Operation.describe("Of active durable objects."),
  puts: Operation.describe("Uploads, including refused ones."),
  cpu_ms: Operation,
  invocations: Operation.describe("Of the queue's consumer and the cron."),
  log_lines: Operation.describe("Of logship itself."),
});
export type Operations = z.infer<typeof Operations>;

export const Usage = exactly("Usage", {
  month: z.string().meta({ pattern: "^\\d{4}-\\d{2}$" }).describe("In UTC."),
  since: Time.nullable().describe("Start of the month, or of counting if later. null: nothing was counted yet."),
  until: Time,
  counted: z.strictObject({
    events: Count.describe("Events taken from the queue."),
    messages: Count.describe("Messages with these events."),
    batches: Count.describe("Queue batches with these messages."),
    records_offered: Count.describe("Events, each counted once per job that was offered it."),
    entries: Count.describe("Entries of jobs in the log."),
    uploads: z.strictObject({ ok: Count, retried: Count, failed: Count }).describe("Attempts of all jobs."),
    records_delivered: Count.describe("Records delivered by all jobs."),
    bytes_delivered: Count.describe("Compressed."),
  }),
  silent_jobs: z.array(z.int().min(1)).describe("Jobs whose logs did not answer; their uploads are missing here."),
  operations: Operations,
  list_price_usd: Dollars.describe("All operations, without the plan's included amounts."),
  beyond_plan_usd: Dollars.describe("Beyond what the paid plan includes, in an account that does nothing else."),
  vendor_price_usd: Dollars.describe("The vendor's own log shipping, for `records_delivered`."),
  vendor_beyond_plan_usd: Dollars.describe("Beyond what the plan includes."),
  assumptions: z.array(z.string()).describe("Notes on these numbers, as sentences."),
});

export const READ_USAGE = {
  summary: "Estimate this month's cost",
  description:
    "The counts of this calendar month (UTC), the billed operations and their public list price, and the price of the vendor's own log shipping for the same records. " +
    "Not a bill: discounts and the account's other use are unknown here.",
  result: Usage,
} satisfies RouteDoc;
