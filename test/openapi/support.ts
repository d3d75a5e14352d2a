/** The document as it is served, its operations in one list, and its schemas as a validator of JSON Schema reads them. */
// Ajv is what the validator of OpenAPI documents runs on; package-lock.json says where it is.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { GROUPS } from "../../src/app.ts";
import { openApiDocument } from "../../src/openapi/document.ts";
import type { OpenApi, Operation } from "../../src/openapi/types.ts";

/** As it is read by others: out of its text. */
export const DOCUMENT = JSON.parse(JSON.stringify(openApiDocument(GROUPS))) as OpenApi;

export interface Described {
  method: string;
  path: string;
  operation: Operation;
}

export const OPERATIONS: readonly Described[] = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

// The formats that are used have patterns as well.
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).addSchema(DOCUMENT, "api");

/** What a place of the document says of a value. @param pointer JSON pointer to the schema. */
export function validatorOf(pointer: string): ValidateFunction {
  return ajv.compile({ $ref: `api#${pointer}` });
}

/** JSON pointer of what these keys lead to, as the fragment of an address. */
export function pointerTo(...keys: string[]): string {
  return keys.map((key) => `/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("");
}
