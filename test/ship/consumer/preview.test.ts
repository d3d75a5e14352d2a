import { constants, inflateRawSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, utf8Length } from "../../../src/base/bytes.ts";
import { batchTexts, NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { loadedRecord } from "../../../src/formats/queue/load-records.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import { preview } from "../../../src/ship/consumer/preview.ts";
import { prepare } from "../../../src/ship/job/build.ts";
import { OutputOptions } from "../../../src/ship/job/job-schema.ts";
import { readOutputOptions } from "../../../src/ship/job/output-rules.ts";
import { format } from "../../formats/output/object.ts";
import { anyRecord, DAY_MS, NOON, traceRecord } from "../../formats/record/samples.ts";
import { job, record } from "./scripted.ts";

const EVERYTHING = { filter: null, sampleRate: 1, output: NDJSON };

const text = fc.constantFrom("", ",", "[", "]\n", "$", "{", "€", "\ufeff", "$\u007ba}");
const options = fc
  .record(
    {
      field_names: fc.constantFrom(["Outcome"], ["Event", "ScriptName", "EventTimestampMs"], []),
      output_type: fc.constantFrom("ndjson" as const, "csv" as const),
      batch_prefix: text,
      batch_suffix: text,
      record_prefix: text,
      record_suffix: text,
      record_delimiter: text,
      field_delimiter: text,
      record_template: fc.constantFrom("", "{{ .Outcome }}|{{ .Logs }}", "$"),
      "CVE-2021-44228": fc.boolean(),
    },
    { requiredKeys: [] },
  )
  .map((raw) => OutputOptions.parse(raw));
const filter = fc.constantFrom(null, '{"where":{"key":"EventType","operator":"eq","value":"fetch"}}');
const long: fc.Arbitrary<TraceRecord> = anyRecord.map((each) => ({
  ...each,
  Logs: [{ Level: "log", Message: ["$\u007bx}".repeat(5_000)], TimestampMs: NOON }],
}));

/** A job's objects of the records of one message, by day, before compression. */
function written(rules: { filter: string | null; output: OutputFormat }, records: readonly TraceRecord[]) {
  const loaded = records.map((each, i) => loadedRecord(i, RecordLine.read(recordLine(each)) as RecordLine));
  const message = { id: "0".repeat(32), takenInMs: NOON, keyed: false, shards: 1, records: records.length };
  const { fragments, ...share } = prepare(job(1, rules), [{ message, records: loaded }]);
  const { prefix, delimiter, suffix } = batchTexts(rules.output);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const objects = [...Map.groupBy(fragments, ({ day }) => day)].map(([day, group]) => {
    const bodies = group.map(
      ({ body, deflated }): Uint8Array =>
        deflated ? inflateRawSync(body, { finishFlush: constants.Z_SYNC_FLUSH }) : body,
    );
    const parts = bodies.flatMap((body, i) => (i === 0 ? [body] : [delimiter, body]));
    return {
      day,
      records: group.reduce((sum, each) => sum + each.records, 0),
      text: decoder.decode(concat([prefix, ...parts, suffix])),
    };
  });
  return { ...share, objects };
}

describe("a preview", () => {
  it("shows what the queue handler would write of the same records, whatever the format", () => {
    fc.assert(
      fc.property(
        filter,
        options,
        fc.array(fc.oneof({ weight: 4, arbitrary: anyRecord }, long), { maxLength: 6 }),
        (where, sent, records) => {
          const read = readOutputOptions(sent);
          fc.pre(read.ok);
          const rules = { filter: where, output: read.value.output };
          const shown = preview({ ...rules, sampleRate: 1 }, records.map(recordLine), 1e9);
          const real = written(rules, records);
          expect(shown.objects.map(({ day, records, text }) => ({ day, records, text }))).toEqual(real.objects);
          expect(shown.objects.map(({ bytes, complete }) => [bytes, complete])).toEqual(
            real.objects.map((object) => [utf8Length(object.text), true]),
          );
          expect([shown.events, shown.filtered]).toEqual([real.received, real.filtered]);
          expect(shown.kept + shown.filtered).toBe(records.length);
          const places = [...shown.records, ...shown.notKept].map(({ index }) => index).sort((a, b) => a - b);
          expect(places).toEqual(records.map((_, i) => i));
        },
      ),
      { numRuns: 300 },
    );
  });

  it("says of each record what becomes of it, and why", () => {
    const where = { key: "Logs", operator: "contains", value: "needle" };
    const logs = (message: string) => [{ Level: "log", Message: [message], TimestampMs: NOON }];
    const records = [
      traceRecord({ Outcome: "a", Logs: logs("needle") }),
      traceRecord({ Outcome: "b" }),
      // The filter sees the part that is cut off, too.
      traceRecord({ Outcome: "c", Logs: logs(`${"x".repeat(16_384)}needle`), EventTimestampMs: NOON + DAY_MS }),
    ];
    const output = format({ fieldNames: ["Outcome"], batchPrefix: "[", recordSuffix: "}", batchSuffix: "]" });
    const rules = { filter: JSON.stringify({ where }), sampleRate: 1, output };
    expect(preview(rules, records.map(recordLine), 1_000, ["tail", "rpc"])).toEqual({
      ...{ events: 3, kept: 2, filtered: 1, sampledOut: 0, truncated: 1, leftOut: 0 },
      records: [
        { index: 0, day: Math.floor(NOON / DAY_MS), text: '{"Outcome":"a"}', source: "tail", truncated: false },
        { index: 2, day: Math.floor(NOON / DAY_MS) + 1, text: '{"Outcome":"c"}', source: "", truncated: true },
      ],
      notKept: [{ index: 1, reason: "filtered" }],
      objects: [
        { day: NOON, text: '[{"Outcome":"a"}]' },
        { day: NOON + DAY_MS, text: '[{"Outcome":"c"}]' },
      ].map(({ day, text }) => ({
        ...{ day: Math.floor(day / DAY_MS), contentType: "application/x-ndjson" },
        ...{ records: 1, bytes: 17, text, complete: true },
      })),
    });
  });

  it("draws a sample of the share that is asked for, the same one each time", () => {
    const lines = Array.from({ length: 1_000 }, (_, i) => recordLine(record(`${i}`)));
    const draw = (sampleRate: number) => preview({ ...EVERYTHING, sampleRate }, lines, 1e9);
    const { kept, sampledOut, filtered, notKept } = draw(0.3);
    expect([kept + sampledOut, filtered]).toEqual([1_000, 0]);
    expect(Math.abs(kept - 300)).toBeLessThan(60);
    expect(notKept.length).toBe(sampledOut);
    expect(new Set(notKept.map(({ reason }) => reason))).toEqual(new Set(["sampled_out"]));
    expect(draw(0.3)).toEqual(draw(0.3));
    expect(draw(1).kept).toBe(1_000);
  });

  it("shows as many as there is room for, and says of the rest how much it is", () => {
    const at = [0, 0, 1, 0].map((day, i) => traceRecord({ Outcome: `${i}`, EventTimestampMs: NOON + day * DAY_MS }));
    // Six bytes a record; an object has one more at each end.
    const output = format({
      fieldNames: ["Outcome"],
      recordPrefix: "<",
      recordSuffix: ">\n",
      batchPrefix: "é",
      batchSuffix: ".",
    });
    const rules = { ...EVERYTHING, output: { ...output, recordTemplate: "{{ .Outcome }}" } };
    const shown = (maxBytes: number) => {
      const { records, objects, leftOut, kept } = preview(rules, at.map(recordLine), maxBytes);
      expect(kept).toBe(4);
      return [records.map(({ index }) => index), objects.map(({ text, complete }) => [text, complete]), leftOut];
    };
    expect(preview(rules, at.map(recordLine)).objects.map(({ bytes }) => bytes)).toEqual([21, 9]);
    const both = [
      ['é<"0">\n<"1">\n<"3">\n.', true],
      ['é<"2">\n.', true],
    ];
    expect(shown(30)).toEqual([[0, 1, 2, 3], both, 0]);
    expect(shown(29)).toEqual([[0, 1, 2], [['é<"0">\n<"1">\n', false], both[1]], 1]);
    // After the first record that is not shown, none is: neither of its day nor of another.
    expect(shown(23)).toEqual([
      [0, 1],
      [
        ['é<"0">\n<"1">\n', false],
        ["", false],
      ],
      2,
    ]);
    expect(shown(0)).toEqual([
      [],
      [
        ["", false],
        ["", false],
      ],
      4,
    ]);
  });

  it("refuses what was never a record", () => {
    expect(() => preview(EVERYTHING, ["{}"])).toThrow("no record");
  });
});
