import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dollarSeams, NDJSON } from "../../../src/formats/output/format.ts";
import { type AnyField, EXTRA_FIELDS, FIELD_NAMES } from "../../../src/formats/record/fields.ts";
import { toRecord } from "../../../src/formats/record/record.ts";
import {
  CANARY_SCRIPT_NAME,
  canaryAfter,
  canaryKey,
  canaryMinute,
  canaryObject,
  canaryRecord,
} from "../../../src/ship/reader/canary-object.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { format, textOfMember } from "./direct.ts";

const HOUR_MS = 3_600_000;
const IDENTITY = "a".repeat(64);
const ids = fc.integer({ min: 1, max: 999_999_999_999_999 });
const times = fc.integer({ min: 0, max: Date.parse("9999-01-01T00:00:00Z") });

describe("the time of a job's canary", () => {
  it("is one minute of every hour, always the same", () => {
    fc.assert(
      fc.property(ids, times, (id, time) => {
        const minute = canaryMinute(id);
        expect(Number.isInteger(minute) && minute >= 0 && minute < 60).toBe(true);
        const next = canaryAfter(id, time);
        expect(next > time && next <= time + HOUR_MS).toBe(true);
        expect(next % HOUR_MS).toBe(minute * 60_000);
        // From there on once an hour, and not again in the minute itself.
        expect(canaryAfter(id, next)).toBe(next + HOUR_MS);
        expect(canaryAfter(id, next - 1)).toBe(next);
      }),
    );
  });

  it("is spread: of a hundred jobs in a row, whichever, no minute has more than three", () => {
    fc.assert(
      fc.property(ids, (first) => {
        const minutes = Array.from({ length: 100 }, (_, i) => canaryMinute(first + i));
        const most = Math.max(...[...Map.groupBy(minutes, (minute) => minute).values()].map(({ length }) => length));
        expect(most).toBeLessThanOrEqual(3);
      }),
    );
  });
});

describe("the key of a canary", () => {
  it.each([
    ["logs/{DATE}", "logs/00010101/canary/"],
    ["logs/date={DATE}/shop", "logs/date=00010101/shop/canary/"],
    ["logs", "logs/canary/"],
    ["", "canary/"],
  ])("of the path %j stands below %j, without the ending of objects", (path, folder) => {
    const key = canaryKey(path, 7, IDENTITY, NDJSON);
    expect(key).toMatch(new RegExp(`^${folder}job-7-[0-9a-f]{8}\\.canary\\.gz$`));
    // Another service that writes to the same folder, and another job of this one, have others.
    expect(canaryKey(path, 7, "b".repeat(64), NDJSON)).not.toBe(key);
    expect(canaryKey(path, 8, IDENTITY, NDJSON)).not.toBe(key);
  });
});

describe("the record of a canary", () => {
  it("is a valid one, which says what it is, whose, and of when", () => {
    const record = canaryRecord(7, IDENTITY, NOON);
    const findings = { faults: [], unknownKeys: new Set<string>() };
    const context = { takenInMs: 0, defaultScriptName: "x", lenient: false };
    expect(toRecord(JSON.parse(JSON.stringify(record)), context, "", findings)).toEqual(record);
    expect(findings).toEqual({ faults: [], unknownKeys: new Set() });
    expect(Object.keys(record)).toEqual([...FIELD_NAMES]);
    expect(record).toMatchObject({ ScriptName: CANARY_SCRIPT_NAME, EventType: "unknown", EventTimestampMs: NOON });
    expect(record.Logs[0]?.Message[0]).toMatch(
      /^logship canary [0-9a-f]{8} of job 7, 2100-11-20T12:00:00.000Z: a synthetic event/,
    );
    expect(canaryRecord(7, IDENTITY, NOON + HOUR_MS).Logs).not.toEqual(record.Logs);
  });
});

const text = fc.string({ maxLength: 40, unit: "grapheme" }).filter((value) => value.isWellFormed());
const formats = fc
  .record({
    fieldNames: fc.option(fc.shuffledSubarray([...FIELD_NAMES, ...EXTRA_FIELDS]), { nil: null }),
    type: fc.constantFrom("ndjson" as const, "csv" as const),
    batchPrefix: text,
    batchSuffix: text,
    recordPrefix: text,
    recordSuffix: text,
    recordDelimiter: text,
    fieldDelimiter: text,
  })
  .map(format);

describe("the object of a canary", () => {
  it("is one strict gzip member: prefix, the record in the job's format, suffix", () => {
    fc.assert(
      fc.property(formats, times, (output, now) => {
        const { body } = canaryObject(output, 7, IDENTITY, now);
        const read = textOfMember(body);
        const none = {
          RequestHeaders: {},
          RequestCF: {},
          ExceptionStacks: [],
          DurableObjectID: "",
          ExecutionModel: "",
          LogErrors: [],
          Preview: {},
        };
        const record: { readonly [name in AnyField]: unknown } = {
          ...{ ...canaryRecord(7, IDENTITY, now), Source: "", ...none, Truncated: false },
        };
        const names = (output.fieldNames ?? FIELD_NAMES) as AnyField[];
        const values = names.map((name) => {
          const json = JSON.stringify(record[name]);
          const value =
            output.type === "csv" && typeof record[name] === "object" ? `"${json.replaceAll('"', '""')}"` : json;
          return output.type === "csv" ? value : `"${name}":${value}`;
        });
        const { batchPrefix, recordPrefix, fieldDelimiter, recordSuffix, batchSuffix } = output;
        expect(read).toBe(batchPrefix + recordPrefix + values.join(fieldDelimiter) + recordSuffix + batchSuffix);
      }),
    );
  });

  it("is disarmed where the job says so", () => {
    const output = format({ recordPrefix: "${jndi:", batchPrefix: "$", recordSuffix: "{\n", escapeDollarBrace: true });
    expect(dollarSeams(output).beforeRecord).toBe(false);
    expect(textOfMember(canaryObject(output, 7, IDENTITY, NOON).body)).toMatch(/^\$x\{jndi:/);
  });

  it("has other bytes than that of any other hour of the day, even where its format writes nothing that changes", () => {
    const constant = format({ fieldNames: ["Outcome"] });
    const hashes = Array.from({ length: 24 }, (_, hour) => canaryObject(constant, 7, IDENTITY, NOON + hour * HOUR_MS));
    expect(new Set(hashes.map(({ sha256 }) => sha256)).size).toBe(24);
    for (const { body } of hashes) expect(textOfMember(body)).toBe('{"Outcome":"ok"}\n');
  });

  it("is of the media type of its format", () => {
    expect(canaryObject(format({}), 7, IDENTITY, NOON).contentType).toBe("application/x-ndjson");
    expect(canaryObject(format({ type: "csv" }), 7, IDENTITY, NOON).contentType).toBe("text/csv");
  });

  it("is not made of a format that cannot be written", () => {
    expect(() => canaryObject(format({ recordTemplate: "{{" }), 7, IDENTITY, NOON)).toThrow();
  });
});
