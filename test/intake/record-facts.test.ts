import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { packRecords } from "../../src/intake/packing.ts";
import { messageFacts, recordFacts } from "../../src/intake/record-facts.ts";
import { TEXT_MAX_CHARACTERS } from "../../src/limits.ts";
import { recordLine } from "../../src/record/encode.ts";
import { anyRecord, NOON, traceRecord } from "../record/samples.ts";
import { unpacked } from "./scripted.ts";

const id = (n: number): string => `${n}`.padStart(32, "0");

describe("what a message says of its records", () => {
  it("is what its records say", () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { minLength: 1, maxLength: 6 }), (records) => {
        const packed = packRecords(records.map(recordLine), { takenInMs: NOON, idOf: id, keyed: false });
        if (!packed.ok) throw new Error("too large");
        const times = records.map(({ EventTimestampMs }) => EventTimestampMs);
        const told = packed.messages.map((message) => unpacked(message).facts);
        expect(Math.min(...told.map((facts) => facts?.firstEventMs ?? Number.NaN))).toBe(Math.min(...times));
        expect(Math.max(...told.map((facts) => facts?.lastEventMs ?? Number.NaN))).toBe(Math.max(...times));
        const names = Map.groupBy(records, ({ ScriptName }) => ScriptName);
        const counted = new Map<string | null, number>();
        for (const { scriptName, records: n } of told.flatMap((facts) => facts?.functions?.flat() ?? []))
          counted.set(scriptName, (counted.get(scriptName) ?? 0) + n);
        if (told.every((facts) => facts?.functions != null))
          expect(counted).toEqual(new Map([...names].map(([name, group]) => [name, group.length])));
      }),
      { numRuns: 50 },
    );
  });

  it("has whether one of them may be truncated", () => {
    const logging = (characters: number): string =>
      recordLine(traceRecord({ Logs: [{ Level: "log", Message: ["x".repeat(characters)], TimestampMs: NOON }] }));
    const of = (...lines: string[]) => messageFacts(lines.map(recordFacts))?.isOverLimit;
    expect([of(logging(1)), of(logging(1), logging(TEXT_MAX_CHARACTERS + 1))]).toEqual([false, true]);
  });

  it("is nothing where a line is no record", () => {
    expect(recordFacts("{}")).toBeNull();
    expect(messageFacts([recordFacts(recordLine(traceRecord({}))), null])).toBeNull();
    expect(messageFacts([])).toBeNull();
  });
});
