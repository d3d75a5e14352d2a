import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { compileFilter } from "../../../src/formats/filter/compile.ts";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import { compileQuery, type Query } from "../../../src/formats/query/compile-query.ts";
import { ofRay, part } from "../../../src/formats/query/meaning.ts";
import { wantedIn } from "../../../src/formats/query/prune.ts";
import { HashSet } from "../../../src/formats/sketch/hash-set.ts";
import { fold, hashJson } from "../../../src/formats/sketch/terms.ts";
import { ALL, heldBy } from "../../../src/formats/sketch/wanted.ts";
import { filters, numbersOf, parts, rays, record, stringsOf } from "./records.ts";

function queryOf(filter: string, text = "", rayId = ""): Query & { text: string; rayId: string; filter: string } {
  const read = parseFilter(filter);
  if (!read.ok) throw new Error(read.faults[0]);
  const all = [read.filter, text === "" ? null : part(text), rayId === "" ? null : ofRay(rayId)];
  return { all: all.filter((each) => each !== null), sinceMs: 100, untilMs: 200, filter, text, rayId };
}

const one = record(fc.integer({ min: 90, max: 210 }));
const asked = fc
  .tuple(filters, fc.oneof(fc.constant(""), parts), fc.oneof(fc.constant(""), rays))
  .map(([filter, text, ray]) => queryOf(filter, text, ray));

describe("a question", () => {
  it("passes over no object, and no line, that has a match", () => {
    fc.assert(
      fc.property(one, asked, (found, question) => {
        const query = compileQuery(question);
        fc.pre(query.matches(found));
        const line = JSON.stringify(found);
        expect(fold(line)).toContain(query.foldedPart);
        const words = new HashSet();
        hashJson(encodeUtf8(line), words);
        const held = new Set(words.all());
        const wanted = wantedIn(query.needed);
        expect(wanted === null || heldBy(wanted, (hash) => (held.has(hash) ? ALL : 0n)) === ALL).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it("matches as its filter does, within its time, and a text in any string whatever its case, or as a number", () => {
    fc.assert(
      fc.property(one, asked, (found, query) => {
        const { text, rayId } = query;
        const read = parseFilter(query.filter);
        const filter = read.ok ? read.filter : null;
        const { EventTimestampMs: at } = found;
        const expected =
          at >= 100 &&
          at < 200 &&
          (filter === null || compileFilter(filter)(found as never)) &&
          (rayId === "" || found.Event.RayID === rayId) &&
          (text === "" ||
            stringsOf(found).some((each) => fold(each).includes(fold(text))) ||
            numbersOf(found).some((each) => `${each}` === text));
        expect(compileQuery(query).matches(found)).toBe(expected);
      }),
      { numRuns: 3_000 },
    );
  });

  const condition = (key: string, operator: string, value: unknown) =>
    queryOf(JSON.stringify({ where: { key, operator, value } }));

  it.each([
    ["a ray id", queryOf("", "", "8f14e45fceea167a"), ["8f14e45fceea167a"]],
    ["words that are whole within a text", queryOf("", "rd Declined by ba"), ["declined", "by"]],
    ["no word of a text that may go on", queryOf("", "declined"), []],
    ["all words of what is equal", condition("ScriptName", "eq", "shop-api v2"), ["shop", "api", "v2"]],
    ["no word of what may be a number", condition("Event.n", "eq", "500"), []],
    ["no word of what may be a number in an array", condition("Event.n", "contains", "-1.5"), []],
    ["the words at the beginning that end", condition("ScriptName", "startsWith", "shop-ap"), ["shop"]],
    ["the words at the end that begin", condition("ScriptName", "endsWith", "op-api"), ["api"]],
    ["no word of what is not", condition("ScriptName", "!eq", "shop"), []],
    [
      "none, if an alternative needs none",
      queryOf(
        '{"where":{"or":[{"key":"ScriptName","operator":"eq","value":"a"},{"key":"WallTimeMs","operator":"gt","value":5}]}}',
      ),
      [],
    ],
  ])("needs of %s", (_name, query, words) => {
    const flat = (needed: ReturnType<typeof compileQuery>["needed"]): string[] =>
      needed === null
        ? []
        : typeof needed === "string"
          ? [needed]
          : ("all" in needed ? needed.all : needed.any).flatMap(flat);
    expect(flat(compileQuery(query).needed)).toEqual(words);
  });

  it("parses only lines with the longest part that JSON writes as it is", () => {
    expect(compileQuery(queryOf("", 'Say "Hello There" to /all')).foldedPart).toBe("hello there");
    const filter =
      '{"where":{"and":[{"key":"ScriptName","operator":"eq","value":"checkout-api"},{"key":"Outcome","operator":"!eq","value":"ok"}]}}';
    expect(compileQuery(queryOf(filter)).foldedPart).toBe("checkout-api");
  });

  it("holds against records that nest as deep as JSON may", () => {
    let deep: unknown = "needle";
    for (let i = 0; i < 500_000; i++) deep = [deep];
    expect(compileQuery(queryOf("", "needle")).matches({ Event: deep })).toBe(true);
  });

  it("looks for a short part in lines, so that no text makes that slow", () => {
    expect(compileQuery(queryOf("", `b${"a".repeat(999)}`)).foldedPart).toHaveLength(64);
  });
});
