import * as z from "zod";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";
import { Finding } from "./status.ts";

export const Incident = Finding.extend({
  id: z.string().describe("The same as in the webhook's calls."),
  since: Time.describe("When the fault began."),
  opened_at: Time.describe("When it had lasted long enough to become an incident."),
  over_since: Time.nullable().describe("When it was no longer seen; null: it continues."),
  flaps: Count.describe("How often it came back after it was gone."),
}).meta({ id: "Incident" });
export type Incident = z.infer<typeof Incident>;

export const LIST_INCIDENTS: RouteDoc = {
  summary: "List incidents",
  description:
    "Findings of `/status` that lasted long enough: open ones first, then the latest; at most 200. Past incidents are kept for 30 days. docs/webhook.md says when an incident begins and ends.",
  result: Incident,
  list: true,
  examples: [{ name: "All of them" }],
};
