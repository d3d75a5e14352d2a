/** What the API's description says of the account's ledger and of datasets. */
import * as z from "zod";
import { FIELD_NAMES } from "../../record/fields.ts";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";

export const AccountLedger = z
  .object({
    processed: Count.describe("`routed + not_enabled + not_routed + set_aside + discarded`."),
    routed: Count.describe("Events that were offered to at least one job."),
    not_enabled: Count.describe("Events of functions whose logging was off."),
    not_routed: Count.describe("Events for which no job was enabled."),
    set_aside: Count.describe("Events that could not be read or taken, and are kept until somebody decides."),
    discarded: Count.describe("Events that were set aside, and deleted by somebody."),
    queue: z.object({
      backlog_messages: Count.nullable().describe("What waits in the queue, as it was last seen; null: unknown."),
      seen_at: Time.nullable(),
    }),
    outbox: z
      .object({ messages: Count, events: Count, oldest: Time.nullable() })
      .describe("What was taken in and the queue has not taken yet: it is sent again until it has."),
    intake_lost: Count.describe("Events that were lost on their way in."),
    draining: z
      .array(
        z.object({
          id: z.int().min(1),
          deleted_at: Time,
          pending: Count.nullable().describe("Records that wait; null: it cannot be told at the moment."),
          error_message: z.string().nullable(),
        }),
      )
      .describe("Deleted jobs that still deliver."),
  })
  .meta({ id: "AccountLedger" });

export const ACCOUNT_LEDGER: RouteDoc = {
  summary: "Read what became of all events",
  result: AccountLedger,
  examples: [{ name: "The counts" }],
};

export const DATASET_FIELDS: RouteDoc = {
  summary: "List the fields of a dataset",
  description: "Each with its type and what it says.",
  result: z.partialRecord(z.enum(FIELD_NAMES), z.string()),
  examples: [{ name: "Names and descriptions" }],
};

export const DEFAULT_FIELDS: RouteDoc = {
  ...DATASET_FIELDS,
  summary: "List the fields that a job ships by default",
  description: "A job that names no fields ships all of them.",
};
