import { ERRORS_MAX_ENTRIES } from "../limits.ts";
import { COMPONENTS } from "./schemas.ts";
import type { JsonSchema } from "./types.ts";

const ref = (name: string): JsonSchema => ({ $ref: COMPONENTS + name });
const messages: JsonSchema = { type: "array", items: ref("Message") };
const count: JsonSchema = { type: "integer", minimum: 0 };

/** The envelopes of src/api/envelope.ts as components. */
export const ENVELOPES: { readonly [name: string]: JsonSchema } = {
  Success: {
    type: "object",
    required: ["errors", "messages", "result", "success"],
    properties: {
      errors: { type: "array", maxItems: 0 },
      messages,
      result: {},
      success: { const: true },
    },
  },
  SuccessList: {
    type: "object",
    required: ["errors", "messages", "result", "result_info", "success"],
    properties: {
      errors: { type: "array", maxItems: 0 },
      messages,
      result: { type: "array" },
      result_info: ref("ResultInfo"),
      success: { const: true },
    },
  },
  Failure: {
    type: "object",
    required: ["errors", "messages", "result", "success"],
    properties: {
      errors: { type: "array", minItems: 1, maxItems: ERRORS_MAX_ENTRIES, items: ref("ErrorEntry") },
      messages: { type: "array", maxItems: 0 },
      result: { type: "null" },
      success: { const: false },
    },
  },
  ErrorEntry: {
    type: "object",
    required: ["code", "message"],
    properties: {
      code: { type: "integer", description: "Kind of fault." },
      message: { type: "string", description: "The fault, in words." },
      source: {
        type: "object",
        required: ["pointer"],
        properties: {
          pointer: { type: "string", description: "JSON pointer (RFC 6901) into the request's body." },
        },
      },
    },
  },
  Message: {
    type: "object",
    required: ["code", "message"],
    properties: { code: { type: "integer" }, message: { type: "string" } },
  },
  ResultInfo: {
    type: "object",
    required: ["count", "page", "per_page", "total_count"],
    properties: {
      count: { ...count, description: "Entries on this page." },
      page: { ...count, minimum: 1 },
      per_page: { ...count, minimum: 1 },
      total_count: { ...count, description: "Entries in the whole list." },
    },
  },
};
