/** What the API's description says of the account's status. */
import * as z from "zod";
import { KINDS, WATCH_KINDS } from "../../status/kinds.ts";
import type { RouteDoc } from "../route.ts";
import { Count, Time } from "./common.ts";

export const Subject = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("account") }),
  z.strictObject({ type: z.literal("job"), id: z.int().min(1) }),
  z.strictObject({ type: z.literal("function"), name: z.string() }),
]);

export const Finding = z
  .strictObject({
    kind: z.enum([...KINDS, ...WATCH_KINDS]).describe("With the subject it tells findings apart."),
    severity: z
      .enum(["error", "warning"])
      .describe("`error`: records are not arriving, or are lost; `warning`: they may be soon, or nobody can tell."),
    subject: Subject.describe("What it is about."),
    since: Time.nullable().describe("null: that is not known."),
    affected: z
      .strictObject({ count: Count, what: z.enum(["records", "events", "messages", "objects"]) })
      .nullable()
      .describe("How much is affected; null: that cannot be counted."),
    summary: z.string().describe("What is wrong, as a sentence."),
    advice: z.string().describe("What to do about it."),
  })
  .meta({ id: "Finding" });

export const Status = z
  .strictObject({
    ok: z.boolean().describe("Nothing is wrong, as far as anybody knows: there is no finding."),
    checked_at: Time,
    errors: Count.describe("Findings that are errors."),
    warnings: Count.describe("Findings that are warnings."),
    findings: z.array(Finding),
  })
  .meta({ id: "Status" });

export const READ_STATUS: RouteDoc = {
  summary: "Say what is wrong",
  description:
    "Asks every part of the service, and looks at what is remembered of before. What does not answer is said to be silent; where the watch itself does not answer, it is a 503. The worst comes first.",
  result: Status,
  examples: [{ name: "What is wrong" }],
};
