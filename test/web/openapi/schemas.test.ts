/**
 * A body has the documented shape exactly if the service accepts its shape, as far as JSON Schema
 * can express it.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type * as z from "zod";
import { AskDestination, AskOrigin, AskOwnership, CreateJob, UpdateJob } from "../../../src/ship/job/job-schema.ts";
import { ScriptSettings } from "../../../src/state/control/function-schema.ts";
import { CreateMember, CreateToken, UpdateMember } from "../../../src/web/api/docs/access.ts";
import { Schemas } from "../../../src/web/openapi/schemas.ts";
import { DOCUMENT, OPERATIONS, pointerTo, validatorOf } from "./support.ts";

type Body = { [key: string]: unknown };

/** Each with its operation, and bodies that it accepts. */
const BODIES: readonly [operationId: string, schema: z.ZodType, valid: Body[]][] = [
  [
    "postLogshipJobs",
    CreateJob,
    [
      { destination_conf: "s3://b/p" },
      { destination_conf: "s3://b/p", enabled: true, output_options: { sample_rate: 0.5, field_names: ["Logs"] } },
      { destination_conf: "s3://b/p", max_upload_bytes: 5_000_000, max_upload_records: 0, id: 7, last_error: null },
    ],
  ],
  ["putLogshipJobsByJobId", UpdateJob, [{}, { name: "x", kind: "", output_options: null, filter: '{"where":1}' }]],
  ["postTokens", CreateToken, [{ name: "ci", permissions: ["logs:read", "logs:edit"] }]],
  ["postMembers", CreateMember, [{ email: "ada@example.com", role: "Log Share" }]],
  ["putMembersByMemberId", UpdateMember, [{ role: "Log Share" }, { role: "Administrator", email: "x" }]],
  [
    "patchFunctionsScriptsByScriptNameScriptSettings",
    ScriptSettings,
    [{}, { logship: true, tail_consumers: [{ service: "a", environment: "b" }] }, { logpush: null }],
  ],
  ["postLogshipOwnership", AskDestination, [{ destination_conf: "s3://b/p" }]],
  ["postLogshipOwnershipValidate", AskOwnership, [{ destination_conf: "s3://b/p", ownership_challenge: null }]],
  ["postLogshipValidateOrigin", AskOrigin, [{ logpull_options: "fields=x" }, { logpull_options: null, dataset: "d" }]],
];

/** Valid and invalid values of every type, around every bound. */
const NUMBERS = [
  0,
  1,
  -1,
  0.5,
  1.5,
  29,
  30,
  300,
  301,
  999,
  1_000,
  1_000_001,
  4_999_999,
  5_000_000,
  1e9,
  1e9 + 1,
  1e300,
];
const TEXTS = [
  "",
  "x",
  "****",
  "ndjson",
  "csv",
  "unix",
  "Log Share",
  "logs:read",
  "functions_trace_events",
  "a@b.example",
];
const TIMES = ["2099-12-31T00:00:00Z", "2099-12-31T00:00:00+01:00", "2099-12-31T00:00:00", "2099-02-30T00:00:00Z"];
const LONG = [64, 65, 120, 121, 254, 255, 256, 512, 513, 4_096, 4_097, 8_192, 8_193].map((length) =>
  "x".repeat(length),
);
/** Characters of two UTF-16 units each, around the bounds. */
const WIDE = [120, 121, 512, 513].map((length) => "\u{1f600}".repeat(length));
const LISTS = [
  [],
  ["logs:read"],
  ["logs:read", "logs:read"],
  ["everything"],
  [{ service: "a" }],
  [{ service: "" }],
  [{ service: "a", more: 1 }],
  Array.from({ length: 65 }, () => "x"),
  Array.from({ length: 101 }, () => ({ service: "a" })),
];
const OBJECTS = [
  {},
  { output_type: "csv" },
  { sample_rate: 0 },
  { sample_rate: 1.1 },
  { nope: 1 },
  { record_prefix: "x\n" },
];

const value = fc.constantFrom<unknown[]>(
  null,
  true,
  false,
  ...NUMBERS,
  ...TEXTS,
  ...TIMES,
  ...LONG,
  ...WIDE,
  "a\u0001b",
  ...LISTS,
  ...OBJECTS,
);

/** Pointer to the schema of an operation's body. */
function bodyPointer(operationId: string): string {
  const found = OPERATIONS.find(({ operation }) => operation.operationId === operationId);
  if (found === undefined) throw new Error(`there is no operation ${operationId}`);
  const { path, method } = found;
  return pointerTo("paths", path, method.toLowerCase(), "requestBody", "content", "application/json", "schema");
}

/** Every property name in the document. */
function namesOf(schema: z.ZodType): string[] {
  const schemas = new Schemas();
  const root = schemas.of(schema);
  const named = root.$ref === undefined ? root : schemas.components[root.$ref.split("/").at(-1) ?? ""];
  return Object.keys(named?.properties ?? {});
}

describe.each(BODIES)("the body of %s", (operationId, schema, valid) => {
  const validate = validatorOf(bodyPointer(operationId));

  it.each(valid)("is taken, and is documented: %j", (body) => {
    expect([schema.safeParse(body).success, validate(body)]).toEqual([true, true]);
  });

  it("is documented exactly if its shape is taken", () => {
    const key = fc.constantFrom(...namesOf(schema), "unknown");
    const change = fc.record({
      base: fc.constantFrom(...valid),
      more: fc.dictionary(key, value, { maxKeys: 3 }),
      without: fc.option(key),
    });
    let taken = 0;
    fc.assert(
      fc.property(change, ({ base, more, without }) => {
        const body = Object.fromEntries(Object.entries({ ...base, ...more }).filter(([name]) => name !== without));
        const { success } = schema.safeParse(body);
        taken += success ? 1 : 0;
        expect([body, validate(body)]).toEqual([body, success]);
      }),
      { numRuns: 500 },
    );
    // Both answers occur, so that agreement means something.
    expect(taken).toBeGreaterThan(20);
    expect(taken).toBeLessThan(500);
  });

  it.each([null, 1, "x", true, []])("is an object: not %j", (body) => {
    expect([schema.safeParse(body).success, validate(body)]).toEqual([false, false]);
  });
});

/**
 * JSON Schema counts characters, the service bytes, and lone surrogates are unknown to it: there
 * the document allows more.
 */
describe("what JSON Schema cannot say", () => {
  const JOB = { destination_conf: "s3://b/p" };
  const beyond: [what: string, operationId: string, schema: z.ZodType, body: Body][] = [
    ["bytes of a filter", "postLogshipJobs", CreateJob, { ...JOB, filter: "\u20ac".repeat(8_000) }],
    ["half of a surrogate pair", "postLogshipJobs", CreateJob, { ...JOB, output_options: { record_prefix: "\ud800" } }],
    [
      "bytes of a list",
      "patchFunctionsScriptsByScriptNameScriptSettings",
      ScriptSettings,
      { tail_consumers: Array.from({ length: 80 }, () => ({ service: "s".repeat(250) })) },
    ],
  ];

  it.each(beyond)("is checked by the service alone: %s", (_what, operationId, schema, body) => {
    expect([schema.safeParse(body).success, validatorOf(bodyPointer(operationId))(body)]).toEqual([false, true]);
  });
});

describe("what zod does not say by itself", () => {
  it.each([
    ["0, or within the bounds", ["CreateJob", "max_upload_interval_seconds"], { minimum: 0, maximum: 300 }],
    ["the bytes of a filter, in characters at most", ["CreateJob", "filter"], { maxLength: 8_192 }],
  ])("is in the description: %s", (_what, [component = "", property = ""], expected) => {
    const { anyOf } = DOCUMENT.components.schemas[component]?.properties?.[property] ?? {};
    expect(anyOf).toEqual([expect.objectContaining(expected), { type: "null" }]);
  });
});
