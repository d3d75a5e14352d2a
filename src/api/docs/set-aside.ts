/** What the API's description says of what was set aside. */
import * as z from "zod";
import { ASIDE_SHOWN_BYTES, ASIDE_SHOWN_UNITS } from "../../limits.ts";
import { flag, paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";

const JobIds = z.array(z.int().min(1));

const ENTRY = {
  set_aside_at: Time,
  why: z.string().describe("Why it could not go its way, in words."),
  bytes: Count.describe("As it is stored."),
  resendable: z.boolean().describe("As far as can be told without looking into it."),
  why_not: z.string().nullable().describe("Why it cannot be sent again; null: it can."),
};

const MESSAGE = {
  id: z.string().regex(/^message-\d+$/),
  kind: z.literal("message"),
  ...ENTRY,
  taken_in: Time.nullable().describe("null: it cannot be read, or what it says cannot be believed."),
  queue: z.string().describe("The queue that it came from."),
  events: Count.describe("As how many events it counts. What cannot be read counts as one."),
};

const OBJECT = {
  id: z.string().regex(/^object-\d+-\d+$/),
  kind: z.literal("object"),
  ...ENTRY,
  job: z.int().min(1),
  number: z.int().min(1),
  key: z.string().describe("Under which the store was asked to take it."),
  records: Count,
};

export const Entry = z
  .discriminatedUnion("kind", [z.strictObject(MESSAGE), z.strictObject(OBJECT)])
  .meta({ id: "SetAside", description: "A message that reached no job, or an object that its store refuses." });

export const Shown = z.discriminatedUnion("kind", [
  z.strictObject({
    ...MESSAGE,
    content: z
      .strictObject({
        records: z
          .array(z.string())
          .nullable()
          .describe("One JSON text a record, as it was taken in; null: they cannot be read."),
        base64: z.string().nullable().describe("The bytes of what cannot be read; null: it can."),
        complete: z.boolean().describe(`\`false\`: this is the beginning alone; \`download=true\` gives all of it.`),
      })
      .describe("Whoever sent the events has written this: show it as text, never as a page."),
  }),
  z.strictObject({
    ...OBJECT,
    bytes_raw: Count.describe("Before compression."),
    first_event: Time,
    last_event: Time,
    cut_at: Time,
  }),
]);

export const AsidePage = paging(100);

export const AsideQuery = z.object({
  download: flag.describe("Answers with what is in it, as a file: `.ndjson` of a message, `.log.gz` of an object."),
});

export const LIST_ASIDE: RouteDoc = {
  summary: "List what was set aside",
  description:
    "Messages of the queue that could not be read or processed, and objects that their store refuses for what they are. All of it is kept until somebody decides. " +
    "First the messages, then the objects by their jobs, the oldest first in each.",
  query: AsidePage,
  result: Entry,
  list: z.object({ unanswered_jobs: JobIds.describe("Jobs whose logs did not answer: their objects are missing.") }),
  examples: [{ name: "The first ten", query: { per_page: "10" } }],
};

export const READ_ASIDE: RouteDoc = {
  summary: "Read one thing that was set aside",
  description: `Of a message, its records, up to ${ASIDE_SHOWN_UNITS} characters in all, or up to ${ASIDE_SHOWN_BYTES} of its bytes where it cannot be read; of an object, what is known of it. \`resendable\` is exact here: the message was read in full.`,
  query: AsideQuery,
  result: Shown,
  files: ["application/x-ndjson", "application/gzip", "application/octet-stream"],
  examples: [{ name: "What is in it" }],
};

export const RESEND_ASIDE: RouteDoc = {
  summary: "Send something again that was set aside",
  description:
    "A message is offered to every job that was enabled when it was taken in, and that has not taken it yet; then it is gone from here, and its events count as what became of them. " +
    "An object waits for its upload again, under a key below where its job delivers to by now; if its store still refuses it, it is set aside again. " +
    "It may be repeated at any time: nothing is ever taken twice. What cannot be sent again is a 409 that says why; what is not here any more is a 404.",
  result: z.discriminatedUnion("kind", [
    z.strictObject({
      id: MESSAGE.id,
      kind: MESSAGE.kind,
      jobs: JobIds.describe("Jobs that have it now: each has judged its records by its filter and sample."),
      gone_jobs: JobIds.describe(
        "Jobs that were enabled when it was taken in, and were deleted since: they do not get it.",
      ),
      events: Count.describe("`routed + not_enabled + not_routed`."),
      routed: Count,
      not_enabled: Count,
      not_routed: Count,
    }),
    z.strictObject({
      id: OBJECT.id,
      kind: OBJECT.kind,
      job: OBJECT.job,
      number: OBJECT.number,
      key: z.string().describe("Under which it is going to be stored."),
      records: Count.describe("They count as pending again."),
    }),
  ]),
  errors: [409],
  examples: [{ name: "One message" }],
};

export const DELETE_ASIDE: RouteDoc = {
  summary: "Give up something that was set aside",
  description:
    "It is gone for good. The records of an object count as discarded by its job, the events of a message as discarded by the account: nobody sends it again, whatever part of it had reached a job before.",
  result: z.strictObject({ id: z.string(), discarded: Count.describe("Events of a message, records of an object.") }),
  examples: [{ name: "One message" }],
};
