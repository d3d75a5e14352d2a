import * as z from "zod";
import { KINDS, WATCH_KINDS } from "../../../operate/status/kinds.ts";
import type { RouteDoc } from "../route.ts";
import { Count, exactly, JobId, KeptSince, RerunId, Time } from "./common.ts";

export const Subject = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("account") }),
  z.strictObject({ type: z.literal("job"), id: JobId }),
  z.strictObject({ type: z.literal("function"), name: z.string() }),
  z.strictObject({ type: z.literal("search"), id: z.int().min(1), name: z.string() }),
]);

/** What findings and incidents have in common. */
export const FINDING = {
  kind: z
    .enum([...KINDS, ...WATCH_KINDS])
    .describe("Unique together with subject, rerun, receiver, event_kind, sender and problem."),
  severity: z
    .enum(["error", "warning"])
    .describe("`error`: records do not arrive, or are lost; `warning`: they may be soon, or it is unknown."),
  subject: Subject.describe("What it is about."),
  rerun: RerunId.optional().describe("Of a finding about a rerun of the job: which one."),
  receiver: z
    .strictObject({ id: z.int(), name: z.string() })
    .optional()
    .describe("Of `webhook_failing`: the receiver of alerts that fails. Id 1 is the webhook."),
  event_kind: z
    .string()
    .optional()
    .describe("Of `function_kind_quiet`: the type of the events, or `cron` and the expression."),
  problem: z.string().optional().describe("Of a finding about a problem: its id, as of `GET /problems/{id}`."),
  sender: z
    .string()
    .optional()
    .describe(
      "Of a finding about what a sender of events names: `http:` and the name of its token, `rpc`, or `unknown`.",
    ),
  since: Time.nullable().describe("null: unknown."),
  affected: z
    .strictObject({ count: Count, what: z.enum(["records", "events", "messages", "objects"]) })
    .nullable()
    .describe("How much is affected; null: it cannot be counted."),
  summary: z.string().describe("What is wrong, as a sentence."),
  advice: z.string().describe("What to do about it."),
  links: z
    .strictObject({
      problem: z.string().optional().describe("Id of a problem."),
      first_record: z
        .strictObject({ script_name: z.string(), event_timestamp_ms: z.int(), ray_id: z.string().nullable() })
        .optional()
        .describe("The first record that it is about."),
      version: z.string().optional().describe("The deployed version in which it began."),
    })
    .optional()
    .describe("Where to read on, as far as it is known."),
};

export const Finding = exactly("Finding", {
  ...FINDING,
  incident: z
    .string()
    .nullable()
    .describe("Id of its incident; null: it is not confirmed yet, by a second check after a minute."),
});
export type Finding = z.infer<typeof Finding>;

const Told = z.strictObject({
  at: Time,
  receiver: z.strictObject({ id: z.int(), name: z.string(), format: z.string() }).describe("Id 1 is the webhook."),
  call: z.enum(["incident.opened", "incident.over"]),
  answer: z.string().describe("In words."),
  accepted: z.boolean(),
  tries: Count,
});

const INCIDENT = {
  ...FINDING,
  id: z.string().describe("The same as in the webhook's calls."),
  state: z
    .enum(["open", "recovering", "unknown", "over"])
    .describe(
      "By the last check. `open`: it is one of the findings; `recovering`: it is not, and counts as over if it stays away; `unknown`: the part that could tell does not answer.",
    ),
  since: Time.describe("When the fault began."),
  opened_at: Time.describe("When it had lasted long enough to become an incident."),
  recovering_since: Time.nullable().describe("Of a recovering one: the check since which it is no longer seen."),
  over_at: Time.nullable().describe("Of a recovering one: when it counts as over at the earliest."),
  over_since: Time.nullable().describe("When it was no longer seen; null: it is not over."),
  flaps: Count.describe("How often it came back after it was gone."),
  muted_until: Time.nullable().describe(
    "No receiver is told of it before; null: it is not muted; `9999-12-31T23:59:59.999Z`: until it is over.",
  ),
  muted_by: z.string().nullable().describe("Who muted it; null: it is not muted, or that is unknown."),
  told: z.array(Told).describe("The latest answer of each receiver to each call."),
};

export const Incident = exactly("Incident", INCIDENT);
export type Incident = z.infer<typeof Incident>;

export const IncidentDetails = exactly("IncidentDetails", {
  ...INCIDENT,
  events: z
    .array(
      z.strictObject({
        at: Time,
        type: z
          .enum(["said", "worse", "gone", "returned", "muted", "unmuted"])
          .describe(
            "`said`: its text; `worse`: it is an error now; `gone`: a check does not see it; `returned`: one does again.",
          ),
        summary: z.string().optional().describe("Of `said` and `worse`: what is wrong, as a sentence."),
        by: z.string().nullable().optional().describe("Who muted or unmuted it; null: that is unknown."),
        until: Time.optional().describe("Of `muted`."),
      }),
    )
    .describe("The latest 60, in order. A text that differs in numbers alone is noted twice an hour."),
});
export type IncidentDetails = z.infer<typeof IncidentDetails>;

export const Notice = exactly("Notice", {
  kind: z.literal("many_small_objects"),
  subject: Subject,
  summary: z.string().describe("What was seen, as a sentence."),
  advice: z.string().describe("What to change, if you like."),
});

export const Status = exactly("Status", {
  ok: z.boolean().describe("Nothing is wrong: there is no finding."),
  checked_at: Time,
  errors: Count.describe("Findings that are errors."),
  warnings: Count.describe("Findings that are warnings."),
  findings: z.array(Finding),
  incidents: z.array(Incident).describe("Those that are not over, by the same check."),
  notices: z.array(Notice).describe("What could be better, though nothing is wrong."),
  kept_since: KeptSince,
});

export const READ_STATUS = {
  summary: "Show what is wrong",
  description:
    "Asks every part of the service and checks what is remembered. A part that does not answer is reported as silent; if the watch itself does not answer, the status is 503. The worst findings come first.",
  result: Status,
} satisfies RouteDoc;

export const LIST_INCIDENTS = {
  summary: "List incidents",
  description:
    "Findings of `/status` that lasted long enough: those that are not over first, then the latest; at most 400. Past incidents are kept for 30 days. `/status` has the first by the same check as its findings. docs/alerts.md says when an incident begins and ends.",
  result: Incident,
  list: true,
} satisfies RouteDoc;

export const READ_INCIDENT = {
  summary: "Read an incident",
  description: "With what happened to it since.",
  result: IncidentDetails,
} satisfies RouteDoc;
