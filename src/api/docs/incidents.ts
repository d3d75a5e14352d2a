/** What the API's description says of incidents. */
import * as z from "zod";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";
import { Finding } from "./status.ts";

export const Incident = Finding.extend({
  id: z.string().describe("As in the calls of the webhook."),
  since: Time.describe("Since when it is, or was, wrong."),
  opened_at: Time.describe("Since when it is an incident: seen for long enough."),
  over_since: Time.nullable().describe("Since when it was not seen any more; null: it goes on."),
  flaps: Count.describe("How often it was seen again after it was not."),
}).meta({ id: "Incident" });

export const LIST_INCIDENTS: RouteDoc = {
  summary: "List incidents",
  description:
    "What `/status` has said for long enough to be told: those that go on first, then the latest; at most 200. What is over is kept for 30 days. docs/webhook.md says when one begins and when it is over.",
  result: Incident,
  list: true,
  examples: [{ name: "All of them" }],
};
