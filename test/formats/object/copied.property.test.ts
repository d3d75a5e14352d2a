/** What is copied from the bytes of messages, against what texts and parsed records say. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeUtf8, encodeUtf8 } from "../../../src/base/bytes.ts";
import { encoderOf } from "../../../src/formats/object/encoders.ts";
import { batchTexts, NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { recordRenderer } from "../../../src/formats/output/render.ts";
import { type Loaded, load } from "../../../src/formats/queue/load-records.ts";
import { macKeyOf } from "../../../src/formats/queue/mac.ts";
import { decodeEnvelope, encodeParts, type Part } from "../../../src/formats/queue/message.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_NAMES, type TraceRecord } from "../../../src/formats/record/fields.ts";
import { headOf, statusOf } from "../../../src/ship/log/heads.ts";
import { textOf } from "../../ship/consumer/scripted.ts";
import { anyRecord, NOON, traceRecord, treacherous } from "../record/samples.ts";

/** Of some 20 records each; after a change, run by hand with a hundred times as many. */
const RUNS = 500;

const SEAL = macKeyOf(new Uint8Array(32));

/** Events that end as those of requests do, or nearly so. */
const answered = fc
  .tuple(
    anyRecord,
    fc.constantFrom("fetch", "rpc"),
    fc.oneof(
      fc.nat(999),
      fc.constantFrom<unknown>("500", 5.5, -1, null, { Status: 500 }, '"Response":{"Status":500}}'),
    ),
    fc.constantFrom<(status: unknown) => Record<string, unknown>>(
      (Status) => ({ RayID: "ab", Response: { Status } }),
      (Status) => ({ Response: { Status }, Request: {} }),
      (Status) => ({ Other: { Response: { Status } } }),
      (Status) => ({ Response: { Status, Body: {} } }),
      (Status) => ({ URL: `${Status}}}`, Response: Status }),
    ),
  )
  .map(([record, EventType, status, event]): TraceRecord => ({ ...record, EventType, Event: event(status) }));

const records = fc.array(fc.oneof(anyRecord, treacherous, answered), {
  ...{ minLength: 1, maxLength: 40, size: "max" },
});

const text = fc.string({ unit: "grapheme", maxLength: 3 });

/** Formats made of runs of fields, and some that are not. */
const format: fc.Arbitrary<OutputFormat> = fc
  .record({
    fieldNames: fc.option(fc.shuffledSubarray([...FIELD_NAMES])),
    recordPrefix: fc.oneof(fc.constant("{"), text),
    recordSuffix: fc.oneof(fc.constant("}\n"), text),
    recordDelimiter: text,
    escapeDollarBrace: fc.boolean(),
  })
  .map((fields) => ({ ...NDJSON, ...fields }));

/** One message, in two parts where it has several records, as the queue handler holds it. */
function loaded(lines: readonly string[], isSealed: boolean): readonly Loaded[] {
  const part = (n: number, count: number): Part => ({
    ...{ id: `${n}`.repeat(32), takenInMs: NOON, keyed: false, shards: 1 },
    records: count,
  });
  const [first, ...others] = lines.length < 2 ? [part(1, lines.length)] : [part(1, 1), part(2, lines.length - 1)];
  const raw = encodeUtf8(lines.map((line) => `${line}\n`).join(""));
  const { buffer: body } = encodeParts([first as Part, ...others], raw, {}, isSealed ? SEAL : undefined);
  const loading = load({ body, envelope: decodeEnvelope(body) }, [SEAL]);
  if (loading.kind !== "loaded") throw new Error(loading.kind);
  return loading.loaded;
}

describe("records in the bytes of a message", () => {
  it("are written as their texts are", () => {
    fc.assert(
      fc.property(records, format, fc.boolean(), (given, output, isSealed) => {
        const render = recordRenderer(output);
        const gatherer = encoderOf(output).gather();
        const byDay = new Map<number, string[]>();
        for (const { records: own, message } of loaded(given.map(recordLine), isSealed))
          for (const { whole } of own) gatherer.add(whole, message.takenInMs);
        for (const record of given) {
          const day = Math.floor(record.EventTimestampMs / 86_400_000);
          const parsed = JSON.parse(recordLine(record)) as Record<string, unknown>;
          const fields = { text: (name: string) => JSON.stringify(parsed[name]) };
          byDay.set(day, [...(byDay.get(day) ?? []), render(fields)]);
        }
        const written = gatherer.finish().map((each) => [each.day, each.records, each.rawBytes, textOf(each)]);
        const expected = [...byDay].map(([day, texts]) => {
          const whole = texts.join(decodeUtf8(batchTexts(output).delimiter));
          return [day, texts.length, encodeUtf8(whole).length, whole];
        });
        expect(written).toEqual(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it("are counted as parsed ones are", () => {
    fc.assert(
      fc.property(records, fc.boolean(), (given, isSealed) => {
        const parsed = given.map((record) => JSON.parse(recordLine(record)) as TraceRecord);
        const all = loaded(given.map(recordLine), isSealed);
        const read = all.flatMap(({ records: own }) => own.map(({ whole }) => whole));
        expect(read.map(statusOf)).toEqual(parsed.map(statusIn));
        expect(read.map(({ WallTimeMs, ScriptName }) => [WallTimeMs, ScriptName])).toEqual(
          parsed.map(({ WallTimeMs, ScriptName }) => [WallTimeMs, ScriptName]),
        );
        const functions = all.flatMap((part) => headOf(part).functions);
        const names = [...new Set(functions.map(({ scriptName }) => scriptName))];
        expect(names).toEqual([...new Set(parsed.map(({ ScriptName }) => ScriptName))]);
        const counted = names.map((name) => {
          const own = functions.filter(({ scriptName }) => scriptName === name);
          const failed = own.map(({ health }) => health.serverErrors);
          return [sum(own.map((each) => each.records)), sum(failed)];
        });
        const expected = names.map((name) => {
          const own = parsed.filter(({ ScriptName }) => ScriptName === name);
          return [own.length, own.map(statusIn).filter((status) => status >= 500 && status <= 599).length];
        });
        expect(counted).toEqual(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it("are none in an unsealed message, if one of them is not whole", () => {
    const whole = recordLine(traceRecord());
    const gap = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 30 }));
    fc.assert(
      fc.property(gap, fc.constantFrom("", '"', ',"Logs":', "}", "[]"), ([at, length], insert) => {
        const line = whole.slice(0, at) + insert + whole.slice(at + length);
        fc.pre(line !== whole);
        let names: string[] = [];
        try {
          names = Object.keys(JSON.parse(line));
        } catch {}
        if (names.join() !== FIELD_NAMES.join()) expect(() => loaded([whole, line], false)).toThrow("unreadable");
      }),
      { numRuns: RUNS },
    );
  });
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function statusIn({ EventType, Event }: TraceRecord): number {
  const status = (Event.Response as { Status?: unknown } | null | undefined)?.Status;
  return EventType === "fetch" && typeof status === "number" ? status : 0;
}
