/** What the API's description says of destinations: proofs of ownership, and validation. */
import * as z from "zod";
import { AskDestination, AskOrigin, AskOwnership } from "../../job/schema.ts";
import type { RouteDoc } from "../route.ts";
import { EXAMPLE_DESTINATION } from "./common.ts";

const Verdict = z
  .object({ valid: z.boolean(), message: z.string().describe("Why not; empty if it is valid.") })
  .meta({ id: "Verdict", description: "What is not valid is an answer, not an error: look at `valid`." });

const ASKED = { destination_conf: EXAMPLE_DESTINATION };

export const ISSUE_CHALLENGE: RouteDoc = {
  summary: "Write an ownership challenge to a destination",
  description: "Whoever can read the object that is written there can prove it for 7 days.",
  body: AskDestination,
  result: z.object({
    valid: z.boolean().describe("Whether the object was written."),
    message: z.string().describe("Why not; empty if it was."),
    filename: z.string().describe("Key of the object; empty if there is none."),
  }),
  examples: [{ name: "A bucket", body: ASKED }],
};

export const CHECK_CHALLENGE: RouteDoc = {
  summary: "Check an ownership challenge",
  body: AskOwnership,
  result: z.object({ valid: z.boolean() }),
  examples: [{ name: "What the object said", body: { ...ASKED, ownership_challenge: "what the object said" } }],
};

export const VALIDATE_DESTINATION: RouteDoc = {
  summary: "Check a destination by writing to it",
  body: AskDestination,
  result: Verdict,
  examples: [{ name: "A bucket", body: ASKED }],
};

export const DESTINATION_EXISTS: RouteDoc = {
  summary: "Ask whether a job ships to a destination",
  description: "The keys in it make no difference, nor does the spelling of the store.",
  body: AskDestination,
  result: z.object({ exists: z.boolean() }),
  examples: [{ name: "A bucket", body: ASKED }],
};

export const VALIDATE_ORIGIN: RouteDoc = {
  summary: "Check logpull_options",
  body: AskOrigin,
  result: Verdict,
  examples: [
    { name: "Two fields", body: { logpull_options: "fields=ScriptName,Outcome&timestamps=rfc3339" } },
    { name: "A field that there is not", body: { logpull_options: "fields=ClientIP" } },
  ],
};
