/**
 * Objects as a job writes them, of every kind of event and of what readers stumble over: rare kinds
 * after many common ones, texts that look like numbers or nulls, line separators that are none in
 * NDJSON, the largest numbers. Always the same. Pure.
 */
import { concat, isAscii } from "../../src/base/bytes.ts";
import type { Fragment } from "../../src/formats/object/encoder.ts";
import { encoderOf } from "../../src/formats/object/encoders.ts";
import { fillOf, keyBelow, objectName, objectTag, partOf, readTemplate } from "../../src/formats/object/keys.ts";
import { NDJSON, type OutputFormat } from "../../src/formats/output/format.ts";
import { recordLine } from "../../src/formats/record/encode.ts";
import { FIELD_NAMES, type TraceRecord } from "../../src/formats/record/fields.ts";
import { RecordLine } from "../../src/formats/record/line.ts";
import { toRecord } from "../../src/formats/record/record.ts";

const DAY_MS = 86_400_000;
/** Midnight. */
const FIRST_DAY_MS = Date.UTC(2026, 10, 19);
const DAYS = 3;

/** Requests of a day before its first event of another kind: more than a reader looks at. */
const REQUESTS = 200;

/** Every way to write a line's end but `\n`, what ends a text in C, and what quotes and escapes. */
const ODD_TEXTS = [
  "line\u2028paragraph\u2029next\u0085line",
  "tab\tcomma,semicolon;quote\"single'back\\slash",
  "ends in a backslash\\",
  'ends in a quote"',
  "crlf\r\nand\nlf\u000b\u000c\u0000end",
  "ünïcödé 日本語 😀 \ufeff\u200f",
  "half a pair \ud83d",
];

/** Texts that a reader may take for something else. */
const MISTAKABLE = ["007", "1e5", "true", "null", "NA", "", " ", "2026-11-20", "0x1F", "-", "[]", "{}"];

const csv = (fieldDelimiter: string): OutputFormat => ({
  ...NDJSON,
  type: "csv",
  recordPrefix: "",
  recordSuffix: "\n",
  fieldDelimiter,
  batchPrefix: `${FIELD_NAMES.join(fieldDelimiter)}\n`,
});

export type Form = "logs" | "csv" | "tab" | "parquet" | "parts";

/** What docs/reading.md reads, by folder. */
export const FORMS: Readonly<Record<Form, OutputFormat>> = {
  logs: NDJSON,
  csv: csv(","),
  tab: csv("\t"),
  parquet: { ...NDJSON, type: "parquet" },
  parts: NDJSON,
};

/** The path of each form, below its folder. */
export const PATHS: Readonly<Record<Form, string>> = {
  logs: "{DATE}",
  csv: "{DATE}",
  tab: "{DATE}",
  parquet: "{DATE}",
  parts: "dt={DATE_ISO}/hour={HOUR}",
};

type Item = Record<string, unknown>;

const request = (url: string, status: number | null): Item => ({
  request: { url, method: "GET", headers: { "cf-ray": "8f1e2d3c4b5a6978-FRA" } },
  ...(status !== null && { response: { status } }),
});

/** One of each kind, as `tail()` gives it; the last as a client sends it over HTTP. */
const rareEvents = (atMs: number): unknown[] => [
  request("https://shop.example/aborted", null),
  { cron: "*/5 * * * *", scheduledTime: atMs },
  { scheduledTime: new Date(atMs).toISOString() },
  { queue: "parcels", batchSize: 7 },
  { mailFrom: "a@shop.example", rcptTo: "b@shop.example", rawSize: 123_456 },
  { rpcMethod: "reserve" },
  { getWebSocketEvent: { webSocketEventType: "message" } },
  { getWebSocketEvent: { webSocketEventType: "close", code: 1006, wasClean: false } },
  { consumedEvents: [{ scriptName: "shop" }, { scriptName: "" }] },
  null,
];

function itemsOf(dayMs: number): Item[] {
  const items: Item[] = [];
  const add = (item: Item): void => {
    const eventTimestamp = dayMs + items.length * 100_001;
    items.push({ eventTimestamp, outcome: "ok", scriptName: "shop", cpuTime: 3, wallTime: 11, ...item });
  };
  for (let i = 0; i < REQUESTS; i++) {
    const logs = i % 3 === 0 ? [{ level: "log", message: ["order", { id: i }], timestamp: dayMs + i }] : [];
    add({ event: request(`https://shop.example/orders/${i}`, i % 20 === 0 ? 404 : 200), logs, cpuTime: i });
  }
  for (const event of rareEvents(dayMs)) add({ event });
  for (const text of ODD_TEXTS) {
    const logs = [{ level: "warn", message: [text, text.length, null, [text]], timestamp: dayMs }];
    const exceptions = [{ name: "Error", message: text, stack: "at x", timestamp: dayMs }];
    add({ event: request(`https://shop.example/?q=${text}`, 500), outcome: "exception", logs, exceptions });
    // NUL is left to nested texts, in which it is escaped however a reader keeps them.
    add({ event: null, scriptName: text.replaceAll("\u0000", ""), outcome: text.slice(0, 3) });
  }
  for (const text of MISTAKABLE) {
    const scriptVersion = { id: text, tag: text, message: text };
    add({ event: null, scriptName: text || "shop", entrypoint: text, scriptTags: [text, text], scriptVersion });
  }
  add({ event: { queue: "q", batchSize: Number.MAX_SAFE_INTEGER }, wallTime: Number.MAX_SAFE_INTEGER });
  return items;
}

/** What a client may send over HTTP: any `Event`. */
function sentRecord(atMs: number): Item {
  const numbers = [1e300, -1e-300, 0.1, 2 ** 53, 1e21, -0.5];
  const Event = { Request: "no object", Numbers: numbers, Nothing: null, Deep: [[{ "a.b": { c: [] } }]] };
  return { EventTimestampMs: atMs, EventType: "deployment", Event, ScriptName: "ci", Outcome: "ok" };
}

/** In the order of their objects. */
export function sampleRecords(): TraceRecord[] {
  const context = { takenInMs: FIRST_DAY_MS, defaultScriptName: "unnamed", lenient: false };
  return Array.from({ length: DAYS }, (_, day) => FIRST_DAY_MS + day * DAY_MS).flatMap((dayMs) => {
    const items = [...itemsOf(dayMs), sentRecord(dayMs + DAY_MS - 1)];
    return items.map((item, i) => {
      const findings = { faults: [], unknownKeys: new Set<string>() };
      const record = toRecord(item, context, `/${i}`, findings);
      if (record === null) throw new Error(`the sample is refused: ${JSON.stringify(findings.faults)}`);
      // As it is read back: halves of pairs are gone.
      return JSON.parse(recordLine(record)) as TraceRecord;
    });
  });
}

export interface SampleObject {
  /** Below the folder of its form. */
  key: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Two objects of each day, or of each part of it that the path tells apart. */
export function sampleObjects(records: readonly TraceRecord[], form: Form): SampleObject[] {
  const encoder = encoderOf(FORMS[form]);
  const template = readTemplate(PATHS[form]);
  const days = Map.groupBy(records, ({ EventTimestampMs }) => Math.floor(EventTimestampMs / DAY_MS));
  let number = 0;
  return [...days.values()].flatMap((day) => {
    const middle = Math.ceil(day.length / 2);
    return [day.slice(0, middle), day.slice(middle)].flatMap((half): SampleObject[] => {
      const gatherer = encoder.gather((record) => partOf(template, record.EventTimestampMs, () => record.ScriptName));
      for (const record of half) {
        const line = RecordLine.read(recordLine(record));
        if (line === null) throw new Error("a record of the sample has no canonical line");
        gatherer.add(line, record.EventTimestampMs, isAscii(line.line));
      }
      return gatherer.finish().map((fragment) => {
        number += 1;
        const { day, firstEventMs, lastEventMs, part = "" } = fragment;
        const name = objectName(firstEventMs, lastEventMs, objectTag("sample", number), encoder.kind.suffix);
        return {
          key: keyBelow(template, fillOf(day, firstEventMs, part), name),
          bytes: wholeObject(encoder, fragment),
        };
      });
    });
  });
}

function wholeObject(encoder: ReturnType<typeof encoderOf>, fragment: Fragment): Uint8Array<ArrayBuffer> {
  const assembly = encoder.assemble();
  const body = fragment.deflated ? fragment.body : encoder.finish(fragment.body);
  assembly.add(body, fragment);
  return concat([assembly.head.bytes, body, assembly.end().bytes]);
}
