import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { ROW_FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import { knownJob } from "../../../src/operate/status/known-jobs.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import columns from "../../fixtures/columns.json";
import { destinationConf } from "../../support/runtime/api.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call, errorsOf, expectRefused, freshBucket } from "./harness.ts";

const fieldsOf = (path: string) => call<Record<string, string>>("GET", path);

const names = columns.projection.filter((name) => !name.startsWith("__"));

describe("the fields of a dataset", () => {
  it.each([
    "/logship/datasets/functions_trace_events/fields",
    "/logship/datasets/functions_trace_events/fields/default",
    "/logpush/datasets/workers_trace_events/fields",
    "/logpush/datasets/workers_trace_events/fields/default",
  ])("are all of a record, in their order, each with its type and what it says: %s", async (path) => {
    const { status, body } = await fieldsOf(path);
    expect(status).toBe(200);
    expect(Object.keys(body.result)).toEqual(names);
    for (const text of Object.values(body.result))
      expect(text).toMatch(/^(int|string|object|array\[(string|object)\]); \S/);
    expect(new Set(Object.values(body.result)).size).toBe(names.length);
  });

  it.each(["invocation", "log"])("are what a job may ask for, of each %s", async (rows) => {
    const settings = { EXTRA_FIELDS: "Source,Truncated" };
    const path = `/logship/datasets/functions_trace_events/fields?rows=${rows}`;
    const { result } = (await call<Record<string, string>>("GET", path, undefined, { settings })).body;
    const job = {
      destination_conf: destinationConf(freshBucket().name),
      output_options: { field_names: Object.keys(result), rows },
    };
    expect((await call("POST", "/logship/jobs", job, { settings })).status).toBe(201);
  });

  it("are those of rows only where rows are asked for", async () => {
    const settings = { EXTRA_FIELDS: "Truncated" };
    const asked = (path: string) =>
      call<Record<string, string>>("GET", `/logpush/datasets/workers_trace_events/${path}`, undefined, { settings });
    const { result: all } = (await asked("fields?rows=log")).body;
    expect(Object.keys(all)).toEqual([...ROW_FIELD_NAMES, "Truncated"]);
    expect(Object.values(all).every((text) => /^(int|string|object|bool|array\[string\]); \S/.test(text))).toBe(true);
    expect(Object.keys((await asked("fields/default?rows=log")).body.result)).toEqual([...ROW_FIELD_NAMES]);
    expect(Object.keys((await asked("fields?rows=invocation&x=1")).body.result)).toEqual([...names, "Truncated"]);
    const wrong = await asked("fields?rows=line");
    expect([wrong.status, errorsOf(wrong)[0]?.[2]]).toEqual([400, "rows must be invocation or log"]);
  });

  it.each([
    ["Source", ["Source"]],
    [" Source , Source", ["Source"]],
    ["Truncated,Source, RequestHeaders", ["Source", "RequestHeaders", "Truncated"]],
    ["", []],
    [undefined, []],
  ])("have the extra ones that EXTRA_FIELDS names, last, and not by default: %s", async (EXTRA_FIELDS, extra) => {
    const settings = { EXTRA_FIELDS };
    const path = "/logship/datasets/functions_trace_events/fields";
    const all = await call<Record<string, string>>("GET", path, undefined, { settings });
    expect(Object.keys(all.body.result)).toEqual([...names, ...extra]);
    const byDefault = await call<Record<string, string>>("GET", `${path}/default`, undefined, { settings });
    expect(Object.keys(byDefault.body.result)).toEqual(names);
  });
});

describe("a job with an extra field", () => {
  const ON = { settings: { EXTRA_FIELDS: "Source" } };
  const filter = JSON.stringify({ where: { key: "Source", operator: "eq", value: "tail" } });
  const asking = [
    ["/output_options/field_names/1", { output_options: { field_names: ["Outcome", "Source"] } }],
    ["/filter", { filter }],
    ["/logpull_options", { logpull_options: "fields=Outcome,Source" }],
  ] as const;
  const create = (fields: object, options = {}) =>
    call<{ id: number }>(
      "POST",
      "/logship/jobs",
      { destination_conf: destinationConf(freshBucket().name), ...fields },
      options,
    );
  const update = (id: number, fields: object, options = {}) =>
    call<object>("PUT", `/logship/jobs/${id}`, fields, options);

  it.each(asking)("is refused where EXTRA_FIELDS does not name it: %s", async (pointer, fields) => {
    const answer = await create(fields);
    expectRefused(answer, 400, [
      1004,
      pointer,
      expect.stringContaining("Source is off: EXTRA_FIELDS, a setting of this service, does not name it"),
    ]);
    expect((await create(fields, ON)).status).toBe(201);
    const { id } = (await create({})).body.result;
    expect((await update(id, fields)).status).toBe(400);
    expect((await update(id, fields, ON)).status).toBe(200);
    const shipping = Object.hasOwn(fields, "filter") ? {} : fields;
    if (pointer !== "/filter") expect((await call("POST", "/logship/preview", shipping)).status).toBe(400);
  });

  it.each(asking)("stays as it is where EXTRA_FIELDS names it no more, and can be changed: %s", async (_, fields) => {
    setClock(NOON);
    const { id } = (await create({ ...fields, enabled: true }, ON)).body.result;
    expect((await update(id, { name: "other" })).body.result).toMatchObject({ name: "other", ...fields });
    expect((await update(id, { enabled: false, ...fields })).status).toBe(200);
    const cleared = { output_options: null, logpull_options: null, filter: null };
    expect((await update(id, cleared)).status).toBe(200);
    // Now it has none.
    expect((await update(id, fields)).status).toBe(400);
  });

  it("is unknown below it, and in other spellings", async () => {
    for (const key of ["Source.x", "source", "Source.", "Sources"]) {
      const where = { key, operator: "eq", value: "tail" };
      expect((await create({ filter: JSON.stringify({ where }) }, ON)).status).toBe(400);
    }
  });

  it("is a finding where EXTRA_FIELDS names it no more", () => {
    const settings = { ...env } as Record<string, unknown>;
    const job = {
      ...{ id: 1, windows: [], deletedMs: null, limits: { intervalMs: 1 }, sampleRate: 1, modifiedVersion: 1 },
      ...{ filter, output: { ...NDJSON, fieldNames: ["Source"] }, destination: "" },
    } as unknown as JobConfig;
    expect(knownJob(job, readConfig(settings)).fieldsOff).toEqual(["Source"]);
    expect(knownJob(job, readConfig({ ...settings, EXTRA_FIELDS: "Source" }))).not.toHaveProperty("fieldsOff");
    expect(knownJob({ ...job, filter: null, output: NDJSON }, readConfig(settings))).not.toHaveProperty("fieldsOff");
  });
});
