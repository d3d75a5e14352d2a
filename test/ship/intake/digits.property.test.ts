/** What intake cannot know keeps its digits and keys, from a body to each kind of object. */
import * as fc from "fast-check";
import { DEFAULT_PARSERS } from "hyparquet/src/convert.js";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { TEXT_MAX_CHARACTERS } from "../../../src/base/limits.ts";
import { Memory } from "../../../src/base/memory.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { recordRenderer } from "../../../src/formats/output/render.ts";
import { InvocationRenderer } from "../../../src/formats/output/rows.ts";
import { type LoadedRecord, loadOffered } from "../../../src/formats/queue/load-records.ts";
import type { LogEntry } from "../../../src/formats/record/fields.ts";
import { takeEvents } from "../../../src/ship/intake/take.ts";
import { format } from "../../formats/output/object.ts";
import { readCsv } from "../../formats/output/read-csv.ts";
import { anyJson, anyJsonObject, canonical, KEYS, NUMBERS } from "../../formats/record/canonical.ts";
import { TAKEN } from "../../formats/record/samples.ts";
import { fileOf, linesIn, rowsIn } from "../../support/parquet-files.ts";
import { noLog, scriptedQueue } from "./scripted.ts";

const FIELDS = ["Event", "Exceptions", "Logs"] as const;
const CSV = format({ type: "csv", recordPrefix: "", recordSuffix: "\n", fieldNames: [...FIELDS] });

/** What consumers load of a body. Nothing is sealed, so all of it is parsed and judged. */
async function loaded(body: string, ndjson = false): Promise<LoadedRecord[]> {
  const queue = scriptedQueue();
  const platform = { now: () => TAKEN, sleep: () => Promise.reject(new Error("nothing fails")) };
  const bytes = encodeUtf8(body);
  const taken = await takeEvents(
    { room: bytes.length, read: async () => bytes, ndjson, idempotencyKey: null },
    {
      ...{ queue, append: noLog().append, platform, memory: new Memory(platform), source: "rpc", shards: 1 },
      ...{ defaultScriptName: "unnamed", keyShards: async () => ({ ok: true, shards: 1 }) as const },
    },
  );
  if (!taken.ok) throw new Error(`${JSON.stringify(taken)} of ${body}`);
  return queue.calls
    .flatMap(({ messages, bodies }) =>
      messages.map(({ id }, i) =>
        loadOffered({ body: bodies[i]?.slice() ?? new Uint8Array(), parts: [id], off: {} }, []),
      ),
    )
    .flatMap((parts) => {
      if (typeof parts === "string") throw new Error(parts);
      return parts.flatMap(({ records }) => records);
    });
}

/** An event, and what its record has. */
interface Sent {
  json: string;
  event: string;
  messages: string[];
  error: string;
}

/** A part of a message becomes its text; a string is its own. */
const partOf = (json: string): string => {
  const text = canonical(json);
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
};

const sent: fc.Arbitrary<Sent> = fc
  .record({ event: anyJsonObject, parts: fc.array(anyJson, { maxLength: 3 }), error: anyJson, isRecord: fc.boolean() })
  .map(({ event, parts, error, isRecord }) => ({
    json: isRecord
      ? `{"EventTimestampMs":${TAKEN},"Event":${event},"Logs":[{"Message":[${parts}],"TimestampMs":1.0}],"Exceptions":[{"message":${error}}]}`
      : `{"eventTimestamp":${TAKEN},"logs":[{"timestamp":1.0,"message":[${parts}]}],"exceptions":[{"message":${error}}]}`,
    event: isRecord ? canonical(event) : "{}",
    messages: parts.map(partOf),
    error: error === "null" ? "" : partOf(error),
  }));

const bodyOf: { [form: string]: (events: readonly string[]) => string } = {
  "an array": (events) => `[${events.join(" ,\n")}]`,
  "objects one after the other": (events) => events.join("\n"),
  "objects with nothing between": (events) => events.join(""),
  lines: (events) => events.map((event) => event.replaceAll(/[\r\n]/g, " ")).join("\n"),
};

describe("digits and keys that were sent", () => {
  it.each(Object.entries(bodyOf))("are in records, and in objects of each kind, of %s", async (form, write) => {
    const property = fc.asyncProperty(fc.array(sent, { minLength: 1, maxLength: 4 }), async (all) => {
      const body = write(all.map(({ json }) => json));
      const records = await loaded(body, form === "lines");
      expect(records.length).toBe(all.length);
      const csv = readCsv(records.map(({ shipped }) => recordRenderer(CSV)(shipped)).join(""), ",");
      const ndjson = records.map(({ shipped }) => recordRenderer(NDJSON)(shipped));
      const parquet = fileOf([ndjson]);
      expect(await linesIn(parquet)).toBe(ndjson.join(""));
      const jsonFromBytes = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
      const rows = await rowsIn(parquet, { ...DEFAULT_PARSERS, jsonFromBytes });
      for (const [i, { event, messages, error }] of all.entries()) {
        const found = {
          record: FIELDS.map((name) => records[i]?.shipped.text(name)),
          csv: csv[i] ?? [],
          parquet: FIELDS.map((name) => rows[i]?.[name] as string),
        };
        for (const [kind, [ofEvent, ofExceptions = "", ofLogs = ""]] of Object.entries(found)) {
          expect([body, kind, ofEvent]).toEqual([body, kind, event]);
          expect((JSON.parse(ofLogs) as LogEntry[])[0]?.Message).toEqual(messages);
          expect((JSON.parse(ofExceptions) as { message: string }[])[0]?.message).toBe(error);
        }
        expect(ndjson[i]).toContain(`,"Event":${event},"EventTimestampMs":`);
      }
    });
    await fc.assert(property, { numRuns: 150 });
  });

  it("are not lost where texts are cut off", async () => {
    const event = `{${KEYS.map((key, i) => `${key}:[${NUMBERS[i % NUMBERS.length]}]`)}}`;
    const long = "x".repeat(TEXT_MAX_CHARACTERS + 1);
    const [record] = await loaded(
      `{"Event":${event},"Logs":[{"Message":[1.0,"${long}"]}],"Exceptions":[{"message":-0}]}`,
    );
    expect(record?.shipped).not.toBe(record?.whole);
    expect(record?.shipped.text("Event")).toBe(canonical(event));
    expect(record?.shipped.Logs[0]?.Message[0]).toBe("1.0");
    expect(record?.shipped.line.replace(/"Exceptions":.*,"Outcome"/, "")).toBe(
      record?.whole.line.replace(/"Exceptions":.*,"Outcome"/, ""),
    );
  });

  it("are in rows, of an object that was logged and of one that was logged as text", async () => {
    const rows = new InvocationRenderer(format({ rows: "log", fieldNames: ["Fields", "Message"] })).text;
    const logged = '{"2":1.0,"1":-0,"a":9007199254740993}';
    const halves = '{"2":1.0,"1":[1e400,"\\ud800"]}';
    const [record] = await loaded(
      `{"Logs":[{"Message":[ { "2":1.0,"1" :-0,"a":9007199254740993}]},{"Message":[${JSON.stringify(halves)}]},{"Message":[${halves}]}]}`,
    );
    expect(record && rows(record.shipped)).toBe(
      `{"Fields":${logged},"Message":""}\n`.concat(
        '{"Fields":{"2":1.0,"1":[1e400,"\ufffd"]},"Message":""}\n'.repeat(2),
      ),
    );
  });

  it("are filtered as the numbers that they are", async () => {
    const [record] = await loaded('{"Event":{"a":1.0,"b":9007199254740993}}');
    expect(record?.whole.Event).toEqual({ a: 1, b: 2 ** 53 });
  });
});
