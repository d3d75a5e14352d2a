import * as z from "zod";
import { CRON_MAX, KIND_MAX, SCHEDULED } from "../../../ship/log/seen-kinds.ts";
import { EXPECTED_MAX } from "../../../state/control/function-settings.ts";
import type { RouteDoc } from "../route.ts";
import { named, Time } from "./common.ts";

/** Thirty days: of older events nothing is known. */
const MINUTES_MAX = 43_200;

const EveryMinutes = z.int().min(1).max(MINUTES_MAX).nullable();

export const ExpectBody = z
  .strictObject({
    event_type: z.string().min(1).max(KIND_MAX).describe("`EventType` of its records, such as `queue`."),
    cron: z
      .string()
      .max(CRON_MAX)
      .regex(/^[^"\\]+$/, "must be the expression of a cron")
      .optional()
      .describe("Of `scheduled`: the expression, as records have it."),
    every_minutes: EveryMinutes.describe(
      "The function is reported after twice this long without such an event. null: not set any more; what was learned is forgotten until the next event.",
    ),
  })
  .refine(({ event_type, cron }) => (event_type === SCHEDULED) === (cron !== undefined), {
    path: ["cron"],
    error: "is needed with the event_type scheduled, and with no other",
  })
  .meta({ id: "Expectation" });

export const ExpectView = named("Expectations", {
  id: z.string().describe("Name of the Worker."),
  kinds: z
    .array(
      z.object({
        event_type: z.string(),
        cron: z.string().nullable(),
        every_minutes: EveryMinutes.describe("As set; null: not set."),
        by: z
          .enum(["set", "cron", "learned"])
          .nullable()
          .describe(
            "What tells when it is quiet: what is set, its expression, or its longest pause; null: not known yet.",
          ),
        last_event: Time.nullable().describe("null: none is known."),
        quiet_after: Time.nullable().describe("It is reported if no event comes until then; null: not known yet."),
      }),
    )
    .describe("Kinds of events, the latest first."),
});
export type ExpectView = z.infer<typeof ExpectView>;

export const READ_EXPECT = {
  summary: "Read which events a function is expected to have",
  result: ExpectView,
} satisfies RouteDoc;

export const PUT_EXPECT = {
  summary: "Set how often a function is expected to have an event",
  description: `At most ${EXPECTED_MAX} kinds of one function; more are a 403 with code 1004.`,
  body: ExpectBody,
  result: ExpectView,
  examples: [
    { name: "A queue that is never empty for long", body: { event_type: "queue", every_minutes: 10 } },
    {
      name: "Forget a cron that was removed",
      body: { event_type: "scheduled", cron: "*/10 * * * *", every_minutes: null },
    },
  ],
} satisfies RouteDoc;
