/** What a change takes away of what a job ships: src/ship/job/losses.ts. */
import { describe, expect, it } from "vitest";
import { NDJSON, namesOf, type OutputFormat } from "../../../src/formats/output/format.ts";
import { FIELD_NAMES, ROW_FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import { lossesOf, type Ships } from "../../../src/ship/job/losses.ts";
import { readOutputOptions } from "../../../src/ship/job/output-rules.ts";

const FILTER = '{"where":{"key":"Outcome","operator":"eq","value":"ok"}}';

const ships = (output: Partial<OutputFormat> = {}, more: Partial<Ships> = {}): Ships => ({
  ...{ filter: null, sampleRate: 1, enabled: true, output: { ...NDJSON, ...output } },
  ...more,
});

describe("a change takes away", () => {
  const SOME = { fieldNames: ["Outcome", "Logs"] } satisfies Partial<OutputFormat>;
  it.each<[what: string, before: Ships, after: Ships, losses: RegExp[]]>([
    ["fields that are not chosen", ships(SOME), ships({ fieldNames: ["Logs"] }), [/shipped: Outcome$/]],
    ["none by another order", ships(SOME), ships({ fieldNames: ["Logs", "Outcome"] }), []],
    ["none by more fields", ships(), ships({ fieldNames: ["*", "Source"] }), []],
    ["none by all of them, by name", ships(), ships({ fieldNames: [...FIELD_NAMES] }), []],
    ["an extra field that was beside all", ships({ fieldNames: ["*", "Source"] }), ships(), [/shipped: Source$/]],
    ["what a template leaves out", ships(SOME), ships({ ...SOME, recordTemplate: "{{ .Logs }}" }), [/: Outcome$/]],
    [
      "what a template names and is not chosen",
      ships(SOME),
      ships({ fieldNames: ["Logs"], recordTemplate: "{{ .Outcome }}{{ .Logs }}" }),
      [/: Outcome$/],
    ],
    ["none by another type", ships(), ships({ type: "parquet" }), []],
    [
      "fields, and invocations, by rows",
      ships(),
      ships({ rows: "log" }),
      [/: Exceptions, Logs$/, /without a log line/],
    ],
    [
      "fields of rows",
      ships({ rows: "log" }),
      ships(),
      [/: Level, Message, TimestampMs, RowType, ExceptionName, Fields$/],
    ],
    ["the ends of texts", ships({ truncate: false }), ships(), [/are cut to 16384 characters/]],
    ["records, by a lower sample", ships(), ships({}, { sampleRate: 0.1 }), [/from 1 to 0\.1$/]],
    ["none by a higher one", ships({}, { sampleRate: 0.1 }), ships(), []],
    ["records, by a filter", ships(), ships({}, { filter: FILTER }), [/the new filter/]],
    ["none by no filter", ships({}, { filter: FILTER }), ships(), []],
    ["none by the same filter", ships({}, { filter: FILTER }), ships({}, { filter: ` ${FILTER}\n` }), []],
    ["events, by a pause", ships(), ships({}, { enabled: null }), [/while the job is paused/]],
    ["none by an end of it", ships({}, { enabled: false }), ships(), []],
  ])("%s", (_what, before, after, losses) => {
    expect(lossesOf(before, after)).toEqual(losses.map((loss) => expect.stringMatching(loss)));
  });
});

describe("* in field_names", () => {
  it("stands for all fields that are not named, of a record or a row", () => {
    expect(namesOf({ fieldNames: ["*", "Source"] })).toEqual([...FIELD_NAMES, "Source"]);
    const others = FIELD_NAMES.filter((name) => name !== "Outcome");
    expect(namesOf({ fieldNames: ["Source", "Outcome", "*"] })).toEqual(["Source", "Outcome", ...others]);
    expect(namesOf({ fieldNames: ["*"], rows: "log" })).toEqual(ROW_FIELD_NAMES);
  });
  it("is one of them once", () => {
    expect(readOutputOptions({ field_names: ["*", "Source"] }, ["Source"])).toMatchObject({ ok: true });
    expect(readOutputOptions({ field_names: ["*", "*"] })).toMatchObject({
      faults: [{ message: "field * is named twice" }],
    });
  });
});
