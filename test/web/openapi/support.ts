/** The document as served, its operations as a list, and its schemas in a JSON Schema validator. */
// Ajv comes with the validator of OpenAPI documents; package-lock.json has its version.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { GROUPS, IDENTITY } from "../../../src/web/app.ts";
import { openApiDocument } from "../../../src/web/openapi/document.ts";
import type { OpenApi, Operation } from "../../../src/web/openapi/openapi-types.ts";

/** Parsed from its text, as clients read it. */
export const DOCUMENT = JSON.parse(JSON.stringify(openApiDocument(GROUPS, IDENTITY))) as OpenApi;

export interface Described {
  method: string;
  path: string;
  operation: Operation;
}

export const OPERATIONS: readonly Described[] = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

// The used formats have patterns, too.
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).addSchema(DOCUMENT, "api");

/**
 * Validates a value against a schema of the document. @param pointer JSON pointer to the schema.
 */
export function validatorOf(pointer: string): ValidateFunction {
  return ajv.compile({ $ref: `api#${pointer}` });
}

/** The JSON pointer of these keys, as a URL fragment. */
export function pointerTo(...keys: string[]): string {
  return keys.map((key) => `/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("");
}
