/** What the API's description says of the webhook. */
import * as z from "zod";
import { WEBHOOK_URL_MAX } from "../../limits.ts";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";

export const PutWebhook = z.strictObject({
  url: z
    .string()
    .max(WEBHOOK_URL_MAX, `must have at most ${WEBHOOK_URL_MAX} characters`)
    .optional()
    .describe(
      "Where calls go: https, a public host. Required for the first time; masked, as it is read back, it stays.",
    ),
  enabled: z.boolean().optional().describe("Whether calls are made; true if it is left out for the first time."),
  rotate: z.boolean().optional().describe("Makes a new secret. The one before signs beside it for a day."),
});

export const Webhook = z
  .object({
    url: z.string().describe("Where it leads; the rest is masked."),
    enabled: z.boolean(),
    created_at: Time,
    modified_at: Time,
    gone_at: Time.nullable().describe("When its receiver answered 410, which switched it off; null: it did not."),
    waiting: Count.describe("Calls that the receiver has not taken yet."),
    delivered: Count.describe("Calls that it has taken."),
    given_up: Count.describe("Calls that it did not take within three days."),
    failures: Count.describe("Failures in a row."),
    failing_since: Time.nullable(),
    last_answer: z.string().nullable().describe("What became of the last call, in words; null: there was none."),
    last_call_at: Time.nullable(),
    last_success_at: Time.nullable(),
  })
  .meta({ id: "Webhook" });

const ABOUT =
  "Standard Webhooks: each call is a signed POST of JSON, when an incident is opened and when it is over; docs/webhook.md says how to check it.";

export const READ_WEBHOOK: RouteDoc = {
  summary: "Read the webhook",
  description: "null: there is none. The secret is never shown again.",
  result: Webhook.nullable(),
  examples: [{ name: "The webhook" }],
};

export const PUT_WEBHOOK: RouteDoc = {
  summary: "Set the webhook",
  description: `${ABOUT} A new address is told of every incident that goes on. What is left out stays as it was.`,
  body: PutWebhook,
  result: Webhook.extend({
    secret: z.string().optional().describe("`whsec_…`: of a new webhook, or with `rotate`. It is shown this once."),
  }).meta({ id: "WebhookWithSecret" }),
  errors: [409],
  examples: [{ name: "A receiver", body: { url: "https://hooks.example.com/logship" } }],
};

export const DELETE_WEBHOOK: RouteDoc = {
  summary: "Forget the webhook",
  description: "With every call that waits, and its secret.",
  result: z.object({ waiting: Count.describe("Calls that were waiting, and are not made.") }),
  examples: [{ name: "The webhook" }],
};

export const TEST_WEBHOOK: RouteDoc = {
  summary: "Call the webhook, to test it",
  description:
    "One signed call of the type `webhook.test`, now, whether it is enabled or not. That the receiver does not take it is an answer, not an error: look at `delivered`.",
  result: z.object({
    id: z.string().describe("`webhook-id` of the call."),
    delivered: z.boolean(),
    status: z.int().nullable().describe("HTTP status of the answer; null: there was none."),
    message: z.string().describe("The same in words."),
  }),
  errors: [429],
  examples: [{ name: "The webhook" }],
};
