import { describe, expect, it } from "vitest";
import { dayOf } from "../../../src/base/time.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import type { LoadedRecord } from "../../../src/formats/queue/load-records.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { prepare, sampler, writtenAtMost } from "../../../src/ship/job/build.ts";
import { DAY_MS, NOON, traceRecord } from "../../formats/record/samples.ts";
import { id, job, linesOf, loadedRecord, outcomes, record } from "../consumer/scripted.ts";

describe("what a job ships of some parts", () => {
  const message = (n: number, records: TraceRecord[], takenInMs = NOON) => ({
    message: { id: id(n), takenInMs, keyed: false, shards: 1, records: records.length },
    records: records.map((whole, index): LoadedRecord => loadedRecord(whole, index)),
  });

  it("is fragments by day, with every record once and in order", () => {
    const messages = [
      message(1, [record("a"), record("b", NOON + DAY_MS)], NOON + 9),
      message(2, [record("c"), record("d", NOON - DAY_MS)]),
    ];
    const made = prepare(job(1), messages);
    const today = dayOf(NOON);
    expect(made.fragments.map(({ day, records, oldestTakenMs }) => [day, records, oldestTakenMs]).sort()).toEqual([
      [today - 1, 1, NOON],
      [today, 2, NOON],
      [today + 1, 1, NOON + 9],
    ]);
    expect(made).toMatchObject({ received: 4, filtered: 0, sampledOut: 0 });
    expect(outcomes(linesOf(made)).sort()).toEqual(["a", "b", "c", "d"]);
  });

  const filter = JSON.stringify({ where: { key: "Outcome", operator: "!eq", value: "exception" } });

  it("counts what the filter drops, and then what the sample leaves out", () => {
    const mixed = Array.from({ length: 400 }, (_, i) => record(i % 4 === 0 ? "exception" : `${i}`));
    const made = prepare(job(3, { filter, sampleRate: 0.5 }), [message(1, mixed), message(2, mixed)]);
    const keeps = [id(1), id(2)].map((each) => sampler(3, 0.5)(each));
    const expected = keeps.flatMap((inSample) =>
      mixed.filter(({ Outcome }, i) => Outcome !== "exception" && inSample(i)).map(({ Outcome }) => Outcome),
    );
    expect(outcomes(linesOf(made))).toEqual(expected);
    expect(made).toMatchObject({ received: 800, filtered: 200, sampledOut: 600 - expected.length });
    expect(made.sampledOut).toBeGreaterThan(200);
  });

  it("samples a record by its place in the message, whoever stands before it by now", () => {
    const inSample = sampler(3, 0.5)(id(1));
    const records = Array.from({ length: 100 }, (_, i) => record(`${i}`));
    const whole = message(1, records);
    const without = { ...whole, records: whole.records.slice(40) };
    const made = prepare(job(3, { sampleRate: 0.5 }), [without]);
    expect(outcomes(linesOf(made))).toEqual(
      records.map(({ Outcome }) => Outcome).filter((_, i) => i >= 40 && inSample(i)),
    );
    expect(made.received).toBe(60);
  });

  it("shows filters the whole record, and ships what is left of it", () => {
    const whole = loadedRecord(
      traceRecord({ Logs: [{ Level: "log", Message: [`${"x".repeat(99_999)}needle`], TimestampMs: 1 }] }),
      0,
    );
    const cut = loadedRecord(record("cut"), 0);
    const needle = JSON.stringify({ where: { key: "Logs", operator: "contains", value: "needle" } });
    const offered = [{ ...message(1, []), records: [{ ...whole, shipped: cut.shipped }] }];
    expect(outcomes(linesOf(prepare(job(1, { filter: needle }), offered)))).toEqual(["cut"]);
  });

  it("fails when the filter cannot be read, rather than ship what was to be left out", () => {
    expect(() => prepare(job(1, { filter: '{"where":{}}' }), [message(1, [record("a")])])).toThrow(
      /the filter of job 1 cannot be read/,
    );
  });

  it("takes a template's own text for the bytes that it has, not for those that spell it", () => {
    const output = {
      ...NDJSON,
      recordTemplate: `{{ "${"\\u20ac".repeat(1_000)}" }}`,
      recordPrefix: "",
      recordSuffix: "",
    };
    const records = Array.from({ length: 700 }, (_, i) => record(`${i}`));
    const { fragments } = prepare(job(1, { output }), [message(1, records)]);
    expect(fragments.map(({ rawBytes }) => rawBytes)).toEqual([999_000, 999_000, 102_000]);
  });

  it.each([
    ["as it came", {}],
    ["with much around each record", { recordPrefix: "x".repeat(4_096), recordDelimiter: "y".repeat(99) }],
    ["by a template that repeats", { recordTemplate: "{{.Outcome}}{{.Outcome}}{{.Outcome}}" }],
  ])("is never more text than can be told before it is made: %s", (_what, fields) => {
    const output = { ...NDJSON, ...fields };
    const offered = [message(1, [record("y".repeat(30_000)), record("z")]), message(2, [record("a")])];
    const { fragments } = prepare(job(1, { output }), offered);
    const written = fragments.reduce((sum, { rawBytes }) => sum + rawBytes, 0);
    const atMost = writtenAtMost(job(1, { output }), offered);
    expect(atMost).toBeGreaterThanOrEqual(written);
    expect(atMost).toBeLessThan(written + 3_000);
  });
});
