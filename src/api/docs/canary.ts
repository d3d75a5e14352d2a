/** What the API's description says of canaries. */
import * as z from "zod";
import type { RouteDoc } from "../route.ts";
import { Time } from "./common.ts";

export const CanaryView = z
  .strictObject({
    enabled: z.boolean().describe("Whether any are sent: the job has the option `canary`, and is enabled."),
    state: z
      .enum(["ok", "waiting", "failed", "missing", "damaged", "unreadable"])
      .nullable()
      .describe(
        "`ok`: the newest was read back as it was sent. `waiting`: none was yet, and none is overdue. `failed`: it could not be written, or none was sent. " +
          "`missing`: it is not there, or an older one is. `damaged`: other bytes are there. `unreadable`: the store does not let us read it, or does not answer. null: there is none.",
      ),
    since: Time.nullable().describe("Since when it is so."),
    last_ok: Time.nullable().describe("When one was last read back as it was sent."),
    last_run: Time.nullable().describe("When the newest was sent."),
    next_run: Time.nullable().describe("When the next is sent, or the newest is looked for again."),
    key: z.string().nullable().describe("Where it stands, below the bucket; each one is written over the one before."),
    why: z.string().nullable().describe("What is wrong, or why there is none; null: nothing is."),
  })
  .meta({ id: "Canary", description: "A synthetic event that is sent every hour and read back." });

export const READ_CANARY: RouteDoc = {
  summary: "Show how a job's canary fares",
  description:
    "Once an hour a job with the option `canary` writes a synthetic event to its destination, in its own format, as an object of its own, and reads it back. No count includes it.",
  result: CanaryView,
  examples: [{ name: "The newest" }],
};
