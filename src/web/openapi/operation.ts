import * as z from "zod";
import type { Route, RouteDoc, RouteExample } from "../api/route.ts";
import { curlSample } from "./curl.ts";
import { FAILURES, failuresOf } from "./failures.ts";
import type { Answer, JsonSchema, MediaType, Operation, Parameter, Ref } from "./openapi-types.ts";
import { parameterNames, pathParameter, templated } from "./parameters.ts";
import { COMPONENTS, type Schemas } from "./schemas.ts";
import { tagOf } from "./tags.ts";

const JSON_TYPE = "application/json";
const FORM_TYPE = "multipart/form-data";

/** Where a route is mounted: paths in the router's form, relative to the account's. */
export interface Place {
  method: string;
  /** The account's prefix. */
  base: string;
  path: string;
  /** The path under the primary name of its group. */
  firstPath: string;
}

/** One method of one path. */
export function operationOf(route: Route, { method, base, path, firstPath }: Place, schemas: Schemas): Operation {
  const { doc, permission, or } = route;
  const isAlias = path !== firstPath;
  const texts = [
    doc.description ?? "",
    permission === null
      ? "Needs any known credentials."
      : `Needs the permission \`${permission}\`.${or === undefined ? "" : ` \`${or}\` is enough, too.`}`,
    isAlias ? `Another name of \`${templated(base + firstPath)}\`, in the vendor's spelling.` : "",
  ];
  return {
    operationId: operationId(method, path),
    tags: [tagOf(firstPath)],
    summary: doc.summary,
    description: texts.filter((text) => text !== "").join("\n\n"),
    parameters: [
      ...pathParameters(base + path, schemas),
      ...sentBeside("query", doc, schemas),
      ...sentBeside("headers", doc, schemas),
    ],
    ...(doc.body !== undefined && {
      requestBody: { required: doc.bodyIsOptional !== true, content: requestContent(doc, schemas) },
    }),
    responses: {
      [doc.status ?? 200]: successOf(doc, schemas),
      ...Object.fromEntries(
        failuresOf(base + path, route).map((status): [string, Ref] => [
          `${status}`,
          { $ref: `#/components/responses/${FAILURES[status].name}` },
        ]),
      ),
    },
    ...(permission !== null && { "x-permission": permission }),
    ...(isAlias && { "x-alias-of": templated(base + firstPath) }),
    "x-codeSamples": (doc.examples ?? [{ name: doc.summary }]).map((example) =>
      curlSample(method, base + path, example),
    ),
  };
}

/** `GET /logship/jobs/:job_id/ledger` is `getLogshipJobsByJobIdLedger`: as stable as the path. */
function operationId(method: string, path: string): string {
  const words = path.replaceAll("/:", "/by_").split(/[/_-]/);
  return method.toLowerCase() + words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join("");
}

function pathParameters(path: string, schemas: Schemas): Parameter[] {
  return parameterNames(path).map((name) => {
    const { description, ...schema } = schemas.of(pathParameter(name).schema);
    return { name, in: "path", required: true, ...(description !== undefined && { description }), schema };
  });
}

function sentBeside(where: "query" | "headers", doc: RouteDoc, schemas: Schemas): Parameter[] {
  const sent = doc[where];
  if (sent === undefined) return [];
  const { properties = {}, required = [] } = schemas.of(sent);
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: where === "query" ? "query" : "header",
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function requestContent({ body, examples = [] }: RouteDoc, schemas: Schemas): { [mediaType: string]: MediaType } {
  const types = body instanceof z.ZodType ? { [JSON_TYPE]: body } : (body ?? {});
  return Object.fromEntries(
    Object.entries(types).map(([mediaType, schema]) => {
      const shown = examples.flatMap((each) => bodyOf(each) ?? []).filter((each) => each.mediaType === mediaType);
      const named = shown.map(({ name, value }) => [slug(name), { summary: name, value }] as const);
      return [
        mediaType,
        {
          schema: schemas.of(schema),
          ...(named.length > 0 && { examples: Object.fromEntries(named) }),
          // Generated clients send a part that is an object as JSON, if told so.
          ...(mediaType === FORM_TYPE && { encoding: { metadata: { contentType: JSON_TYPE } } }),
        },
      ];
    }),
  );
}

/** The body of an example, a form as an object of its parts; null: none. */
function bodyOf({
  name,
  body,
  mediaType,
  form,
}: RouteExample): { name: string; mediaType: string; value: unknown } | null {
  if (form === undefined) return body === undefined ? null : { name, mediaType: mediaType ?? JSON_TYPE, value: body };
  const parts = form.map((part) => [part.name, part.mediaType === JSON_TYPE ? JSON.parse(part.text) : part.text]);
  return { name, mediaType: FORM_TYPE, value: Object.fromEntries(parts) };
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

/** The success envelope around the route's result. */
function successOf(doc: RouteDoc, schemas: Schemas): Answer {
  const one = schemas.of(doc.result);
  const result: JsonSchema = doc.list === undefined ? one : { type: "array", items: one };
  const info: JsonSchema | null = doc.list instanceof z.ZodObject ? schemas.of(doc.list) : null;
  const own: JsonSchema = {
    type: "object",
    required: info === null ? ["result"] : ["result", "result_info"],
    properties: { result, ...(info !== null && { result_info: info }) },
  };
  const envelope = { $ref: `${COMPONENTS}${doc.list === undefined ? "Success" : "SuccessList"}` };
  return {
    description: doc.list === undefined ? "Done." : "The list, or a page of it.",
    headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } },
    content: {
      [JSON_TYPE]: { schema: { allOf: [envelope, own] } },
      // Bytes: any content.
      ...Object.fromEntries((doc.files ?? []).map((mediaType) => [mediaType, { schema: {} }])),
    },
  };
}
