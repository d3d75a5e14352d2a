import * as z from "zod";
import { AskDestination, AskOrigin, AskOwnership } from "../../../ship/job/job-schema.ts";
import type { RouteDoc } from "../route.ts";
import { EXAMPLE_DESTINATION, named } from "./common.ts";

const Verdict = named(
  "Verdict",
  { valid: z.boolean(), message: z.string().describe("What is wrong; empty if valid.") },
  "An invalid value is an answer, not an error: check `valid`.",
);

const ASKED = { destination_conf: EXAMPLE_DESTINATION };

export const ISSUE_CHALLENGE = {
  summary: "Write an ownership challenge to a destination",
  description:
    "Reading the object proves ownership for 7 days. A receiver cannot be read back: it needs no proof, and gets none.",
  body: AskDestination,
  result: z.object({
    valid: z.boolean().describe("Whether the object was written."),
    message: z.string().describe("What is wrong; empty if it was written."),
    filename: z.string().describe("Key of the object; empty if it was not written."),
  }),
  examples: [{ name: "A bucket", body: ASKED }],
} satisfies RouteDoc;

export const CHECK_CHALLENGE = {
  summary: "Check an ownership challenge",
  body: AskOwnership,
  result: z.object({ valid: z.boolean() }),
  examples: [{ name: "What the object said", body: { ...ASKED, ownership_challenge: "what the object said" } }],
} satisfies RouteDoc;

export const VALIDATE_DESTINATION = {
  summary: "Check a destination by writing to it",
  description: "Of one that is valid, `messages` says what it does not allow or promise, as on creation of a job.",
  body: AskDestination,
  result: Verdict,
  examples: [{ name: "A bucket", body: ASKED }],
} satisfies RouteDoc;

export const DESTINATION_EXISTS = {
  summary: "Check whether a job ships to a destination",
  description: "Keys and the spelling of the store are ignored.",
  body: AskDestination,
  result: z.object({ exists: z.boolean() }),
  examples: [{ name: "A bucket", body: ASKED }],
} satisfies RouteDoc;

export const VALIDATE_ORIGIN = {
  summary: "Check logpull_options",
  body: AskOrigin,
  result: Verdict,
  examples: [
    { name: "Two fields", body: { logpull_options: "fields=ScriptName,Outcome&timestamps=rfc3339" } },
    { name: "A field that there is not", body: { logpull_options: "fields=ClientIP" } },
  ],
} satisfies RouteDoc;
