import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TEXT_MAX_CHARACTERS } from "../../../src/base/limits.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { ExceptionEntry, LogEntry, TraceRecord } from "../../../src/formats/record/fields.ts";
import { truncate } from "../../../src/formats/record/truncate.ts";
import fixture from "../../fixtures/truncation-docs.json" with { type: "json" };
import { recordOf, traceRecord } from "./samples.ts";

const EXCEPTIONS_CUT = "<<<Logship: exception messages truncated>>>";
const LOGS_CUT = "<<<Logship: messages truncated>>>";

const log = (...Message: string[]): LogEntry => ({ Level: "log", Message, TimestampMs: 0 });
const thrown = (name: string, message: string): ExceptionEntry => ({ name, message, TimestampMs: 0 });

/** A truncated record's texts: `name: message` of each exception, and each log's `Message`. */
function cut(limit: number, exceptions: ExceptionEntry[], logs: LogEntry[]): [string[], string[][]] {
  const { Exceptions, Logs } = truncate(traceRecord({ Exceptions: exceptions, Logs: logs }), limit);
  return [Exceptions.map(({ name, message }) => `${name}: ${message}`), Logs.map(({ Message }) => Message)];
}

describe("the worked examples", () => {
  it("of a second exception message that is too long, byte for byte", () => {
    const record = recordOf({ EventTimestampMs: 0, ...fixture.input });
    const shipped = JSON.parse(recordLine(truncate(record, fixture.limit)));
    const printed = JSON.stringify(fixture.output_as_printed).replaceAll("Logpush", "Logship");
    expect(JSON.stringify({ Exceptions: shipped.Exceptions, Logs: shipped.Logs })).toBe(printed);
  });

  it("of four logs and a limit of 5, byte for byte", () => {
    const record = traceRecord({ Logs: [log("abc"), log("defg"), log("hi"), log("jk")] });
    expect(JSON.stringify(truncate(record, 5).Logs)).toBe(
      '[{"Level":"log","Message":["abc"],"TimestampMs":0},' +
        '{"Level":"log","Message":["de<<<Logship: messages truncated>>>"],"TimestampMs":0},' +
        '{"Level":"log","Message":["<<<Logship: messages truncated>>>"],"TimestampMs":0}]',
    );
  });

  it("are about this limit in earnest", () => {
    expect(TEXT_MAX_CHARACTERS).toBe(fixture.real_limit);
  });
});

describe("the limit", () => {
  it.each<[string, number, ExceptionEntry[], LogEntry[], string[], string[][]]>([
    ["is reached exactly by what fits", 6, [thrown("E", "ab")], [log("c", "de")], ["E: ab"], [["c", "de"]]],
    ["leaves a log its last character", 5, [thrown("E", "ab")], [log("cde")], ["E: ab"], [[`cd${LOGS_CUT}`]]],
    [
      "lets no log pass after a cut, not even an empty one",
      1,
      [],
      [log("ab"), log(""), log("")],
      [],
      [[`a${LOGS_CUT}`], [LOGS_CUT]],
    ],
    [
      "is used up by names first, which stay",
      3,
      [thrown("Long", ""), thrown("Name", "m"), thrown("X", "")],
      [],
      ["Long: ", `Name: ${EXCEPTIONS_CUT}`],
      [],
    ],
    ["never splits a pair of surrogates", 2, [], [log("😀é😀")], [], [[`😀é${LOGS_CUT}`]]],
    ["of nothing leaves markers", 0, [thrown("A", "b")], [log("c")], [`A: ${EXCEPTIONS_CUT}`], [[LOGS_CUT]]],
  ])("%s", (_, limit, exceptions, logs, expectedExceptions, expectedLogs) => {
    expect(cut(limit, exceptions, logs)).toEqual([expectedExceptions, expectedLogs]);
  });

  it("counts a surrogate that stands alone as one, whatever is beside it", () => {
    const [, logs] = cut(5, [], [log("\ud83dab"), log("a\ude00b")]);
    // As JSON, which escapes them: a report of this test could not contain them.
    expect(JSON.stringify(logs)).toBe(JSON.stringify([["\ud83dab"], [`a\ude00${LOGS_CUT}`]]));
  });

  it("is 16,384 code points where nothing else is said", () => {
    const fits = traceRecord({ Logs: [log("😀".repeat(16_384))] });
    expect(truncate(fits)).toBe(fits);
    const long = traceRecord({ Logs: [log("x".repeat(20_000))] });
    expect(truncate(long).Logs[0]?.Message).toEqual([`${"x".repeat(16_384)}${LOGS_CUT}`]);
  });

  it("touches nothing but exceptions and logs, and not what it was given", () => {
    const record = traceRecord({
      Event: { Cron: "x".repeat(99) },
      ScriptName: "y".repeat(99),
      Logs: [log("abc", "d")],
    });
    const before = structuredClone(record);
    expect(truncate(record, 1)).toEqual({ ...before, Logs: [log(`a${LOGS_CUT}`)] });
    expect(record).toEqual(before);
  });
});

/**
 * The rule again, implemented slowly and literally: texts as lists of code points in one list,
 * counted from the start each time.
 */
function slowly(record: TraceRecord, limit: number): Pick<TraceRecord, "Exceptions" | "Logs"> {
  const length = (text: string): number => Array.from(text).length;
  const names = record.Exceptions.reduce((sum, { name }) => sum + length(name), 0);
  const leftAfter = (texts: readonly string[]): number =>
    Math.max(0, limit - names - texts.reduce((sum, text) => sum + length(text), 0));
  const exceptionTexts = record.Exceptions.map(({ message }) => message);
  const overAt = exceptionTexts.findIndex((text, i) => length(text) > leftAfter(exceptionTexts.slice(0, i)));
  const Exceptions = record.Exceptions.slice(0, overAt === -1 ? undefined : overAt + 1).map((exception, i) => {
    if (i !== overAt) return exception;
    const k = leftAfter(exceptionTexts.slice(0, i));
    return { ...exception, message: Array.from(exception.message).slice(0, k).join("") + EXCEPTIONS_CUT };
  });
  const Logs: LogEntry[] = [];
  let reached = overAt !== -1;
  const before: string[] = [...exceptionTexts];
  for (const entry of record.Logs) {
    const nothingLeft = leftAfter(before) === 0 && entry.Message.join("") !== "";
    if (reached || nothingLeft) {
      Logs.push({ ...entry, Message: [LOGS_CUT] });
      break;
    }
    const Message: string[] = [];
    for (const text of entry.Message) {
      const k = leftAfter(before);
      const fits = length(text) <= k;
      Message.push(fits ? text : Array.from(text).slice(0, k).join("") + LOGS_CUT);
      before.push(text);
      if (fits) continue;
      reached = true;
      break;
    }
    Logs.push({ ...entry, Message });
  }
  return { Exceptions, Logs };
}

describe("truncation", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.constantFrom("", "😀", "é😀"),
  );
  const record = fc
    .record({
      Exceptions: fc.array(fc.record({ name: text, message: text, TimestampMs: fc.nat() }), { maxLength: 5 }),
      Logs: fc.array(
        fc.record({
          Level: fc.constantFrom("log", "error"),
          Message: fc.array(text, { maxLength: 4 }),
          TimestampMs: fc.nat(),
        }),
        { maxLength: 6 },
      ),
    })
    .map(traceRecord);
  const limit = fc.oneof(fc.nat(120), fc.nat(12));

  it("is the rule, for any record and limit", () => {
    fc.assert(
      fc.property(record, limit, (value, max) => {
        const { Exceptions, Logs } = truncate(value, max);
        expect({ Exceptions, Logs }).toEqual(slowly(value, max));
      }),
      { numRuns: 5_000 },
    );
  });

  it("gives a record in which nothing is cut as it is, which costs no copy", () => {
    fc.assert(
      fc.property(record, limit, (value, max) => {
        const { Exceptions, Logs } = slowly(value, max);
        const uncut = JSON.stringify([Exceptions, Logs]) === JSON.stringify([value.Exceptions, value.Logs]);
        expect(truncate(value, max) === value).toBe(uncut);
      }),
      { numRuns: 2_000 },
    );
  });
});
