import { ACCOUNT_PATH, type ResourceGroup } from "../api/route.ts";
import { ENVELOPES } from "./envelopes.ts";
import { FAILURES, type FailureStatus } from "./failures.ts";
import { operationOf } from "./operation.ts";
import { templated } from "./parameters.ts";
import { COMPONENTS, Schemas } from "./schemas.ts";
import { tagsAmong } from "./tags.ts";
import { type Answer, isRef, type OpenApi, type Ref } from "./types.ts";

/** Version of the service, as package.json has it. */
const VERSION = "0.1.0";

const DESCRIPTION = `The HTTP API of logship, which ships the trace events of functions into buckets of yours.

**Credentials** are a bearer token, or the pair of headers \`X-Auth-Email\` and \`X-Auth-Key\`; cookies are never looked at. Each operation says which permission it needs.

**Answers** are JSON of one form: \`{"errors":[],"messages":[],"result":…,"success":true}\`, of lists with \`result_info\`. A failure has no result, and in \`errors\` a number, words and, where it can be told, a JSON pointer into the body that was sent for each fault. Programs go by the status and the number; the words may change. An answer may get more keys than are written here.

**Paths** that begin in \`/logpush\` and \`/workers/scripts\` below the account are other names of \`/logship\` and \`/functions/scripts\`, in the vendor's spelling; what is written there is the same. A method that a path does not have is a 405 with code 7001, whose \`Allow\` says which it has. \`HEAD\` is answered as \`GET\`, without the body.`;

const SECURITY_SCHEMES = {
  bearer: { type: "http", scheme: "bearer", description: "A token." },
  authEmail: { type: "apiKey", in: "header", name: "X-Auth-Email", description: "Address of a member." },
  authKey: { type: "apiKey", in: "header", name: "X-Auth-Key", description: "Key of the same member." },
};

const HEADERS = {
  "X-Request-Id": { description: "Names the request, in the logs of the service, too.", schema: { type: "string" } },
  "Retry-After": {
    description: "After how many seconds the request may be repeated.",
    schema: { type: "integer", minimum: 1 },
  },
  "WWW-Authenticate": { description: "Which credentials are taken.", schema: { type: "string", const: "Bearer" } },
};

/**
 * The API's own description: OpenAPI 3.1.1, from the routes that are mounted and the schemas that check what they take. It says the same wherever it is
 * deployed, byte for byte.
 * @throws Error for a route that cannot be described; the tests build it.
 */
export function openApiDocument(groups: readonly ResourceGroup[]): OpenApi {
  const schemas = new Schemas();
  const paths: OpenApi["paths"] = {};
  for (const { names, resources } of groups) {
    for (const name of names) {
      for (const { path, methods } of resources) {
        const operations = Object.entries(methods).map(([method, route]) => {
          const place = { method, base: ACCOUNT_PATH, path: name + path, firstPath: names[0] + path };
          return [method.toLowerCase(), operationOf(route, place, schemas)] as const;
        });
        const there = templated(ACCOUNT_PATH + name + path);
        paths[there] = { ...paths[there], ...Object.fromEntries(operations) };
      }
    }
  }
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
      summary: "Ships trace events of functions into your own bucket.",
      description: DESCRIPTION,
    },
    servers: [{ url: "/", description: "Where this document was read." }],
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

/** Those that some operation refers to. */
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
