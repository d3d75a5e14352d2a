import * as z from "zod";
import { WEBHOOK_URL_MAX } from "../../../base/limits.ts";
import type { RouteDoc } from "../route.ts";
import { Count, named, Time } from "./common.ts";

/**
 * What an address looks like. It is checked more closely, and the masked form has this one, too.
 */
const WEBHOOK_URL_PATTERN = '^[Hh][Tt][Tt][Pp][Ss]?://[!"$-\\[\\]-~]+$';

export const Webhook = named("Webhook", {
  url: z.string().describe("Its host; the rest is masked."),
  enabled: z.boolean(),
  created_at: Time,
  modified_at: Time,
  gone_at: Time.nullable().describe("When the receiver answered 410, which switches it off; otherwise null."),
  waiting: Count.describe("Calls not accepted yet."),
  delivered: Count.describe("Calls accepted."),
  given_up: Count.describe("Calls not accepted within three days."),
  failures: Count.describe("Failures in a row."),
  failing_since: Time.nullable(),
  last_answer: z.string().nullable().describe("Result of the last call, in words; null: none."),
  last_call_at: Time.nullable(),
  last_success_at: Time.nullable(),
  last_test: z.string().nullable().describe("Result of the last test, in words; null: none."),
  last_test_at: Time.nullable(),
});
export type Webhook = z.infer<typeof Webhook>;

/** The result of a test of a receiver. */
export const Tested = z.object({
  delivered: z.boolean(),
  status: z.int().nullable().describe("HTTP status of the answer; null: no answer."),
  message: z.string().describe("The result in words."),
  advice: z.string().nullable().describe("What to do if it was not accepted; otherwise null."),
});
export type Tested = z.infer<typeof Tested>;

const ABOUT =
  "Standard Webhooks: each call is a signed POST of JSON, when an incident opens and when it ends; docs/alerts.md says how to verify it.";

export const READ_WEBHOOK = {
  summary: "Read the webhook",
  description: "null: none is set. The secret is never shown again.",
  result: Webhook.nullable(),
} satisfies RouteDoc;

export const PUT_WEBHOOK = {
  summary: "Set the webhook",
  description: `${ABOUT} A new URL receives every open incident. Omitted keys stay unchanged.`,
  body: z.strictObject({
    url: z
      .string()
      .max(WEBHOOK_URL_MAX, `must have at most ${WEBHOOK_URL_MAX} characters`)
      .meta({ pattern: WEBHOOK_URL_PATTERN })
      .optional()
      .describe("Where calls go: https, a public host. Required the first time; the masked form keeps the stored one."),
    enabled: z.boolean().optional().describe("Whether calls are made; true by default the first time."),
    rotate: z.boolean().optional().describe("Makes a new secret. For a day, calls are signed with the old one, too."),
  }),
  result: Webhook.extend({
    secret: z.string().optional().describe("`whsec_…`: for a new webhook or with `rotate`, shown only once."),
  }).meta({ id: "WebhookWithSecret" }),
  errors: [409],
  examples: [{ name: "A receiver", body: { url: "https://hooks.example.com/logship" } }],
} satisfies RouteDoc;

export const DELETE_WEBHOOK = {
  summary: "Delete the webhook",
  description: "Deletes waiting calls and the secret, too.",
  result: z.object({ waiting: Count.describe("Waiting calls that are dropped.") }),
} satisfies RouteDoc;

export const TEST_WEBHOOK = {
  summary: "Test the webhook",
  description:
    "Makes one signed call of the type `webhook.test` now, even if the webhook is disabled. A call that the receiver does not accept is an answer, not an error: check `delivered`. One that is accepted ends earlier failures: waiting calls follow at once.",
  result: z.object({ id: z.string().describe("`webhook-id` of the call."), ...Tested.shape }),
} satisfies RouteDoc;
