import * as z from "zod";
import { EXTRA_FIELDS, FIELD_NAMES, ROW_FIELDS } from "../../../formats/record/fields.ts";
import type { RouteDoc } from "../route.ts";
import { Count, JobId, KeptSince, named, Time } from "./common.ts";

export const TraceLog = named("TraceLog", {
  processed: Count.describe("`routed + not_enabled + not_routed + set_aside + discarded`."),
  routed: Count.describe("Events offered to at least one job."),
  not_enabled: Count.describe("Events of functions with logging off."),
  not_routed: Count.describe("Events for which no job was enabled."),
  set_aside: Count.describe("Events that could not be processed and wait for your decision."),
  discarded: Count.describe("Events that were set aside and then deleted."),
  queue: z.object({
    backlog_messages: Count.nullable().describe("Messages in the queue when last seen; null: unknown."),
    seen_at: Time.nullable(),
  }),
  intake_lost: Count.describe("Lost on arrival: neither the queue nor the log took them."),
  intake_unfit: Count.describe("Events that `tail()` got and no record can hold: too large, or no trace events."),
  kept_since: KeptSince,
  draining: z
    .array(
      z.object({
        id: JobId,
        deleted_at: Time,
        pending: Count.nullable().describe("Waiting records; null: the job's log does not answer."),
        error_message: z.string().nullable(),
      }),
    )
    .describe("Deleted jobs that still deliver."),
});

export const ACCOUNT_LEDGER = {
  summary: "Read the account's event counts",
  description:
    "Each event once, whatever jobs do with it: what a job has not read yet is in its own ledger, as `unread`.",
  result: TraceLog,
} satisfies RouteDoc;

export const DATASET_FIELDS = {
  summary: "List the fields of a dataset",
  description: "Each with its type and meaning; extra fields where the setting `EXTRA_FIELDS` names them.",
  query: z.object({
    rows: z
      .enum(["invocation", "log"], { error: "must be invocation or log" })
      .optional()
      .describe("As of `output_options`: with `log`, the fields of rows. Default: `invocation`."),
  }),
  result: z.partialRecord(z.enum([...FIELD_NAMES, ...ROW_FIELDS, ...EXTRA_FIELDS]), z.string()),
  examples: [{ name: "Names and descriptions" }, { name: "Of rows", query: { rows: "log" } }],
} satisfies RouteDoc;

export const DEFAULT_FIELDS = {
  ...DATASET_FIELDS,
  summary: "List the fields that a job ships by default",
  description: "A job without `field_names` ships all fields but the extra ones.",
} satisfies RouteDoc;
