import type { RouteDoc } from "../route.ts";
import { Incident } from "./status.ts";

export const LIST_INCIDENTS: RouteDoc = {
  summary: "List incidents",
  description:
    "Findings of `/status` that lasted long enough: those that are not over first, then the latest; at most 200. Past incidents are kept for 30 days. `/status` has the first by the same check as its findings. docs/alerts.md says when an incident begins and ends.",
  result: Incident,
  list: true,
  examples: [{ name: "All of them" }],
};
