import * as z from "zod";
import type { RouteDoc } from "../route.ts";
import { exactly, Time } from "./common.ts";

const CanaryView = exactly(
  "Canary",
  {
    enabled: z.boolean().describe("Whether canaries are sent: the job has the option `canary` and is enabled."),
    state: z
      .enum(["ok", "waiting", "failed", "missing", "damaged", "unreadable"])
      .nullable()
      .describe(
        "`ok`: the newest was read back unchanged. `waiting`: none was read back yet, and none is overdue. `failed`: it could not be written, or none was sent. " +
          "`missing`: not found, or an older one was. `damaged`: other bytes were found. `unreadable`: the store refuses the read or does not answer. null: no canary.",
      ),
    since: Time.nullable().describe("Start of this state."),
    last_ok: Time.nullable().describe("When one was last read back unchanged."),
    last_run: Time.nullable().describe("When the newest was sent."),
    next_run: Time.nullable().describe("When the next is sent, or the newest is looked for again."),
    key: z.string().nullable().describe("Its key in the bucket; each canary overwrites the one before."),
    why: z.string().nullable().describe("What is wrong, or why there is none; null: nothing is wrong."),
  },
  "A synthetic event that is sent every hour and read back.",
);
export type CanaryView = z.infer<typeof CanaryView>;

export const READ_CANARY = {
  summary: "Show a job's canary",
  description:
    "Once an hour, a job with the option `canary` writes a synthetic event to its destination, in its own format, as a separate object, and reads it back. No count includes it.",
  result: CanaryView,
} satisfies RouteDoc;
