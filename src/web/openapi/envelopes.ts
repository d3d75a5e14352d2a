import { ERRORS_MAX_ENTRIES } from "../../base/limits.ts";
import type { JsonSchema } from "./openapi-types.ts";
import { COMPONENTS } from "./schemas.ts";

const ref = (name: string): JsonSchema => ({ $ref: COMPONENTS + name });
const none: JsonSchema = { type: "array", maxItems: 0 };
const messages: JsonSchema = { type: "array", items: ref("Message") };
const count: JsonSchema = { type: "integer", minimum: 0 };

/** @param optional the last of its properties. */
function object(
  properties: { readonly [name: string]: JsonSchema },
  optional: JsonSchema["properties"] = {},
): JsonSchema {
  return { type: "object", required: Object.keys(properties), properties: { ...properties, ...optional } };
}

/** The envelopes of src/web/api/envelope.ts as components. */
export const ENVELOPES: { readonly [name: string]: JsonSchema } = {
  Success: object({ errors: none, messages, result: {}, success: { const: true } }),
  SuccessList: object({
    ...{ errors: none, messages, result: { type: "array" } },
    ...{ result_info: ref("ResultInfo"), success: { const: true } },
  }),
  Failure: object({
    errors: { type: "array", minItems: 1, maxItems: ERRORS_MAX_ENTRIES, items: ref("ErrorEntry") },
    ...{ messages: none, result: { type: "null" }, success: { const: false } },
  }),
  ErrorEntry: object(
    {
      code: { type: "integer", description: "Kind of fault." },
      message: { type: "string", description: "The fault, in words." },
    },
    {
      source: object(
        { pointer: { type: "string", description: "JSON pointer (RFC 6901) into the request's body." } },
        { at: { ...count, description: "Where in that text, in UTF-16 units from 0; of `query` only." } },
      ),
    },
  ),
  Message: object({ code: { type: "integer" }, message: { type: "string" } }),
  ResultInfo: object({
    count: { ...count, description: "Entries on this page." },
    page: { ...count, minimum: 1 },
    per_page: { ...count, minimum: 1 },
    total_count: { ...count, description: "Entries in the whole list." },
  }),
};
