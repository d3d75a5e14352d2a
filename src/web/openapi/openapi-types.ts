/** The part of OpenAPI 3.1 that the document uses. https://spec.openapis.org/oas/v3.1.1 */

/** JSON Schema, draft 2020-12: the keywords that are read here. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: { [name: string]: JsonSchema };
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  readOnly?: boolean;
  [keyword: string]: unknown;
}

export interface Ref {
  $ref: string;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  schema: JsonSchema;
  example?: unknown;
}

export interface MediaType {
  schema: JsonSchema;
  examples?: { [name: string]: { summary: string; value: unknown } };
  encoding?: { [part: string]: { contentType: string } };
}

/** What an answer says of a later request. */
export interface Link {
  operationId: string;
  /** Runtime expressions. */
  parameters: { [name: string]: string };
}

export interface Answer {
  description: string;
  links?: { [name: string]: Link };
  headers?: { [name: string]: Ref };
  content: { [mediaType: string]: MediaType };
}

/** A command line in the `x-codeSamples` extension. */
export interface CodeSample {
  lang: string;
  label: string;
  source: string;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters: Parameter[];
  requestBody?: { required: boolean; content: { [mediaType: string]: MediaType } };
  responses: { [status: string]: Answer | Ref };
  /** Absent: any known caller. */
  "x-permission"?: string;
  /** The path that this is an alias of. */
  "x-alias-of"?: string;
  "x-codeSamples": CodeSample[];
}

export interface Tag {
  name: string;
  description: string;
}

export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string };
  servers: { url: string; description: string }[];
  security: { [scheme: string]: string[] }[];
  tags: Tag[];
  paths: { [path: string]: { [method: string]: Operation } };
  components: {
    schemas: { [name: string]: JsonSchema };
    responses: { [name: string]: Answer };
    headers: { [name: string]: { description: string; schema: JsonSchema } };
    securitySchemes: { [name: string]: object };
  };
}

export function isRef(value: object): value is Ref {
  return "$ref" in value;
}
