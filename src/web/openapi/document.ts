/**
 * Ours, and not `@hono/zod-openapi` 1.6: that is 36 kB, minified, beside these 13; zod itself makes
 * the schemas; and links, aliases, permissions, samples and derived failures would stay ours.
 */
import { ACCOUNT_PATH, API_PATH, type ResourceGroup, type Resources } from "../api/route.ts";
import { ENVELOPES } from "./envelopes.ts";
import { FAILURES, type FailureStatus } from "./failures.ts";
import { type Answer, isRef, type OpenApi, type Ref } from "./openapi-types.ts";
import { operationOf } from "./operation.ts";
import { templated } from "./parameters.ts";
import { COMPONENTS, Schemas } from "./schemas.ts";
import { tagsAmong } from "./tags.ts";

/** As in package.json. */
const VERSION = "0.1.0";

const DESCRIPTION = `The HTTP API of logship, which ships trace events of functions to your own buckets.

**Credentials** are a bearer token, or the headers \`X-Auth-Email\` and \`X-Auth-Key\` together; cookies are ignored. Each operation names the permission it needs.

**Answers** are JSON objects: \`{"errors":[],"messages":[],"result":…,"success":true}\`, for lists with \`result_info\`. A failure has no result; each entry of \`errors\` has a code, a message and, if known, a JSON pointer into the request's body. Rely on status and code; messages may change. Answers may have more keys than documented.

**Public keys** of the manifests that prove what was shipped are at \`/.well-known/logship-keys.json\`: \`{"keys":[{"key_id","public_key","state","kty","crv","kid","x"}]}\`, without an envelope and without credentials.

**Paths** below the account that begin with \`/logpush\` and \`/workers/scripts\` are the vendor's spelling of \`/logship\` and \`/functions/scripts\`. An unsupported method is a 405 with code 7001, whose \`Allow\` lists the supported ones. \`HEAD\` is answered like \`GET\`, without a body.`;

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer", description: "A token." },
  authEmail: { type: "apiKey", in: "header", name: "X-Auth-Email", description: "Email of a member." },
  authKey: { type: "apiKey", in: "header", name: "X-Auth-Key", description: "Key of the same member." },
};

const HEADERS = {
  "X-Request-Id": { description: "Id of the request, also in the service's logs.", schema: { type: "string" } },
  "Retry-After": {
    description: "Seconds to wait before repeating the request.",
    schema: { type: "integer", minimum: 1 },
  },
  "WWW-Authenticate": { description: "The accepted credentials.", schema: { type: "string", const: "Bearer" } },
};

/**
 * The OpenAPI 3.1.1 document, built from the mounted routes and the schemas that check their input.
 * It is the same in every deployment, byte for byte.
 * @param outside resources below {@link API_PATH}, and no account.
 * @throws Error for a route that cannot be described; the tests build the document.
 */
export function openApiDocument(groups: readonly ResourceGroup[], outside: Resources): OpenApi {
  const schemas = new Schemas();
  const paths: OpenApi["paths"] = {};
  const add = (base: string, name: string, firstName: string, path: string, methods: Resources[string]): void => {
    const operations = Object.entries(methods).map(([method, route]) => {
      const place = { method, base, path: name + path, firstPath: firstName + path };
      return [method.toLowerCase(), operationOf(route, place, schemas)] as const;
    });
    const there = templated(base + name + path);
    paths[there] = { ...paths[there], ...Object.fromEntries(operations) };
  };
  for (const { names, resources } of groups)
    for (const name of names)
      for (const [path, methods] of Object.entries(resources)) add(ACCOUNT_PATH, name ?? "", names[0], path, methods);
  for (const [path, methods] of Object.entries(outside)) add(API_PATH, "", "", path, methods);
  addLinks(paths);
  const operations = Object.values(paths).flatMap((each) => Object.values(each));
  const refs = new Set(
    operations.flatMap(({ responses }) =>
      Object.values(responses)
        .filter(isRef)
        .map(({ $ref }) => $ref),
    ),
  );
  return {
    openapi: "3.1.1",
    info: {
      title: "logship",
      version: VERSION,
      summary: "Ships trace events of functions to your own bucket.",
      description: DESCRIPTION,
    },
    servers: [{ url: "/", description: "The origin of this document." }],
    security: [{ bearer: [] }, { authEmail: [], authKey: [] }],
    tags: tagsAmong(new Set(operations.flatMap(({ tags }) => tags))),
    paths,
    components: {
      schemas: { ...ENVELOPES, ...schemas.components },
      responses: failureAnswers(refs),
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** The failures that an operation refers to. */
function failureAnswers(refs: ReadonlySet<string>): { [name: string]: Answer } {
  const all = Object.entries(FAILURES).map(
    ([status, { name, when }]) => [name, failureAnswer(Number(status), when)] as const,
  );
  return Object.fromEntries(all.filter(([name]) => refs.has(`#/components/responses/${name}`)));
}

function failureAnswer(status: FailureStatus | number, when: string): Answer {
  const ref = (name: keyof typeof HEADERS): Ref => ({ $ref: `#/components/headers/${name}` });
  return {
    description: when,
    headers: {
      "X-Request-Id": ref("X-Request-Id"),
      ...((status === 429 || status === 503) && { "Retry-After": ref("Retry-After") }),
      ...(status === 401 && { "WWW-Authenticate": ref("WWW-Authenticate") }),
    },
    content: { "application/json": { schema: { $ref: `${COMPONENTS}Failure` } } },
  };
}

/**
 * Links from each operation that makes an item to those of the item: its id in the answer is the
 * path parameter that the item's path adds.
 */
function addLinks(paths: OpenApi["paths"]): void {
  for (const [path, { post }] of Object.entries(paths)) {
    const answer = post?.responses["200"] ?? post?.responses["201"] ?? post?.responses["202"];
    if (post === undefined || answer === undefined || isRef(answer)) continue;
    const item = Object.keys(paths)
      .map((each) => each.match(/^(.*)\/\{(\w+_id)\}$/))
      .find((match) => match?.[1] === path);
    if (item == null) continue;
    const [itemPath, , id = ""] = item;
    const given = Object.fromEntries(
      post.parameters.filter((each) => each.in === "path").map(({ name }) => [name, `$request.path.${name}`]),
    );
    const parameters = { ...given, [id]: "$response.body#/result/id" };
    const operations = Object.entries(paths)
      .filter(
        ([each]) =>
          each === itemPath || (each.startsWith(`${itemPath}/`) && !each.slice(itemPath.length).includes("{")),
      )
      .flatMap(([, methods]) => Object.values(methods));
    answer.links = Object.fromEntries(operations.map(({ operationId }) => [operationId, { operationId, parameters }]));
  }
}
