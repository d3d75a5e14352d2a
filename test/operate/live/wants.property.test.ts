import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileFilter } from "../../../src/formats/filter/compile.ts";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import { compileQuery } from "../../../src/formats/query/compile-query.ts";
import { readQuery } from "../../../src/formats/query/meaning.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { EXTRA_FIELDS } from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import { readWants, type Wanted, type Wants } from "../../../src/operate/live/wants.ts";
import { Watcher } from "../../../src/operate/live/watcher.ts";
import { ownQuery, picks, queries, records } from "../../formats/query/records.ts";
import { traceRecord } from "../../formats/record/samples.ts";
import { filters } from "../search/records.ts";

function wanted(wants: Partial<Wants>): Wanted {
  const read = readWants({ filter: "", query: "", ...wants });
  if (!read.ok) throw new Error(read.faults.join("; "));
  return read.wanted;
}

function lineOf(fields: object, source = "", extra = ""): RecordLine {
  const line = RecordLine.read(recordLine(traceRecord(fields)), source, extra);
  if (line === null) throw new Error("not a record");
  return line;
}

/** What a search makes of the record as it is shipped. */
function finds({ filter, query }: Wants, line: RecordLine): boolean {
  const [parsed, read] = [parseFilter(filter, EXTRA_FIELDS), readQuery(query)];
  if (!parsed.ok || !read.ok) throw new Error(`${filter} ${query}`);
  const all = [parsed.filter, read.question].filter((each) => each !== null);
  return compileQuery({ all, sinceMs: 0, untilMs: Number.POSITIVE_INFINITY }).matches(JSON.parse(line.withExtra));
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

describe("what a viewer wants", () => {
  it("is what a search finds, as it arrives and when the query changes later", () => {
    const answers = { true: 0, false: 0 };
    const source = fc.constantFrom("", "tail", "http:card declined", "9");
    fc.assert(
      fc.property(records, queries, picks, filters, source, extras, (record, any, picked, filter, from, extra) => {
        // A log has no rows.
        const { Fields: _, Level: __, ...fields } = record;
        const line = lineOf(fields, from, extra);
        const query = picked.length === 0 ? any : ownQuery(fields, picked);
        const is = finds({ filter, query }, line);
        const watcher = Watcher.newcomer(new Uint8Array(32), "");
        expect(watcher.want({ filter, query })).toEqual([]);
        watcher.offer([line], 0);
        expect(watcher.counts.shown, query).toBe(is ? 1 : 0);
        // After hibernation, too; and of the record as the browser has it.
        const awoken = Watcher.awoken(structuredClone(watcher.state));
        awoken.offer([line], 0);
        expect(awoken.counts.shown, query).toBe(is ? 2 : 0);
        expect(wanted({ filter, query }).fitsAgain(JSON.parse(line.withExtra), from), query).toBe(is);
        answers[`${is}`] += 1;
      }),
      { numRuns: 1_500 },
    );
    expect(Math.min(answers.true, answers.false)).toBeGreaterThan(200);
  });

  it("is the same later where it is about extra fields and sources", () => {
    const answers = { true: 0, false: 0 };
    const [eq, contains] = [fc.constantFrom("eq", "!eq"), fc.constantFrom("contains", "!contains")];
    const condition = fc.oneof(
      fc.record({ key: fc.constant("Truncated"), operator: eq, value: fc.boolean() }),
      fc.record({ key: fc.constant("DurableObjectID"), operator: eq, value: fc.constantFrom("", "a") }),
      fc.record({ key: fc.constant("Source"), operator: eq, value: fc.constantFrom("", "tail") }),
      fc.record({ key: fc.constant("RequestCF.colo"), operator: eq, value: fc.constantFrom("", "DFW") }),
      fc.record({ key: fc.constant("ExceptionStacks"), operator: contains, value: fc.constantFrom("", "declined") }),
    );
    fc.assert(
      fc.property(condition, extras, fc.constantFrom("", "tail"), (where, extra, source) => {
        const filter = JSON.stringify({ where });
        const line = lineOf({}, source, extra);
        const parsed = parseFilter(filter, EXTRA_FIELDS);
        const is = parsed.ok && parsed.filter !== null && compileFilter(parsed.filter)(line);
        expect(wanted({ filter }).fits(line)).toBe(is);
        expect(wanted({ filter }).fitsAgain(JSON.parse(line.withExtra), source)).toBe(is);
        answers[`${is}`] += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(answers.true, answers.false)).toBeGreaterThan(100);
  });

  it.each([
    ["Source:tail", true],
    ["Source:http*", false],
    ["-Source:tail", false],
    // No word of the record.
    ["tail", false],
    ["-tail Outcome:ok", true],
  ])("has the source of a record where it is asked for by name: %s", (query, is) => {
    const line = lineOf({}, "tail");
    expect(wanted({ query }).fits(line)).toBe(is);
    expect(wanted({ query }).fitsAgain(JSON.parse(line.line), "tail")).toBe(is);
    // One that was shipped with it is as it was shipped.
    expect(wanted({ query: "Source:tail tail" }).fitsAgain({ Source: "tail" }, "")).toBe(true);
  });

  it("is of every record the same, whatever a browser says that it is", () => {
    const hostile = fc.oneof(
      fc.jsonValue().filter((value) => typeof value === "object" && value !== null),
      fc.constant(JSON.parse('{"__proto__":{"Source":"tail"},"Logs":{"Message":9},"Event":[],"Exceptions":[null]}')),
    );
    fc.assert(
      fc.property(hostile, queries, filters, (record, query, filter) => {
        const again = wanted({ filter, query }).fitsAgain(structuredClone(record) as object, "tail");
        expect(wanted({ filter, query }).fitsAgain(structuredClone(record) as object, "tail")).toBe(again);
      }),
    );
    expect(wanted({ query: "Source:tail" }).fitsAgain(JSON.parse('{"__proto__":{"Source":"tail"}}'), "")).toBe(false);
  });

  it("is told its faults, the query's with their place, and stays as it was", () => {
    const watcher = Watcher.newcomer(new Uint8Array(32), "");
    expect(watcher.want({ filter: "", query: "outcome:b" })).toEqual([]);
    expect(watcher.want({ filter: "", query: 'a "b' })).toEqual(["this quote is not closed"]);
    expect(watcher.want({ filter: "", query: "x".repeat(2_001) })).toEqual([
      expect.stringContaining("at most 2000 characters"),
    ]);
    expect(watcher.want({ filter: "{", query: "" })).toHaveLength(1);
    expect(watcher.want({ filter: "é".repeat(4_097), query: "" })).toEqual([expect.stringContaining("8194 bytes")]);
    watcher.offer([lineOf({ Outcome: "a" }), lineOf({ Outcome: "B" })], 0);
    expect(watcher.counts).toMatchObject({ shown: 1, filtered: 1 });
  });

  it("is decided once for all viewers: each record is parsed once", () => {
    const line = lineOf({ Logs: [{ Level: "log", Message: ["card declined"], TimestampMs: 0 }] });
    const { parse } = JSON;
    let parsed = 0;
    JSON.parse = (...args) => {
      parsed += 1;
      return parse(...args);
    };
    try {
      for (const query of ["card", "declined", "level:log"]) expect(wanted({ query }).fits(line)).toBe(true);
      // Nor is one that lacks a word.
      expect(wanted({ query: "refused" }).fits(lineOf({}))).toBe(false);
    } finally {
      JSON.parse = parse;
    }
    expect(parsed).toBe(1);
  });
});
