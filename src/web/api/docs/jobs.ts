import * as z from "zod";
import { JOBS_MAX } from "../../../base/limits.ts";
import { DATASETS } from "../../../formats/record/fields.ts";
import { AS_SENT as AS_SENT_NAMES } from "../../../ship/job/fields.ts";
import { CreateJob, JOB_FIELDS, UpdateJob } from "../../../ship/job/job-schema.ts";
import { tolerant } from "../../../ship/job/unknown-keys.ts";
import { flag, paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { Count, EXAMPLE_DESTINATION, JobId, named, Time } from "./common.ts";

const OwnId = JobId.describe("Never reused, even after the job is deleted.");

const Guarantee = z
  .string()
  .nullable()
  .describe(
    "`once`, or `at least once, id: …`: by what the destination, or a reader, tells a record that was sent again after a lost answer. null: no key opens the destination.",
  );

/** The fields that an answer has only where they were sent. */
const AS_SENT = z
  .object(JOB_FIELDS)
  .pick({ output_options: true, filter_attack_traffic: true, ...AS_SENT_NAMES })
  .partial();

export const Job = tolerant({
  id: OwnId,
  dataset: z.enum(DATASETS).describe("As last sent below this path, otherwise by the name that the path uses."),
  ...JOB_FIELDS,
  ...AS_SENT.shape,
  enabled: z.boolean().describe("Whether the job takes new events. Events already taken are delivered either way."),
  kind: z.literal("").describe("Always empty."),
  destination_conf: z
    .string()
    .describe(
      "As sent; without the permissions `logs:read` and `logs:edit`, secrets are `****`. Empty if no key opens it.",
    ),
  last_complete: Time.nullable().describe("No event accepted before this time waits or is set aside. Never goes back."),
  last_error: Time.nullable().describe("When delivery last failed; null: it does not fail now."),
  error_message: z.string().nullable().describe("Why delivery fails; null: it does not."),
  guarantee: Guarantee.optional(),
  time_created: Time,
  time_modified: Time,
}).meta({ id: "Job", description: "A read returns what was sent, without options that were never sent." });
export type Job = z.infer<typeof Job>;

export const JobLedger = named(
  "JobLedger",
  {
    received: Count.describe("`filtered + sampled_out + delivered + pending + set_aside + discarded`."),
    filtered: Count.describe("Records rejected by the filter; with `rows` of log lines, also invocations without any."),
    sampled_out: Count.describe("Records left out by sampling."),
    delivered: Count.describe("Records in delivered objects."),
    pending: Count.describe("Waiting records."),
    set_aside: Count.describe("Records in objects that the destination refuses."),
    discarded: Count.describe("Records dropped on request."),
    pending_objects: Count.describe("Objects that are cut but not delivered yet."),
    oldest_pending_seconds: Count.nullable().describe("Age of the oldest waiting record; null: none waits."),
    next_try: Time.nullable().describe("After a failure, when delivery goes on; null: nothing keeps it."),
    bytes_raw: Count.describe("Bytes delivered, before compression."),
    bytes_compressed: Count.describe("Bytes delivered, compressed."),
    replayed: z
      .strictObject({ objects: Count, records: Count, bytes: Count.describe("Compressed.") })
      .describe("What replays, and the reruns of 15 days, shipped again; not part of the other counts."),
    unread: z
      .strictObject({ records: Count, bytes: Count, oldest: Time.nullable().describe("Its time of intake.") })
      .describe("What the job has not read from the log yet, before its filter: part of `received` and `pending`."),
    guarantee: Guarantee,
    resent_in_doubt: Count.describe(
      "Records that were sent again though an earlier attempt may have brought them, to a destination that does not take each once; not part of the other counts.",
    ),
  },
  "Counts of all records offered to the job.",
);

/** All jobs fit one page. */
const JobsPage = paging(JOBS_MAX);

export const LIST_JOBS = {
  summary: "List the jobs",
  query: JobsPage,
  result: Job,
  list: true,
  examples: [{ name: "All jobs" }, { name: "The first ten", query: { page: "1", per_page: "10" } }],
} satisfies RouteDoc;

export const LIST_DATASET_JOBS = { ...LIST_JOBS, summary: "List the jobs of a dataset" } satisfies RouteDoc;

export const CREATE_JOB = {
  summary: "Create a job",
  description: `Writes a test object to the destination first; if that fails, no job is created, and the error has the store's answer. At most ${JOBS_MAX} jobs; one more is a 403 with code 1004.`,
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
    {
      name: "To an S3 bucket, an object per hour and function",
      body: {
        destination_conf:
          "s3://my-bucket/{SCRIPT}/dt={DATE_ISO}/hour={HOUR}?region=eu-central-1&access-key-id=AKEXAMPLE&secret-access-key=EXAMPLE-SECRET",
        enabled: true,
      },
    },
    {
      name: "To Datadog",
      body: {
        destination_conf:
          "datadog://http-intake.logs.datadoghq.com/api/v2/logs?header_DD-API-KEY=EXAMPLE-KEY&ddsource=cloudflare&service=shop",
        enabled: true,
      },
    },
    {
      name: "To an address of yours",
      body: {
        destination_conf: "https://logs.example.com/in?header_Authorization=Bearer%20EXAMPLE-TOKEN",
        enabled: true,
      },
    },
  ],
} satisfies RouteDoc;

export const READ_JOB = { summary: "Read a job", result: Job } satisfies RouteDoc;

export const UPDATE_JOB = {
  summary: "Change a job",
  description:
    "Applies to every event accepted after the answer. A changed destination is tested by a write first, and applies to everything not delivered yet.",
  body: UpdateJob,
  result: Job,
  errors: [409],
  examples: [
    { name: "Switch it on", body: { enabled: true } },
    { name: "Replace its options", body: { output_options: { output_type: "csv", sample_rate: 0.1 } } },
    { name: "Clear its filter", body: { filter: "" } },
  ],
} satisfies RouteDoc;

export const DELETE_JOB = {
  summary: "Delete a job",
  description:
    "The job disappears from the list at once. What it has taken is delivered in the background, unless discarded.",
  query: z.object({ discard: flag.describe("Drops what the job has not delivered yet, counted as discarded.") }),
  result: z.object({ id: OwnId }),
  examples: [{ name: "Deliver what waits" }, { name: "Drop what waits", query: { discard: "true" } }],
} satisfies RouteDoc;

export const JOB_LEDGER = {
  summary: "Read a job's record counts",
  result: JobLedger,
} satisfies RouteDoc;

export const FLUSH_JOB = {
  summary: "Flush a job",
  description: "Uploads what waits now. The answer comes after 20 seconds at the latest; uploads continue.",
  result: z.object({ id: OwnId, pending_objects: Count.describe("Objects not delivered yet.") }),
} satisfies RouteDoc;
