import * as z from "zod";
import { DATASETS } from "../record/fields.ts";

/** One part of a path that is not fixed. */
interface PathParameter {
  schema: z.ZodType;
  /** One that a path can have as it stands; a variable of the shell, where only the service knows one. */
  example: string;
  /** A malformed one is a 400; any other is merely not found. */
  refused?: true;
}

const id = z.string().regex(/^[0-9a-f]{32}$/);

const PATH_PARAMETERS: { readonly [name: string]: PathParameter } = {
  account_id: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/)
      .describe("The one account that the service serves."),
    example: "$ACCOUNT_ID",
  },
  dataset: { schema: z.enum(DATASETS).describe("The second is another name of the first."), example: DATASETS[0] },
  job_id: { schema: z.int().min(1).describe("Id of a job."), example: "1" },
  number: { schema: z.int().min(1).describe("Number of an object of the job."), example: "$OBJECT_NUMBER" },
  replay_id: { schema: id.describe("Id of a replay."), example: "$REPLAY_ID" },
  script_name: {
    schema: z.string().min(1).max(255).meta({
      pattern: "^[^/\\u0000-\\u001f\\u007f-\\u009f]+$",
      description: "Name of a function, without / and control characters; percent-encoded where necessary.",
    }),
    example: "shop",
    refused: true,
  },
  token_id: { schema: id.describe("Id of a token."), example: "$TOKEN_ID" },
  aside_id: {
    schema: z
      .string()
      .regex(/^(message-\d+|object-\d+-\d+)$/)
      .describe("Id of what was set aside, as the list has it."),
    example: "$ASIDE_ID",
  },
  member_id: { schema: id.describe("Id of a member."), example: "$MEMBER_ID" },
};

/** Names of what is not fixed in a path, as the router has it, in order. */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
}

/** @throws Error for a parameter that nobody has described: a bug, which the tests of the document find. */
export function pathParameter(name: string): PathParameter {
  const parameter = Object.hasOwn(PATH_PARAMETERS, name) ? PATH_PARAMETERS[name] : undefined;
  if (parameter === undefined) throw new Error(`the path parameter ${name} is not described`);
  return parameter;
}

/** The path of the router as OpenAPI writes it. */
export function templated(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}
