import { describe, expect, it } from "vitest";
import packageJson from "../../../package.json" with { type: "json" };
import { GROUPS, IDENTITY } from "../../../src/web/app.ts";
import { DOCUMENT, OPERATIONS } from "./support.ts";

/** Every `$ref` in the document. */
function refsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "$ref" ? [String(inner)] : refsIn(inner)));
}

function found(ref: string): unknown {
  const keys = ref
    .slice(2)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  return keys.reduce<unknown>((at, key) => (at as { [key: string]: unknown } | undefined)?.[key], DOCUMENT);
}

describe("the document", () => {
  it("has every method of every route under every name, and no other", () => {
    const routes = GROUPS.flatMap(({ names, resources }) =>
      names.flatMap((name = "") =>
        Object.entries(resources).flatMap(([path, methods]) =>
          Object.keys(methods).map(
            (method) => `${method} /client/v4/accounts/{account_id}${name}${path.replaceAll(/:(\w+)/g, "{$1}")}`,
          ),
        ),
      ),
    );
    routes.push(...Object.keys(IDENTITY).map((path) => `GET /client/v4${path}`));
    expect(OPERATIONS.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(routes.sort());
    // A few by hand, so that an empty list is noticed.
    expect(routes).toEqual(
      expect.arrayContaining([
        "POST /client/v4/accounts/{account_id}/logship/jobs",
        "PUT /client/v4/accounts/{account_id}/logpush/jobs/{job_id}",
        "PATCH /client/v4/accounts/{account_id}/workers/scripts/{script_name}/script-settings",
        "DELETE /client/v4/accounts/{account_id}/tokens/{token_id}",
      ]),
    );
  });

  it("names each operation once, and always the same", () => {
    const ids = OPERATIONS.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
    expect(ids).toEqual(
      expect.arrayContaining([
        "getLogshipJobs",
        "getLogpushJobs",
        "putLogshipJobsByJobId",
        "patchFunctionsScriptsByScriptNameScriptSettings",
      ]),
    );
  });

  it("refers to nothing that is not there, and has no component that nothing refers to", () => {
    const refs = new Set(refsIn(DOCUMENT));
    for (const ref of refs) expect([ref, found(ref)]).not.toEqual([ref, undefined]);
    const { schemas, responses, headers } = DOCUMENT.components;
    const there = Object.entries({ schemas, responses, headers }).flatMap(([kind, each]) =>
      Object.keys(each).map((name) => `#/components/${kind}/${name}`),
    );
    expect([...refs].sort()).toEqual(there.sort());
  });

  it("has the version of the package", () => {
    expect([DOCUMENT.openapi, DOCUMENT.info.version]).toEqual(["3.1.1", packageJson.version]);
  });

  it("takes a token, or the address and key of a member together", () => {
    expect(DOCUMENT.security).toEqual([{ bearer: [] }, { authEmail: [], authKey: [] }]);
    expect(DOCUMENT.components.securitySchemes).toMatchObject({
      bearer: { type: "http", scheme: "bearer" },
      authEmail: { type: "apiKey", in: "header", name: "X-Auth-Email" },
      authKey: { type: "apiKey", in: "header", name: "X-Auth-Key" },
    });
  });
});

describe("each operation", () => {
  it.each(OPERATIONS)("$method $path says what it does, what it needs, and what it answers", ({ path, operation }) => {
    const { summary, description, parameters, responses, tags } = operation;
    expect(summary).toMatch(/^[A-Z].*[^.]$/);
    const permission = operation["x-permission"];
    const needs = permission === undefined ? "any known credentials" : `the permission \`${permission}\``;
    expect(description).toContain(`Needs ${needs}.`);
    const statuses = Object.keys(responses);
    expect(statuses.filter((status) => status.startsWith("2")).length).toBe(1);
    expect(statuses).toEqual(expect.arrayContaining(["401", "403", "404", "503"]));
    expect(statuses.includes("413") && statuses.includes("415")).toBe(operation.requestBody !== undefined);
    for (const answer of Object.values(responses)) {
      const { headers } = ("$ref" in answer ? found(answer.$ref) : answer) as { headers: object };
      expect(Object.keys(headers)).toContain("X-Request-Id");
    }
    const inPath = parameters.filter((each) => each.in === "path").map(({ name, required }) => [name, required]);
    expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, true]));
    expect(DOCUMENT.tags.map(({ name }) => name)).toEqual(expect.arrayContaining(tags));
    expect(operation["x-codeSamples"].length).toBeGreaterThan(0);
  });

  it("is called differently from every other", () => {
    const ours = OPERATIONS.filter(({ operation }) => operation["x-alias-of"] === undefined);
    const summaries = ours.map(({ operation }) => operation.summary);
    expect(summaries.filter((summary, i) => summaries.indexOf(summary) < i)).toEqual([]);
  });

  it("that makes an item leads to all that can be done with it", () => {
    const linksOf = (path: string) => {
      const { post } = DOCUMENT.paths[`/client/v4/accounts/{account_id}${path}`] ?? {};
      return Object.values(post?.responses ?? {}).flatMap((each) => ("links" in each ? [each.links] : []))[0];
    };
    const account_id = "$request.path.account_id";
    expect(Object.keys(linksOf("/tokens") ?? {})).toEqual(["deleteTokensByTokenId"]);
    expect(Object.keys(linksOf("/logpush/jobs") ?? {})).toEqual(
      expect.arrayContaining(["putLogpushJobsByJobId", "postLogpushJobsByJobIdFlush"]),
    );
    expect(linksOf("/logship/jobs/{job_id}/replay")?.getLogshipJobsByJobIdReplayByReplayId?.parameters).toEqual({
      account_id,
      job_id: "$request.path.job_id",
      replay_id: "$response.body#/result/id",
    });
    const ids = new Map(OPERATIONS.map(({ operation }) => [operation.operationId, operation]));
    const all = OPERATIONS.flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap((each) => ("links" in each ? Object.values(each.links ?? {}) : [])),
    );
    expect(all.length).toBeGreaterThan(20);
    for (const { operationId, parameters } of all) {
      const inPath = ids.get(operationId)?.parameters.filter((each) => each.in === "path");
      expect(Object.keys(parameters).sort()).toEqual(inPath?.map(({ name }) => name).sort());
    }
  });

  it("has unknown keys of a job, and of its options, that ask for nothing and are called like keys", () => {
    for (const name of ["CreateJob", "UpdateJob", "OutputOptions"]) {
      const { propertyNames, additionalProperties } = DOCUMENT.components.schemas[name] ?? {};
      expect([name, propertyNames]).toEqual([name, { pattern: "^[A-Za-z][A-Za-z0-9_-]{0,63}$" }]);
      expect([name, additionalProperties]).toMatchObject([name, { anyOf: [{ enum: [false, null, 0, ""] }, {}, {}] }]);
    }
  });

  it("has parts of an upload that are files, and an address that looks like one", () => {
    const upload = DOCUMENT.paths["/client/v4/accounts/{account_id}/workers/scripts/{script_name}"]?.put?.requestBody;
    const form = upload?.content["multipart/form-data"];
    expect(form?.schema.additionalProperties).toEqual({
      type: "string",
      format: "binary",
      contentMediaType: "application/octet-stream",
    });
    expect(form?.encoding).toEqual({ metadata: { contentType: "application/json" } });
    const webhook = DOCUMENT.paths["/client/v4/accounts/{account_id}/logship/webhook"]?.put?.requestBody;
    const pattern = webhook?.content["application/json"]?.schema.properties?.url?.pattern;
    const isUrl = (text: string) => new RegExp(String(pattern)).test(text);
    expect(["https://a.example/?k=v", "HTTPS://a.example/****", "http://127.0.0.1:1/"].filter(isUrl).length).toBe(3);
    expect(["a.example", "https://a.example/#x", "https://a b", "https:\\\\a", "ftp://a"].filter(isUrl)).toEqual([]);
  });

  it("of the vendor's name says so, and is otherwise the one of ours", () => {
    const aliases = OPERATIONS.filter(({ path }) => /\/(logpush|workers)\//.test(path));
    expect(aliases.length).toBeGreaterThan(20);
    for (const { method, path, operation } of aliases) {
      const first = path.replace("/logpush/", "/logship/").replace("/workers/", "/functions/");
      const ours = OPERATIONS.find((each) => each.method === method && each.path === first)?.operation;
      expect(operation["x-alias-of"]).toBe(first);
      expect(operation.description).toContain(`Another name of \`${first}\``);
      const same = ({ summary, tags, parameters, requestBody, responses, ...more }: typeof operation) => ({
        summary,
        tags,
        parameters,
        requestBody,
        samples: more["x-codeSamples"].map(({ source }) =>
          source
            .replace(`{account_id}`, "")
            .replace(/\/logpush\/|\/workers\//, (name) => (name === "/logpush/" ? "/logship/" : "/functions/")),
        ),
        // Links stay below the path's own name.
        responses: JSON.parse(JSON.stringify(responses).replaceAll("Logpush", "Logship")) as unknown,
      });
      expect(same(operation)).toEqual(ours && same(ours));
    }
    const others = OPERATIONS.filter((each) => !aliases.includes(each));
    expect(others.filter(({ operation }) => operation["x-alias-of"] !== undefined)).toEqual([]);
  });

  it("says of every failure what goes with it", () => {
    const { responses } = DOCUMENT.components;
    expect(Object.keys(responses.Unauthorized?.headers ?? {})).toContain("WWW-Authenticate");
    expect(Object.keys(responses.Unavailable?.headers ?? {})).toContain("Retry-After");
    const of = (method: string, end: string) =>
      Object.keys(
        OPERATIONS.find((each) => each.method === method && each.path.endsWith(end))?.operation.responses ?? {},
      );
    expect(of("PUT", "/logship/jobs/{job_id}")).toEqual("200 400 401 403 404 408 409 413 415 429 503".split(" "));
    expect(of("GET", "/logship/jobs/{job_id}")).toEqual("200 401 403 404 429 503".split(" "));
    expect(of("GET", "/scripts/{script_name}")).toEqual("200 400 401 403 404 429 503".split(" "));
    expect(of("POST", "/events")).toEqual("202 400 401 403 404 408 413 415 429 503".split(" "));
  });
});

describe("the parameters of a query", () => {
  it("are described as they are checked", () => {
    const list = OPERATIONS.find(({ path, method }) => method === "GET" && path.endsWith("/logship/jobs"));
    const queried = list?.operation.parameters.filter((each) => each.in === "query") ?? [];
    expect(queried.map(({ name, required, schema }) => [name, required, schema])).toEqual([
      ["page", false, { type: "integer", minimum: 1, maximum: 1_000_000, default: 1 }],
      ["per_page", false, { type: "integer", minimum: 1, maximum: 100, default: 100 }],
    ]);
    const remove = OPERATIONS.find(
      ({ path, method }) => method === "DELETE" && path.endsWith("/logship/jobs/{job_id}"),
    );
    expect(remove?.operation.parameters.at(-1)).toMatchObject({
      name: "discard",
      schema: { type: "boolean", default: false },
    });
  });
});
