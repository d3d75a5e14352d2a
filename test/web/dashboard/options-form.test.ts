/** The options of a job as a form: filter, fields, sample, output and limits. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ErrorEntry } from "../../../src/base/errors.ts";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import {
  FIELD_DESCRIPTIONS,
  FIELD_NAMES,
  ROW_DESCRIPTIONS,
  ROW_FIELD_NAMES,
} from "../../../src/formats/record/fields.ts";
import type { Terms } from "../../../src/ship/destinations/destination.ts";
import { changes, type ShippingBody } from "../../../src/web/dashboard/pages/shipping/body.ts";
import { JobOptions, rateWords, readOptions } from "../../../src/web/dashboard/pages/shipping/options.tsx";
import { nested } from "../../formats/filter/support.ts";
import { validBody } from "./bodies.ts";
import { untouched } from "./browser-form.ts";
import { textOf } from "./support.ts";

async function shown(
  body: ShippingBody,
  faults: readonly ErrorEntry[] = [],
  terms: Terms | null = null,
): Promise<string> {
  return String(await JobOptions({ body, fields: FIELD_DESCRIPTIONS, faults, terms })?.toString());
}

type Fields = Record<string, string | string[] | undefined>;

/** The form of a body with some fields changed; undefined removes one. */
async function sent(body: ShippingBody, fields: Fields): Promise<URLSearchParams> {
  const form = untouched(await shown(body));
  for (const [name, value] of Object.entries(fields)) {
    form.delete(name);
    for (const each of value === undefined ? [] : [value].flat()) form.append(name, each);
  }
  return form;
}

/** Reads the form. @param unsaved what it shows, if not the stored body. */
async function read(before: ShippingBody, fields: Fields, unsaved = before): Promise<ShippingBody> {
  return readOptions(await sent(unsaved, fields), before).body;
}

const where = (node: object) => JSON.stringify({ where: node });
const TWO = where({
  and: [
    { key: "ScriptName", operator: "eq", value: "shop" },
    { or: [{ key: "Event.Response.Status", operator: "geq", value: 500 }] },
  ],
});

describe("a form of records that nobody touched", () => {
  it("changes nothing of any job, and shows it again unchanged after any number of buttons", async () => {
    await fc.assert(
      fc.asyncProperty(validBody, async (body) => {
        const once = readOptions(untouched(await shown(body)), body);
        expect(once).toEqual({ body, again: false });
        expect(changes(body, once.body)).toEqual({});
        const form = await sent(once.body, { do: "filter:show:0" });
        expect(readOptions(form, body)).toEqual({ body, again: true });
      }),
      { numRuns: 100 },
    );
  });
  it("invents nothing where nothing was said", async () => {
    expect(await read({}, {})).toEqual({});
    expect(await read({ filter: null, output_options: null }, {})).toEqual({ filter: null, output_options: null });
  });
});

describe("the filter of a form", () => {
  it("is built from nothing by buttons alone", async () => {
    let body: ShippingBody = {};
    const press = async (button: string, fields: Record<string, string> = {}) => {
      const form = await sent(body, { ...fields, do: button });
      // Nothing is saved meanwhile: only the form knows.
      const result = readOptions(form, {});
      expect(result.again).toBe(true);
      body = result.body;
    };
    await press("filter:add:0");
    await press("filter:group:0", { "key-0": "ScriptName", "operator-0": "eq", "value-0": "shop" });
    await press("filter:add:2", { "key-3": "Event.Response.Status", "operator-3": "geq", "value-3": "500" });
    await press("filter:group:0", {
      "key-4": "Outcome",
      "operator-4": "in",
      "value-4": "exception\r\nexceededCpu\r\n",
    });
    await press("filter:remove:5");
    await press("filter:show:0", { "join-2": "and" });
    expect(JSON.parse(body.filter ?? "")).toEqual({
      where: {
        and: [
          { key: "ScriptName", operator: "eq", value: "shop" },
          {
            and: [
              { key: "Event.Response.Status", operator: "geq", value: 500 },
              { key: "Outcome", operator: "in", value: ["exception", "exceededCpu"] },
            ],
          },
        ],
      },
    });
    expect(parseFilter(body.filter ?? "").ok).toBe(true);
  });
  it.each([
    ["500", "eq", 500],
    ['"500"', "eq", "500"],
    ["true", "!eq", true],
    ["true", "startsWith", "true"],
    ["500", "contains", "500"],
    ["0x10", "eq", "0x10"],
    ["9007199254740993", "eq", "9007199254740993"],
    ['1\r\n"2"\r\n\r\nx', "in", [1, "2", "x"]],
    ["Infinity", "lt", "Infinity"],
    ["", "eq", ""],
    ["", "in", []],
  ])("reads %j for %s as %j", async (value, operator, expected) => {
    const before = { filter: where({ key: "Event.a", operator: "eq", value: "?" }) };
    const { filter } = await read(before, { "operator-0": operator, "value-0": value });
    expect(JSON.parse(filter ?? "")).toEqual({ where: { key: "Event.a", operator, value: expected } });
  });
  it("is the JSON where somebody changed that, whatever else is in the fields", async () => {
    const pasted = '{ "where": {"key":"Outcome","operator":"eq",\r\n"value":"ok"} }';
    const { filter } = await read({ filter: TWO }, { "filter-json": pasted, "value-1": "other" });
    expect(filter).toBe(pasted.replace("\r\n", "\n"));
    expect((await read({ filter: TWO }, { "filter-json": "" })).filter).toBe("");
  });
  it("stays the text that it is where it does not have the builder's shape", async () => {
    const odd = `{"where":{"key":"Outcome",\r\n"operator":"eq"}}\u0000\ud800`;
    const html = await shown({ filter: odd });
    expect(textOf(html)).toContain("The builder cannot show this filter");
    expect(html).not.toContain('name="key-0"');
    expect(await read({ filter: odd }, {})).toEqual({ filter: odd });
    expect((await read({ filter: odd }, { "filter-json": "{}" })).filter).toBe("{}");
  });
  it("shows two hundred conditions, and twenty levels, and changes one of them alone", async () => {
    const or = Array.from({ length: 150 }, (_, i) => ({ key: "ScriptName", operator: "eq", value: `f${i}` }));
    const huge = where({ or });
    const { filter } = await read({ filter: huge }, { "value-77": "other" });
    expect(JSON.parse(filter ?? "")).toEqual({
      where: { or: or.map((each, i) => (i === 76 ? { ...each, value: "other" } : each)) },
    });
    const html = await shown({ filter: nested(20) });
    expect(html.match(/<legend>Group/g)).toHaveLength(20);
    // Deep groups are shown, but cannot be nested further.
    expect(html.match(/value="filter:group:/g)).toHaveLength(4);
    expect((await read({ filter: nested(20) }, { "value-20": "exception" })).filter).toBe(
      nested(20).replace('"ok"', '"exception"'),
    );
  });
  it("has the API's own words beside the condition that they are about", async () => {
    const filter = where({
      and: [{ key: "outcome", operator: "eq", value: "ok" }, { or: [{ key: "Outcome", operator: "eq", value: [] }] }],
    });
    const parsed = parseFilter(filter);
    const messages = parsed.ok ? [] : parsed.faults;
    expect(messages).toHaveLength(2);
    const faults = messages.map((message) => ({
      code: 1004,
      message: `updating job 7 is not allowed: ${message}`,
      source: { pointer: "/filter" },
    }));
    const html = await shown({ filter }, faults);
    const [, one, three] = /id="condition-1-error">(.*?)<\/p>[\s\S]*id="condition-3-error">(.*?)<\/p>/.exec(html) ?? [];
    expect(textOf(one ?? "")).toBe('bad predicate: where.and[0].key: unknown field "outcome", did you mean "Outcome"?');
    expect(textOf(three ?? "")).toContain("bad predicate: where.and[1].or[0].value: failed to decode value");
    expect(html.match(/aria-invalid="true"/g)?.length).toBeGreaterThanOrEqual(2);
  });
  it("runs nothing of what is in it", async () => {
    const bad = '"><script>alert(1)</script>\u202e';
    const filter = where({ and: [{ key: `Event.${bad}`, operator: bad, value: [bad, "</textarea><img>"] }] });
    const html = await shown({ filter }, [{ code: 1004, message: bad, source: { pointer: "/filter" } }]);
    expect(html).not.toMatch(/<script|<img/);
    expect(await read({ filter }, {})).toEqual({ filter });
  });
  it("offers the keys of extra fields that are on, and what lies below them", async () => {
    const fields = { Outcome: "", RequestHeaders: "", RequestCF: "", Truncated: "" };
    const html = String(await JobOptions({ body: {}, fields, faults: [], terms: null })?.toString());
    const keys = [...html.matchAll(/<option value="([\w.-]+)"/g)].map(([, key]) => key);
    expect(keys).toEqual(
      expect.arrayContaining(["Outcome", "RequestHeaders.user-agent", "RequestCF.colo", "Truncated"]),
    );
    expect(keys).not.toContain("RequestHeaders");
    expect(String(await shown({}))).not.toContain("RequestHeaders");
  });
  it("offers the operators that fit the field", async () => {
    const of = async (key: string) => {
      const html = await shown({ filter: where({ key, operator: "eq", value: 1 }) });
      const [select = ""] = /<select id="operator-0"[\s\S]*?<\/select>/.exec(html) ?? [];
      return [...select.matchAll(/value="([^"]+)"/g)].map(([, operator]) => operator);
    };
    expect(await of("CPUTimeMs")).toEqual(["eq", "!eq", "lt", "leq", "gt", "geq", "in", "!in"]);
    expect(await of("Logs")).toEqual(["contains", "!contains", "eq"]);
    expect(await of("Event.a")).toHaveLength(14);
    expect(await of("nothing")).toHaveLength(14);
  });
});

describe("the fields of a form", () => {
  const options = { field_names: ["Outcome", "ScriptName", "Logs"], record_prefix: "{" };
  it("keep the order that they have, and take a new one from their places", async () => {
    expect(await read({ output_options: options }, {})).toEqual({ output_options: options });
    const moved = await read(
      { output_options: options },
      { "place-Logs": "1", "place-Outcome": "2.5", "place-ScriptName": "2" },
    );
    expect(moved.output_options).toEqual({ ...options, field_names: ["Logs", "ScriptName", "Outcome"] });
    const more = await read(
      { output_options: options },
      { field: ["Logs", "EventType", "Outcome"], "place-Logs": "x" },
    );
    expect(more.output_options?.field_names).toEqual(["Outcome", "Logs", "EventType"]);
  });
  it("are all of them where that is said, and where none is ticked", async () => {
    const { field_names: _names, ...others } = options;
    expect(await read({ output_options: options }, { fields: "all" })).toEqual({ output_options: others });
    expect(await read({ output_options: options }, { field: undefined })).toEqual({ output_options: others });
    expect(await read({}, { fields: "some" })).toEqual({});
    expect(await read({ output_options: { field_names: [] } }, { fields: "some" })).toEqual({
      output_options: { field_names: [] },
    });
    expect((await read({}, { fields: "some", field: ["Outcome"] })).output_options).toEqual({
      field_names: ["Outcome"],
    });
  });
  const extra = { ...FIELD_DESCRIPTIONS, Source: "string; x", Truncated: "bool; x" };
  const modes = async (body: ShippingBody, fields: Record<string, string> = extra): Promise<string[]> => {
    const html = String(await JobOptions({ body, fields, faults: [], terms: null })?.toString());
    return [...html.matchAll(/name="fields" value="(\w+)"/g)].map(([, mode = ""]) => mode);
  };
  it("are all of them, and extra ones, where that is said: a field of a later release, too", async () => {
    expect(await modes({})).toEqual(["all", "also", "some"]);
    expect(await modes({}, FIELD_DESCRIPTIONS)).toEqual(["all", "some"]);
    const also = (names: string[], fields: Fields) =>
      read(names.length === 0 ? {} : { output_options: { field_names: names } }, { fields: "also", ...fields });
    const named = async (...asked: Parameters<typeof also>) => (await also(...asked)).output_options?.field_names;
    expect(await named([], { field: ["Source"] })).toEqual(["*", "Source"]);
    expect(await named([], { field: [] })).toBeUndefined();
    // A field that is one of all of them needs no tick.
    expect(await named(["Outcome", "Source"], { field: ["Outcome", "Source"] })).toEqual(["*", "Source"]);
    expect(await named(["*", "Source"], { field: ["Source", "Truncated"] })).toEqual(["*", "Source", "Truncated"]);
    expect(await named(["*", "Source"], { field: [] })).toEqual(["*"]);
    for (const names of [["*"], ["*", "Source"], ["Source", "*"], ["Logs", "*", "Source"]])
      expect(await read({ output_options: { field_names: names } }, {})).toEqual({
        output_options: { field_names: names },
      });
  });
  it("all have their description", async () => {
    const text = textOf(await shown({}));
    for (const name of FIELD_NAMES) expect(text).toContain(FIELD_DESCRIPTIONS[name]);
  });
});

describe("what logpull_options say", () => {
  const body = { logpull_options: "fields=Outcome,Logs&sample=0.5&timestamps=rfc3339" };
  it("are those of rows, with their own before extra ones, where a job has rows", async () => {
    const fields = { ...FIELD_DESCRIPTIONS, Truncated: "bool; x" };
    const body = { output_options: { rows: "log" as const } };
    const html = String(await JobOptions({ body, fields, faults: [], terms: null })?.toString());
    const names = [...html.matchAll(/name="field" value="(\w+)"/g)].map(([, name]) => name);
    expect(names).toEqual([...ROW_FIELD_NAMES, "Truncated"]);
    for (const description of Object.values(ROW_DESCRIPTIONS)) expect(textOf(html)).toContain(description);
  });
  it("is shown, and stays in force while nothing is changed", async () => {
    const html = await shown(body);
    expect(textOf(html)).toContain("This job uses logpull_options");
    expect(untouched(html).getAll("field")).toEqual(["Outcome", "Logs"]);
    expect(await read(body, { "filter-json": TWO })).toEqual({ ...body, filter: TWO });
  });
  it("is written down as options, whole, with what is changed", async () => {
    expect(await read(body, { "sample-rate": "0.25" })).toEqual({
      ...body,
      output_options: { field_names: ["Outcome", "Logs"], sample_rate: 0.25, timestamp_format: "rfc3339" },
    });
  });
});

describe("the sample of a form", () => {
  it.each([
    ["0.1", { sample_rate: 0.1 }],
    ["abc", { sample_rate: "abc" }],
    ["2", { sample_rate: 2 }],
    ["", undefined],
  ])("reads %j", async (rate, options) => {
    expect((await read({}, { "sample-rate": rate })).output_options).toEqual(options);
  });
  it("is taken away where it is emptied", async () => {
    expect((await read({ output_options: { sample_rate: 0.5 } }, { "sample-rate": "" })).output_options).toEqual({});
    expect((await read({ output_options: { sample_rate: null } }, {})).output_options).toEqual({ sample_rate: null });
  });
  it.each([
    [undefined, "every record is kept"],
    [1, "every record is kept"],
    [0.1, "one of 10 is kept"],
    [0.001, "one of 1,000 is kept"],
    [0.3, "about one of 3.3 is kept"],
    ["abc", "this is not a share"],
    [0, "this is not a share"],
  ])("says of %j: %s", (rate, words) => {
    expect(rateWords(rate)).toBe(words);
  });
});

describe("a form of the output", () => {
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
    const terms = {
      plainRecords: true,
      fields: [],
      limits: { records: 20_000, bytes: 5_000_000 },
      isReadable: false,
      shows: "record" as const,
    };
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
  it("sets whether formulas of CSV are escaped, and takes it back", async () => {
    const set = { output_options: { output_type: "csv" as const, escape_formulas: true } };
    expect(await read({}, { output_type: "csv", escape_formulas: "true" })).toEqual(set);
    expect(await read(set, {})).toEqual(set);
    expect(await read(set, { escape_formulas: undefined })).toEqual({
      output_options: { output_type: "csv", escape_formulas: false },
    });
    expect(textOf(await shown(set))).toContain("formulas escaped");
  });
  it("offers rows only where the destination can have them, or the job has", async () => {
    const terms = {
      plainRecords: true,
      fields: [],
      limits: null,
      isReadable: false,
      shows: "record",
      repeats: { once: true },
    } as Terms;
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
});

it("takes nothing from a form that is another one", () => {
  const body = { filter: TWO };
  expect(readOptions(new URLSearchParams({ do: "filter:remove:0" }), body)).toEqual({ body, again: false });
});
