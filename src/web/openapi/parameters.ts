import * as z from "zod";
import { DATASETS } from "../../formats/record/fields.ts";
import { HexId, JobId } from "../api/docs/common.ts";

interface PathParameter {
  schema: z.ZodType;
  /** A valid value, or a shell variable for values that only the service knows. */
  example: string;
  /** A malformed value is a 400, not a 404. */
  refused?: true;
}

const PATH_PARAMETERS: { readonly [name: string]: PathParameter } = {
  account_id: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/)
      .describe("The account of this deployment."),
    example: "$ACCOUNT_ID",
  },
  dataset: { schema: z.enum(DATASETS).describe("The second is an alias of the first."), example: DATASETS[0] },
  job_id: { schema: JobId.describe("Id of a job."), example: "1" },
  number: { schema: z.int().min(1).describe("Number of an object of the job."), example: "$OBJECT_NUMBER" },
  replay_id: { schema: HexId.describe("Id of a replay."), example: "$REPLAY_ID" },
  script_name: {
    schema: z.string().min(1).max(255).meta({
      pattern: "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$",
      description: "Name of a function, percent-encoded, without / and control characters.",
    }),
    example: "shop",
    refused: true,
  },
  token_id: { schema: HexId.describe("Id of a token."), example: "$TOKEN_ID" },
  aside_id: {
    schema: z
      .string()
      .regex(/^(message-\d+|object-\d+-\d+)$/)
      .describe("Id of an entry in the list."),
    example: "$ASIDE_ID",
  },
  alert_id: { schema: z.int().describe("Id of a receiver of alerts, from 2."), example: "2" },
  search_id: { schema: z.int().min(1).describe("Id of a saved search."), example: "$SEARCH_ID" },
  incident_id: {
    schema: z
      .string()
      .regex(/^inc_[0-9a-z]+$/)
      .describe("Id of an incident that is not over."),
    example: "$INCIDENT_ID",
  },
  problem_id: {
    schema: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .describe("Id of a problem."),
    example: "$PROBLEM_ID",
  },
  member_id: { schema: HexId.describe("Id of a member."), example: "$MEMBER_ID" },
};

/** Names of the parameters of a path in the router's form, in order. */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
}

/** @throws Error for an undescribed parameter: a bug, which the tests of the document find. */
export function pathParameter(name: string): PathParameter {
  const parameter = Object.hasOwn(PATH_PARAMETERS, name) ? PATH_PARAMETERS[name] : undefined;
  if (parameter === undefined) throw new Error(`the path parameter ${name} is not described`);
  return parameter;
}

/** A path of the router in OpenAPI's form. */
export function templated(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}
