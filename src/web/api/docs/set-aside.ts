import * as z from "zod";
import { ASIDE_SHOWN_BYTES, ASIDE_SHOWN_UNITS } from "../../../base/limits.ts";
import { CreateJob, DestinationConf } from "../../../ship/job/job-schema.ts";
import { flag, paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { Count, exactly, JobId, RecordSource, RerunId, Time } from "./common.ts";

const JobIds = z.array(JobId);

const OF_JOB = {
  job: JobId,
  rerun: RerunId.optional().describe("Which rerun of that job it is of."),
};

const ENTRY = {
  set_aside_at: Time,
  why: z.string().describe("Why it was set aside."),
  bytes: Count.describe("Stored size."),
  resendable: z.boolean().describe("As far as known without reading it."),
  why_not: z.string().nullable().describe("Why it cannot be resent; null: it can."),
};

const MESSAGE = {
  id: z.string().regex(/^message-\d+$/),
  kind: z.literal("message"),
  ...ENTRY,
  taken_in: Time.nullable().describe("null: unreadable, or implausible."),
  queue: z.string().describe("The queue it came from."),
  events: Count.describe("Number of events; an unreadable message counts as one."),
};

const OBJECT = {
  id: z.string().regex(/^object-\d+-\d+$/),
  kind: z.literal("object"),
  ...ENTRY,
  ...OF_JOB,
  number: z.int().min(1),
  key: z.string().describe("The key of the refused upload."),
  records: Count,
  answer: z
    .string()
    .nullable()
    .describe(
      "The beginning of what its receiver answered, as one line, without the job's credentials; null: unknown.",
    ),
};

const ENTRY_OF_LOG = {
  id: z.string().regex(/^entry-\d+-\d+-\d+$/),
  kind: z.literal("entry"),
  ...ENTRY,
  taken_in: Time.nullable().describe("Intake of the oldest of its records."),
  ...OF_JOB,
  records: Count,
};

export const Entry = z
  .discriminatedUnion("kind", [z.strictObject(MESSAGE), z.strictObject(OBJECT), z.strictObject(ENTRY_OF_LOG)])
  .meta({
    id: "SetAside",
    description:
      "A message that could not be processed, an object that its store refuses, or records that stop the process that makes them.",
  });

export const Shown = z.discriminatedUnion("kind", [
  z.strictObject({
    ...MESSAGE,
    content: z
      .strictObject({
        records: z.array(z.string()).nullable().describe("The records, each as JSON text; null: unreadable."),
        sources: z.array(RecordSource).nullable().describe("Where each of them came from; null: unreadable."),
        base64: z.string().nullable().describe("The bytes of an unreadable message; otherwise null."),
        complete: z.boolean().describe("`false`: only the beginning is included; `download=true` has all of it."),
      })
      .describe("Content from the sender of the events: show it as text, never as HTML."),
  }),
  z.strictObject({
    ...OBJECT,
    bytes_raw: Count.describe("Before compression."),
    first_event: Time,
    last_event: Time,
    cut_at: Time,
  }),
  z.strictObject(ENTRY_OF_LOG),
]);

export const LIST_ASIDE = {
  summary: "List what was set aside",
  description:
    "Queue messages that could not be processed, objects that their store refuses, and entries of the log that stop the process that makes their records. They are kept until you resend or delete them. " +
    "Messages come first, then objects by job, oldest first, then entries by job.",
  query: paging(100),
  result: Entry,
  list: z.object({
    unanswered_jobs: JobIds.describe("Jobs whose logs did not answer; their objects are missing from the list."),
  }),
  examples: [{ name: "The first ten", query: { per_page: "10" } }],
} satisfies RouteDoc;

export const READ_ASIDE = {
  summary: "Read one entry",
  description: `For a message, its records up to ${ASIDE_SHOWN_UNITS} characters, or up to ${ASIDE_SHOWN_BYTES} bytes if it is unreadable; for an object, its details. \`resendable\` is exact here: the message is read in full.`,
  query: z.object({
    download: flag.describe(
      "Answers with the content as a file: `.ndjson` for a message, `.log.gz` or `.parquet` for an object. An entry of the log has none.",
    ),
  }),
  result: Shown,
  files: ["application/x-ndjson", "application/gzip", "application/vnd.apache.parquet", "application/octet-stream"],
} satisfies RouteDoc;

const ResendTo = exactly("ResendTo", {
  destination_conf: DestinationConf.optional().describe(
    "Where an object goes instead of its job's destination, with its secrets; they are never returned, and deleted when it is there.",
  ),
  ownership_challenge: CreateJob.shape.ownership_challenge,
});

export const Resent = z.discriminatedUnion("kind", [
  z.strictObject({
    id: MESSAGE.id,
    kind: MESSAGE.kind,
    jobs: JobIds.describe("Jobs that have it now; each applied its filter and sampling."),
    gone_jobs: JobIds.describe("Jobs that were enabled at its intake and deleted since; they do not get it."),
    events: Count.describe("`routed + not_enabled + not_routed`."),
    routed: Count,
    not_enabled: Count,
    not_routed: Count,
  }),
  z.strictObject({
    id: OBJECT.id,
    kind: OBJECT.kind,
    ...OF_JOB,
    number: OBJECT.number,
    key: z.string().describe("The new key."),
    records: Count.describe("Counted as pending again."),
    sent_to: z.string().nullable().describe("Where it goes, its secrets as `****`; null: to its job's destination."),
  }),
  z.strictObject({
    id: ENTRY_OF_LOG.id,
    kind: ENTRY_OF_LOG.kind,
    records: Count.describe("Counted as pending again."),
  }),
]);

export const PUT_ASIDE = {
  summary: "Set an upload aside",
  description:
    "Takes an object of a job (`object-<job>-<number>`, by its number in the job's list of objects) out of its turn while it waits for its upload: it is kept, counted as set aside, and holds up nothing. " +
    "Then it can be resent, sent elsewhere, downloaded or deleted like others. If it is being sent at this moment, it may arrive all the same. An object that is set aside already stays as it is.",
  result: z.strictObject(OBJECT),
} satisfies RouteDoc;

export const RESEND_ASIDE = {
  summary: "Resend an entry",
  description:
    "A message goes to every job that was enabled at its intake: none has it before. Then it leaves this list, and its events are counted by their result. " +
    "An object waits for its upload again, at the job's current destination; if that still refuses it, it is set aside again. " +
    "An object that waits for another attempt is tried at once, or sent elsewhere; while it is being sent, the answer is 409. " +
    "The records of an entry of the log are made again, and wait for their upload. " +
    "With `destination_conf` an object goes there instead, whatever becomes of its job's destination: the destination is tested as for a new job, and has to take the object's records as they were written. " +
    "What it refuses, or does not take in eight attempts, is set aside again, with the reason. " +
    "You may repeat the request: nothing is taken twice. What cannot be resent is a 409 with the reason; what is no longer listed is a 404.",
  body: ResendTo,
  bodyIsOptional: true,
  result: Resent,
  errors: [409],
} satisfies RouteDoc;

export const ResentAll = z.strictObject({
  sent: Count.describe("Entries that are not set aside any more."),
  events: Count.describe("Events of the messages among them."),
  records: Count.describe("Records of the others among them, which wait for their upload."),
  stayed: Count.describe("Entries that are still set aside, those passed over included."),
  left: Count.describe("Entries behind these, not tried yet."),
  unanswered_jobs: JobIds.describe("Jobs whose logs did not answer; their objects were not tried."),
});

export const RESEND_ALL = {
  summary: "Resend everything",
  description:
    "As for one entry, for up to a hundred, the oldest first; entries that cannot be resent are passed over. " +
    "Repeat it with `skip` as `stayed` of the answer until `left` is 0. You may repeat the request: nothing is taken twice.",
  body: z.strictObject({
    skip: z.int().min(0).max(1_000_000_000).describe("Entries at the beginning of the list to pass over; 0 at first."),
  }),
  result: ResentAll,
  examples: [{ name: "From the beginning", body: { skip: 0 } }],
} satisfies RouteDoc;

export const DELETE_ASIDE = {
  summary: "Delete an entry",
  description:
    "Deletes it for good. The records of an object or an entry count as discarded by their job, a message's events as discarded by the account.",
  result: z.strictObject({ id: z.string(), discarded: Count.describe("Events of a message, records of the others.") }),
} satisfies RouteDoc;
