import * as z from "zod";
import { SOURCES_KEPT } from "../../../ship/log/function-counts.ts";
import { ScriptSettings, TailConsumer } from "../../../state/control/function-schema.ts";
import { ATTACHMENT_STATES } from "../../../state/functions/attachments.ts";
import { paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { Count, named, RecordSource, Time } from "./common.ts";

const FUNCTIONS_PER_PAGE = 1_000;

const ships = z.boolean().nullable().optional();

const SETTINGS = {
  logship: ships.describe("Whether its events ship; null: unset, which also ships."),
  logpush: ships.describe("The same under the vendor's name, for requests that use it."),
  tail_consumers: z.array(TailConsumer).nullable().describe("As sent; null: none."),
  tags: ScriptSettings.shape.tags,
  observability: ScriptSettings.shape.observability,
};

const COUNTS = {
  shipped: Count.describe("Events offered to a job."),
  dropped: z.object({
    logging_off: Count.describe("Logging of the function was off."),
    no_job: Count.describe("No job was enabled."),
  }),
};

const Settings = z.object(SETTINGS);
export type Settings = z.infer<typeof Settings>;

const Attachment = named("Attachment", {
  state: z
    .enum(ATTACHMENT_STATES)
    .describe(
      "`undone`: a later deployment or change of settings removed this service. `gone`: Cloudflare has no such script any more. `unknown`: it was attached, and could not be checked since.",
    ),
  since: Time.describe("When this state was first seen."),
  checked_at: Time.describe("When Cloudflare last answered."),
  why: z.string().describe("The state in words."),
});

export const FunctionView = named("Function", {
  id: z.string().describe("Name of the Worker."),
  logging: z.enum(["on", "off", "unset"]).describe("`unset` also ships: sending events is opting in."),
  ...SETTINGS,
  last_event: Time.nullable().describe(
    "Timestamp of its latest event, unless in the future; null: no event in the last 30 days.",
  ),
  ...COUNTS,
  sources: z
    .array(z.object({ source: RecordSource, last: Time.describe("The latest intake.") }))
    .describe(`Where its events came from, the latest first, at most ${SOURCES_KEPT}; none where that is unknown.`),
  modified_on: Time.nullable().describe("When its settings last changed; null: no settings."),
  attachment: Attachment.nullable().describe(
    "Whether Cloudflare still sends its events here, if attached through this service (`UPSTREAM_API`); null: not attached, or logging is off.",
  ),
});
export type FunctionView = z.infer<typeof FunctionView>;

export const LIST_FUNCTIONS = {
  summary: "List the functions",
  description: "Functions with settings, with an attachment at Cloudflare, or with events in the last 30 days.",
  query: paging(FUNCTIONS_PER_PAGE).extend({
    name: z.string().optional().describe("Only names that contain this, ignoring case; empty: all."),
  }),
  result: FunctionView,
  list: z.object({ unlisted: z.object(COUNTS).describe("Counts of functions that are not listed by name.") }),
  examples: [{ name: "All Workers" }, { name: "By a part of their names", query: { name: "sho" } }],
} satisfies RouteDoc;

export const READ_FUNCTION = {
  summary: "Read a function",
  result: FunctionView,
} satisfies RouteDoc;

export const DELETE_FUNCTION = {
  summary: "Forget a function",
  description: "Deletes its settings and counts. Later events are counted from zero, and ship.",
  result: z.object({ id: z.string() }),
} satisfies RouteDoc;

export const READ_SETTINGS = {
  summary: "Read the settings of a function",
  result: Settings,
} satisfies RouteDoc;

export const PATCH_SETTINGS = {
  summary: "Change the settings of a function",
  description:
    "Any function can be set, even before its first event. Too many functions or switches are a 403 with code 1004.",
  body: ScriptSettings,
  result: Settings,
  examples: [
    { name: "Stop shipping its events", body: { logship: false } },
    { name: "Ship again", body: { logship: true } },
    { name: "By the vendor's name", body: { logpush: true } },
  ],
} satisfies RouteDoc;
