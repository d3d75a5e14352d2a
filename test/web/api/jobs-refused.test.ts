import { beforeEach, describe, expect, it } from "vitest";
import { isJsonType } from "../../../src/web/api/body.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import {
  type Bucket,
  type CallOptions,
  call,
  errorsOf,
  expectNothingStored,
  expectRefused,
  freshBucket,
  type Job,
  listJobs,
} from "./harness.ts";

let bucket: Bucket;
beforeEach(() => {
  bucket = freshBucket();
});
const valid = () => ({ destination_conf: destinationConf(bucket.name) });

/**
 * Tries to create a job: it must be refused without any effect, not even a call to the destination.
 */
async function refused(body: unknown, options: CallOptions = {}) {
  const answer = await call("POST", "/logship/jobs", body, options);
  await expectNothingStored(bucket);
  expect(await bucket.control.requests()).toEqual([]);
  return answer;
}

/** Tries to change a job: it must be refused, and the job unchanged. */
async function refusedChange(body: unknown, options: CallOptions = {}) {
  expect((await call("POST", "/logship/jobs", { ...valid(), name: "as it was" })).status).toBe(201);
  const before = await listJobs();
  const answer = await call("PUT", "/logship/jobs/1", body, options);
  expect(await listJobs()).toEqual(before);
  expect((await bucket.control.requests()).length).toBe(1);
  return answer;
}

const NOT_ALLOWED = "has what JSON does not allow there";

describe("a body that is not what it should be", () => {
  const bodies: [what: string, body: string | Uint8Array, message: string | RegExp][] = [
    ["nothing", "", "the body is not JSON: it is empty"],
    ["not JSON", "{", "the body is not JSON: it ends too early, at line 1, column 2 (byte 1)"],
    [
      "a slip on a later line, after letters of several bytes",
      '{"name":"\u00e4\u{1f600}",\r\n "\u00e4": secret}',
      `the body is not JSON: line 2, column 7 (byte 26) ${NOT_ALLOWED}`,
    ],
    ["not UTF-8", Uint8Array.of(0x7b, 0xff, 0x7d), "the body is not valid UTF-8"],
    ["null", "null", /^the body: /],
    ["an array", "[]", /^the body: /],
  ];

  it.each(bodies)("is refused by POST and PUT: %s", async (_what, body, message) => {
    const expected = [
      1001,
      typeof message === "string" ? undefined : "",
      typeof message === "string" ? message : expect.stringMatching(message),
    ];
    const created = await refused(body);
    expectRefused(created, 400, expected);
    const changed = await refusedChange(body);
    expectRefused(changed, 400, expected);
  });

  const forms: [what: string, headers: Record<string, string>, status: number, code: number, message: RegExp][] = [
    ["plain text", { "content-type": "text/plain" }, 415, 1015, /^Content-Type must be application\/json$/],
    [
      "lines of JSON",
      { "content-type": "application/x-ndjson" },
      415,
      1015,
      /^Content-Type must be application\/json$/,
    ],
    ["another encoding", { "content-encoding": "br" }, 415, 1015, /^Content-Encoding must be gzip or absent$/],
    ["gzip that is none", { "content-encoding": "gzip" }, 400, 1001, /^the body is not valid gzip$/],
  ];

  it.each(forms)("is refused in another form: %s", async (_what, headers, status, code, message) => {
    for (const answer of [await refused(valid(), { headers }), await refusedChange({ name: "x" }, { headers })]) {
      expectRefused(answer, status, [code, undefined, expect.stringMatching(message)]);
    }
  });

  it("is taken as curl -d sends it, with credentials in a header, and from no page that has but a cookie", async () => {
    const CURL = { "content-type": "application/x-www-form-urlencoded" };
    for (const path of ["logpush", "logship"]) {
      const created = await call<Job>("POST", `/${path}/jobs`, valid(), { headers: CURL });
      expect(created.status).toBe(201);
      const changed = await call<Job>(
        "PUT",
        `/${path}/jobs/${created.body.result.id}`,
        { name: "x" },
        { headers: CURL },
      );
      expect([changed.status, changed.body.result.name]).toEqual([200, "x"]);
    }
    const events = "/logpush/datasets/workers_trace_events/events";
    expect((await call("POST", events, [], { headers: CURL })).status).toBe(202);
    const asked = (headers: Record<string, string>) =>
      isJsonType(new Request("http://localhost/", { method: "POST", headers: { ...CURL, ...headers } }));
    expect([
      asked({ cookie: "__Host-logship=x" }),
      asked({ authorization: "x" }),
      asked({ "x-auth-key": "x" }),
    ]).toEqual([false, true, true]);
    expect(errorsOf(await call("PUT", "/logpush/jobs/1", "name=x", { headers: CURL }))).toEqual([
      [1001, undefined, `the body is not JSON: line 1, column 1 (byte 0) ${NOT_ALLOWED}`],
    ]);
  });

  it("is refused beyond 256 KiB, compressed or not", async () => {
    const large = JSON.stringify({ ...valid(), name: "x".repeat(262_144) });
    const gzip = new Uint8Array(
      await new Response(new Response(large).body?.pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
    );
    for (const answer of [await refused(large), await refused(gzip, { headers: { "content-encoding": "gzip" } })]) {
      expectRefused(answer, 413, [1013, undefined, "the body is larger than 262144 bytes"]);
    }
  });
});

/** Out-of-bounds values by place, for both POST and PUT. */
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  name: [5, "n".repeat(513)],
  destination_conf: [5, "", null, `s3://${"x".repeat(4_092)}`],
  dataset: ["http_requests", 1],
  kind: ["edge", 1],
  enabled: ["true", 1],
  filter: [{ where: {} }, "€".repeat(2_731)],
  frequency: [1],
  logpull_options: [{}, "x".repeat(4_097)],
  canary: ["yes"],
  ownership_challenge: [5],
  max_upload_bytes: [1, 4_999_999, 1_000_000_001, -1, 5_000_000.5, "5000000", true, []],
  max_upload_records: [1, 999, 1_000_001, -1_000, 1_000.5, "1000"],
  max_upload_interval_seconds: [1, 29, 301, -30, 30.5, "30"],
  output_options: ["x", []],
  "output_options/field_names": ["Outcome"],
  "output_options/output_type": ["xml"],
  "output_options/timestamp_format": ["iso"],
  "output_options/sample_rate": [0, 1.01, -0.5, "1"],
  "output_options/CVE-2021-44228": ["true"],
  "output_options/batch_prefix": [1],
  "output_options/merge_subrequests": ["no"],
  "output_options/colour": ["red"],
  "output_options/sample_rates": [null],
  "output_options/__proto__": [null],
  // Keys that no one knows, asking for something or not.
  filter_next: [true, 1, "x", ["x"], { x: null }],
  filter_attack_traffic: [true],
  spelled: [{}],
  ...Object.fromEntries(
    ["enabeld", "Enabled", "fliter", "max-upload-bytes", "a b", "_x", "x".repeat(65)].map((name) => [name, [false]]),
  ),
};

/** With their bodies as JSON, in which a prototype is a key like any other. */
const FAULTS: readonly [what: string, body: string, pointer: string][] = [
  ...Object.entries({ ...WRONG, ["__proto__"]: [{ name: "x" }] }).flatMap(([place, values]) =>
    values.map((value): [string, string, string] => {
      const [key, option] = place.split("/");
      const text = option === undefined ? JSON.stringify(value) : `{"${option}":${JSON.stringify(value)}}`;
      return [`${place} of ${text.slice(0, 40)}`, `{"${key}":${text}}`, `/${place}`];
    }),
  ),
  ["a field that is a number", '{"output_options":{"field_names":["Outcome",5]}}', "/output_options/field_names/1"],
  ["a key with signs that pointers escape", '{"a/b~c":1}', "/a~1b~0c"],
];

describe("a value out of bounds", () => {
  it.each(FAULTS)("is refused on creation, with its place and its name: %s", async (_what, body, pointer) => {
    const text = JSON.stringify(valid()).slice(0, -1);
    const answer = await refused(pointer === "/destination_conf" ? body : `${text},${body.slice(1)}`);
    const name = pointer.slice(1).replaceAll("~1", "/").replaceAll("~0", "~").split("/").at(-1)?.slice(0, 60) ?? "";
    expectRefused(answer, 400, [1001, pointer, expect.stringContaining(name)]);
  });

  it("is refused in a change as well, and the job stays as it was", async () => {
    expect((await call("POST", "/logship/jobs", { ...valid(), name: "as it was" })).status).toBe(201);
    const before = await listJobs();
    for (const [what, text, pointer] of FAULTS) {
      const { status, body } = await call("PUT", "/logship/jobs/1", text);
      const places = body.errors.map(({ code, source }) => [code, source?.pointer]);
      expect([what, status, places]).toEqual([what, 400, [[1001, pointer]]]);
    }
    expect(await listJobs()).toEqual(before);
  });

  it("has at most sixteen unknown keys, and of a slip says what is meant", async () => {
    const many = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`later_${i}`, null]));
    expect((await refused({ ...valid(), ...many(17) })).body.errors).toMatchObject([
      { source: { pointer: "" }, message: "has 17 unknown keys, at most 16" },
    ]);
    expect(errorsOf(await refused({ ...valid(), fliter: null }))).toEqual([
      [1001, "/fliter", 'unknown key "fliter", did you mean "filter"?'],
    ]);
  });

  it("has no more unknown keys after many changes than after one", async () => {
    const { id } = (await call<Job>("POST", "/logship/jobs", valid())).body.result;
    const keys = (n: number, of: string) => Object.fromEntries(Array.from({ length: n }, (_, i) => [of + i, null]));
    expect((await call("PUT", `/logship/jobs/${id}`, keys(10, "first_"))).status).toBe(200);
    expect((await call("PUT", `/logship/jobs/${id}`, { ...keys(10, "first_"), ...keys(6, "then_") })).status).toBe(200);
    expect(errorsOf(await call("PUT", `/logship/jobs/${id}`, { last: null, name: "x" }))).toEqual([
      [1001, "", "has 17 unknown keys, at most 16"],
    ]);
    expect((await call("PUT", `/logship/jobs/${id}`, { then_0: false, name: "y" })).status).toBe(200);
    expect((await call("GET", `/logship/jobs/${id}`)).body.result).toMatchObject({ name: "y", then_0: false });
  });

  it("says what the bounds are", async () => {
    const answer = await refused({
      ...valid(),
      max_upload_bytes: 1,
      max_upload_records: 1,
      max_upload_interval_seconds: 1,
      filter: "x".repeat(8_193),
    });
    expect(
      errorsOf(answer)
        .map(([, , message]) => message)
        .sort(),
    ).toEqual([
      "filter: must be at most 8192 bytes",
      "max_upload_bytes: must be 0 or from 5000000 to 1000000000",
      "max_upload_interval_seconds: must be 0 or from 30 to 300",
      "max_upload_records: must be 0 or from 1000 to 1000000",
    ]);
  });

  it("does not repeat what was sent, which may be a secret in the wrong place", async () => {
    const secret = "SeCrEtOfACustomer";
    const answer = await refused({
      destination_conf: 5,
      name: [secret],
      enabled: secret,
      dataset: secret,
      kind: secret,
      output_options: { output_type: secret, timestamp_format: secret, sample_rate: secret },
    });
    expect(answer.body.errors.length).toBe(8);
    expect(JSON.stringify(answer.body)).not.toContain(secret);
  });

  it("is missing, which is one, too", async () => {
    const answer = await refused({});
    expect([answer.status, answer.body.errors.map(({ code, source }) => [code, source?.pointer])]).toEqual([
      400,
      [[1001, "/destination_conf"]],
    ]);
  });

  const many = {
    name: 5,
    enabled: "x",
    max_upload_bytes: 1,
    filter: 5,
    output_options: { sample_rate: 2, x: 1 },
    colour: 1,
  };
  const places = [
    "/colour",
    "/enabled",
    "/filter",
    "/max_upload_bytes",
    "/name",
    "/output_options/sample_rate",
    "/output_options/x",
  ];

  it("is named together with every other, on creation and in a change", async () => {
    for (const answer of [await refused({ ...valid(), ...many }), await refusedChange(many)]) {
      expect(answer.body.errors.map(({ source }) => source?.pointer).sort()).toEqual(places);
    }
  });

  it("is named up to a hundred times, and not by all of a name that the caller chose", async () => {
    const keys = Object.fromEntries(Array.from({ length: 150 }, (_, i) => ["x".repeat(1_000 + i), i]));
    const errors = errorsOf(await refused({ ...valid(), ...keys }));
    expect(errors.length).toBe(100);
    for (const [, , message] of errors) expect(message.length).toBeLessThan(200);
  });
});

describe("what means nothing", () => {
  const NOT = "creating a new job is not allowed: ";
  const wishes: [what: string, fields: object, errors: [pointer: string, message: string][]][] = [
    [
      "a filter by an unknown field",
      { filter: '{"where":{"key":"RayID","operator":"eq","value":"ok"}}' },
      [["/filter", 'bad predicate: where.key: unknown field "RayID"']],
    ],
    [
      "a template that is none",
      { output_options: { record_template: "{{ .Outcome" } },
      [["/output_options/record_template", "bad template: offset 11: the action is not closed"]],
    ],
    [
      "an unknown field",
      { output_options: { field_names: ["Outcome", "RayID"] } },
      [["/output_options/field_names/1", 'unknown field "RayID"']],
    ],
    [
      "several at once, a destination that is none among them",
      { destination_conf: "s3://traces/x", filter: "{}", output_options: { field_names: ["RayID"] } },
      [
        ["/output_options/field_names/0", 'unknown field "RayID"'],
        ["/filter", "bad predicate: where is missing"],
        ["/destination_conf", "region is missing"],
      ],
    ],
  ];

  it.each(wishes)(
    "is refused at first and in a change, 1004, never stored and ignored: %s",
    async (_what, fields, errors) => {
      const answer = await refused({ ...valid(), ...fields });
      expectRefused(answer, 400, ...errors.map(([pointer, message]) => [1004, pointer, NOT + message]));
      const changed = await refusedChange(fields);
      expectRefused(
        changed,
        400,
        ...errors.map(([pointer, message]) => [1004, pointer, `updating job 1 is not allowed: ${message}`]),
      );
    },
  );
});
