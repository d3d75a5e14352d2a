import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ErrorEntry } from "../../../src/base/errors.ts";
import type { Terms } from "../../../src/ship/destinations/destination.ts";
import type { ShippingBody } from "../../../src/web/dashboard/pages/shipping/body.ts";
import { JobOptions, readOptions } from "../../../src/web/dashboard/pages/shipping/options.tsx";
import { validBody } from "./bodies.ts";
import { untouched } from "./browser-form.ts";
import { textOf } from "./support.ts";

async function shown(
  body: ShippingBody,
  faults: readonly ErrorEntry[] = [],
  terms: Terms | null = null,
): Promise<string> {
  return String(await JobOptions({ body, fields: {}, faults, terms })?.toString());
}

type Fields = Record<string, string | undefined>;

/**
 * Reads the form after some fields changed; undefined removes one. @param unsaved what the form
 * shows, if not the stored body.
 */
async function read(before: ShippingBody, fields: Fields, unsaved = before): Promise<ShippingBody> {
  const form = untouched(await shown(unsaved));
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) form.delete(name);
    else form.set(name, value);
  }
  return readOptions(form, before).body;
}

describe("a form of the output", () => {
  it("changes nothing of any job if nobody touched it", async () => {
    await fc.assert(
      fc.asyncProperty(validBody, async (body) => {
        expect(await read(body, {})).toEqual(body);
      }),
      { numRuns: 150 },
    );
  });
  it("says what was changed, and nothing of what was not, however often it is shown before it is saved", async () => {
    await fc.assert(
      fc.asyncProperty(validBody, fc.constantFrom("ndjson", "csv"), fc.boolean(), async (body, type, on) => {
        const once = await read(body, { output_type: type, enabled: on ? "true" : undefined });
        expect(await read(body, {}, once)).toEqual(once);
        const { output_options: _options, enabled, ...others } = once;
        const { output_options: _before, enabled: _enabled, ...same } = body;
        expect([enabled ?? false, others]).toEqual([on, same]);
        const added = Object.keys(once.output_options ?? {}).filter((key) => !(key in (body.output_options ?? {})));
        if (!body.logpull_options) expect(added.filter((key) => key !== "output_type")).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
  it("shows as defaults no more than its destination takes", async () => {
    const terms = { plainRecords: true, fields: [], limits: { records: 20_000, bytes: 5_000_000 }, isReadable: false };
    const html = await shown({}, [], { ...terms, repeats: { once: true } });
    expect([...html.matchAll(/placeholder="(\d+)"/g)].map(([, text]) => text)).toEqual(["1", "30", "20000", "5000000"]);
    expect(textOf(html)).toContain("default 20,000. The destination takes 20,000 at most.");
    expect(textOf(await shown({}))).toContain("default 100,000.");
  });
  it("shows the defaults of its type without writing them down", async () => {
    const form = untouched(await shown({ output_options: { output_type: "csv" } }));
    expect([form.get("record_prefix"), form.get("record_suffix"), form.get("field_delimiter")]).toEqual([
      "",
      "\\n",
      ",",
    ]);
    expect(untouched(await shown({})).get("record_suffix")).toBe("}\\n");
    expect(await read({}, { output_type: "csv" })).toEqual({ output_options: { output_type: "csv" } });
  });
  it("sets rows and whole texts, and takes them back by what is the default", async () => {
    expect(await read({}, { rows: "log", "whole-texts": "true" })).toEqual({
      output_options: { rows: "log", truncate: false },
    });
    const set = { output_options: { rows: "log" as const, truncate: false } };
    expect(await read(set, {})).toEqual(set);
    expect(await read(set, { rows: "invocation", "whole-texts": undefined })).toEqual({
      output_options: { rows: "invocation", truncate: true },
    });
    expect(textOf(await shown(set))).toContain("a row for each log line, whole texts");
  });
  it("offers rows only where the destination can have them, or the job has", async () => {
    const terms = { plainRecords: true, fields: [], limits: null, isReadable: false, repeats: { once: true } } as Terms;
    const names = async (body: ShippingBody) => untouched(await shown(body, [], terms)).has("rows");
    expect([await names({}), await names({ output_options: { rows: "log" } })]).toEqual([false, true]);
    expect(await read({ output_options: { rows: "log" } }, { rows: undefined })).toEqual({
      output_options: { rows: "log" },
    });
  });
  it("tells an empty text from none", async () => {
    expect(await read({}, { record_prefix: "" })).toEqual({ output_options: { record_prefix: "" } });
    const empty = { output_options: { record_prefix: "" } };
    expect(await read(empty, {})).toEqual(empty);
  });
  it("reads texts as they are meant", async () => {
    const body = await read(
      {},
      { batch_prefix: "a,b\\n", record_suffix: "\\u0000\\t\\\\", record_template: '{{ "\\n" }}\r\nx' },
    );
    expect(body.output_options).toEqual({
      batch_prefix: "a,b\n",
      record_suffix: "\0\t\\",
      record_template: '{{ "\\n" }}\nx',
    });
  });
  it("keeps what it does not show, and says so", async () => {
    const body = {
      frequency: "high",
      output_options: { merge_subrequests: true, sample_rate: 0.5, field_names: ["Outcome"] },
    };
    expect(textOf(await shown(body))).toMatch(/Also set: frequency high ?, merge_subrequests true/);
    expect(await read(body, { output_type: "csv" })).toEqual({
      ...body,
      output_options: { ...body.output_options, output_type: "csv" },
    });
  });
  it.each([
    ["60", 60],
    ["", undefined],
    ["0", undefined],
    ["abc", "abc"],
    ["12", 12],
  ])("reads the limit %j as %j", async (sent, limit) => {
    expect((await read({}, { max_upload_interval_seconds: sent })).max_upload_interval_seconds).toBe(limit);
  });
  it("clears a limit that is emptied", async () => {
    expect(await read({ max_upload_records: 5000 }, { max_upload_records: "" })).toEqual({ max_upload_records: 0 });
    expect(await read({ max_upload_records: null }, { max_upload_records: "0" })).toEqual({ max_upload_records: null });
  });
  it("has what is wrong beside the field, what was sent in it, and opens what is folded", async () => {
    const faults = [
      {
        code: 1001,
        message: "max_upload_records: must be 0 or from 1000 to 1000000",
        source: { pointer: "/max_upload_records" },
      },
      {
        code: 1004,
        message: "creating a new job is not allowed: bad template: offset 0: no",
        source: { pointer: "/output_options/record_template" },
      },
    ];
    const html = await shown({ max_upload_records: "abc" }, faults);
    expect(html).toMatch(/id="field-max_upload_records-error">max_upload_records: must be 0 or from 1000 to 1000000</);
    expect(html).toMatch(/id="field-record_template-error">bad template: offset 0: no</);
    expect(html).toMatch(/name="max_upload_records"[^>]*value="abc"|value="abc"[^>]*name="max_upload_records"/);
    expect(html).toMatch(/<details open="">/);
    expect(await shown({})).not.toContain("<details open");
  });
  it("takes nothing from a form that is another one", () => {
    const body = { enabled: true };
    expect(readOptions(new URLSearchParams({ name: "x" }), body).body).toEqual(body);
  });
});
