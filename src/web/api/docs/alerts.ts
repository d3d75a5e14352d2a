import * as z from "zod";
import { WEBHOOK_URL_MAX } from "../../../base/limits.ts";
import { FORMATS } from "../../../operate/alerts/alert-formats.ts";
import { ROUTES_MAX } from "../../../operate/alerts/routes.ts";
import { SCRIPT_NAME_MAX } from "../../../ship/log/function-counts.ts";
import type { RouteDoc } from "../route.ts";
import { AskedTime, Count, named, Time } from "./common.ts";
import { Tested, Webhook } from "./webhook.ts";

const NAME_MAX = 120;
const SECRET_MAX = 128;

const Routes = z
  .strictObject({
    workers: z
      .array(z.string().min(1).max(SCRIPT_NAME_MAX))
      .max(ROUTES_MAX)
      .optional()
      .describe("Names; `*` stands for any characters: `shop-*`."),
    searches: z.array(z.int().min(1)).max(ROUTES_MAX).optional().describe("Ids of saved searches."),
  })
  .nullable();

const SETTINGS = {
  name: z.string().min(1).max(NAME_MAX).describe("What you call it."),
  address: z
    .string()
    .max(WEBHOOK_URL_MAX)
    .describe("The URL that the receiver gave you, or the recipient of e-mail. The masked form keeps the stored one."),
  secret: z.string().max(SECRET_MAX).describe("Of PagerDuty the integration key, of Opsgenie the API key."),
  enabled: z.boolean().describe("Whether it is told; true by default."),
  min_severity: z.enum(["warning", "error"]).describe("`error`: it is not told of warnings."),
  muted_until: AskedTime.nullable().describe(
    "No incident that opens is told to it before; what is open then is told. Later than now. null: it is not muted.",
  ),
  routes: Routes.describe(
    "It is told of problems of these Workers and searches alone, and of none of jobs and the account. null: of everything.",
  ),
};

export const UpdateAlert = z.strictObject(z.object(SETTINGS).partial().shape);

export const Alert = named("Alert", {
  id: z.int().describe("Never used again after a deletion."),
  name: z.string(),
  format: z.enum(FORMATS),
  address: z.string().describe("Masked but for its host; of e-mail, the recipient."),
  min_severity: SETTINGS.min_severity,
  muted_until: Time.nullable(),
  routes: SETTINGS.routes,
  ...Webhook.omit({ url: true }).shape,
});
export type Alert = z.infer<typeof Alert>;

const ABOUT = "docs/alerts.md says what each format needs, and when an incident opens and ends.";

export const LIST_ALERTS = {
  summary: "List the receivers of alerts",
  description: "Chats, pagers and mailboxes; the webhook has a path of its own.",
  result: Alert,
  list: true,
} satisfies RouteDoc;

export const CREATE_ALERT = {
  summary: "Add a receiver of alerts",
  description: `It is told every open incident. At most ten. If a known host does not fit the format, \`messages\` says so. ${ABOUT}`,
  body: z.strictObject({
    ...z.object(SETTINGS).partial().shape,
    name: SETTINGS.name,
    format: z.enum(FORMATS),
  }),
  result: Alert,
  status: 201,
  errors: [409],
  examples: [
    {
      name: "A chat",
      body: { name: "on call", format: "slack", address: "https://hooks.slack.com/services/T0000/B0000/XXXX" },
    },
  ],
} satisfies RouteDoc;

export const READ_ALERT = {
  summary: "Read a receiver of alerts",
  result: Alert,
} satisfies RouteDoc;

export const UPDATE_ALERT = {
  summary: "Change a receiver of alerts",
  description:
    "Omitted keys stay unchanged. One with a new address, or that is switched on, is told every open incident.",
  body: UpdateAlert,
  result: Alert,
  errors: [409],
  examples: [
    { name: "Errors only", body: { min_severity: "error" } },
    { name: "Some Workers only", body: { routes: { workers: ["shop-*", "checkout"] } } },
  ],
} satisfies RouteDoc;

export const DELETE_ALERT = {
  summary: "Delete a receiver of alerts",
  description: "Its waiting calls are dropped.",
  result: z.object({ id: z.int() }),
} satisfies RouteDoc;

export const TEST_ALERT = {
  summary: "Test a receiver of alerts",
  description:
    "Sends a marked alert now, even if it is off or muted; a pager's is resolved at once. What the receiver does not accept is an answer, not an error: check `delivered`.",
  result: z.object({
    ...Tested.shape,
    message: z.string().describe("The result in words, with the receiver's error code if it is a known one."),
    waiting: Count.describe("Calls that now follow, if it was accepted."),
  }),
} satisfies RouteDoc;

export const MUTE_INCIDENT = {
  summary: "Mute an incident",
  description:
    "No receiver is told of this problem until then, also if it ends and begins again. That it is over is told to those that know of it. What is open afterwards is told.",
  body: z.strictObject({
    until: z.union([z.literal("over"), AskedTime]).describe("Later than now; or `over`: until it is over."),
  }),
  result: z.object({ id: z.string(), muted_until: Time.describe("As of `GET /incidents`.") }),
  examples: [
    { name: "Until a time", body: { until: "2100-11-20T12:00:00Z" } },
    { name: "Until it is over", body: { until: "over" } },
  ],
} satisfies RouteDoc;

export const UNMUTE_INCIDENT = {
  summary: "Unmute an incident",
  result: z.object({ id: z.string() }),
} satisfies RouteDoc;
