import * as z from "zod";
import { paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";

const DAYS_PER_PAGE = 200;

const RAN = { invocations: Count, failed: Count };

export const FunctionDay = z
  .object({
    id: z.string().describe("Name of the Worker."),
    invocations: Count.describe("In the last 24 hours, the current one included, by time of intake."),
    failed: Count.describe("Of these, as of its health."),
    now: z.object(RAN).describe("Of the last full five minutes, and those that are not over."),
    p95_ms: z.number().min(0).nullable().describe("Wall time in the last hour; null: nothing was invoked."),
    hours: z.array(z.object(RAN)).describe("The 24 hours, oldest first."),
    last_event: Time.describe("The latest intake."),
    version: z.string().describe("Id of the version that it was of; empty: unknown."),
    tag: z.string().describe("What its owner calls the version; empty: nothing."),
  })
  .meta({ id: "FunctionDay" });
export type FunctionDay = z.infer<typeof FunctionDay>;

export const LIST_FUNCTION_DAYS = {
  summary: "List the functions that ran in the last day, with their health",
  description:
    "What fails now comes first, then what failed in the day, then what is busy. Of one function, `/functions/scripts/{script_name}/health` tells more.",
  query: paging(DAYS_PER_PAGE),
  result: FunctionDay,
  list: true,
  examples: [{ name: "The worst ten", query: { per_page: "10" } }],
} satisfies RouteDoc;
