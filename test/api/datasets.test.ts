import { describe, expect, it } from "vitest";
import columns from "../fixtures/columns.json";
import { destinationConf } from "../support/runtime/api.ts";
import { call, errorsOf, freshBucket } from "./harness.ts";

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

  it("are what a job may ask for", async () => {
    const { result } = (await fieldsOf("/logship/datasets/functions_trace_events/fields")).body;
    const answer = await call("POST", "/logship/jobs", {
      destination_conf: destinationConf(freshBucket().name),
      output_options: { field_names: Object.keys(result) },
    });
    expect(answer.status).toBe(201);
  });

  it.each(["http_requests", "FUNCTIONS_TRACE_EVENTS", "__proto__", "%2e%2e"])(
    "are 404 for a dataset that is not ours: %s",
    async (dataset) => {
      for (const path of ["fields", "fields/default"]) {
        const answer = await call("GET", `/logship/datasets/${dataset}/${path}`);
        expect([answer.status, errorsOf(answer)[0]?.[0]]).toEqual([404, 7003]);
      }
    },
  );
});
