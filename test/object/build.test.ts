import { describe, expect, it } from "vitest";
import { appendsOf, buildAppend } from "../../src/object/build.ts";
import type { LoadedRecord } from "../../src/object/load.ts";
import { sampler } from "../../src/object/sample.ts";
import { NDJSON } from "../../src/output/format.ts";
import { recordRenderer } from "../../src/output/render.ts";
import { recordLine } from "../../src/record/encode.ts";
import type { TraceRecord } from "../../src/record/fields.ts";
import { utcDay } from "../../src/record/record.ts";
import { id, job, linesOf, loadedRecord, outcomes, record, textOf } from "../pipeline/scripted.ts";
import { DAY_MS, NOON, traceRecord } from "../record/samples.ts";

describe("building an append", () => {
  const message = (n: number, records: TraceRecord[], takenInMs = NOON) => ({
    message: { id: id(n), takenInMs, keyed: false, records: records.length, elsewhere: null },
    ascii: true,
    records: records.map((whole, index): LoadedRecord => loadedRecord(whole, index)),
  });

  it("gives fragments by day, with every record once and in order", () => {
    const messages = [
      message(1, [record("a"), record("b", NOON + DAY_MS)], NOON + 9),
      message(2, [record("c"), record("d", NOON - DAY_MS)]),
    ];
    const append = buildAppend(job(1), messages, new Set(), 5);
    const today = utcDay(NOON);
    expect(append.fragments.map(({ day, records, oldestTakenMs }) => [day, records, oldestTakenMs]).sort()).toEqual([
      [today - 1, 1, NOON],
      [today, 2, NOON],
      [today + 1, 1, NOON + 9],
    ]);
    expect(append).toMatchObject({ version: 1, queueDoneMs: 5 });
    expect(outcomes(linesOf(append)).sort()).toEqual(["a", "b", "c", "d"]);
  });

  it("leaves out what the log has, message by message", () => {
    const messages = [message(1, [record("a")]), message(2, [record("b")]), message(3, [record("c")])];
    const append = buildAppend(job(1), messages, new Set([id(2), id(99)]), 0);
    expect(append.messages.map((each) => each.id)).toEqual([id(1), id(3)]);
    expect(outcomes(linesOf(append))).toEqual(["a", "c"]);
  });

  it("gives nothing when the log has everything", () => {
    expect(buildAppend(job(1), [message(1, [record("a")])], new Set([id(1)]), 0)).toMatchObject({
      messages: [],
      fragments: [],
    });
  });

  it("names a message that holds no record, so that it is remembered", () => {
    const append = buildAppend(job(1), [message(1, [])], new Set(), 0);
    expect(append).toMatchObject({ messages: [{ id: id(1), received: 0 }], fragments: [] });
  });

  it("writes each record as the job's encoder does", () => {
    const records = [record("a"), record("b")];
    const append = buildAppend(
      job(1, { output: { ...NDJSON, fieldNames: ["Outcome", "EventTimestampMs"] } }),
      [message(1, records)],
      new Set(),
      0,
    );
    const encode = recordRenderer({ ...NDJSON, fieldNames: ["Outcome", "EventTimestampMs"] });
    expect(linesOf(append).map((line) => `${line}\n`)).toEqual(
      records.map((each, index) => encode(loadedRecord(each, index).shipped)),
    );
  });

  it("is the same whenever it is built", () => {
    const messages = [
      message(
        1,
        Array.from({ length: 2_500 }, (_, i) => record(`${i}`, NOON + (i % 3) * DAY_MS)),
      ),
    ];
    expect(buildAppend(job(1), messages, new Set(), 0)).toEqual(buildAppend(job(1), messages, new Set(), 0));
  });

  const filter = JSON.stringify({ where: { key: "Outcome", operator: "!eq", value: "exception" } });

  it("counts what the filter drops, and then what the sample leaves out", () => {
    const mixed = Array.from({ length: 400 }, (_, i) => record(i % 4 === 0 ? "exception" : `${i}`));
    const append = buildAppend(
      job(3, { filter, sampleRate: 0.5 }),
      [message(1, mixed), message(2, mixed)],
      new Set(),
      0,
    );
    const keeps = [id(1), id(2)].map((each) => sampler(3, 0.5)(each));
    const expected = keeps.flatMap((inSample) =>
      mixed.filter(({ Outcome }, i) => Outcome !== "exception" && inSample(i)).map(({ Outcome }) => Outcome),
    );
    expect(outcomes(linesOf(append))).toEqual(expected);
    expect(append.messages.map(({ received, filtered }) => [received, filtered])).toEqual([
      [400, 100],
      [400, 100],
    ]);
    const sampledOut = append.messages.reduce((sum, each) => sum + each.sampledOut, 0);
    expect(sampledOut).toBe(600 - expected.length);
    expect(sampledOut).toBeGreaterThan(200);
  });

  it("samples a record by its place in the message, whoever stands before it by now", () => {
    const inSample = sampler(3, 0.5)(id(1));
    const records = Array.from({ length: 100 }, (_, i) => record(`${i}`));
    const whole = message(1, records);
    const without = { ...whole, records: whole.records.slice(40) };
    const append = buildAppend(job(3, { sampleRate: 0.5 }), [without], new Set(), 0);
    expect(outcomes(linesOf(append))).toEqual(
      records.map(({ Outcome }) => Outcome).filter((_, i) => i >= 40 && inSample(i)),
    );
    expect(append.messages[0]?.received).toBe(60);
  });

  it("shows filters the whole record, and ships what is left of it", () => {
    const whole = loadedRecord(
      traceRecord({ Logs: [{ Level: "log", Message: [`${"x".repeat(99_999)}needle`], TimestampMs: 1 }] }),
      0,
    );
    const cut = loadedRecord(record("cut"), 0);
    const needle = JSON.stringify({ where: { key: "Logs", operator: "contains", value: "needle" } });
    const offered = [{ ...message(1, []), records: [{ ...whole, shipped: cut.shipped }] }];
    expect(outcomes(linesOf(buildAppend(job(1, { filter: needle }), offered, new Set(), 0)))).toEqual(["cut"]);
  });

  it("fails when the filter cannot be read, rather than ship what was to be left out", () => {
    expect(() => buildAppend(job(1, { filter: '{"where":{}}' }), [message(1, [record("a")])], new Set(), 0)).toThrow(
      /the filter of job 1 cannot be read/,
    );
  });

  it("separates records within a fragment as the job's format says", () => {
    const output = { ...NDJSON, recordSuffix: "}", recordDelimiter: "," };
    const append = buildAppend(job(1, { output }), [message(1, [record("a"), record("b")])], new Set(), 0);
    expect(append.fragments.map(textOf)).toEqual([`${recordLine(record("a"))},${recordLine(record("b"))}`]);
  });

  it("takes a template's own text for the bytes that it has, not for those that spell it", () => {
    const output = {
      ...NDJSON,
      recordTemplate: `{{ "${"\\u20ac".repeat(1_000)}" }}`,
      recordPrefix: "",
      recordSuffix: "",
    };
    const records = Array.from({ length: 700 }, (_, i) => record(`${i}`));
    const { fragments } = buildAppend(job(1, { output }), [message(1, records)], new Set(), 0);
    expect(fragments.map(({ rawBytes }) => rawBytes)).toEqual([999_000, 999_000, 102_000]);
  });

  describe("in several parts", () => {
    const small = (n: number) =>
      message(
        n,
        Array.from({ length: 10 }, (_, i) => record(`${n} ${i}`)),
      );
    const offered = Array.from({ length: 300 }, (_, n) => small(n));

    it("is not needed where records stay about as large as they came", () => {
      expect(appendsOf(job(1), offered)).toEqual([offered]);
      expect(appendsOf(job(1), [])).toEqual([]);
    });

    it("holds every message once and in order, and never more text than an append may have", () => {
      const text = "x".repeat(4_096);
      const output = { ...NDJSON, recordPrefix: text, recordSuffix: text, recordDelimiter: text };
      const parts = appendsOf(job(1, { output }), offered);
      expect(parts.flat()).toEqual(offered);
      expect(parts.length).toBeGreaterThan(3);
      for (const part of parts) {
        const { fragments } = buildAppend(job(1, { output }), part, new Set(), 0);
        expect(fragments.reduce((sum, { rawBytes }) => sum + rawBytes, 0)).toBeLessThanOrEqual(8_000_000);
      }
    });

    it("counts what a template repeats", () => {
      const large = Array.from({ length: 12 }, (_, n) => message(n, [record("y".repeat(300_000))]));
      const fourTimes = { ...NDJSON, recordTemplate: "{{.Outcome}}{{.Outcome}}{{.Outcome}}{{.Outcome}}" };
      expect(appendsOf(job(1), large).length).toBe(1);
      expect(appendsOf(job(1, { output: fourTimes }), large).map(({ length }) => length)).toEqual([6, 6]);
    });

    it("puts a message that is too much on its own into a part of its own", () => {
      const output = { ...NDJSON, recordPrefix: "x".repeat(4_096) };
      const huge = message(
        1,
        Array.from({ length: 4_000 }, (_, i) => record(`${i}`)),
      );
      expect(appendsOf(job(1, { output }), [small(1), huge, small(2)]).map(({ length }) => length)).toEqual([1, 1, 1]);
    });
  });
});
