import * as z from "zod";
import { QUERY_MAX_UNITS } from "../../../base/limits.ts";
import { NAME_MAX } from "../../../formats/query/names.ts";
import { ALERT_OPS } from "../../../ship/job/searches.ts";
import { SEARCH_ALERTS_MAX, SEARCHES_MAX } from "../../../state/control/saved-searches.ts";
import type { RouteDoc } from "../route.ts";
import { Count, exactly, named, Time } from "./common.ts";

const SearchAlert = exactly("SearchAlert", {
  measure: z
    .strictObject({
      op: z.enum(ALERT_OPS),
      of: z.string().max(NAME_MAX).optional().describe("A short name or field, as of counts; `count` needs none."),
    })
    .default({ op: "count" })
    .describe("What is compared. Percentiles are within 5 %, all else is exact."),
  threshold: z.number(),
  when: z
    .enum(["at_least", "below"])
    .default("at_least")
    .describe(
      "`below` with a `threshold` of 1 means that no event came. It is unknown before a whole time has passed.",
    ),
  over: z.string().max(8).describe("`1m` to `24h`: the last so many minutes or hours, and up to a twelfth more."),
  for: z.string().max(8).default("0m").describe("`0m` to `24h`: how long it must be so."),
  severity: z.enum(["warning", "error"]).default("warning").describe("Of its finding."),
});

export const AskSavedSearch = z.strictObject({
  name: z.string().trim().min(1).max(120).describe("What you call it."),
  query: z.string().max(QUERY_MAX_UNITS).describe("As of `POST /search`; empty: every record."),
  alert: SearchAlert.nullable().optional().describe("Absent or null: none."),
});

export const SavedSearch = named("SavedSearch", {
  id: z.int().describe("Never used again after a deletion."),
  name: z.string(),
  query: z.string(),
  alert: SearchAlert.nullable(),
  owner: z.string().describe("Name of the token, or address of the member, who made it."),
  created_at: Time,
  modified_at: Time,
  cost: z
    .object({ cpu_us_per_record: z.number(), usd_per_million_events: z.number() })
    .nullable()
    .describe("Of its alert, about: it is matched with every record. null: it has none."),
});
export type SavedSearch = z.infer<typeof SavedSearch>;

export const SearchCounts = z.object({
  since: Time.describe("When counting began: with the last change of query, measure or time."),
  total: Count.describe("All records since then, each once."),
  value: z.number().nullable().describe("Of the measure, now; null: no record has a value."),
  standing: z
    .enum(["past", "well", "unknown"])
    .describe(
      "Whether it is past its threshold now; `unknown`: a shard is silent; or `below`, before a whole time has passed, or while records wait in the queue.",
    ),
  silent_shards: z.array(z.int()).describe("Shards of the log that did not answer: what they have is missing."),
});

export const CountedSearch = SavedSearch.extend({
  counts: SearchCounts.nullable().describe("null: it has no alert."),
}).meta({ id: "CountedSearch" });
export type CountedSearch = z.infer<typeof CountedSearch>;

export const LIST_SEARCHES = {
  summary: "List saved searches",
  description: "Your own; with `logs:edit`, all of them.",
  result: CountedSearch,
  list: true,
} satisfies RouteDoc;

export const CREATE_SEARCH = {
  summary: "Save a search",
  description: `With an \`alert\`, it is counted as records arrive, each exactly once, and opens an incident as soon as it is past its threshold. At most ${SEARCHES_MAX}, and ${SEARCH_ALERTS_MAX} with an alert. A fault of the query is code 1004, with its place in \`source.at\`.`,
  body: AskSavedSearch,
  result: SavedSearch,
  status: 201,
  errors: [409],
  examples: [
    {
      name: "Ten errors in five minutes",
      body: { name: "Checkout fails", query: "status:5xx path:/checkout/*", alert: { threshold: 10, over: "5m" } },
    },
    {
      name: "Slow for ten minutes",
      body: {
        name: "Slow",
        query: "worker:shop",
        alert: { measure: { op: "p95", of: "took" }, threshold: 1_000, over: "10m", for: "10m" },
      },
    },
    {
      name: "No event for an hour",
      body: { name: "Import", query: "worker:import", alert: { threshold: 1, when: "below", over: "1h" } },
    },
    { name: "Without an alert", body: { name: "Timeouts", query: "timeout OR timed-out" } },
  ],
} satisfies RouteDoc;

export const READ_SEARCH = {
  summary: "Read a saved search",
  result: CountedSearch,
} satisfies RouteDoc;

export const UPDATE_SEARCH = {
  summary: "Change a saved search",
  description: "Replaces it. If its query, measure or time changes, counting begins anew.",
  body: AskSavedSearch,
  result: SavedSearch,
  errors: [409],
  examples: [{ name: "Without an alert", body: { name: "Timeouts", query: "timeout" } }],
} satisfies RouteDoc;

export const DELETE_SEARCH = {
  summary: "Delete a saved search",
  description: "Its counts go with it.",
  result: z.object({ id: z.int() }),
} satisfies RouteDoc;
