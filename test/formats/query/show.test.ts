import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileFilter } from "../../../src/formats/filter/compile.ts";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import { readQuery } from "../../../src/formats/query/meaning.ts";
import { filterAsQuery, quoted } from "../../../src/formats/query/show.ts";
import { fold } from "../../../src/formats/sketch/terms.ts";
import { filters, record } from "../../operate/search/records.ts";

function filterOf(json: string) {
  const read = parseFilter(json);
  if (!read.ok || read.filter === null) throw new Error(json);
  return read.filter;
}

function passes(query: string): (record: object) => boolean {
  const read = readQuery(query);
  if (!read.ok || read.question === null) throw new Error(`${query}: ${JSON.stringify(read)}`);
  return compileFilter(read.question) as (record: object) => boolean;
}

/** With messages as they are shipped. */
const withTexts = <T extends { Logs: { Message: unknown[] }[] }>(one: T): T => ({
  ...one,
  Logs: one.Logs.map(({ Message }) => ({ Message: Message.map((each) => JSON.stringify(each)) })),
});

/** All strings of a value folded: what a filter tells apart by case, and a query does not. */
const folded = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value), (_key, each) => (typeof each === "string" ? fold(each) : each));

/** The same of the values in a filter. */
const foldedFilter = (json: string): string =>
  JSON.stringify(
    JSON.parse(json, function (this: { operator?: string }, key, each) {
      return key === "value" || Array.isArray(this) ? (typeof each === "string" ? fold(each) : each) : each;
    }),
  );

describe("a filter as a query", () => {
  it("keeps the records that it finds", () => {
    let kept = 0;
    fc.assert(
      fc.property(
        record(fc.constant(100)).map(withTexts).map(folded),
        filters.filter((json) => json !== "").map(foldedFilter),
        (one, json) => {
          const filter = filterOf(json);
          const is = compileFilter(filter)(one as never);
          kept += is ? 1 : 0;
          expect(passes(filterAsQuery(filter))(one), filterAsQuery(filter)).toBe(is);
        },
      ),
      { numRuns: 3_000 },
    );
    expect(kept).toBeGreaterThan(300);
  });

  it.each([
    ['{"key":"Outcome","operator":"!eq","value":"ok"}', "-Outcome:ok"],
    ['{"key":"Event.Response.Status","operator":"geq","value":500}', "Event.Response.Status:>=500"],
    ['{"key":"ScriptName","operator":"in","value":["a b","OR"]}', 'ScriptName:("a b" OR "OR")'],
    ['{"key":"ScriptName","operator":"!in","value":["a"]}', "-ScriptName:a"],
    ['{"key":"Event.Request.URL","operator":"startsWith","value":"https://a/"}', 'Event.Request.URL:"https://a/"*'],
    ['{"key":"Event.my key","operator":"endsWith","value":"//x"}', '"Event.my key":*"//x"'],
    ['{"key":"Logs","operator":"contains","value":"say \\"hi\\""}', 'Logs:*"say \\"hi\\""*'],
    ['{"key":"ScriptTags","operator":"contains","value":"prod"}', "ScriptTags:prod"],
    ['{"key":"ScriptName","operator":"contains","value":"*"}', 'ScriptName:*"*"*'],
    [
      '{"and":[{"or":[{"key":"Outcome","operator":"eq","value":"a"},{"key":"Outcome","operator":"eq","value":"b"}]},{"key":"CPUTimeMs","operator":"lt","value":5}]}',
      "(Outcome:a OR Outcome:b) CPUTimeMs:<5",
    ],
    [
      '{"and":[{"or":[{"or":[{"key":"Outcome","operator":"eq","value":"a"},{"key":"Outcome","operator":"eq","value":"b"}]}]}]}',
      "(Outcome:a OR Outcome:b)",
    ],
    ['{"key":"CPUTimeMs","operator":"gt","value":1e21}', "CPUTimeMs:>1e+21"],
  ])("%s is %s", (where, query) => {
    const filter = filterOf(`{"where":${where}}`);
    expect(filterAsQuery(filter)).toBe(query);
    expect(readQuery(query).ok).toBe(true);
  });

  it("puts any text in quotes", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", '"', "\\", " ", "(", "é"), minLength: 1 }), (text) => {
        expect(passes(quoted(text))({ text: `x ${text} y` })).toBe(true);
        expect(passes(quoted(text))({ text: "nothing" })).toBe(false);
      }),
    );
  });
});
