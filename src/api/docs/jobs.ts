/** What the API's description says of jobs. */
import * as z from "zod";
import { CreateJob, JOB_FIELDS, OutputOptions, UpdateJob } from "../../job/schema.ts";
import { JOBS_MAX } from "../../limits.ts";
import { DATASETS } from "../../record/fields.ts";
import { flag, paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { Count, EXAMPLE_DESTINATION, Time } from "./common.ts";

const JobId = z.int().min(1).describe("Never used again, even after the job is deleted.");

export const Job = z
  .object({
    id: JobId,
    dataset: z.enum(DATASETS).describe("What is shipped, by the name that it was created with."),
    name: JOB_FIELDS.name,
    enabled: z.boolean().describe("Whether the job takes new events. What it has taken is delivered anyway."),
    kind: z.literal("").describe("Always empty."),
    destination_conf: z
      .string()
      .describe("As it was sent; without the permission `logs:edit`, secrets are `****`. Empty if no key opens it."),
    output_options: OutputOptions.nullable().optional(),
    filter: JOB_FIELDS.filter,
    frequency: JOB_FIELDS.frequency,
    logpull_options: JOB_FIELDS.logpull_options,
    max_upload_bytes: JOB_FIELDS.max_upload_bytes,
    max_upload_records: JOB_FIELDS.max_upload_records,
    max_upload_interval_seconds: JOB_FIELDS.max_upload_interval_seconds,
    canary: JOB_FIELDS.canary.optional(),
    last_complete: Time.nullable().describe(
      "Everything taken in before this time has been delivered. It never goes back.",
    ),
    last_error: Time.nullable().describe("When delivery last failed; null if it does not fail now."),
    error_message: z.string().nullable().describe("Why delivery fails; null if it does not."),
    time_created: Time,
    time_modified: Time,
  })
  .meta({ id: "Job", description: "A read returns what was sent: options that were never sent are not there." });

export const JobLedger = z
  .object({
    received: Count.describe("`filtered + sampled_out + delivered + pending + set_aside + discarded`."),
    filtered: Count.describe("Records that the filter did not keep."),
    sampled_out: Count.describe("Records that the sample did not keep."),
    delivered: Count.describe("Records in objects that the destination has."),
    pending: Count.describe("Records that wait."),
    set_aside: Count.describe("Records that the destination refused for what they are."),
    discarded: Count.describe("Records that were dropped because somebody asked for it."),
    pending_objects: Count.describe("Objects that are cut and not delivered yet."),
    oldest_pending_seconds: Count.nullable().describe("Age of the oldest record that waits; null: none does."),
    bytes_raw: Count.describe("Bytes delivered, before compression."),
    bytes_compressed: Count.describe("Bytes delivered, as they are stored."),
    replayed: z
      .strictObject({ objects: Count, records: Count, bytes: Count.describe("As they are stored.") })
      .describe("What replays shipped again; no other number here has it."),
  })
  .meta({ id: "JobLedger", description: "What became of every record that was offered to the job." });

/** Every job of the account fits one page. */
export const JobsPage = paging(JOBS_MAX);

export const DiscardQuery = z.object({
  discard: flag.describe("Drops what the job has taken and not delivered; it is counted as discarded."),
});

export const LIST_JOBS: RouteDoc = {
  summary: "List the jobs",
  query: JobsPage,
  result: Job,
  list: true,
  examples: [{ name: "All jobs" }, { name: "The first ten", query: { page: "1", per_page: "10" } }],
};

export const LIST_DATASET_JOBS: RouteDoc = { ...LIST_JOBS, summary: "List the jobs of a dataset" };

export const CREATE_JOB: RouteDoc = {
  summary: "Create a job",
  description: `Writes a test object to the destination first: if that fails, nothing is stored, and the answer says what the store said. There can be ${JOBS_MAX} jobs; one more is a 403 with code 1004.`,
  body: CreateJob,
  result: Job,
  status: 201,
  examples: [
    {
      name: "Everything, as NDJSON",
      body: { name: "all events", destination_conf: EXAMPLE_DESTINATION, enabled: true },
    },
    {
      name: "Failures of one function, with chosen fields",
      body: {
        name: "failures of shop",
        destination_conf: EXAMPLE_DESTINATION,
        dataset: "functions_trace_events",
        enabled: true,
        filter:
          '{"where":{"and":[{"key":"ScriptName","operator":"eq","value":"shop"},{"key":"Outcome","operator":"!eq","value":"ok"}]}}',
        output_options: {
          field_names: ["EventTimestampMs", "ScriptName", "Outcome", "Exceptions"],
          timestamp_format: "rfc3339",
        },
        max_upload_interval_seconds: 60,
      },
    },
  ],
};

export const READ_JOB: RouteDoc = { summary: "Read a job", result: Job, examples: [{ name: "One job" }] };

export const UPDATE_JOB: RouteDoc = {
  summary: "Change a job",
  description:
    "In force for every event that is accepted after the answer. A changed destination is written to first, and applies to everything that is not delivered yet.",
  body: UpdateJob,
  result: Job,
  errors: [409],
  examples: [
    { name: "Switch it on", body: { enabled: true } },
    { name: "Replace its options", body: { output_options: { output_type: "csv", sample_rate: 0.1 } } },
    { name: "Clear its filter", body: { filter: "" } },
  ],
};

export const DELETE_JOB: RouteDoc = {
  summary: "Delete a job",
  description:
    "It is gone from the list at once. What it had taken is delivered in the background, unless it is discarded.",
  query: DiscardQuery,
  result: z.object({ id: JobId }),
  examples: [{ name: "Deliver what waits" }, { name: "Drop what waits", query: { discard: "true" } }],
};

export const JOB_LEDGER: RouteDoc = {
  summary: "Read what became of a job's records",
  result: JobLedger,
  examples: [{ name: "The counts" }],
};

export const FLUSH_JOB: RouteDoc = {
  summary: "Deliver what a job has taken, now",
  description: "Waits for the uploads for up to 20 seconds; they go on.",
  result: z.object({ id: JobId, pending_objects: Count.describe("Objects that are still on their way.") }),
  examples: [{ name: "Flush" }],
};
