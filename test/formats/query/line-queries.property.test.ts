import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { compileQuery } from "../../../src/formats/query/compile-query.ts";
import { LineQueries, Lines, MessageText } from "../../../src/formats/query/line-queries.ts";
import { readQuery } from "../../../src/formats/query/meaning.ts";
import { type LoadedRecord, loadedRecord } from "../../../src/formats/queue/load-records.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import { traceRecord } from "../record/samples.ts";
import { ownQuery, picks, queries, records } from "./records.ts";

/** Records of a message, and its bytes. */
interface Message {
  records: LoadedRecord[];
  raw: Uint8Array;
}

function message(all: readonly { fields: object; source?: string; extra?: string }[]): Message {
  const lines = all.map(({ fields }) => recordLine(traceRecord(fields)));
  const loaded = lines.map((line, i) => {
    const record = RecordLine.read(line, all[i]?.source, all[i]?.extra);
    if (record === null) throw new Error("not a record");
    return loadedRecord(i, record);
  });
  return { records: loaded, raw: encodeUtf8(lines.map((line) => `${line}\n`).join("")) };
}

function questionOf(query: string) {
  const read = readQuery(query);
  if (!read.ok) throw new Error(read.fault.message);
  return read.question;
}

/** By query. @param first records before are of another part. */
function found(asked: readonly string[], { records: all, raw }: Message, first = 0): number[][] {
  const compiled = new LineQueries(asked.map(questionOf));
  return compiled.matches(new Lines(all.slice(first), new MessageText(raw), first)).map((places) => [...places]);
}

/** What a search finds in the object. */
function searched(query: string, { records: all }: Message, first = 0): number[] {
  const question = questionOf(query);
  const own = compileQuery({ all: question === null ? [] : [question], sinceMs: -Infinity, untilMs: Infinity });
  return all.slice(first).flatMap(({ shipped }, i) => {
    const { Source: value } = shipped;
    const record = JSON.parse(shipped.withExtra);
    return own.matches(value === "" ? record : Object.defineProperty(record, "Source", { value })) ? [i] : [];
  });
}

const extras = fc
  .record(
    {
      RequestCF: fc.record({ colo: fc.constantFrom("DFW", "FRA"), asn: fc.constantFrom(7, 9) }),
      ExceptionStacks: fc.constantFrom(["at card declined (a.js:1)"], []),
      Truncated: fc.constant(true),
    },
    { requiredKeys: [] },
  )
  .map((values) => (Object.keys(values).length === 0 ? "" : JSON.stringify(values)));

const some = fc.array(fc.record({ record: records, source: fc.constantFrom("", "tail"), extra: extras }), {
  minLength: 1,
  maxLength: 5,
});

describe("queries over the records of a message", () => {
  it("match what a search finds of them, many at once, in each part of the message", () => {
    const answers = { true: 0, false: 0 };
    fc.assert(
      fc.property(some, fc.array(queries, { maxLength: 4 }), picks, fc.nat(4), (all, any, picked, before) => {
        const each = all.map(({ record: { Fields: _, Level: __, ...fields }, source, extra }) => ({
          ...{ fields, source, extra },
        }));
        const own = picked.length === 0 ? [] : each.map(({ fields }) => ownQuery(fields, picked));
        const [asked, sent, first] = [[...any, ...own, ""], message(each), before % each.length];
        const matches = found(asked, sent, first);
        for (const [i, query] of asked.entries()) {
          expect(matches[i], query).toEqual(searched(query, sent, first));
          answers[`${(matches[i]?.length ?? 0) > 0}`] += 1;
        }
      }),
      { numRuns: 1_500 },
    );
    expect(Math.min(answers.true, answers.false)).toBeGreaterThan(500);
  });

  it.each([
    "Source:tail",
    "-Source:tail",
    "tail",
    "level:error",
    "level:*",
    "-level:error",
    "status:5xx",
    "status:200",
    "status:*",
    "-status:*",
    "Event.Response.Status:abc*",
    "took:>1s",
    "-took:>1s",
    "worker:sh*",
    "worker:*OP",
    "outcome:exception OR status:503",
    "RequestCF.colo:DFW",
    "-RequestCF.colo:DFW",
    "Fields.customer:7",
    "customer:7 level:warn",
    "truncated",
    "logpush",
    "ΣΊΣΥΦΟΣ",
    "Message:x",
    "-Message:x",
    "503",
  ])("of all shapes: %s", (query) => {
    const ray = { RayID: "7f", Request: { URL: "https://a.test/x", Method: "GET" } };
    const log = (Level: string, ...Message: string[]) => ({ Level, Message, TimestampMs: 0 });
    const sent = message([
      { fields: { Event: { ...ray, Response: { Status: 503 } }, WallTimeMs: 1_500, ScriptName: "shop" } },
      { fields: { Event: { Response: { Status: 200 }, Request: {} }, EventType: "queue" }, source: "tail" },
      { fields: { Event: { Response: { Status: "abc" } }, Exceptions: [{ name: "E", message: "", TimestampMs: 0 }] } },
      { fields: { Event: { text: '"Response":{"Status":200}}' }, Outcome: "exception" } },
      { fields: { Event: { Response: [{ Status: 503 }] }, ScriptName: "SHOP" } },
      { fields: { Logs: [log("error", "x"), log("warn", '{"customer":7}')] }, extra: '{"RequestCF":{"colo":"DFW"}}' },
      { fields: { Logs: [log("log", `Σίσυφος ${"x".repeat(20_000)} 503`)] } },
      { fields: { Logs: [log("log", "σίσυφοσ")], Event: {} } },
    ]);
    expect(found([query], sent)).toEqual([searched(query, sent)]);
  });

  it("are passed over without parsing where they lack a word", () => {
    const sent = message(Array.from({ length: 20 }, () => ({ fields: { Logs: [] } })));
    const { parse } = JSON;
    let parsed = 0;
    JSON.parse = (...args) => {
      parsed += 1;
      return parse(...args);
    };
    try {
      expect(found(["declined", "path:/checkout/*", "level:error", "status:5xx", "took:>9m"], sent).flat()).toEqual([]);
    } finally {
      JSON.parse = parse;
    }
    expect(parsed).toBe(0);
  });
});
