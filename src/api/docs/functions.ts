/** What the API's description says of functions. */
import * as z from "zod";
import { ScriptSettings, TailConsumer } from "../../control/function-schema.ts";
import { ATTACHMENT_STATES } from "../../functions/attachments.ts";
import { paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";

const FUNCTIONS_PER_PAGE = 1_000;

const ships = z.boolean().nullable().optional();

const SETTINGS = {
  logship: ships.describe("Whether its events ship; null: unset, which ships, too."),
  logpush: ships.describe("The same by the vendor's name, below the vendor's path or where that was sent."),
  tail_consumers: z.array(TailConsumer).nullable().describe("As they were sent; null: none were."),
};

const COUNTS = {
  shipped: Count.describe("Events that were offered to a job."),
  dropped: z.object({
    logging_off: Count.describe("Because logging of the function was off."),
    no_job: Count.describe("Because no job was enabled."),
  }),
};

const Settings = z.object(SETTINGS);

const Attachment = z
  .object({
    state: z
      .enum(ATTACHMENT_STATES)
      .describe(
        "`undone`: a later deployment, or change of its settings, left this service out. `gone`: the platform has no such script any more. `unknown`: it was attached, and since then could not be looked at.",
      ),
    since: Time.describe("When it was first found to be so."),
    checked_at: Time.describe("When the platform last told how it is."),
    why: z.string().describe("The same in words."),
  })
  .meta({ id: "Attachment" });

export const FunctionView = z
  .object({
    id: z.string().describe("Name of the function."),
    logging: z.enum(["on", "off", "unset"]).describe("`unset` ships: sending its events is opting in."),
    ...SETTINGS,
    last_event: Time.nullable().describe(
      "The time that its latest event says of itself, if that is not yet to come; null: none was seen in the last 30 days.",
    ),
    ...COUNTS,
    modified_on: Time.nullable().describe("When its settings were last changed; null: nothing is set."),
    attachment: Attachment.nullable().describe(
      "Whether the platform still sends its events here, if they were attached through this service (`UPSTREAM_API`); null: they were not, or logging is off.",
    ),
  })
  .meta({ id: "Function" });

export const FunctionsPage = paging(FUNCTIONS_PER_PAGE).extend({
  name: z.string().optional().describe("Only those whose names contain this, in capitals or not; empty: all."),
});

export const LIST_FUNCTIONS: RouteDoc = {
  summary: "List the functions",
  description:
    "Those that something was set for, those that should be attached at the platform, and those whose events were seen in the last 30 days.",
  query: FunctionsPage,
  result: FunctionView,
  list: z.object({ unlisted: z.object(COUNTS).describe("The counts of functions that are not listed by name.") }),
  examples: [{ name: "All functions" }, { name: "By a part of their names", query: { name: "sho" } }],
};

export const READ_FUNCTION: RouteDoc = {
  summary: "Read a function",
  result: FunctionView,
  examples: [{ name: "One function" }],
};

export const DELETE_FUNCTION: RouteDoc = {
  summary: "Forget a function",
  description: "Its settings and the counts under its name. Events that come later are counted anew, and ship.",
  result: z.object({ id: z.string() }),
  examples: [{ name: "One function" }],
};

export const READ_SETTINGS: RouteDoc = {
  summary: "Read the settings of a function",
  result: Settings,
  examples: [{ name: "One function" }],
};

export const PATCH_SETTINGS: RouteDoc = {
  summary: "Change the settings of a function",
  description:
    "Of any function: it can be opted out before its first event. What is refused for its number is a 403 with code 1004.",
  body: ScriptSettings,
  result: Settings,
  examples: [
    { name: "Stop shipping its events", body: { logship: false } },
    { name: "Ship again", body: { logship: true } },
    { name: "By the vendor's name", body: { logpush: true } },
  ],
};
